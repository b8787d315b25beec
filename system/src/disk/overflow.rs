//! Bytes in memory while there is room, else in a file, with checksums.

use std::borrow::Cow;
use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use rustix::fs::FallocateFlags;
use xxhash_rust::xxh3::xxh3_64;

use super::{anonymous, read_back, write_at};
use crate::bytes::Bytes;
use crate::error::{Error, Result};

/// The most bytes of the file with one checksum; they are read together.
const CHECKED: usize = 64 << 10;

/// The memory that one or several [overflows](Overflow) may take.
#[derive(Debug, Default)]
pub struct MemoryLimit {
    most: AtomicU64,
    held: AtomicU64,
}

impl MemoryLimit {
    pub fn new(most: Bytes) -> Self {
        Self { most: most.get().into(), held: AtomicU64::new(0) }
    }

    /// Lowers the limit to `most`; returns whether no more than that is held.
    pub fn lower(&self, most: Bytes) -> bool {
        self.most.store(most.get(), Ordering::Relaxed);
        self.held() <= most
    }

    pub fn held(&self) -> Bytes {
        Bytes(self.held.load(Ordering::Relaxed))
    }

    pub fn most(&self) -> Bytes {
        Bytes(self.most.load(Ordering::Relaxed))
    }

    /// Counts `bytes` more as held, whether they fit or not; returns whether they fit.
    pub fn add(&self, bytes: u64) -> bool {
        self.held.fetch_add(bytes, Ordering::Relaxed) + bytes <= self.most.load(Ordering::Relaxed)
    }

    pub fn release(&self, bytes: u64) {
        self.held.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// A file without a name for what memory does not hold; made when needed, removed on drop.
#[derive(Debug, Default)]
pub struct Overflow {
    dir: PathBuf,
    file: OnceLock<File>,
    end: AtomicU64,
    pub limit: Arc<MemoryLimit>,
}

/// Bytes in memory, or their place in the file of an [`Overflow`].
#[derive(Debug)]
pub enum WaitingBytes {
    Memory(Box<[u8]>),
    File(WrittenBytes),
}

/// The place of bytes in the file, and their checksums: one per [`CHECKED`] bytes, and one for the rest.
#[derive(Debug)]
pub struct WrittenBytes {
    place: Range<u64>,
    checksums: Box<[u64]>,
}

impl WaitingBytes {
    pub fn held(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::File(_) => 0,
        }
    }

    pub fn length(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::File(WrittenBytes { place, .. }) => place.end - place.start,
        }
    }

    pub fn in_file(&self) -> u64 {
        self.length() - self.held()
    }
}

impl Overflow {
    pub fn new(dir: &Path, limit: impl Into<Arc<MemoryLimit>>) -> Self {
        Self { dir: dir.to_path_buf(), file: OnceLock::new(), end: AtomicU64::new(0), limit: limit.into() }
    }

    /// Keeps `bytes` in memory, or, if they exceed the limit, in the file.
    pub fn put(&self, bytes: Vec<u8>) -> Result<WaitingBytes> {
        let length = bytes.len() as u64;
        if self.limit.add(length) {
            return Ok(WaitingBytes::Memory(bytes.into()));
        }
        self.limit.release(length);
        self.write(&bytes)
    }

    pub fn bytes(&self) -> u64 {
        self.end.load(Ordering::Relaxed)
    }

    /// Writes `bytes` to the file; may be called from many threads.
    pub fn write(&self, bytes: &[u8]) -> Result<WaitingBytes> {
        let begin = self.end.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        write_at(self.file()?, &self.dir, bytes, begin)?;
        let checksums = bytes.chunks(CHECKED).map(xxh3_64).collect();
        Ok(WaitingBytes::File(WrittenBytes { place: begin..begin + bytes.len() as u64, checksums }))
    }

    /// A part of the bytes. Errors: also if the file does not hold what was written ([`Error::changed_on_disk`]).
    pub fn read<'a>(&self, waiting: &'a WaitingBytes, part: Range<usize>) -> Result<Cow<'a, [u8]>> {
        match waiting {
            WaitingBytes::Memory(bytes) => Ok(bytes[part].into()),
            WaitingBytes::File(WrittenBytes { place, checksums }) => {
                let first = part.start / CHECKED;
                let (start, length) = (first * CHECKED, (place.end - place.start) as usize);
                let mut bytes = vec![0; part.end.next_multiple_of(CHECKED).min(length) - start];
                read_back(self.file()?, &mut bytes, place.start + start as u64)
                    .map_err(|e| Error::read(&self.dir, e))?;
                if !bytes.chunks(CHECKED).zip(&checksums[first..]).all(|(bytes, &checksum)| xxh3_64(bytes) == checksum)
                {
                    return Err(Error::changed_on_disk(&self.dir));
                }
                bytes.truncate(part.end - start);
                bytes.drain(..part.start - start);
                Ok(bytes.into())
            }
        }
    }

    pub fn read_all<'a>(&self, waiting: &'a WaitingBytes) -> Result<Cow<'a, [u8]>> {
        self.read(waiting, 0..waiting.length() as usize)
    }

    /// All bytes of `waiting`, which the file need not keep afterwards.
    pub fn take(&self, waiting: WaitingBytes) -> Result<Box<[u8]>> {
        match waiting {
            WaitingBytes::Memory(bytes) => Ok(bytes),
            WaitingBytes::File(_) => {
                let bytes = self.read_all(&waiting)?.into_owned();
                self.free(&waiting);
                Ok(bytes.into())
            }
        }
    }

    /// Frees the disk space of the bytes, if the file system can punch holes; they must not be read any more.
    pub fn free(&self, waiting: &WaitingBytes) {
        if let (WaitingBytes::File(WrittenBytes { place, .. }), Some(file)) = (waiting, self.file.get()) {
            let how = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            // Space that cannot be freed now is freed with the file.
            let _ = rustix::fs::fallocate(file, how, place.start, place.end - place.start);
        }
    }

    fn file(&self) -> Result<&File> {
        if self.file.get().is_none() {
            let file = anonymous(&self.dir)?;
            // If another thread was first, this file is removed at once.
            let _ = self.file.set(file);
        }
        self.file.get().ok_or_else(|| Error::defect("a file that was made is missing"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bit_that_changed_in_the_file_is_noticed_by_reads_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        let overflow = Overflow::new(dir.path(), MemoryLimit::default());
        let bytes: Vec<u8> = (0..3 * CHECKED + 100).map(|i| (i * i / 11) as u8).collect();
        // A second write, so that the bytes do not begin at the start of the file.
        let [_, written] = [&bytes[..77], &bytes].map(|bytes| overflow.write(bytes).unwrap());
        let parts =
            [0..bytes.len(), 0..1, CHECKED - 1..CHECKED + 1, CHECKED..2 * CHECKED, 3 * CHECKED..3 * CHECKED + 9, 7..7];
        for part in &parts {
            assert!(*overflow.read(&written, part.clone()).unwrap() == bytes[part.clone()], "{part:?}");
        }
        let changed = CHECKED + 1000;
        write_at(overflow.file().unwrap(), dir.path(), &[bytes[changed] ^ 1], 77 + changed as u64).unwrap();
        for part in parts {
            let beside = part.start < 2 * CHECKED && part.end > CHECKED;
            assert_eq!(overflow.read(&written, part.clone()).is_err(), beside, "{part:?}");
        }
        assert!(overflow.take(written).unwrap_err().to_string().contains("does not hold what was written"));
    }
}
