//! The sums at all keys, in memory or, above the host's budget, in a temporary file. Each block of sums has a lock, so that several devices add at
//! once. Where nothing was added, sums take neither memory nor disk. A block of the file is read and written whole, and verified by its checksum.

use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::RwLock;

use bytemuck::{Pod, Zeroable, cast_slice, cast_slice_mut};
use xxhash_rust::xxh3::xxh3_64;

use super::{CountedKeys, SumKey};
use trimill_system::mapped::LockedBlocks;
use trimill_system::{Bytes, Error, Result, disk, parallel, unpoisoned};

#[derive(Debug)]
pub struct Sums<K: SumKey> {
    keys: u64,
    blocks: SumBlocks<K>,
}

#[derive(Debug)]
enum SumBlocks<K: SumKey> {
    /// The outer lock is for replacing all blocks by zeros, whose memory is untouched.
    Memory(RwLock<LockedBlocks<K::Count>>),
    File {
        file: File,
        dir: PathBuf,
        /// The checksum of each block that was written; others are zero.
        written: Vec<RwLock<Option<u64>>>,
    },
}

struct CountsOfBlock {
    block: usize,
    places: Range<usize>,
    /// The range of keys from the first to the last, relative to the first key of the block.
    within: Range<usize>,
}

impl<K: SumKey> Sums<K> {
    pub fn bytes(keys: u64) -> Bytes {
        Bytes::of::<K::Count>(keys)
    }

    pub fn in_memory(keys: u64) -> Self {
        Self { keys, blocks: SumBlocks::Memory(RwLock::new(Self::zeros(keys))) }
    }

    pub fn in_file(keys: u64, dir: &Path) -> Result<Self> {
        let written = (0..keys.div_ceil(K::BLOCK)).map(|_| RwLock::default()).collect();
        Ok(Self { keys, blocks: SumBlocks::File { file: disk::anonymous(dir)?, dir: dir.to_path_buf(), written } })
    }

    fn zeros(keys: u64) -> LockedBlocks<K::Count> {
        LockedBlocks::zeros(keys as usize, K::BLOCK as usize)
    }

    /// Adds a count at each of the keys. Thread-safe; in the current thread pool. Errors: reading or writing the file; the sums are then useless.
    pub fn add(&self, keys: CountedKeys<'_>, counts: &[K::Count]) -> Result<()> {
        parallel::try_each(self.by_block(keys, counts.len()), |of| self.add_in_block(&of, keys, counts))
    }

    pub fn put(&self, block: usize, sums: Vec<K::Count>) -> Result<()> {
        assert_eq!(sums.len(), self.len(block), "block {block}");
        match &self.blocks {
            SumBlocks::Memory(blocks) => {
                unpoisoned(blocks.read()).change(block, |values| values.copy_from_slice(&sums))
            }
            SumBlocks::File { file, dir, written } => {
                let mut written = unpoisoned(written[block].write());
                disk::write_at(file, dir, cast_slice(&sums), Self::position(block))?;
                *written = Some(xxh3_64(cast_slice(&sums)));
            }
        }
        Ok(())
    }

    /// Reads the sums at consecutive keys from `first` on. Runs in the current thread pool.
    pub fn read(&self, first: u64, into: &mut [K::Count]) -> Result<()> {
        let blocks = self.by_block(CountedKeys::From(first), into.len());
        let parts = parallel::cut(into, blocks.iter().map(|of| of.within.len()));
        parallel::try_each(blocks.iter().zip(parts), |(of, sums)| self.read_block(of.block, of.within.start, sums))
    }

    /// Calls `visit` in the current pool for each block of [`SumKey::BLOCK`] keys, with its first key and sums; returns the results in block order.
    pub fn each_block<T: Send>(&self, visit: impl Fn(u64, &[K::Count]) -> Result<T> + Sync) -> Result<Vec<T>> {
        parallel::try_map_with(self.all_blocks(), Vec::new, |buffer, block| {
            let first = block as u64 * K::BLOCK;
            if let SumBlocks::Memory(blocks) = &self.blocks {
                return unpoisoned(blocks.read()).read(block, |sums| visit(first, sums));
            }
            buffer.resize(self.len(block), K::Count::zeroed());
            self.read_block(block, 0, buffer)?;
            visit(first, buffer)
        })
    }

    /// Zeroes all sums and frees their memory.
    pub fn clear(&self) {
        match &self.blocks {
            SumBlocks::Memory(blocks) => *unpoisoned(blocks.write()) = Self::zeros(self.keys),
            SumBlocks::File { written, .. } => written.iter().for_each(|written| *unpoisoned(written.write()) = None),
        }
    }

    pub fn total(&self) -> Result<u128> {
        let add = |_, sums: &[K::Count]| Ok(sums.iter().map(|&sum| u128::from(sum.into())).sum::<u128>());
        Ok(self.each_block(add)?.into_iter().sum())
    }

    pub(super) fn all_blocks(&self) -> Range<usize> {
        0..self.keys.div_ceil(K::BLOCK) as usize
    }

    pub(super) fn len(&self, block: usize) -> usize {
        (self.keys - block as u64 * K::BLOCK).min(K::BLOCK) as usize
    }

    fn by_block(&self, keys: CountedKeys<'_>, len: usize) -> Vec<CountsOfBlock> {
        if let Some(last) = len.checked_sub(1) {
            assert!(keys.at(last) < self.keys, "key {} of {}", keys.at(last), self.keys);
        }
        let of_block = |places: Range<usize>| {
            let block = keys.at(places.start) / K::BLOCK;
            let at = |place| (keys.at(place) - block * K::BLOCK) as usize;
            let within = at(places.start)..at(places.end - 1) + 1;
            CountsOfBlock { block: block as usize, places, within }
        };
        keys.by_block(len, K::BLOCK).map(of_block).collect()
    }

    fn add_in_block(&self, of: &CountsOfBlock, keys: CountedKeys<'_>, counts: &[K::Count]) -> Result<()> {
        let (keys, counts) = (keys.slice(of.places.clone()), &counts[of.places.clone()]);
        self.change(of.block, of.within.clone(), |sums| {
            match keys {
                CountedKeys::From(_) => sums.iter_mut().zip(counts).for_each(|(sum, &count)| K::add(sum, count)),
                CountedKeys::List(keys) => {
                    let of_keys = keys.iter().zip(counts);
                    of_keys.for_each(|(key, &count)| K::add(&mut sums[(key - keys[0]) as usize], count));
                }
            }
            Ok(())
        })
    }

    /// Applies `change` to the sums at these places of a block. If that fails, the sums are useless.
    pub(super) fn change(
        &self,
        block: usize,
        within: Range<usize>,
        change: impl FnOnce(&mut [K::Count]) -> Result<()>,
    ) -> Result<()> {
        match &self.blocks {
            SumBlocks::Memory(blocks) => unpoisoned(blocks.read()).change(block, |sums| change(&mut sums[within])),
            SumBlocks::File { file, dir, written } => {
                let mut written = unpoisoned(written[block].write());
                let (mut sums, position) = (vec![K::Count::zeroed(); self.len(block)], Self::position(block));
                if let Some(checksum) = *written {
                    read_whole(file, dir, &mut sums, position, checksum)?;
                }
                change(&mut sums[within])?;
                disk::write_at(file, dir, cast_slice(&sums), position)?;
                *written = Some(xxh3_64(cast_slice(&sums)));
                Ok(())
            }
        }
    }

    fn read_block(&self, block: usize, from: usize, into: &mut [K::Count]) -> Result<()> {
        match &self.blocks {
            SumBlocks::Memory(blocks) => {
                unpoisoned(blocks.read()).read(block, |sums| into.copy_from_slice(&sums[from..from + into.len()]));
            }
            SumBlocks::File { file, dir, written } => match *unpoisoned(written[block].read()) {
                None => into.fill(K::Count::zeroed()),
                Some(checksum) if into.len() == self.len(block) => {
                    read_whole(file, dir, into, Self::position(block), checksum)?;
                }
                Some(checksum) => {
                    let mut sums = vec![K::Count::zeroed(); self.len(block)];
                    read_whole(file, dir, &mut sums, Self::position(block), checksum)?;
                    into.copy_from_slice(&sums[from..from + into.len()]);
                }
            },
        }
        Ok(())
    }

    fn position(block: usize) -> u64 {
        Self::bytes(block as u64 * K::BLOCK).get()
    }
}

/// Reads a block. Errors: also if it is not what was written ([`Error::changed_on_disk`]).
fn read_whole<T: Pod>(file: &File, dir: &Path, sums: &mut [T], position: u64, checksum: u64) -> Result<()> {
    disk::read_back(file, cast_slice_mut(sums), position).map_err(|e| Error::read(dir, e))?;
    if xxh3_64(cast_slice(sums)) == checksum { Ok(()) } else { Err(Error::changed_on_disk(dir)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sums::CountedKeys::{From, List};
    use crate::sums::{ByArc, ByRank};

    const BLOCK: u64 = ByArc::BLOCK;

    const N: u64 = 3 * BLOCK + 17;

    fn stores(dir: &Path) -> [Sums<ByArc>; 2] {
        [Sums::<ByArc>::in_memory(N), Sums::<ByArc>::in_file(N, dir).unwrap()]
    }

    fn all(sums: &Sums<ByArc>) -> Vec<u32> {
        let mut all = vec![u32::MAX; sums.keys as usize];
        sums.read(0, &mut all).unwrap();
        all
    }

    #[test]
    fn sums_are_the_same_in_memory_and_in_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let stores = stores(dir.path());
        let mut expected = vec![0u32; N as usize];
        for (first, len) in [(5, 1), (BLOCK - 1, 2), (N - 1, 1), (100, 2 * BLOCK), (0, N), (N, 0), (2 * BLOCK, BLOCK)] {
            let counts: Vec<u32> = (0..len as u32).map(|i| i % 1000 + first as u32).collect();
            counts.iter().zip(first as usize..).for_each(|(count, arc)| expected[arc] += count);
            for store in &stores {
                store.add(From(first), &counts).unwrap();
                assert!(all(store) == expected);
                let (mut part, from) = (vec![1; len as usize], first as usize);
                store.read(first, &mut part).unwrap();
                assert!(part == expected[from..from + len as usize]);
                assert_eq!(store.total().unwrap(), expected.iter().map(|&sum| u128::from(sum)).sum());
            }
        }
        for store in &stores {
            store.clear();
            assert_eq!(store.total().unwrap(), 0);
            store.add(From(9), &[7]).unwrap();
            assert_eq!((store.total().unwrap(), all(store)[9]), (7, 7));
        }
    }

    #[test]
    fn a_bit_that_changed_in_the_file_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let sums = Sums::<ByArc>::in_file(N, dir.path()).unwrap();
        sums.add(From(0), &vec![5; 2 * BLOCK as usize]).unwrap();
        let SumBlocks::File { file, .. } = &sums.blocks else { panic!("in a file") };
        let (place, mut byte) = (Sums::<ByArc>::bytes(BLOCK + 1).get(), [0]);
        disk::read_at(file, &mut byte, place).unwrap();
        disk::write_at(file, dir.path(), &[byte[0] ^ 1], place).unwrap();
        let read = |first: u64, many: usize| sums.read(first, &mut vec![0; many]);
        assert!(read(0, BLOCK as usize).is_ok() && read(BLOCK - 3, 3).is_ok() && read(2 * BLOCK, 17).is_ok());
        assert!(read(BLOCK, BLOCK as usize).is_err() && read(2 * BLOCK - 1, 1).is_err());
        let error = sums.add(From(BLOCK + 9), &[1]).unwrap_err().to_string();
        assert!(error.contains("does not hold what was written") && sums.total().is_err(), "{error}");
    }

    #[test]
    fn sums_of_listed_keys_are_the_same_in_memory_and_in_a_file() {
        let n = 3 * ByRank::BLOCK as u32 + 17;
        let dir = tempfile::tempdir().unwrap();
        let stores = [Sums::<ByRank>::in_memory(n.into()), Sums::in_file(n.into(), dir.path()).unwrap()];
        let mut expected = vec![0u64; n as usize];
        let mut ranks: Vec<u32> = (0..n).filter(|rank| rank % 7 == 3 || (65_530..65_550).contains(rank)).collect();
        for _ in 0..3 {
            let counts: Vec<u64> = ranks.iter().map(|&rank| u64::from(rank) + (1 << 40)).collect();
            ranks.iter().zip(&counts).for_each(|(&rank, count)| expected[rank as usize] += count);
            stores.iter().for_each(|store| store.add(List(&ranks), &counts).unwrap());
            ranks.retain(|rank| (70_000..3 * 65_536).contains(rank));
        }
        for store in &stores {
            let blocks = store.each_block(|first, sums| Ok((first, sums.to_vec()))).unwrap();
            assert!(blocks.iter().map(|(first, _)| *first).eq((0..4).map(|block| block * ByRank::BLOCK)));
            assert!(blocks.into_iter().flat_map(|(_, sums)| sums).eq(expected.iter().copied()));
        }
    }

    #[test]
    fn threads_that_add_at_once_lose_nothing() {
        let dir = tempfile::tempdir().unwrap();
        for store in stores(dir.path()) {
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| (0..3).for_each(|_| store.add(From(7), &vec![2; (N - 9) as usize]).unwrap()));
                }
            });
            assert_eq!(store.total().unwrap(), 24 * u128::from(N - 9));
            let all = all(&store);
            assert_eq!((all[6], all[7], all[N as usize - 3], all[N as usize - 2]), (0, 24, 24, 0));
        }
    }

    #[test]
    fn keys_may_be_beyond_2_to_the_32() {
        let dir = tempfile::tempdir().unwrap();
        let sums = Sums::<ByArc>::in_file((1 << 32) + 5, dir.path()).unwrap();
        sums.add(From((1 << 32) - 1), &[3, 4]).unwrap();
        let mut read = [9; 4];
        sums.read((1 << 32) - 2, &mut read).unwrap();
        assert_eq!(read, [0, 3, 4, 0]);
        assert_eq!(Sums::<ByArc>::bytes(1 << 33), Bytes(1 << 35));
    }
}
