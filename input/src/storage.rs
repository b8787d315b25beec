//! The bytes of an input, read by position, from many threads. A part of a file is mapped; one of a remote object is fetched to memory, never to
//! disk; one of a copy on disk is read to memory, where its checksums are compared.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::ops::{Deref, Range};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::spooled::SpooledBytes;
use trimill_system::control::{Control, Task};
use trimill_system::mapped::MappedPart;
use trimill_system::{Error, Result, disk};

/// An object on a server. Any range can be fetched; a fetch fails if the object has changed since the first one.
pub(super) trait RemoteBytes: fmt::Debug + Send + Sync {
    /// Its URL, without credentials.
    fn name(&self) -> &Path;

    fn bytes(&self) -> u64;

    /// A number that stays the same while the contents do; `None` if the server sends no strong ETag.
    fn tag(&self) -> Option<u128>;

    fn fetch(&self, range: Range<u64>) -> io::Result<Vec<u8>>;

    fn forward(&self, range: Range<u64>, order: ReadOrder) -> Box<dyn ForwardReader>;
}

/// An input's name, and the opened object if it is a URL.
pub(super) struct NamedInput {
    pub(super) path: PathBuf,
    pub(super) object: Option<Arc<dyn RemoteBytes>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadOrder {
    /// In order, perhaps only the beginning.
    Stream,
    /// All of it, some bytes twice: a page's header is read before the page.
    #[cfg_attr(not(feature = "parquet"), allow(dead_code))]
    Pages,
}

pub(super) trait ForwardReader: Send {
    /// Reads some bytes at `at`; 0 at the end.
    fn read_at(&mut self, into: &mut [u8], at: u64) -> io::Result<usize>;

    #[cfg_attr(not(feature = "parquet"), allow(dead_code))]
    fn read_exact_at(&mut self, mut into: &mut [u8], mut at: u64) -> io::Result<()> {
        while !into.is_empty() {
            let read = self.read_at(into, at)?;
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            at += read as u64;
            into = &mut into[read..];
        }
        Ok(())
    }
}

#[derive(Debug, Clone)]
pub(super) enum Storage {
    Local(Arc<File>),
    Spooled(Arc<SpooledBytes>),
    Remote(Arc<dyn RemoteBytes>),
}

pub(super) enum FilePart {
    Mapped(MappedPart),
    Fetched(Vec<u8>),
}

impl Storage {
    pub(super) fn length(&self) -> io::Result<u64> {
        match self {
            Self::Local(file) => Ok(file.metadata()?.len()),
            Self::Spooled(copy) => Ok(copy.bytes),
            Self::Remote(object) => Ok(object.bytes()),
        }
    }

    pub(super) fn is_remote(&self) -> bool {
        matches!(self, Self::Remote(_))
    }

    pub(super) fn read_exact_at(&self, into: &mut [u8], at: u64) -> io::Result<()> {
        match self {
            Self::Local(file) => disk::read_at(file, into, at),
            Self::Spooled(copy) => copy.read_exact_at(into, at),
            Self::Remote(object) => {
                let end = at.checked_add(into.len() as u64).filter(|&end| end <= object.bytes());
                into.copy_from_slice(&object.fetch(at..end.ok_or(io::ErrorKind::UnexpectedEof)?)?);
                Ok(())
            }
        }
    }

    pub(super) fn forward(&self, range: Range<u64>, order: ReadOrder) -> Option<Box<dyn ForwardReader>> {
        match self {
            Self::Local(_) | Self::Spooled(_) => None,
            Self::Remote(object) => Some(object.forward(range, order)),
        }
    }

    /// A range of the bytes, all of which must be there. `path` is for errors.
    pub(super) fn part(&self, path: &Path, range: Range<u64>) -> Result<FilePart> {
        let fetched = match self {
            Self::Local(file) => return MappedPart::new(file, path, range).map(FilePart::Mapped),
            Self::Spooled(copy) => copy.range(range),
            Self::Remote(object) => object.fetch(range),
        };
        fetched.map(FilePart::Fetched).map_err(|error| Error::read(path, error))
    }
}

impl FilePart {
    pub(super) fn populate(&self, control: &Control) -> Result<()> {
        match self {
            Self::Mapped(part) => part.populate(control),
            Self::Fetched(_) => Ok(()),
        }
    }
}

impl Deref for FilePart {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(part) => part,
            Self::Fetched(bytes) => bytes,
        }
    }
}

pub(super) struct Pread<'a> {
    file: &'a Storage,
    pub(super) at: u64,
    task: Option<&'a Task>,
    forward: Option<Box<dyn ForwardReader>>,
}

impl<'a> Pread<'a> {
    pub(super) fn new(file: &'a Storage, at: u64, task: Option<&'a Task>) -> Self {
        Self { file, at, task, forward: file.forward(at..u64::MAX, ReadOrder::Stream) }
    }

    pub(super) fn part(file: &'a Storage, range: Range<u64>) -> io::Take<Self> {
        let length = range.end - range.start;
        Self { file, at: range.start, task: None, forward: file.forward(range, ReadOrder::Stream) }.take(length)
    }
}

impl Read for Pread<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = match (self.file, &mut self.forward) {
            (_, Some(forward)) => forward.read_at(buffer, self.at)?,
            (Storage::Local(file), None) => {
                disk::before_read()?;
                file.read_at(buffer, self.at)?
            }
            (Storage::Spooled(copy), None) => copy.read_at(buffer, self.at)?,
            (Storage::Remote(_), None) => 0,
        };
        self.at += read as u64;
        if let Some(task) = self.task {
            task.advance(read as u64);
        }
        Ok(read)
    }
}
