//! Archives of one graph: tar (also compressed) and zip. Input: a file. Output: the file itself if it is no archive; else the member that is the
//! graph ([`member`] has the rule), or the members of one graph (Graphalytics, GraphAr), copied to anonymous files in the work directory. Nothing is
//! written under a member's name. Cost: one copy on disk; a tar archive is read twice, first for the list of members.

pub(super) mod member;
mod tar;
pub(super) mod zip;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::compression::Compression;
use super::detect::{self, is_zip};
use super::file::InputFile;
use super::format::Format;
use super::graphalytics::member_of_each;
use super::graphar::places::ArchivedGraphar;
use super::graphar::{self, MOST_BYTES, NamedFiles};
use super::spool::Spool;
use member::{Member, graph};
use tar::TarMembers;
use trimill_system::control::{Control, NOTE};
use trimill_system::text::shown;
use trimill_system::{Bytes, Error, Result};
use zip::Zip;

/// The most members of an archive: their names are held in memory.
const MOST_MEMBERS: usize = 10_000;

/// The most bytes of the members that say where the edges of a GraphAr graph are; usual ones have some hundred.
const MOST_ABOUT_EDGES: u64 = 16 << 20;

/// The most members that are logged by name; of more, only the number is logged.
const MOST_NAMED: usize = 3;

const OF_SCIPY: &str = "format.npy";

enum Archive<'a> {
    Tar,
    Zip(Zip<'a>),
}

/// The files of the graph in `file`: members if it is an archive, else the file itself. `format` is what the user said.
pub(super) fn unpacked(
    file: InputFile,
    format: Option<Format>,
    work_dir: &Path,
    control: &Control,
) -> Result<Vec<InputFile>> {
    let unpacked = match as_archive(&file, format)? {
        None => None,
        Some(Archive::Tar) => Some(from_tar(&file, format, work_dir, control)?),
        Some(Archive::Zip(archive)) => Some(from_zip(&file, &archive, format, work_dir, control)?),
    };
    let Some(unpacked) = unpacked else { return Ok(vec![file]) };
    let path = file.path.display();
    if unpacked.len() > MOST_NAMED {
        let bytes = Bytes(unpacked.iter().map(|member| member.bytes).sum());
        tracing::info!(target: NOTE, "{path}: {} of its members are read ({bytes})", unpacked.len());
    }
    for member in &unpacked {
        if unpacked.len() <= MOST_NAMED {
            tracing::info!(target: NOTE, "{path}: its member '{}' is read ({})", shown(member.name()), Bytes(member.bytes));
        }
        if as_archive(member, format)?.is_some() {
            return Err(Error::data(&member.path, "is an archive in an archive")
                .expected("the file of a graph")
                .advice("unpack the outer archive first"));
        }
    }
    Ok(unpacked)
}

pub(super) fn is_named(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    Compression::stripped(&name).ends_with(".tar")
        || [".zip", ".tgz", ".tbz2", ".tbz", ".tzst"].iter().any(|suffix| name.ends_with(suffix))
}

/// The file as an archive; `None` for any other file, and for a SciPy matrix, which is read without unpacking.
fn as_archive(file: &InputFile, format: Option<Format>) -> Result<Option<Archive<'_>>> {
    let raw = format.or_else(|| detect::by_suffix(file.name())).is_some_and(detect::is_binary);
    // Raw numbers may happen to begin like an archive.
    if raw && !is_named(file.name()) {
        return Ok(None);
    }
    if file.compression.is_none() && is_zip(&file.raw_head(4)?) {
        let archive = Zip::open(file)?;
        let suffix = file.name().extension().unwrap_or_default();
        let is_matrix = suffix.eq_ignore_ascii_case("npz") || archive.place(OF_SCIPY).is_some();
        return Ok((!is_matrix).then_some(Archive::Zip(archive)));
    }
    let head = file.readable_head(tar::BLOCK as u64)?;
    // A SciPy matrix begins likewise, and may be compressed.
    if let Some((command, _)) = file.compression.map(Compression::names)
        && is_zip(&head)
        && file.name().file_stem().is_some_and(|name| is_named(Path::new(name)))
    {
        return Err(Error::data(&file.path, "is a zip archive that was compressed again")
            .expected("a zip archive as it is")
            .advice(format!("decompress it: {command} -dc FILE | trimill count -")));
    }
    Ok(tar::is_header(&head, is_named(file.name())).then_some(Archive::Tar))
}

fn from_tar(file: &InputFile, format: Option<Format>, work_dir: &Path, control: &Control) -> Result<Vec<InputFile>> {
    let (mut archive, mut found, mut last) = (TarMembers::new(file, control)?, Vec::<Member>::new(), HashMap::new());
    let mut about_edges = AboutEdges::default();
    while let Some((path, member)) = archive.next()? {
        if found.len() == MOST_MEMBERS {
            return Err(too_many(file));
        }
        // An archive that was updated has the old member, too, which `tar -x` overwrites.
        if let Some(old) = last.insert(path, found.len()) {
            found[old].plain = false;
        }
        about_edges.keep(found.len(), &member, |take| archive.contents(take))?;
        found.push(member);
    }
    let places = places(file, &found, format, || Ok(about_edges))?;
    let end = places.iter().max().map_or(0, |last| last + 1);
    let mut archive = TarMembers::new(file, control)?;
    let mut unpacked: HashMap<usize, InputFile> = HashMap::new();
    for (at, Member { name, bytes, .. }) in found[..end].iter().enumerate() {
        archive.next()?;
        if !places.contains(&at) {
            continue;
        }
        let mut spool = begin(file, *bytes, work_dir)?;
        archive.contents(|chunk| spool.write(chunk))?;
        unpacked.insert(at, file.member(name, spool.finish()?)?);
    }
    Ok(places.iter().filter_map(|place| unpacked.remove(place)).collect())
}

fn too_many(file: &InputFile) -> Error {
    Error::data(&file.path, format!("an archive of more than {MOST_MEMBERS} members"))
        .expected("an archive of one graph")
        .advice("unpack the archive and name the file of the graph")
}

/// The index of the graph, or those of the three members of Graphalytics. The error does not name the archive.
fn graph_among(members: &[Member], format: Option<Format>) -> Result<Vec<usize>> {
    if matches!(format, None | Some(Format::Graphalytics)) {
        let eligible = members.iter().enumerate().filter(|(_, member)| member.is_eligible());
        let (places, names): (Vec<usize>, Vec<&str>) =
            eligible.map(|(place, member)| (place, member.name.as_str())).unzip();
        if let Some(three) = member_of_each(&names) {
            return Ok(three.map(|at| places[at]).to_vec());
        }
    }
    graph(members).map(|place| vec![place])
}

fn from_zip(
    file: &InputFile,
    archive: &Zip<'_>,
    format: Option<Format>,
    work_dir: &Path,
    control: &Control,
) -> Result<Vec<InputFile>> {
    let read = || {
        let mut about_edges = AboutEdges::default();
        for (place, member) in archive.members.iter().enumerate() {
            about_edges.keep(place, member, |take| archive.contents(place, control, take))?;
        }
        Ok(about_edges)
    };
    let unpack = |place: usize| {
        let Member { name, bytes, .. } = &archive.members[place];
        let mut spool = begin(file, *bytes, work_dir)?;
        archive.contents(place, control, |chunk| spool.write(chunk))?;
        file.member(name, spool.finish()?)
    };
    places(file, &archive.members, format, read)?.into_iter().map(unpack).collect()
}

/// The contents of members that may say where the edges of a GraphAr graph are, by index of the member.
#[derive(Default)]
struct AboutEdges {
    contents: HashMap<usize, Vec<u8>>,
    bytes: u64,
}

impl AboutEdges {
    /// Keeps the contents of a member that may say where the edges are; `read` passes them in chunks.
    fn keep(
        &mut self,
        place: usize,
        member: &Member,
        read: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>,
    ) -> Result<()> {
        let is_small = member.bytes <= MOST_BYTES && self.bytes + member.bytes <= MOST_ABOUT_EDGES;
        if !is_small || !member.is_eligible() || !graphar::is_about_edges(Path::new(&member.name)) {
            return Ok(());
        }
        self.bytes += member.bytes;
        let contents = self.contents.entry(place).or_default();
        read(&mut |chunk| {
            contents.extend_from_slice(chunk);
            Ok(())
        })
    }
}

fn places(
    file: &InputFile,
    members: &[Member],
    format: Option<Format>,
    read: impl FnOnce() -> Result<AboutEdges>,
) -> Result<Vec<usize>> {
    let eligible = members.iter().enumerate().filter(|(_, member)| member.is_eligible());
    if !eligible.clone().any(|(_, member)| graphar::is_named(Path::new(&member.name))) {
        return graph_among(members, format).map_err(|error| error.at(&file.path));
    }
    let graphs = ArchivedGraphar::new(eligible.map(|(place, member)| (place, member.name.as_str())), read()?.contents);
    let in_archive = |error: Error| {
        let path = error.path().filter(|path| !path.as_os_str().is_empty());
        let path = path.map(|path| PathBuf::from(format!("{}: {}", file.path.display(), path.display())));
        error.at(path.as_deref().unwrap_or(&file.path))
    };
    let edges = NamedFiles::of_described(&graphs, Path::new(""), &graphs.paths()).map_err(in_archive)?;
    let place = |chunk: &PathBuf| {
        let folder = || in_archive(Error::data(chunk, "is a folder").expected("a file of edges"));
        graphs.place(chunk).ok_or_else(folder)
    };
    edges.files.iter().map(place).collect()
}

fn begin<'a>(file: &'a InputFile, bytes: u64, work_dir: &'a Path) -> Result<Spool<'a>> {
    Spool::new("the member of an archive", &file.path, work_dir, bytes)
}
