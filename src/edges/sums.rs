//! The sums at all arcs, in memory or, where they do not fit the host's budget, in a temporary file. An arc is named by its place in
//! rank order: the first arc of its row, and the place in the row.
//!
//! The sums are cut into blocks, each behind its own lock, so several devices add at once. A block to which nothing was added takes
//! neither memory nor disk. A sum is below 2^32, as degrees are, unless a file of counts was forged; then the sums do not add up to
//! three times the triangles.

use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

use bytemuck::{cast_slice, cast_slice_mut};

use trimill_system::bytes::Bytes;
use trimill_system::disk;
use trimill_system::error::{Error, Result};
use trimill_system::parallel;

/// Arcs whose sums are locked together.
pub const BLOCK: u64 = 1 << 18;

#[derive(Debug)]
pub struct EdgeSums {
    arcs: u64,
    blocks: SumBlocks,
}

#[derive(Debug)]
enum SumBlocks {
    /// Those to which nothing was added are empty.
    Memory(Vec<RwLock<Vec<u32>>>),
    File {
        file: File,
        /// Where it is, for errors.
        dir: PathBuf,
        /// Which blocks were written; others are zero.
        written: Vec<RwLock<bool>>,
    },
}

struct ArcsOfBlock {
    block: usize,
    /// Arcs of the whole block.
    len: usize,
    /// The arcs of the piece, counted from the first arc of the block.
    within: Range<usize>,
}

impl EdgeSums {
    /// Bytes of the sums of so many arcs.
    pub fn bytes(arcs: u64) -> Bytes {
        Bytes::of::<u32>(arcs)
    }

    /// Zeros in memory.
    pub fn in_memory(arcs: u64) -> Self {
        let blocks = (0..arcs.div_ceil(BLOCK)).map(|_| RwLock::default());
        Self { arcs, blocks: SumBlocks::Memory(blocks.collect()) }
    }

    /// Zeros in a temporary file in `dir`.
    pub fn in_file(arcs: u64, dir: &Path) -> Result<Self> {
        let written = (0..arcs.div_ceil(BLOCK)).map(|_| RwLock::default()).collect();
        Ok(Self { arcs, blocks: SumBlocks::File { file: disk::anonymous(dir)?, dir: dir.to_path_buf(), written } })
    }

    /// Adds the counts at consecutive arcs from `first` on, all below the number of arcs. Several threads may add at once; runs in the
    /// current thread pool.
    ///
    /// # Errors
    /// When the file cannot be read or written; the sums are then useless.
    pub fn add(&self, first: u64, counts: &[u32]) -> Result<()> {
        parallel::try_each(self.pieces(first, counts.len()), |(at, piece)| self.add_piece(&piece, &counts[at]))
    }

    /// Reads the sums of consecutive arcs from `first` on. Runs in the current thread pool.
    pub fn read(&self, first: u64, into: &mut [u32]) -> Result<()> {
        let mut rest = into;
        let pieces: Vec<_> = self
            .pieces(first, rest.len())
            .into_iter()
            .map(|(_, piece)| {
                let (sums, after) = std::mem::take(&mut rest).split_at_mut(piece.within.len());
                rest = after;
                (piece, sums)
            })
            .collect();
        parallel::try_each(pieces, |(piece, sums)| self.read_piece(&piece, sums))
    }

    /// All sums, added up.
    pub fn total(&self) -> Result<u128> {
        let add = |sums: &[u32]| sums.iter().map(|&sum| u128::from(sum)).sum::<u128>();
        match &self.blocks {
            SumBlocks::Memory(blocks) => Ok(parallel::map(blocks, |block| add(&read(block))).into_iter().sum()),
            SumBlocks::File { .. } => {
                let sums = parallel::try_map_with(self.pieces(0, self.arcs as usize), Vec::new, |sums, (_, piece)| {
                    sums.resize(piece.len, 0);
                    self.read_piece(&piece, sums).map(|()| add(sums))
                })?;
                Ok(sums.into_iter().sum())
            }
        }
    }

    /// Cuts `len` arcs from `first` on where a block ends: places among them, and the piece.
    fn pieces(&self, first: u64, len: usize) -> Vec<(Range<usize>, ArcsOfBlock)> {
        let end = first + len as u64;
        assert!(end <= self.arcs, "arcs {first} to {end} of {}", self.arcs);
        let blocks = if len == 0 { 0..0 } else { first / BLOCK..(end - 1) / BLOCK + 1 };
        let piece = |block: u64| {
            let all = block * BLOCK..self.arcs.min((block + 1) * BLOCK);
            let mine = first.max(all.start)..end.min(all.end);
            let within = (mine.start - all.start) as usize..(mine.end - all.start) as usize;
            let places = (mine.start - first) as usize..(mine.end - first) as usize;
            (places, ArcsOfBlock { block: block as usize, len: (all.end - all.start) as usize, within })
        };
        blocks.map(piece).collect()
    }

    fn add_piece(&self, piece: &ArcsOfBlock, counts: &[u32]) -> Result<()> {
        let add =
            |sums: &mut [u32]| sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum = sum.wrapping_add(*count));
        match &self.blocks {
            SumBlocks::Memory(blocks) => {
                let mut sums = write(&blocks[piece.block]);
                if sums.is_empty() {
                    *sums = vec![0; piece.len];
                }
                add(&mut sums[piece.within.clone()]);
                Ok(())
            }
            SumBlocks::File { file, dir, written } => {
                let mut written = write(&written[piece.block]);
                // The first time the whole block is written, so that all of it can be read.
                let range = if *written { piece.within.clone() } else { 0..piece.len };
                let mut sums = vec![0; range.len()];
                if *written {
                    read_at(file, dir, piece.block, range.start, &mut sums)?;
                }
                add(&mut sums[piece.within.start - range.start..]);
                disk::write_at(file, dir, cast_slice(&sums), position(piece.block, range.start))?;
                *written = true;
                Ok(())
            }
        }
    }

    fn read_piece(&self, piece: &ArcsOfBlock, into: &mut [u32]) -> Result<()> {
        match &self.blocks {
            SumBlocks::Memory(blocks) => match &*read(&blocks[piece.block]) {
                sums if sums.is_empty() => into.fill(0),
                sums => into.copy_from_slice(&sums[piece.within.clone()]),
            },
            SumBlocks::File { file, dir, written } => match *read(&written[piece.block]) {
                true => read_at(file, dir, piece.block, piece.within.start, into)?,
                false => into.fill(0),
            },
        }
        Ok(())
    }
}

fn read_at(file: &File, dir: &Path, block: usize, from: usize, into: &mut [u32]) -> Result<()> {
    disk::read_at(file, cast_slice_mut(into), position(block, from)).map_err(|e| Error::read(dir, e))
}

fn position(block: usize, arc: usize) -> u64 {
    EdgeSums::bytes(block as u64 * BLOCK + arc as u64).get()
}

/// Locks are taken even if a thread panicked while it held them, for the reason given at [`trimill_system::lock`].
fn read<T>(lock: &RwLock<T>) -> std::sync::RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn write<T>(lock: &RwLock<T>) -> std::sync::RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const N: u64 = 3 * BLOCK + 17;

    fn stores(dir: &Path) -> [EdgeSums; 2] {
        [EdgeSums::in_memory(N), EdgeSums::in_file(N, dir).unwrap()]
    }

    fn all(sums: &EdgeSums) -> Vec<u32> {
        let mut all = vec![u32::MAX; sums.arcs as usize];
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
                store.add(first, &counts).unwrap();
                assert!(all(store) == expected);
                let (mut part, from) = (vec![1; len as usize], first as usize);
                store.read(first, &mut part).unwrap();
                assert!(part == expected[from..from + len as usize]);
                assert_eq!(store.total().unwrap(), expected.iter().map(|&sum| u128::from(sum)).sum());
            }
        }
    }

    #[test]
    fn threads_that_add_at_once_lose_nothing() {
        let dir = tempfile::tempdir().unwrap();
        for store in stores(dir.path()) {
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| (0..3).for_each(|_| store.add(7, &vec![2; (N - 9) as usize]).unwrap()));
                }
            });
            assert_eq!(store.total().unwrap(), 24 * u128::from(N - 9));
            let all = all(&store);
            assert_eq!((all[6], all[7], all[N as usize - 3], all[N as usize - 2]), (0, 24, 24, 0));
        }
    }

    #[test]
    fn blocks_to_which_nothing_was_added_take_no_memory() {
        let sums = EdgeSums::in_memory(1 << 34);
        sums.add((1 << 33) - 1, &[3, 4]).unwrap();
        let mut read = [9; 4];
        sums.read((1 << 33) - 2, &mut read).unwrap();
        assert_eq!((read, sums.total().unwrap()), ([0, 3, 4, 0], 7));
        assert_eq!(EdgeSums::bytes(1 << 34), Bytes(1 << 36));
    }

    #[test]
    fn a_graph_without_edges_has_no_sums() {
        let sums = EdgeSums::in_memory(0);
        sums.add(0, &[]).unwrap();
        assert_eq!((sums.arcs, sums.total().unwrap()), (0, 0));
    }
}
