//! Counts of one partition, kept in a run directory: a header, and records of compressed counts.
//!
//! All integers are little-endian, a checksum is the XXH3 hash of 64 bits, seed 0. The header: magic (8 bytes), version (u32), number
//! of the partition (u32), fingerprint of the job (u128), the size of the graph as the kind of file has it, records (u32), and the
//! checksum of all this (u64). A record: its key, as the kind of file has it; the length of the frame (u32); a zstd frame; the checksum of
//! all this (u64).
//!
//! The file is written before the partition's result is recorded; the partition is counted again where it is missing or damaged.
//! Lengths are checked against the limits of the kind before memory is taken for them.

use std::fs::File;
use std::path::{Path, PathBuf};

use bytemuck::{Pod, cast_slice_mut};
use xxhash_rust::xxh3::xxh3_64;

use trimill_system::bytes::Bytes;
use trimill_system::disk::{self, NewFile, PRIVATE};
use trimill_system::error::{Error, Result};
use trimill_system::parallel;

/// Records that are compressed at a time, for each thread.
const AT_A_TIME: usize = 4;

/// Bytes of a number of records, and of the length of a frame.
const NUMBER: usize = 4;

/// Bytes of a checksum.
const CHECKSUM: usize = 8;

/// A kind of these files.
#[derive(Debug)]
pub(crate) struct PartFileKind {
    pub(crate) magic: &'static [u8; 8],
    pub(crate) version: u32,
    pub(crate) suffix: &'static str,
    /// The most bytes of a frame: of incompressible counts.
    pub(crate) longest_frame: u32,
}

/// What a file belongs to.
#[derive(Debug, Clone)]
pub(crate) struct Owner {
    pub(crate) kind: &'static PartFileKind,
    pub(crate) fingerprint: u128,
    pub(crate) part: u32,
    /// The size of the graph, little-endian.
    pub(crate) size: Vec<u8>,
}

impl Owner {
    pub(crate) fn path(&self, dir: &Path) -> PathBuf {
        dir.join(format!("part-{:05}.{}", self.part, self.kind.suffix))
    }

    fn header(&self, records: u32) -> Vec<u8> {
        let mut header = self.kind.magic.to_vec();
        header.extend_from_slice(&self.kind.version.to_le_bytes());
        header.extend_from_slice(&self.part.to_le_bytes());
        header.extend_from_slice(&self.fingerprint.to_le_bytes());
        header.extend_from_slice(&self.size);
        header.extend_from_slice(&records.to_le_bytes());
        sealed(header)
    }
}

/// The bytes and their checksum.
fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let checksum = xxh3_64(&bytes);
    bytes.extend_from_slice(&checksum.to_le_bytes());
    bytes
}

/// The little-endian number in these bytes.
fn number(bytes: &[u8]) -> u32 {
    u32::from_le(bytemuck::pod_read_unaligned(bytes))
}

/// A file that is being written.
#[derive(Debug)]
pub(crate) struct Writer {
    owner: Owner,
    file: NewFile,
    to: PathBuf,
    position: u64,
    records: u32,
}

impl Writer {
    /// Begins the file in `dir`.
    pub(crate) fn new(dir: &Path, owner: Owner) -> Result<Self> {
        let file = NewFile::create(dir, ".part-", ".tmp", PRIVATE)?;
        Ok(Self { file, to: owner.path(dir), position: owner.header(0).len() as u64, records: 0, owner })
    }

    /// Adds a record for each of `records`: `make` gives its key and its counts, or `None` to leave it out. Runs in the current thread pool.
    pub(crate) fn add<R: Sync, const KEY: usize, T: Pod + Send>(
        &mut self,
        records: &[R],
        make: impl Fn(&R) -> Option<([u8; KEY], Vec<T>)> + Sync,
    ) -> Result<()> {
        for records in records.chunks(AT_A_TIME * rayon::current_num_threads()) {
            let record = |record| make(record).map(|(key, counts)| self.record(&key, &counts)).transpose();
            for record in parallel::try_map(records, record)?.into_iter().flatten() {
                self.file.write_at(&record, self.position)?;
                self.position += record.len() as u64;
                self.records += 1;
            }
        }
        Ok(())
    }

    fn record<T: Pod>(&self, key: &[u8], counts: &[T]) -> Result<Vec<u8>> {
        let stored = zstd::bulk::compress(bytemuck::cast_slice(counts), 1).map_err(|e| Error::write(&self.to, e))?;
        let mut record = Vec::with_capacity(key.len() + NUMBER + stored.len() + CHECKSUM);
        record.extend_from_slice(key);
        record.extend_from_slice(&(stored.len() as u32).to_le_bytes());
        record.extend_from_slice(&stored);
        Ok(sealed(record))
    }

    /// Completes the file; when this returns, it survives a loss of power.
    pub(crate) fn finish(self) -> Result<()> {
        self.file.write_at(&self.owner.header(self.records), 0)?;
        self.file.sync()?;
        self.file.persist(&self.to)?;
        disk::sync_dir(disk::parent(&self.to))
    }
}

#[derive(Debug)]
pub(crate) struct Verified<K> {
    path: PathBuf,
    /// The key of each record, and where its frame is.
    records: Vec<(K, u64, u32)>,
}

impl<K> Verified<K> {
    /// Opens and verifies the file in `dir`; `None` where there is none. `key` understands the keys of records; `None`: it cannot be one
    /// of this graph.
    ///
    /// # Errors
    /// [`trimill_system::error::Kind::Data`] where it is damaged, or belongs to something else.
    pub(crate) fn open<const KEY: usize>(
        dir: &Path,
        owner: &Owner,
        key: impl Fn([u8; KEY]) -> Option<K>,
    ) -> Result<Option<Self>> {
        let path = owner.path(dir);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::read(&path, error)),
        };
        let end = file.metadata().map_err(|e| Error::read(&path, e))?.len();
        let damaged = || Error::data(&path, "is damaged, or belongs to another job");
        let read = |bytes: &mut [u8], at: u64| match at.checked_add(bytes.len() as u64).is_some_and(|past| past <= end)
        {
            true => disk::read_at(&file, bytes, at).map_err(|e| Error::read(&path, e)),
            false => Err(damaged()),
        };
        let mut header = owner.header(0);
        read(&mut header, 0)?;
        let many_at = header.len() - CHECKSUM - NUMBER;
        let many = number(&header[many_at..many_at + NUMBER]);
        if header != owner.header(many) {
            return Err(damaged());
        }
        let (mut records, mut at, mut record) = (Vec::new(), header.len() as u64, Vec::new());
        for _ in 0..many {
            let (mut of_record, mut len, mut checksum) = ([0; KEY], [0; NUMBER], [0; CHECKSUM]);
            read(&mut of_record, at)?;
            read(&mut len, at + KEY as u64)?;
            let len = number(&len);
            let key = key(of_record).filter(|_| len <= owner.kind.longest_frame).ok_or_else(damaged)?;
            record.resize(KEY + NUMBER + len as usize, 0);
            read(&mut record, at)?;
            at += record.len() as u64;
            read(&mut checksum, at)?;
            if xxh3_64(&record) != u64::from_le_bytes(checksum) {
                return Err(damaged());
            }
            records.push((key, at - u64::from(len), len));
            at += CHECKSUM as u64;
        }
        if at == end { Ok(Some(Self { path, records })) } else { Err(damaged()) }
    }

    /// Calls `visit` with the key and the counts, little-endian, of each record; `len` gives how many they are.
    ///
    /// # Errors
    /// [`trimill_system::error::Kind::Data`] where the file changed since it was opened; those of `visit`.
    pub(crate) fn each<T: Pod>(
        &self,
        len: impl Fn(&K) -> usize,
        mut visit: impl FnMut(&K, &mut [T]) -> Result<()>,
    ) -> Result<()> {
        let file = File::open(&self.path).map_err(|e| Error::read(&self.path, e))?;
        let (mut frame, mut counts) = (Vec::new(), Vec::new());
        for (key, at, stored) in &self.records {
            frame.resize(*stored as usize, 0);
            disk::read_at(&file, &mut frame, *at).map_err(|e| Error::read(&self.path, e))?;
            counts.clear();
            counts.resize(len(key), T::zeroed());
            let bytes = zstd::bulk::decompress_to_buffer(&frame, cast_slice_mut(&mut counts))
                .map_err(|e| Error::read(&self.path, e))?;
            if Bytes(bytes as u64) != Bytes::of::<T>(counts.len() as u64) {
                return Err(Error::data(&self.path, "has a record of another length"));
            }
            visit(key, &mut counts)?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) mod tests {
    use super::*;

    /// `open` refuses the file at `path` after any change of its bytes, but not as it is.
    pub(crate) fn only_as_it_was(path: &Path, open: impl Fn() -> Result<bool>) {
        let good = std::fs::read(path).unwrap();
        for at in (0..good.len()).step_by(7).chain(0..good.len().min(80)) {
            let mut bad = good.clone();
            bad[at] ^= 1 << (at % 8);
            std::fs::write(path, bad).unwrap();
            assert!(open().is_err(), "byte {at}");
        }
        for bad in [&good[..good.len() - 1], &good[..20], &[], &[&good[..], &[0]].concat()] {
            std::fs::write(path, bad).unwrap();
            assert!(open().is_err());
        }
        std::fs::write(path, &good).unwrap();
        assert!(open().unwrap());
    }
}
