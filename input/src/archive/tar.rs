//! The members of a tar archive, one after another. Input: the plain bytes of an archive, in order. Output: names, sizes and contents. Reads ustar,
//! GNU and pax, with names and sizes from extension headers. Checks each header's checksum and the end mark, so a truncated archive is noticed. An
//! archive is read to the end, so that a second one behind it is noticed. Memory: a header, and an extension of at most [`MOST_EXTENSION`] bytes.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::io::{BufRead, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use tar::{EntryType, Header};

use super::member::Member;
use crate::file::InputFile;
use crate::graphar::places::without_dots;
use trimill_system::text::shown;
use trimill_system::{Control, Error, Result};

/// Headers and contents begin at multiples of this many bytes.
pub(super) const BLOCK: usize = 512;

/// The most bytes of a pax header or a long name; usual ones have some hundred.
const MOST_EXTENSION: u64 = 1 << 16;

/// Whether a block is a header: one in 10^8 has the right checksum by chance, so the magic or the name of the file must agree, too.
pub(super) fn is_header(block: &[u8], named: bool) -> bool {
    block.get(..BLOCK).is_some_and(|block| (named || block[257..].starts_with(b"ustar")) && has_checksum(block))
}

/// `block` must have [`BLOCK`] bytes.
fn has_checksum(block: &[u8]) -> bool {
    // The bytes of the checksum itself count as blanks.
    let sum = |bytes: &[u8]| bytes.iter().map(|&byte| u32::from(byte)).sum::<u32>();
    let header = Header::from_byte_slice(block);
    header.cksum().is_ok_and(|found| found == sum(&block[..148]) + 8 * u32::from(b' ') + sum(&block[156..]))
}

pub(super) struct TarMembers<'a> {
    file: &'a InputFile,
    stream: Box<dyn BufRead + 'a>,
    control: &'a Control,
    contents: u64,
    padding: u64,
}

#[derive(Default)]
struct Extension {
    name: Option<Vec<u8>>,
    target: Option<Vec<u8>>,
    bytes: Option<u64>,
    sparse: bool,
}

impl<'a> TarMembers<'a> {
    pub(super) fn new(file: &'a InputFile, control: &'a Control) -> Result<Self> {
        Ok(Self { file, stream: file.stream(None)?, control, contents: 0, padding: 0 })
    }

    /// The next member, with its path as stored: its name may lack bytes that are not UTF-8. At the end (`None`) the rest is read, too, so that
    /// the checksum of a compressed archive is verified.
    pub(super) fn next(&mut self) -> Result<Option<(PathBuf, Member)>> {
        let path_of = |name: &[u8]| without_dots(Path::new(OsStr::from_bytes(name)));
        let mut extension = Extension::default();
        loop {
            self.contents += self.padding;
            self.contents(|_| Ok(()))?;
            let block = self.take(BLOCK as u64)?;
            if block.iter().all(|&byte| byte == 0) {
                self.finish()?;
                return Ok(None);
            }
            if !has_checksum(&block) {
                return Err(self.wrong("a header with a wrong checksum"));
            }
            let header = Header::from_byte_slice(&block);
            let bytes = header.entry_size().map_err(|_| self.wrong("a header with a size that is no number"))?;
            self.begin_contents(bytes)?;
            match header.entry_type() {
                EntryType::XGlobalHeader => {}
                EntryType::XHeader => {
                    let records = self.extension(bytes)?;
                    read_pax(&records, &mut extension).ok_or_else(|| self.wrong("a damaged pax header"))?;
                }
                kind @ (EntryType::GNULongName | EntryType::GNULongLink) => {
                    let mut name = self.extension(bytes)?;
                    name.truncate(name.iter().position(|&byte| byte == 0).unwrap_or(name.len()));
                    let is_target = kind == EntryType::GNULongLink;
                    let field = if is_target { &mut extension.target } else { &mut extension.name };
                    *field = Some(name);
                }
                kind => {
                    self.begin_contents(match kind {
                        // Some programs write the size of the file that is linked to; only after a pax header with a size there are contents.
                        EntryType::Link => extension.bytes.unwrap_or(0),
                        EntryType::Symlink
                        | EntryType::Char
                        | EntryType::Block
                        | EntryType::Directory
                        | EntryType::Fifo => 0,
                        _ => extension.bytes.unwrap_or(bytes),
                    })?;
                    let stored = extension.name.unwrap_or_else(|| header.path_bytes().into_owned());
                    let target = extension.target.or_else(|| header.link_name_bytes().map(Cow::into_owned));
                    let path = path_of(&stored);
                    // A file that was packed twice is a link to itself.
                    if kind == EntryType::Link && target.is_some_and(|target| path_of(&target) == path) {
                        extension = Extension::default();
                        continue;
                    }
                    let name = path.to_string_lossy().into_owned();
                    if extension.sparse || kind == EntryType::GNUSparse {
                        let found = format!("'{}' is stored as a sparse file", shown(Path::new(&name)));
                        return Err(Error::data(&self.file.path, found)
                            .expected("members with all their bytes")
                            .advice("pack it again without --sparse, or unpack it and name the file of the graph"));
                    }
                    let plain = matches!(kind, EntryType::Regular | EntryType::Continuous) && !stored.ends_with(b"/");
                    return Ok(Some((path, Member { name, bytes: self.contents, plain })));
                }
            }
        }
    }

    pub(super) fn contents(&mut self, mut take: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        while self.contents > 0 {
            self.control.check()?;
            let chunk = self.stream.fill_buf().map_err(|e| self.file.damaged(e))?;
            let read = chunk.len().min(usize::try_from(self.contents).unwrap_or(usize::MAX));
            if read == 0 {
                return Err(self.cut());
            }
            take(&chunk[..read])?;
            self.stream.consume(read);
            self.contents -= read as u64;
        }
        Ok(())
    }

    fn begin_contents(&mut self, bytes: u64) -> Result<()> {
        let padded = bytes.checked_next_multiple_of(BLOCK as u64);
        let padded = padded.ok_or_else(|| self.wrong("a header with a size above 2^64"))?;
        (self.contents, self.padding) = (bytes, padded - bytes);
        Ok(())
    }

    fn extension(&mut self, bytes: u64) -> Result<Vec<u8>> {
        if bytes > MOST_EXTENSION {
            let error = self.wrong(&format!("an extension header of {bytes} bytes"));
            return Err(error.expected(format!("at most {MOST_EXTENSION}")));
        }
        self.contents = 0;
        self.take(bytes)
    }

    fn take(&mut self, bytes: u64) -> Result<Vec<u8>> {
        let mut read = Vec::with_capacity(bytes as usize);
        self.stream.by_ref().take(bytes).read_to_end(&mut read).map_err(|e| self.file.damaged(e))?;
        if (read.len() as u64) < bytes { Err(self.cut()) } else { Ok(read) }
    }

    /// Reads what follows the end mark: padding, some KiB of zeros at most.
    fn finish(&mut self) -> Result<()> {
        loop {
            self.control.check()?;
            let rest = self.stream.fill_buf().map_err(|e| self.file.damaged(e))?;
            if rest.is_empty() {
                return Ok(());
            }
            if rest.iter().any(|&byte| byte != 0) {
                let found = "bytes after the end of the tar archive, as if another one followed";
                return Err(Error::data(&self.file.path, found)
                    .expected("one archive")
                    .advice("unpack all of them, by tar --ignore-zeros -xf FILE, and name the file of the graph"));
            }
            let rest = rest.len();
            self.stream.consume(rest);
        }
    }

    fn cut(&self) -> Error {
        self.wrong("it ends before the mark of its end").advice("it was cut: fetch it again")
    }

    fn wrong(&self, found: &str) -> Error {
        Error::data(&self.file.path, format!("the tar archive is damaged: {found}"))
            .expected("a complete tar archive")
            .advice("fetch it again")
    }
}

/// Reads the records `LENGTH KEY=VALUE` of a pax header; `None` if they are damaged.
fn read_pax(mut records: &[u8], extension: &mut Extension) -> Option<()> {
    // Some writers pad with zeros.
    while records.first().is_some_and(|&byte| byte != 0) {
        let blank = memchr::memchr(b' ', records)?;
        let length: usize = std::str::from_utf8(&records[..blank]).ok()?.parse().ok()?;
        let record = records.get(blank + 1..length)?.strip_suffix(b"\n")?;
        let (key, value) = record.split_at(memchr::memchr(b'=', record)?);
        match key {
            b"path" => extension.name = Some(value[1..].to_vec()),
            b"linkpath" => extension.target = Some(value[1..].to_vec()),
            b"size" => extension.bytes = Some(std::str::from_utf8(&value[1..]).ok()?.parse().ok()?),
            _ => extension.sparse |= key.starts_with(b"GNU.sparse."),
        }
        records = &records[length..];
    }
    Some(())
}
