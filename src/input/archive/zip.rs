//! The members of a zip archive.
//!
//! Input: a file; its central directory is read, which lists the members. Output: names, sizes and contents, whose checksums are
//! verified. Stored and deflated members are read, and those compressed by bzip2. Memory: some 300 bytes for each member.

use std::io::{self, BufReader, Read};
use std::path::Path;

use zip::ZipArchive;
use zip::result::ZipError;

use super::member::Member;
use crate::control::Control;
use crate::error::{Error, Result};
use crate::input::file::{InputFile, Pread};
use crate::text::shown;

/// No member grows to more than so many times its compressed size: bzip2 reaches about a million, deflate a thousand.
const MOST_GROWTH: u64 = 1 << 21;

/// Bytes that are read before a request to stop is looked for.
const STEP: usize = 1 << 20;

/// An archive whose members are known.
pub(in crate::input) struct Zip<'a> {
    file: &'a InputFile,
    archive: ZipArchive<BufReader<Pread<'a>>>,
    pub(in crate::input) members: Vec<Member>,
}

impl<'a> Zip<'a> {
    /// Reads the list of members.
    pub(in crate::input) fn open(file: &'a InputFile) -> Result<Self> {
        let from = BufReader::with_capacity(1 << 16, Pread { file: &file.file, at: 0, task: None });
        let archive = ZipArchive::new(from).map_err(|error| wrong(file, error))?;
        if archive.has_duplicate_names() {
            return Err(Error::data(&file.path, "two members of one name")
                .expected("members with different names")
                .advice("unpack the archive and name the file of the graph"));
        }
        let member = |at| {
            let entry = archive.by_index_data(at).map_err(|error| wrong(file, error))?;
            let name = String::from_utf8_lossy(entry.name_raw()).into_owned();
            if entry.size() > entry.compressed_size().saturating_mul(MOST_GROWTH).saturating_add(1 << 10) {
                let found =
                    format!("{} bytes of '{}' from {}", entry.size(), shown(Path::new(&name)), entry.compressed_size());
                return Err(Error::data(&file.path, found)
                    .expected("a size that compression can lead to")
                    .advice("the archive is damaged: fetch it again"));
            }
            Ok(Member { name, bytes: entry.size(), plain: entry.is_file() })
        };
        let members = (0..archive.len()).map(member).collect::<Result<_>>()?;
        Ok(Self { file, archive, members })
    }

    /// The place of the member of this name.
    pub(in crate::input) fn place(&self, name: &str) -> Option<usize> {
        self.members.iter().position(|member| member.name == name)
    }

    /// Reads all of a member and verifies its checksum: hands pieces to `take`.
    pub(in crate::input) fn contents(
        &mut self,
        at: usize,
        control: &Control,
        mut take: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let (file, Member { name, bytes, .. }) = (self.file, self.members[at].clone());
        let damaged = |error: io::Error| match error.raw_os_error() {
            Some(_) => Error::read(&file.path, error),
            None => Error::data(&file.path, format!("the member '{name}' is damaged ({error})"))
                .expected("a complete zip archive")
                .advice("fetch it again"),
        };
        let mut member = self.member(at)?;
        let (mut piece, mut read) = (vec![0; STEP], 0u64);
        loop {
            control.check()?;
            match member.read(&mut piece).map_err(damaged)? {
                0 if read == bytes => return Ok(()),
                0 => return Err(damaged(io::Error::other(format!("{read} bytes instead of {bytes}")))),
                more => {
                    read += more as u64;
                    // What is longer than the archive says may have no end.
                    if read > bytes {
                        return Err(damaged(io::Error::other(format!("more than the {bytes} bytes announced"))));
                    }
                    take(&piece[..more])?;
                }
            }
        }
    }

    /// The first bytes of a member, at most `most`.
    pub(in crate::input) fn head(&mut self, at: usize, most: u64) -> Result<Vec<u8>> {
        let (path, mut head) = (&self.file.path, Vec::new());
        self.member(at)?.take(most).read_to_end(&mut head).map_err(|e| Error::read(path, e))?;
        Ok(head)
    }

    /// Where the contents of a member begin in the file, if they are stored as they are.
    pub(in crate::input) fn stored_at(&mut self, at: usize) -> Result<Option<u64>> {
        let (bytes, all) = (self.members[at].bytes, self.file.bytes);
        let member = self.member(at)?;
        let stored =
            member.compression() == zip::CompressionMethod::Stored && member.compressed_size() == member.size();
        let start = member.data_start().filter(|_| stored);
        Ok(start.filter(|start| start.checked_add(bytes).is_some_and(|end| end <= all)))
    }

    fn member(&mut self, at: usize) -> Result<zip::read::ZipFile<'_, BufReader<Pread<'a>>>> {
        let (file, name) = (self.file, &self.members[at].name);
        let entry = self.archive.by_index_data(at).map_err(|error| wrong(file, error))?;
        let refused = |what: String| {
            Error::data(&file.path, format!("the member '{}' is {what}", shown(Path::new(name))))
                .expected("a member that is stored, deflated or compressed by bzip2")
                .advice("unpack the archive and name the file of the graph")
        };
        if entry.encrypted() {
            return Err(refused("encrypted".into()));
        }
        let method = entry.compression();
        use zip::CompressionMethod as Method;
        if !matches!(method, Method::Stored | Method::Deflated | Method::Bzip2) {
            return Err(refused(format!("compressed by {method}")));
        }
        self.archive.by_index(at).map_err(|error| wrong(file, error))
    }
}

fn wrong(file: &InputFile, error: ZipError) -> Error {
    match error {
        ZipError::Io(error) if error.raw_os_error().is_some() => Error::read(&file.path, error),
        error => Error::data(&file.path, format!("the zip archive is damaged ({error})"))
            .expected("a complete zip archive")
            .advice("fetch it again"),
    }
}
