//! An opened input file, from which every reader starts. All reads are by position ([`super::storage`]), so tasks share one descriptor. What cannot
//! be read twice ([`super::pipe`]), and the plain text of a compressed file that needs more than one pass, are first copied to an anonymous file.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Once};

use rustix::fs::{Mode, OFlags};

use super::compression::{Compression, GzipMembers, not_read};
use super::frames;
use super::hints::{TELLING, in_place_of_a_graph};
use super::parallel::chunks;
use super::pipe::Pipe;
use super::spool::{Spool, plain_at_least};
use super::stat::Stat;
use super::storage::{FilePart, Pread, RemoteBytes, Storage};
use trimill_system::control::{Control, Task};
use trimill_system::{Bytes, Error, Result};

/// The fewest bytes of a gzip file: header, empty block, checksum.
const SMALLEST_PACKED: u64 = 18;

/// The logarithm of the largest window with which zstd decompresses without an option.
pub(super) const WIDEST_ZSTD: u32 = 27;

/// Part of zstd's error for a frame with a larger window than it may use.
const WIDE_WINDOW: &str = "requires too much memory";

/// An open file that is not empty and can be read at any position.
#[derive(Debug, Clone)]
pub(super) struct InputFile {
    pub(super) path: PathBuf,
    /// Its name in the archive that it was unpacked from.
    pub(super) member: Option<PathBuf>,
    pub(super) file: Storage,
    pub(super) bytes: u64,
    pub(super) compression: Option<Compression>,
    /// The logarithm of the largest window that its zstd frames may need.
    pub(super) zstd_window: u32,
    /// Whether it was copied from standard input or a pipe, so that no path leads to these bytes.
    pub(super) spooled: bool,
}

impl InputFile {
    /// Opens the file at `path`; a pipe is returned as it is.
    pub(super) fn open(path: &Path) -> Result<std::result::Result<Self, Pipe>> {
        // Opening a pipe without a writer would block, and could not be stopped.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let opened = rustix::fs::open(path, flags, Mode::empty()).map(File::from).map_err(io::Error::from);
        let file = opened.map_err(|e| match e.kind() {
            io::ErrorKind::NotFound => Error::missing(path).advice("check the path"),
            _ => Error::read(path, e),
        })?;
        let metadata = file.metadata().map_err(|e| Error::read(path, e))?;
        if metadata.is_dir() {
            return Err(Error::data(path, "is a directory").expected("a file that holds a graph"));
        }
        if metadata.is_file() {
            Self::stored(path, Storage::Local(file.into()), false).map(Ok)
        } else {
            Ok(Err(Pipe::new(path, file)))
        }
    }

    pub(super) fn copied(mut pipe: Pipe, work_dir: &Path, control: &Control) -> Result<Self> {
        // If it is a regular file, other programs may write to it meanwhile.
        let look = |pipe: &Pipe| {
            let found = pipe.file.metadata().map_err(|e| Error::read(&pipe.path, e))?;
            Ok::<_, Error>(found.is_file().then(|| Stat::of(&found)))
        };
        let before = look(&pipe)?;
        let path = pipe.path.clone();
        let mut spool = Spool::new("a copy", &path, work_dir, 0)?;
        let mut buffer = vec![0; 1 << 20];
        loop {
            let read = pipe.fill(&mut buffer, control)?;
            if read == 0 {
                break;
            }
            spool.write(&buffer[..read])?;
        }
        let input = Self::stored(&path, spool.finish()?, true)?;
        if let Some((before, now)) = before.zip(look(&pipe)?) {
            before.unchanged(&now, &path)?;
        }
        Ok(input)
    }

    pub(super) fn remote(object: Arc<dyn RemoteBytes>) -> Result<Self> {
        let path = object.name().to_path_buf();
        Self::stored(&path, Storage::Remote(object), false)
    }

    fn stored(path: &Path, file: Storage, spooled: bool) -> Result<Self> {
        let bytes = file.length().map_err(|e| Error::read(path, e))?;
        if bytes == 0 {
            return Err(Error::data(path, "is empty").expected("a file that holds a graph"));
        }
        let (member, compression, zstd_window) = (None, None, WIDEST_ZSTD);
        let mut input = Self { path: path.to_path_buf(), member, file, bytes, compression, zstd_window, spooled };
        let head = input.raw_head(TELLING)?;
        if let Some(error) = in_place_of_a_graph(&head).or_else(|| not_read(&head, Some(path))) {
            return Err(error.at(path));
        }
        input.compression = Compression::of(&head);
        Ok(input)
    }

    pub(super) fn member(&self, name: &str, file: Storage) -> Result<Self> {
        let path = PathBuf::from(format!("{}: {name}", self.path.display()));
        Ok(Self { member: Some(PathBuf::from(name)), ..Self::stored(&path, file, self.spooled)? })
    }

    pub(super) fn name(&self) -> &Path {
        self.member.as_deref().unwrap_or(&self.path)
    }

    /// This file if it is plain, else its plain text in an anonymous file in `work_dir`.
    pub(super) fn decompressed(self, work_dir: &Path, control: &Control) -> Result<Self> {
        let Some(compression) = self.compression else { return Ok(self) };
        let at_least = plain_at_least(&self.file, compression);
        let mut spool = Spool::new("the plain text", &self.path, work_dir, at_least)?;
        spool.copy(self.stream(None)?, control, |e| self.damaged(e))?;
        let file = spool.finish()?;
        // A file that was compressed twice is not decompressed again; no format begins like that, so it is refused.
        Ok(Self { compression: None, member: self.member, ..Self::stored(&self.path, file, self.spooled)? })
    }

    /// The error for a file that was compressed twice: its decompressed `head` begins like a compressed file.
    pub(super) fn packed_twice(&self, head: &[u8]) -> Option<Error> {
        let (name, _) = self.compression.filter(|_| Compression::of(head).is_some())?.names();
        Some(
            Error::data(&self.path, "is compressed twice")
                .expected("a plain file, or one that was compressed once")
                .advice(format!("decompress it: {name} -dc FILE | trimill count -")),
        )
    }

    /// Refuses a file that was compressed twice, if its name says so; others are refused by their readers.
    pub(super) fn packed_once(self) -> Result<Self> {
        let is_named = Compression::is_named(&self.name().with_extension("").to_string_lossy());
        match self.compression.filter(|_| is_named).map(|_| self.readable_head(TELLING)).transpose()? {
            Some(head) => self.packed_twice(&head).map_or(Ok(self), Err),
            None => Ok(self),
        }
    }

    /// Tells a compressed file from raw numbers that begin like one: its name says so, or it can be decoded.
    pub(super) fn is_packed(&self) -> Result<bool> {
        if self.compression.is_none() || Compression::is_named(&self.name().to_string_lossy()) {
            return Ok(self.compression.is_some());
        }
        let wide = Self { zstd_window: WIDEST_ZSTD, ..self.clone() };
        let decoded = wide.stream(None)?.take(1 << 16).read_to_end(&mut Vec::new());
        Ok(self.bytes >= SMALLEST_PACKED && decoded.map_or_else(|e| e.kind() == io::ErrorKind::UnexpectedEof, |_| true))
    }

    /// As [`Self::decompressed`], for formats of raw numbers.
    pub(super) fn unpacked(self, work_dir: &Path, control: &Control) -> Result<Self> {
        if self.is_packed()? {
            return self.decompressed(work_dir, control);
        }
        // Text shows by itself that it is not compressed; raw numbers do not, and the first bytes may be damaged.
        if Compression::is_named(&self.name().to_string_lossy()) {
            return Err(Error::data(&self.path, "has the suffix of a compressed file and does not begin like one")
                .expected("raw numbers that are compressed as the suffix says")
                .advice("fetch the file again; if it is not compressed, rename it"));
        }
        Ok(Self { compression: None, ..self })
    }

    /// At most `most` bytes from the beginning, as stored on disk.
    pub(super) fn raw_head(&self, most: u64) -> Result<Vec<u8>> {
        let mut head = Vec::new();
        Pread::new(&self.file, 0, None).take(most).read_to_end(&mut head).map_err(|e| Error::read(&self.path, e))?;
        Ok(head)
    }

    /// At most `most` bytes from the beginning, after decompression.
    pub(super) fn head(&self, most: u64) -> Result<Vec<u8>> {
        let mut head = Vec::new();
        self.stream(None)?.take(most).read_to_end(&mut head).map_err(|e| self.damaged(e))?;
        Ok(head)
    }

    /// As [`Self::head`], but of a damaged stream it returns what comes before the damage, which is reported when all of it is read.
    pub(super) fn readable_head(&self, most: u64) -> Result<Vec<u8>> {
        let mut head = Vec::new();
        match self.stream(None)?.take(most).read_to_end(&mut head) {
            Err(error) if is_read_error(&error) => Err(self.damaged(error)),
            _ => Ok(head),
        }
    }

    /// All bytes, decompressed; `task` advances by the bytes read from disk.
    pub(super) fn stream<'a>(&'a self, task: Option<&'a Task>) -> Result<Box<dyn BufRead + 'a>> {
        let raw = BufReader::with_capacity(1 << 18, Pread::new(&self.file, 0, task));
        Ok(match self.compression {
            None => Box::new(raw),
            Some(Compression::Gzip) => Box::new(BufReader::with_capacity(1 << 18, GzipMembers::new(raw))),
            Some(Compression::Zstd) => {
                let decoder = frames::decoder(raw, self.zstd_window).map_err(|e| Error::read(&self.path, e))?;
                Box::new(BufReader::with_capacity(1 << 18, decoder))
            }
            Some(Compression::Bzip2) => {
                Box::new(BufReader::with_capacity(1 << 18, bzip2::bufread::MultiBzDecoder::new(raw)))
            }
        })
    }

    pub(super) fn damaged(&self, error: io::Error) -> Error {
        let Some((name, suffix)) = self.compression.map(Compression::names).filter(|_| !wraps_own_error(&error)) else {
            return Error::read(&self.path, error);
        };
        if error.to_string().contains(WIDE_WINDOW) && self.zstd_window < WIDEST_ZSTD {
            let there = 1u64 << self.zstd_window;
            let needed = self.raw_head(6).ok().and_then(|head| frames::window(&head)).filter(|&needed| needed > there);
            let needed =
                needed.map_or_else(|| format!("more than {}", Bytes(there)), |needed| Bytes(needed).to_string());
            return Error::memory(format!("the zstd stream needs a window of {needed}"))
                .at(&self.path)
                .expected(format!("at most {}, which the host's budget has for it", Bytes(there)))
                .advice("raise --host-memory, or decompress it: zstd -dc --long=31 FILE | trimill count -");
        }
        if error.to_string().contains(WIDE_WINDOW) {
            return Error::data(&self.path, "the zstd stream needs a window of more than 128 MiB")
                .expected("a window that zstd decompresses without an option")
                .advice("decompress it: zstd -dc --long=31 FILE | trimill count -");
        }
        let found = if error.kind() == io::ErrorKind::UnexpectedEof {
            format!("the {name} stream is truncated: it ends in the middle")
        } else {
            format!("the {name} stream is damaged ({error})")
        };
        Error::data(&self.path, found).expected(format!("a complete {suffix} file")).advice("fetch the file again")
    }

    /// The most lines with an arc: each takes 4 bytes or more, in compressed text more than 1 (3 to 5 in the graphs measured so far).
    pub(super) fn lines_at_most(&self) -> u64 {
        if self.compression.is_some() { self.bytes } else { self.bytes.div_ceil(4) }
    }

    pub(super) fn read_exact_at(&self, into: &mut [u8], at: u64) -> Result<()> {
        self.file.read_exact_at(into, at).map_err(|e| Error::read(&self.path, e))
    }

    pub(super) fn window(&self, start: u64, end: u64) -> Result<FilePart> {
        self.file.part(&self.path, start..end.min(self.bytes))
    }

    /// Warns, `once`, if 4,096 arcs of `record` bytes or more, and 1/16 of the file, are zeros at its end: space that was never written.
    pub(super) fn note_zeros(&self, record: u64, once: &Once) -> Result<()> {
        let is_zero = |range: Range<u64>| -> Result<bool> {
            Ok(self.window(range.start, range.end)?.iter().all(|&byte| byte == 0))
        };
        let tail = (self.bytes / 16).max(record << 12);
        if tail > self.bytes || !is_zero(self.bytes - 64..self.bytes)? {
            return Ok(());
        }
        for part in chunks(self.bytes - tail..self.bytes, 8 << 20) {
            if !is_zero(part)? {
                return Ok(());
            }
        }
        once.call_once(|| {
            let (path, arcs) = (self.path.display(), tail / record);
            tracing::warn!("{path}: the last {arcs} arcs, or more, are zeros: is the file whole?");
        });
        Ok(())
    }

    /// The 1-based line of byte `at` of a plain file. Reads all before it: for errors only.
    pub(super) fn line_of(&self, at: u64) -> Result<u64> {
        let mut line = 1;
        for part in chunks(0..at, 8 << 20) {
            line += memchr::memchr_iter(b'\n', &self.window(part.start, part.end)?).count() as u64;
        }
        Ok(line)
    }

    pub(super) fn locate(&self, error: Error, at: u64) -> Error {
        match self.line_of(at) {
            Ok(line) => error.at(&self.path).at_line(line),
            Err(_) => error.at(&self.path),
        }
    }
}

pub(super) fn is_read_error(error: &io::Error) -> bool {
    error.raw_os_error().is_some() || wraps_own_error(error)
}

/// Whether the error is one of this program (a server failed, the job was stopped), to be reported unchanged.
fn wraps_own_error(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<Error>())
}
