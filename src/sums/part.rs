//! The counts of one partition, kept in a run directory: `part-00012.vertices`, or `part-00012.edges`.
//!
//! Integers are little-endian, checksums XXH3 (64 bits, seed 0). The header: magic `TRIMVERT` or `TRIMEDGE`, version (u32), number of the partition
//! (u32), fingerprint of the job (u128), vertices or edges of the graph (u64), records (u32), checksum of all this (u64). A record: its first key
//! (u64); the number of its keys (u32), in one block of 65,536 ranks or 262,144 arcs; the length of the frame (u32); a zstd frame of the counts at
//! these consecutive keys, u64 at vertices and u32 on edges; checksum of all this (u64). Records of zeros are left out; counts at a key add up.
//!
//! `peeled.edges`, a checkpoint of the truss decomposition, has the same form, with the number [`PEELED`]. The file is written before the partition's
//! result is recorded; without it, or if it is damaged, the partition is counted again. Lengths are checked before memory is allocated.

use std::fs::File;
use std::marker::PhantomData;
use std::ops::Range;
use std::path::{Path, PathBuf};

use bytemuck::{Zeroable, cast_slice, cast_slice_mut};
use xxhash_rust::xxh3::xxh3_64;

use super::{CountedKeys, SumKey, Sums};
use trimill_system::disk::{self, NewFile, PRIVATE};
use trimill_system::{Bytes, Error, Result, parallel};

const VERSION: u32 = 3;

/// Records that are compressed at a time, for each thread.
const AT_A_TIME: usize = 4;

/// Bytes of a record before the frame: first key, number of keys, length of the frame.
const HEAD: usize = 16;
const NUMBER: usize = 4;
const CHECKSUM: usize = 8;

/// The most bytes of a file with `counts` counts, unless they are scattered; usually far less, since counts compress.
pub fn bytes_at_most<K: SumKey>(counts: u64) -> Bytes {
    Sums::<K>::bytes(counts) + Bytes((counts / K::BLOCK + 2) * 64)
}

/// The number of a checkpoint of the truss decomposition, which no partition has.
pub const PEELED: u32 = u32::MAX;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartKey {
    pub fingerprint: u128,
    pub part: u32,
    pub keys: u64,
}

impl PartKey {
    pub fn path<K: SumKey>(&self, dir: &Path) -> PathBuf {
        match self.part {
            PEELED => dir.join(format!("peeled.{}", K::SUFFIX)),
            part => dir.join(format!("part-{part:05}.{}", K::SUFFIX)),
        }
    }

    fn header<K: SumKey>(&self, records: u32) -> Vec<u8> {
        let mut header = K::MAGIC.to_vec();
        header.extend_from_slice(&VERSION.to_le_bytes());
        header.extend_from_slice(&self.part.to_le_bytes());
        header.extend_from_slice(&self.fingerprint.to_le_bytes());
        header.extend_from_slice(&self.keys.to_le_bytes());
        header.extend_from_slice(&records.to_le_bytes());
        sealed(header)
    }
}

fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let checksum = xxh3_64(&bytes);
    bytes.extend_from_slice(&checksum.to_le_bytes());
    bytes
}

fn number(bytes: &[u8]) -> u32 {
    bytemuck::pod_read_unaligned(bytes)
}

#[derive(Debug)]
pub struct PartWriter<K> {
    key: PartKey,
    file: NewFile,
    to: PathBuf,
    position: u64,
    records: u32,
    of: PhantomData<K>,
}

impl<K: SumKey> PartWriter<K> {
    pub fn new(dir: &Path, key: PartKey) -> Result<Self> {
        let (file, position) = (NewFile::create(dir, ".part-", PRIVATE)?, key.header::<K>(0).len() as u64);
        Ok(Self { key, file, to: key.path::<K>(dir), position, records: 0, of: PhantomData })
    }

    pub fn add(&mut self, keys: CountedKeys<'_>, counts: &[K::Count]) -> Result<()> {
        let blocks: Vec<Range<usize>> = keys.by_block(counts.len(), K::BLOCK).collect();
        for blocks in blocks.chunks(AT_A_TIME * rayon::current_num_threads()) {
            let to = &self.to;
            let record = |places: &Range<usize>| record::<K>(keys.slice(places.clone()), &counts[places.clone()], to);
            for record in parallel::try_map(blocks, record)?.into_iter().flatten() {
                self.file.write_at(&record, self.position)?;
                self.position += record.len() as u64;
                self.records += 1;
            }
        }
        Ok(())
    }

    /// Completes the file; when this returns, it survives a loss of power.
    pub fn finish(self) -> Result<()> {
        self.file.write_at(&self.key.header::<K>(self.records), 0)?;
        self.file.sync()?;
        self.file.persist(&self.to)?;
        disk::sync_dir(disk::parent(&self.to))
    }
}

/// The record of counts whose keys are in one block; none if all are zero.
fn record<K: SumKey>(keys: CountedKeys<'_>, counts: &[K::Count], to: &Path) -> Result<Option<Vec<u8>>> {
    let zero = K::Count::zeroed();
    if counts.iter().all(|&count| count == zero) {
        return Ok(None);
    }
    let first = keys.at(0);
    let mut all = vec![zero; (keys.at(counts.len() - 1) + 1 - first) as usize];
    for (i, &count) in counts.iter().enumerate() {
        all[(keys.at(i) - first) as usize] = count;
    }
    let frame = zstd::bulk::compress(cast_slice(&all), 1).map_err(|e| Error::write(to, e))?;
    let mut record = Vec::with_capacity(HEAD + frame.len() + CHECKSUM);
    record.extend_from_slice(&first.to_le_bytes());
    record.extend_from_slice(&(all.len() as u32).to_le_bytes());
    record.extend_from_slice(&(frame.len() as u32).to_le_bytes());
    record.extend_from_slice(&frame);
    Ok(Some(sealed(record)))
}

/// The counts of a partition, verified. The file stays open: another process may replace it.
#[derive(Debug)]
pub struct PartCounts<K> {
    path: PathBuf,
    file: File,
    records: Vec<CountsRecord>,
    of: PhantomData<K>,
}

#[derive(Debug)]
struct CountsRecord {
    first: u64,
    begin: u64,
    checksum: u64,
    keys: u32,
    len: u32,
}

impl<K: SumKey> PartCounts<K> {
    /// Opens and verifies the file in `dir`; `None` if there is none. Errors: `Kind::Data` if it is damaged, or belongs to something else.
    pub fn open(dir: &Path, key: PartKey) -> Result<Option<Self>> {
        let path = key.path::<K>(dir);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::read(&path, error)),
        };
        let end = file.metadata().map_err(|e| Error::read(&path, e))?.len();
        let damaged = || Error::data(&path, "is damaged, or belongs to another job");
        let read = |bytes: &mut [u8], at: u64| match at.checked_add(bytes.len() as u64).is_some_and(|past| past <= end)
        {
            true => disk::read_back(&file, bytes, at).map_err(|e| Error::read(&path, e)),
            false => Err(damaged()),
        };
        let mut header = key.header::<K>(0);
        read(&mut header, 0)?;
        let many_at = header.len() - CHECKSUM - NUMBER;
        let many = number(&header[many_at..many_at + NUMBER]);
        if header != key.header::<K>(many) {
            return Err(damaged());
        }
        // Of incompressible counts.
        let longest = 2 * Sums::<K>::bytes(K::BLOCK).get();
        let (mut records, mut at, mut record) = (Vec::new(), header.len() as u64, Vec::new());
        for _ in 0..many {
            record.resize(HEAD, 0);
            read(&mut record, at)?;
            let first: u64 = bytemuck::pod_read_unaligned(&record[..8]);
            let (keys, len) = (u64::from(number(&record[8..12])), u64::from(number(&record[12..])));
            let fits =
                first % K::BLOCK + keys <= K::BLOCK && first.checked_add(keys).is_some_and(|past| past <= key.keys);
            if !fits || len > longest {
                return Err(damaged());
            }
            record.resize(HEAD + len as usize, 0);
            read(&mut record, at)?;
            at += record.len() as u64;
            let mut checksum = [0; CHECKSUM];
            read(&mut checksum, at)?;
            let checksum = u64::from_le_bytes(checksum);
            if xxh3_64(&record) != checksum {
                return Err(damaged());
            }
            let begin = at - record.len() as u64;
            records.push(CountsRecord { first, begin, checksum, keys: keys as u32, len: len as u32 });
            at += CHECKSUM as u64;
        }
        if at != end {
            return Err(damaged());
        }
        records.sort_unstable_by_key(|record| record.first);
        Ok(Some(Self { path, file, records, of: PhantomData }))
    }

    pub fn held_bytes(&self) -> Bytes {
        Bytes::of::<CountsRecord>(self.records.capacity() as u64)
    }

    /// Adds the counts of all `parts`; each block of `sums` is read and written once. `added` gets each record's bytes. In the current thread pool.
    pub fn add_all(parts: &[Self], sums: &Sums<K>, added: impl Fn(u64) -> Result<()> + Sync) -> Result<()> {
        let buffers = <(Vec<u8>, Vec<K::Count>)>::default;
        parallel::try_each_with(sums.all_blocks(), buffers, |(frame, counts), block| {
            let of_block = |part| Self::of_block(part, block).iter().map(move |record| (part, record));
            let mut records = parts.iter().flat_map(of_block).peekable();
            if records.peek().is_none() {
                return Ok(());
            }
            sums.change(block, 0..sums.len(block), |sums| {
                for (part, record) in records {
                    part.read(record, frame, counts)?;
                    let place = (record.first % K::BLOCK) as usize;
                    sums[place..].iter_mut().zip(&*counts).for_each(|(sum, &count)| K::add(sum, count));
                    added((HEAD + CHECKSUM) as u64 + u64::from(record.len))?;
                }
                Ok(())
            })
        })
    }

    fn of_block(&self, block: usize) -> &[CountsRecord] {
        let before = |block: u64| self.records.partition_point(|record| record.first / K::BLOCK < block);
        &self.records[before(block as u64)..before(block as u64 + 1)]
    }

    fn read(&self, record: &CountsRecord, bytes: &mut Vec<u8>, counts: &mut Vec<K::Count>) -> Result<()> {
        let failed = |error| Error::read(&self.path, error);
        bytes.resize(HEAD + record.len as usize, 0);
        disk::read_back(&self.file, bytes, record.begin).map_err(failed)?;
        if xxh3_64(bytes) != record.checksum {
            return Err(Error::data(&self.path, "was damaged while it was read"));
        }
        counts.resize(record.keys as usize, K::Count::zeroed());
        let decoded = zstd::bulk::decompress_to_buffer(&bytes[HEAD..], cast_slice_mut(counts)).map_err(failed)?;
        if Bytes(decoded as u64) != Sums::<K>::bytes(counts.len() as u64) {
            return Err(Error::data(&self.path, "has a record of another length"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    use super::*;
    use crate::sums::CountedKeys::{From, List};
    use crate::sums::{ByArc, ByRank};

    fn all<K: SumKey>(sums: &Sums<K>) -> Vec<K::Count> {
        sums.each_block(|_, sums| Ok(sums.to_vec())).unwrap().concat()
    }

    /// The counts that are written, read and added are the given ones, and any change of the file's bytes is detected.
    fn come_back_or_are_refused<K: SumKey>(key: PartKey, counts: &[(CountedKeys<'_>, Vec<K::Count>)]) {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        assert!(PartCounts::<K>::open(dir, key).unwrap().is_none());
        let (sums, expected) = (Sums::<K>::in_memory(key.keys), Sums::<K>::in_memory(key.keys));
        let mut writer = PartWriter::<K>::new(dir, key).unwrap();
        for (keys, counts) in counts {
            writer.add(*keys, counts).unwrap();
            expected.add(*keys, counts).unwrap();
        }
        let path = dir.join(format!("part-00012.{}", K::SUFFIX));
        assert!(!path.exists(), "the name is given in the end");
        writer.finish().unwrap();
        let saved = PartCounts::<K>::open(dir, key).unwrap().unwrap();
        PartCounts::add_all(&[saved], &sums, |_| Ok(())).unwrap();
        assert!(all(&sums) == all(&expected));

        for other in [PartKey { fingerprint: 0, ..key }, PartKey { keys: K::BLOCK, ..key }] {
            assert!(PartCounts::<K>::open(dir, other).is_err());
        }
        let mut writer = PartWriter::<K>::new(dir, key).unwrap();
        writer.add(From(K::BLOCK - 3), &counts[0].1[..500]).unwrap();
        writer.finish().unwrap();
        only_as_it_was(&path, || Ok(PartCounts::<K>::open(dir, key)?.is_some()));
    }

    #[test]
    fn counts_come_back_and_what_is_damaged_or_foreign_does_not() {
        let many: Vec<u32> = (0..2 * ByArc::BLOCK as u32 + 100).map(|arc| arc % 5 * (arc % 7)).collect();
        let key = PartKey { fingerprint: 1 << 100, part: 12, keys: 5 * ByArc::BLOCK + 5 };
        let on_edges =
            [(From(3), many), (From(4), vec![7, u32::MAX / 2]), (From(key.keys - 2), vec![0, 9]), (From(0), vec![])];
        come_back_or_are_refused::<ByArc>(key, &on_edges);

        let block = ByRank::BLOCK as u32;
        let key = PartKey { keys: 2 * ByRank::BLOCK + 5, ..key };
        let ranks = [4, block - 1, block, 2 * block + 4];
        let many = (0..key.keys).map(|rank| rank % 3 * (1 << 20)).collect();
        let at_vertices = [(From(0), many), (List(&ranks), vec![1, 2, 3, u64::MAX / 2])];
        come_back_or_are_refused::<ByRank>(key, &at_vertices);
    }

    #[test]
    fn counts_that_are_all_zero_take_no_record() {
        let dir = tempfile::tempdir().unwrap();
        let key = PartKey { fingerprint: 5, part: 0, keys: 1 << 33 };
        let mut writer = PartWriter::<ByArc>::new(dir.path(), key).unwrap();
        let mut given = vec![0; 3 * ByArc::BLOCK as usize];
        given[2 * ByArc::BLOCK as usize] = 1;
        writer.add(From(1 << 32), &given).unwrap();
        writer.finish().unwrap();
        assert!(key.path::<ByArc>(dir.path()).metadata().unwrap().len() < 1000);
        let sums = Sums::<ByArc>::in_file(key.keys, dir.path()).unwrap();
        let counts = PartCounts::open(dir.path(), key).unwrap().unwrap();
        PartCounts::add_all(&[counts], &sums, |_| Ok(())).unwrap();
        let mut read = vec![9; given.len() + 2];
        sums.read((1 << 32) - 1, &mut read).unwrap();
        assert!(read == [&[0], &given[..], &[0]].concat());
    }

    #[test]
    fn counts_of_all_parts_are_added_at_once() {
        let (dir, n) = (tempfile::tempdir().unwrap(), 3 * ByRank::BLOCK + 5);
        let (mut expected, mut parts) = (vec![0; n as usize], Vec::new());
        // Records of one part in no order, of several parts at the same keys, and no record in the third block.
        let of_parts: [&[Range<u64>]; 4] = [
            &[n - 3..n, 5..ByRank::BLOCK + 9, 0..40],
            &[],
            &[n - 1..n, 2..3],
            &[ByRank::BLOCK..ByRank::BLOCK + 99, 7..8],
        ];
        for (part, ranges) in of_parts.iter().enumerate() {
            let key = PartKey { fingerprint: 9, part: part as u32, keys: n };
            let mut writer = PartWriter::<ByRank>::new(dir.path(), key).unwrap();
            for keys in *ranges {
                let counts: Vec<u64> = keys.clone().map(|rank| rank + part as u64 + 1).collect();
                writer.add(From(keys.start), &counts).unwrap();
                keys.clone().zip(counts).for_each(|(rank, count)| expected[rank as usize] += count);
            }
            writer.finish().unwrap();
            parts.push(PartCounts::<ByRank>::open(dir.path(), key).unwrap().unwrap());
        }
        let files: u64 =
            (0..4).map(|part| dir.path().join(format!("part-{part:05}.vertices")).metadata().unwrap().len()).sum();
        for sums in [Sums::in_memory(n), Sums::in_file(n, dir.path()).unwrap()] {
            let added = AtomicU64::new(0);
            let count = |bytes| {
                added.fetch_add(bytes, Relaxed);
                Ok(())
            };
            PartCounts::add_all(&parts, &sums, count).unwrap();
            assert!(all(&sums) == expected);
            let headers = 4 * PartKey { fingerprint: 9, part: 0, keys: n }.header::<ByRank>(0).len() as u64;
            assert_eq!(added.into_inner(), files - headers);
            PartCounts::add_all(&parts[2..3], &sums, |_| Ok(())).unwrap();
            assert_eq!(all(&sums)[n as usize - 1], expected[n as usize - 1] + n + 2);
        }
        let failed = PartCounts::add_all(&parts, &Sums::in_memory(n), |_| Err(Error::interrupted()));
        assert_eq!(failed.unwrap_err().kind(), trimill_system::Kind::Interrupted);
    }

    /// `open` accepts the file at `path`, but refuses it after any change of its bytes.
    fn only_as_it_was(path: &Path, open: impl Fn() -> Result<bool>) {
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
