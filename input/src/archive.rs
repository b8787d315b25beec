//! Archives with one graph in them, as collections of graphs distribute them: tar (also compressed) and zip.
//!
//! Input: a file. Output: the member that is the graph ([`member`] has the rule), as a file of its own: copied to an anonymous file
//! in the work directory, or the same file if it is no archive. Nothing is ever written under the name of a member. Costs one
//! copy of the member on disk; a tar archive is read twice, once for the list of members.

pub(super) mod member;
mod tar;
pub(super) mod zip;

use std::path::Path;

use super::compression::Compression;
use super::detect::{self, is_zip};
use super::file::InputFile;
use super::format::Format;
use super::graphalytics::member_of_each;
use super::spool::Spool;
use super::storage::Storage;
use member::{Member, graph};
use tar::TarMembers;
use trimill_system::bytes::Bytes;
use trimill_system::control::{Control, NOTE};
use trimill_system::error::{Error, Result};
use trimill_system::text::shown;
use zip::Zip;

/// The most members of a tar archive, whose names are kept.
const MOST_MEMBERS: usize = 10_000;

/// A member that a SciPy matrix has and other archives do not.
const OF_SCIPY: &str = "format.npy";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ArchiveKind {
    Tar,
    Zip,
}

/// The graph in a file: a member if the file is an archive, or the three members of a Graphalytics graph, else the file itself. `format`: what
/// the user says of the graph.
pub(super) fn unpacked(
    file: InputFile,
    format: Option<Format>,
    work_dir: &Path,
    control: &Control,
) -> Result<Vec<InputFile>> {
    let unpacked = match kind(&file, format)? {
        None => return Ok(vec![file]),
        Some(ArchiveKind::Tar) => from_tar(&file, format, work_dir, control)?,
        Some(ArchiveKind::Zip) if file.file.is_remote() => {
            return Err(Error::usage("a zip archive on a server")
                .at(&file.path)
                .expected("a tar archive, which is read in order, or the file of a graph")
                .advice("download it first"));
        }
        Some(ArchiveKind::Zip) => match from_zip(&file, work_dir, control)? {
            Some(unpacked) => vec![unpacked],
            None => return Ok(vec![file]),
        },
    };
    for member in &unpacked {
        let (archive, name) = (file.path.display(), shown(member.name()));
        tracing::info!(target: NOTE, "{archive}: its member '{name}' is read ({})", Bytes(member.bytes));
        if kind(member, format)?.is_some() {
            return Err(Error::data(&member.path, "is an archive in an archive")
                .expected("the file of a graph")
                .advice("unpack the outer archive first"));
        }
    }
    Ok(unpacked)
}

pub(super) fn is_named(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let plain = Compression::SUFFIXES.iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(&name);
    plain.ends_with(".tar") || [".zip", ".tgz", ".tbz2", ".tbz", ".tzst"].iter().any(|suffix| name.ends_with(suffix))
}

/// The kind of archive, by the first bytes.
fn kind(file: &InputFile, format: Option<Format>) -> Result<Option<ArchiveKind>> {
    let raw = format.or_else(|| detect::by_suffix(file.name())).is_some_and(detect::is_binary);
    // Raw numbers may begin like an archive.
    if format == Some(Format::ScipyNpz) || (raw && !is_named(file.name())) {
        return Ok(None);
    }
    if file.compression.is_none() && is_zip(&file.raw_head(4)?) {
        return Ok(Some(ArchiveKind::Zip));
    }
    let head = file.readable_head(tar::BLOCK as u64)?;
    Ok(tar::is_header(&head, is_named(file.name())).then_some(ArchiveKind::Tar))
}

/// The member of a tar archive that is the graph, or the three of a Graphalytics graph.
fn from_tar(file: &InputFile, format: Option<Format>, work_dir: &Path, control: &Control) -> Result<Vec<InputFile>> {
    let (mut archive, mut found) = (TarMembers::new(file, control)?, Vec::new());
    while let Some(member) = archive.next()? {
        if found.len() == MOST_MEMBERS {
            return Err(Error::data(&file.path, format!("an archive of more than {MOST_MEMBERS} members"))
                .expected("an archive of one graph")
                .advice("unpack the archive and name the file of the graph"));
        }
        found.push(member);
    }
    let three = match format {
        None | Some(Format::Graphalytics) => {
            let names: Vec<&str> = found.iter().map(|member| member.name.as_str()).collect();
            member_of_each(&names).filter(|places| places.iter().all(|&place| found[place].plain))
        }
        Some(_) => None,
    };
    let places = match three {
        Some(places) => places.to_vec(),
        None => vec![graph(&found).map_err(|error| error.at(&file.path))?],
    };
    let mut archive = TarMembers::new(file, control)?;
    let mut unpacked: Vec<Option<InputFile>> = places.iter().map(|_| None).collect();
    for (at, Member { name, bytes, .. }) in
        found.iter().enumerate().take_while(|(at, _)| places.iter().any(|place| place >= at))
    {
        archive.next()?;
        let Some(which) = places.iter().position(|&place| place == at) else { continue };
        let mut spool = begin(file, *bytes, work_dir)?;
        archive.contents(|chunk| spool.write(chunk))?;
        unpacked[which] = Some(file.member(name, Storage::Local(spool.finish()))?);
    }
    Ok(unpacked.into_iter().flatten().collect())
}

/// The same of a zip archive; `None` if it is a matrix of SciPy.
fn from_zip(file: &InputFile, work_dir: &Path, control: &Control) -> Result<Option<InputFile>> {
    let archive = Zip::open(file)?;
    let numpy = file.name().extension().is_some_and(|suffix| suffix.eq_ignore_ascii_case("npz"));
    if numpy || archive.place(OF_SCIPY).is_some() {
        return Ok(None);
    }
    let place = graph(&archive.members).map_err(|error| error.at(&file.path))?;
    let Member { name, bytes, .. } = archive.members[place].clone();
    let mut spool = begin(file, bytes, work_dir)?;
    archive.contents(place, control, |chunk| spool.write(chunk))?;
    file.member(&name, Storage::Local(spool.finish())).map(Some)
}

fn begin<'a>(file: &'a InputFile, bytes: u64, work_dir: &'a Path) -> Result<Spool<'a>> {
    Spool::new("the member of an archive", &file.path, work_dir, bytes)
}
