//! The members of a zip archive. Input: a file with a central directory. Output: names, sizes and contents, with verified checksums. Members are
//! stored, deflated, or compressed by bzip2. On a server only the directory and the wanted members are fetched. Memory: some 400 bytes per member.

use std::collections::HashSet;
use std::fmt::Display;
use std::io::{self, BufReader, Read};
use std::path::Path;

use bzip2::bufread::BzDecoder;
use flate2::Crc;
use flate2::bufread::DeflateDecoder;
use rawzip::{
    CompressionMethod, ErrorKind, MAX_CENTRAL_DIRECTORY_RECORD_SIZE, ReaderAt, ZipArchive, ZipArchiveEntryWayfinder,
    ZipEntry, ZipFileHeaderRecord, ZipLocator,
};

use super::member::Member;
use super::{MOST_MEMBERS, too_many};
use crate::file::{InputFile, is_read_error};
use crate::storage::Pread;
use trimill_system::text::shown;
use trimill_system::{Control, Error, Result};

/// The most that a member may grow (size / compressed size). bzip2 reaches about a million, deflate a thousand.
const MOST_GROWTH: u64 = 1 << 21;

/// Bytes read between two checks for a stop request.
const STEP: usize = 1 << 20;

/// The bits of a Unix mode that have the type of a file, and their value for folders.
const TYPE_BITS: u32 = 0o170_000;
const FOLDER: u32 = 0o040_000;

impl ReaderAt for InputFile {
    fn read_at(&self, into: &mut [u8], at: u64) -> io::Result<usize> {
        // The offset in a damaged archive may be larger than the system accepts.
        if at >= self.bytes {
            return Ok(0);
        }
        let read = into.len().min((self.bytes - at) as usize);
        self.file.read_exact_at(&mut into[..read], at).map(|()| read)
    }
}

struct DirectoryEntry {
    entry: ZipArchiveEntryWayfinder,
    method: CompressionMethod,
    encrypted: bool,
    checksum: u32,
}

pub(crate) struct Zip<'a> {
    file: &'a InputFile,
    archive: ZipArchive<&'a InputFile>,
    pub(crate) members: Vec<Member>,
    entries: Vec<DirectoryEntry>,
}

impl<'a> Zip<'a> {
    pub(crate) fn open(file: &'a InputFile) -> Result<Self> {
        let mut buffer = vec![0; MAX_CENTRAL_DIRECTORY_RECORD_SIZE];
        let archive = ZipLocator::new()
            .locate_in_reader(file, &mut buffer, file.bytes)
            .map_err(|(_, error)| wrong(file, error))?;
        let (mut members, mut entries, mut first) = (Vec::new(), Vec::new(), u64::MAX);
        let mut names = HashSet::new();
        let mut listed = archive.entries(&mut buffer);
        while let Some(entry) = listed.next_entry().map_err(|error| wrong(file, error))? {
            if members.len() == MOST_MEMBERS {
                return Err(too_many(file));
            }
            let member = member(&entry);
            // As stored: what is shown may lack bytes that are not UTF-8.
            if !names.insert(entry.file_path().as_bytes().to_vec()) {
                let found = format!("two members of the name '{}'", shown(Path::new(&member.name)));
                return Err(Error::data(&file.path, found)
                    .expected("members with different names")
                    .advice("unpack the archive and name the file of the graph"));
            }
            let (bytes, stored) = (member.bytes, entry.compressed_size_hint());
            if bytes > stored.saturating_mul(MOST_GROWTH).saturating_add(1 << 10) {
                let found = format!("{bytes} bytes of '{}' from {stored}", shown(Path::new(&member.name)));
                return Err(Error::data(&file.path, found)
                    .expected("a size that compression can lead to")
                    .advice("the archive is damaged: fetch it again"));
            }
            members.push(member);
            first = first.min(entry.local_header_offset());
            entries.push(DirectoryEntry {
                entry: entry.wayfinder(),
                method: entry.compression_method(),
                encrypted: entry.flags().is_encrypted(),
                checksum: entry.crc32(),
            });
        }
        // Without zip64 the number of members has 16 bits, and some programs let it wrap around.
        let (found, said) = (members.len() as u64, archive.entries_hint());
        if found != said && found % (1 << 16) != said {
            return Err(damaged(file, format!("a list of {found} members instead of {said}")));
        }
        // If archives were joined, only the last directory is at the end. Without zip64, offsets have 32 bits and may wrap around.
        if !members.is_empty() && !first.is_multiple_of(1 << 32) {
            return Err(damaged(file, format!("{first} bytes before the first member that is listed"))
                .advice("if archives were joined, name them one by one; else fetch it again"));
        }
        Ok(Self { file, archive, members, entries })
    }

    pub(crate) fn place(&self, name: &str) -> Option<usize> {
        self.members.iter().position(|member| member.name == name)
    }

    /// Passes a member's contents to `take` in chunks, and verifies its checksum.
    pub(crate) fn contents(
        &self,
        at: usize,
        control: &Control,
        mut take: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let (bytes, expected) = (self.members[at].bytes, self.entries[at].checksum);
        let mut member = self.reader(at)?;
        let (mut chunk, mut read, mut checksum) = (vec![0; STEP], 0u64, Crc::new());
        loop {
            control.check()?;
            match member.read(&mut chunk).map_err(|error| self.unreadable(at, error))? {
                0 if read != bytes => return Err(self.damaged(at, format!("{read} bytes instead of {bytes}"))),
                0 if checksum.sum() != expected => return Err(self.damaged(at, "its checksum differs")),
                0 => return Ok(()),
                more => {
                    read += more as u64;
                    // A member that is longer than announced may have no end.
                    if read > bytes {
                        return Err(self.damaged(at, format!("more than the {bytes} bytes announced")));
                    }
                    checksum.update(&chunk[..more]);
                    take(&chunk[..more])?;
                }
            }
        }
    }

    pub(crate) fn head(&self, at: usize, most: u64) -> Result<Vec<u8>> {
        let mut head = Vec::new();
        self.reader(at)?.take(most).read_to_end(&mut head).map_err(|error| self.unreadable(at, error))?;
        Ok(head)
    }

    /// Where a member's contents begin in the file, if they are stored uncompressed.
    pub(crate) fn stored_at(&self, at: usize) -> Result<Option<u64>> {
        let (start, end) = self.entry(at)?.compressed_data_range();
        let stored = self.entries[at].method == CompressionMethod::STORE && end - start == self.members[at].bytes;
        Ok((stored && end <= self.file.bytes).then_some(start))
    }

    fn reader(&self, at: usize) -> Result<Box<dyn Read + '_>> {
        let (start, end) = self.entry(at)?.compressed_data_range();
        // A damaged archive may place a member beyond its own end.
        let end = end.min(self.file.bytes);
        let stored = BufReader::with_capacity(1 << 16, Pread::part(&self.file.file, start.min(end)..end));
        match self.entries[at].method {
            CompressionMethod::STORE => Ok(Box::new(stored)),
            CompressionMethod::DEFLATE => Ok(Box::new(DeflateDecoder::new(stored))),
            CompressionMethod::BZIP2 => Ok(Box::new(BzDecoder::new(stored))),
            method => Err(self.refused(at, &format!("compressed by the method {method}"))),
        }
    }

    fn entry(&self, at: usize) -> Result<ZipEntry<'_, &'a InputFile>> {
        if self.entries[at].encrypted {
            return Err(self.refused(at, "encrypted"));
        }
        self.archive.get_entry(self.entries[at].entry).map_err(|error| wrong(self.file, error))
    }

    fn refused(&self, at: usize, what: &str) -> Error {
        Error::data(&self.file.path, format!("the member '{}' is {what}", self.shown(at)))
            .expected("a member that is stored, deflated or compressed by bzip2")
            .advice("unpack the archive and name the file of the graph")
    }

    fn unreadable(&self, at: usize, error: io::Error) -> Error {
        if is_read_error(&error) { Error::read(&self.file.path, error) } else { self.damaged(at, error) }
    }

    fn damaged(&self, at: usize, what: impl Display) -> Error {
        Error::data(&self.file.path, format!("the member '{}' is damaged ({what})", self.shown(at)))
            .expected("a complete zip archive")
            .advice("fetch it again")
    }

    fn shown(&self, at: usize) -> String {
        shown(Path::new(&self.members[at].name))
    }
}

fn member(entry: &ZipFileHeaderRecord<'_>) -> Member {
    let stored = entry.file_path().as_bytes();
    // Some programs for Windows write `\` after folders. In encodings other than UTF-8 that byte may be part of a letter.
    let lossy = |_| String::from_utf8_lossy(stored).into_owned();
    let name = std::str::from_utf8(stored).map_or_else(lossy, |name| name.replace('\\', "/"));
    let folder = name.ends_with('/') || entry.mode().value() & TYPE_BITS == FOLDER;
    // A member that was archived from a pipe counts as a plain file.
    Member { name, bytes: entry.uncompressed_size_hint(), plain: !folder && !entry.mode().is_symlink() }
}

fn wrong(file: &InputFile, error: rawzip::Error) -> Error {
    match error.into_kind() {
        ErrorKind::IO(error) if is_read_error(&error) => Error::read(&file.path, error),
        kind => damaged(file, kind),
    }
}

fn damaged(file: &InputFile, what: impl Display) -> Error {
    Error::data(&file.path, format!("the zip archive is damaged ({what})"))
        .expected("a complete zip archive")
        .advice("fetch it again")
}
