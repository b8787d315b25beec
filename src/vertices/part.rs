//! The counts at vertices of one partition, kept in a run directory: `part-00012.vertices`.
//!
//! All integers are little-endian, a checksum is the XXH3 hash of 64 bits, seed 0. A header of 40 bytes: magic `TRIMVERT`, version
//! (u32: 1), number of the partition (u32), fingerprint of the job (u128), vertices of the graph (u32), records (u32). Then the
//! checksum of the header (u64), and the records: a block of 65,536 ranks (u32), stored bytes (u32), their checksum (u64), and a zstd
//! frame of the counts at all ranks of the block, each a u64. A block may have several records, which add up.
//!
//! The file is written before the partition's result is recorded; the partition is counted again where it is missing or damaged.

use std::path::{Path, PathBuf};

use bytemuck::{cast_slice, cast_slice_mut};
use rayon::ThreadPool;
use rayon::prelude::*;
use xxhash_rust::xxh3::xxh3_64;

use super::totals::{BLOCK, Places, Totals};
use crate::bytes::Bytes;
use crate::disk::{self, NewFile, PRIVATE};
use crate::error::{Error, Result};

/// The suffix of these files.
pub const SUFFIX: &str = "vertices";

const MAGIC: &[u8; 8] = b"TRIMVERT";
const VERSION: u32 = 1;
const HEADER: usize = 48;
const RECORD: usize = 16;

/// Blocks that are compressed at a time, for each thread.
const AT_A_TIME: usize = 4;

/// What the file belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// The job.
    pub fingerprint: u128,
    /// The partition.
    pub part: u32,
    /// Vertices of the graph.
    pub vertices: u32,
}

impl Key {
    fn header(&self, records: u32) -> [u8; HEADER] {
        let mut header = [0; HEADER];
        header[..8].copy_from_slice(MAGIC);
        header[8..12].copy_from_slice(&VERSION.to_le_bytes());
        header[12..16].copy_from_slice(&self.part.to_le_bytes());
        header[16..32].copy_from_slice(&self.fingerprint.to_le_bytes());
        header[32..36].copy_from_slice(&self.vertices.to_le_bytes());
        header[36..40].copy_from_slice(&records.to_le_bytes());
        let checksum = xxh3_64(&header[..40]);
        header[40..].copy_from_slice(&checksum.to_le_bytes());
        header
    }

    /// The file in `dir`.
    pub fn path(&self, dir: &Path) -> PathBuf {
        dir.join(format!("part-{:05}.{SUFFIX}", self.part))
    }
}

/// A file that is being written.
#[derive(Debug)]
pub struct PartWriter {
    key: Key,
    file: NewFile,
    to: PathBuf,
    position: u64,
    records: u32,
}

impl PartWriter {
    /// Begins the file in `dir`.
    ///
    /// # Errors
    /// [`crate::error::Kind::Resource`].
    pub fn new(dir: &Path, key: Key) -> Result<Self> {
        let file = NewFile::create(dir, ".part-", ".tmp", PRIVATE)?;
        Ok(Self { key, file, to: key.path(dir), position: HEADER as u64, records: 0 })
    }

    /// Adds counts. Runs in the current thread pool.
    ///
    /// # Errors
    /// [`crate::error::Kind::Resource`].
    pub fn add(&mut self, places: Places<'_>, counts: &[u64]) -> Result<()> {
        let blocks: Vec<_> = places.blocks(counts.len()).collect();
        for blocks in blocks.chunks(AT_A_TIME * rayon::current_num_threads()) {
            let records: Vec<Vec<u8>> = blocks
                .par_iter()
                .map(|(block, range)| self.record(*block, places.slice(range.clone()), &counts[range.clone()]))
                .collect::<Result<_>>()?;
            for record in records {
                self.file.write_at(&record, self.position)?;
                self.position += record.len() as u64;
                self.records += 1;
            }
        }
        Ok(())
    }

    fn record(&self, block: u32, places: Places<'_>, counts: &[u64]) -> Result<Vec<u8>> {
        let first = block * BLOCK;
        let mut all = vec![0u64; (self.key.vertices - first).min(BLOCK) as usize];
        counts.iter().enumerate().for_each(|(i, &count)| all[(places.at(i) - first) as usize] = count.to_le());
        let stored = zstd::bulk::compress(cast_slice(&all), 1).map_err(|e| Error::write(&self.to, e))?;
        let mut record = Vec::with_capacity(RECORD + stored.len());
        record.extend_from_slice(&block.to_le_bytes());
        record.extend_from_slice(&(stored.len() as u32).to_le_bytes());
        record.extend_from_slice(&xxh3_64(&stored).to_le_bytes());
        record.extend_from_slice(&stored);
        Ok(record)
    }

    /// Completes the file; when this returns, it survives a loss of power.
    ///
    /// # Errors
    /// [`crate::error::Kind::Resource`].
    pub fn finish(self) -> Result<()> {
        self.file.write_at(&self.key.header(self.records), 0)?;
        self.file.sync()?;
        self.file.persist(&self.to)?;
        disk::sync_dir(disk::parent(&self.to))
    }
}

/// The counts of a partition, verified.
#[derive(Debug)]
pub struct PartCounts {
    path: PathBuf,
    vertices: u32,
    /// The block of each record, and where its frame is in the file.
    records: Vec<(u32, u64, u32)>,
}

impl PartCounts {
    /// Opens and verifies the file in `dir`; `None` where there is none.
    ///
    /// # Errors
    /// [`crate::error::Kind::Data`] where it is damaged, or belongs to something else.
    pub fn open(dir: &Path, key: Key) -> Result<Option<Self>> {
        let path = key.path(dir);
        let file = match std::fs::File::open(&path) {
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
        let mut header = [0; HEADER];
        read(&mut header, 0)?;
        let mut records = [0; 4];
        records.copy_from_slice(&header[36..40]);
        let many = u32::from_le_bytes(records);
        if header != key.header(many) {
            return Err(damaged());
        }
        let (mut records, mut at, mut frame) = (Vec::new(), HEADER as u64, Vec::new());
        for _ in 0..many {
            let mut record = [0; RECORD];
            read(&mut record, at)?;
            let [block, len, low, high]: [u32; 4] = bytemuck::pod_read_unaligned::<[u32; 4]>(&record).map(u32::from_le);
            // No longer than a frame of incompressible counts.
            if u64::from(block) * u64::from(BLOCK) >= key.vertices.into() || len > 2 * 8 * BLOCK {
                return Err(damaged());
            }
            frame.resize(len as usize, 0);
            read(&mut frame, at + RECORD as u64)?;
            if xxh3_64(&frame) != u64::from(low) | u64::from(high) << 32 {
                return Err(damaged());
            }
            records.push((block, at + RECORD as u64, len));
            at += RECORD as u64 + u64::from(len);
        }
        if at == end { Ok(Some(Self { path, vertices: key.vertices, records })) } else { Err(damaged()) }
    }

    /// Adds them to `totals`.
    ///
    /// # Errors
    /// [`crate::error::Kind::Data`] where the file changed since it was opened.
    pub fn add_to(&self, totals: &Totals, pool: &ThreadPool) -> Result<()> {
        let file = std::fs::File::open(&self.path).map_err(|e| Error::read(&self.path, e))?;
        let (mut frame, mut counts) = (Vec::new(), Vec::new());
        for &(block, at, len) in &self.records {
            let first = block * BLOCK;
            frame.resize(len as usize, 0);
            disk::read_at(&file, &mut frame, at).map_err(|e| Error::read(&self.path, e))?;
            counts.clear();
            counts.resize((self.vertices - first).min(BLOCK) as usize, 0u64);
            let bytes = zstd::bulk::decompress_to_buffer(&frame, cast_slice_mut(&mut counts))
                .map_err(|e| Error::read(&self.path, e))?;
            if Bytes(bytes as u64) != Bytes::of::<u64>(counts.len() as u64) {
                return Err(Error::data(&self.path, "has a block of another length"));
            }
            counts.iter_mut().for_each(|count| *count = u64::from_le(*count));
            totals.add(pool, Places::From(first), &counts)?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::threads;

    #[test]
    fn counts_come_back_and_what_is_damaged_or_foreign_does_not() {
        let (dir, pool) = (tempfile::tempdir().unwrap(), threads::pool(None).unwrap());
        let key = Key { fingerprint: 1 << 100, part: 3, vertices: 2 * BLOCK + 5 };
        assert!(PartCounts::open(dir.path(), key).unwrap().is_none());
        let mut writer = PartWriter::new(dir.path(), key).unwrap();
        let counts: Vec<u64> = (0..u64::from(key.vertices)).map(|rank| rank % 3 * (1 << 20)).collect();
        writer.add(Places::From(0), &counts).unwrap();
        let ranks = [4, BLOCK - 1, BLOCK, 2 * BLOCK + 4];
        writer.add(Places::List(&ranks), &[1, 2, 3, u64::MAX / 2]).unwrap();
        assert!(!key.path(dir.path()).exists(), "the name is given in the end");
        writer.finish().unwrap();

        let (totals, expected) = (Totals::in_memory(key.vertices), Totals::in_memory(key.vertices));
        PartCounts::open(dir.path(), key).unwrap().unwrap().add_to(&totals, &pool).unwrap();
        expected.add(&pool, Places::From(0), &counts).unwrap();
        expected.add(&pool, Places::List(&ranks), &[1, 2, 3, u64::MAX / 2]).unwrap();
        let all = |totals: &Totals| totals.each_block(|_, sums| Ok(sums.to_vec())).unwrap().concat();
        assert_eq!(all(&totals), all(&expected));

        let path = key.path(dir.path());
        let good = std::fs::read(&path).unwrap();
        for at in (0..good.len()).step_by(7).chain(0..HEADER + RECORD) {
            let mut bad = good.clone();
            bad[at] ^= 4;
            std::fs::write(&path, bad).unwrap();
            assert!(PartCounts::open(dir.path(), key).is_err(), "byte {at}");
        }
        for bad in [&good[..good.len() - 1], &good[..20], &[], &[&good[..], &[0]].concat()] {
            std::fs::write(&path, bad).unwrap();
            assert!(PartCounts::open(dir.path(), key).is_err());
        }
        std::fs::write(&path, &good).unwrap();
        for other in [Key { fingerprint: 0, ..key }, Key { vertices: BLOCK, ..key }] {
            assert!(PartCounts::open(dir.path(), other).is_err());
        }
        assert!(PartCounts::open(dir.path(), key).is_ok());
    }
}
