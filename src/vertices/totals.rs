//! The sums at all vertices, in memory or, where they do not fit the host's budget, in a temporary file. They do not overflow 64 bits,
//! unless a file of counts was forged; then they do not add up to three times the triangles.

use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use bytemuck::cast_slice_mut;
use rayon::ThreadPool;

use trimill_system::bytes::Bytes;
use trimill_system::disk;
use trimill_system::error::{Error, Result};
use trimill_system::lock;
use trimill_system::mapped::zeros;
use trimill_system::parallel;

/// Ranks whose sums are read, added to and written together where they are in a file.
pub const BLOCK: u32 = 1 << 16;

/// Sums that are added by a thread at a time.
const RUN: usize = 1 << 15;

/// The ranks of some counts.
#[derive(Debug, Clone, Copy)]
pub enum CountedRanks<'a> {
    /// Consecutive ranks from this one on.
    From(u32),
    /// Listed, ascending.
    List(&'a [u32]),
}

impl<'a> CountedRanks<'a> {
    pub fn at(&self, i: usize) -> u32 {
        match self {
            Self::From(first) => first + i as u32,
            Self::List(ranks) => ranks[i],
        }
    }

    pub fn slice(&self, range: Range<usize>) -> Self {
        match self {
            Self::From(first) => Self::From(first + range.start as u32),
            Self::List(ranks) => CountedRanks::<'a>::List(&ranks[range]),
        }
    }

    /// Cuts `len` places where a rank is in another block of [`BLOCK`] ranks than the one before: the block, and the places.
    pub fn blocks(self, len: usize) -> impl Iterator<Item = (u32, Range<usize>)> {
        let mut next = 0;
        std::iter::from_fn(move || {
            (next < len).then(|| {
                let (first, block) = (next, self.at(next) / BLOCK);
                next = match self {
                    Self::From(from) => len.min(((u64::from(block) + 1) * u64::from(BLOCK) - u64::from(from)) as usize),
                    Self::List(ranks) => first + ranks[first..len].partition_point(|&rank| rank / BLOCK == block),
                };
                (block, first..next)
            })
        })
    }
}

#[derive(Debug)]
pub struct Totals {
    store: Mutex<TotalsStore>,
}

#[derive(Debug)]
enum TotalsStore {
    Memory(Vec<u64>),
    File(TotalsFile),
}

#[derive(Debug)]
struct TotalsFile {
    vertices: u32,
    file: File,
    /// Where it is, for errors.
    dir: PathBuf,
    /// Which blocks were written; others are zero.
    written: Vec<bool>,
}

impl TotalsFile {
    fn read(&self, block: u32, into: &mut Vec<u64>) -> Result<()> {
        let first = block * BLOCK;
        into.clear();
        into.resize((self.vertices - first).min(BLOCK) as usize, 0);
        if self.written[block as usize] {
            let position = Bytes::of::<u64>(first.into()).get();
            disk::read_at(&self.file, cast_slice_mut(into), position).map_err(|e| Error::read(&self.dir, e))?;
        }
        Ok(())
    }

    fn write(&mut self, block: u32, sums: &[u64]) -> Result<()> {
        let position = Bytes::of::<u64>((block * BLOCK).into()).get();
        disk::write_at(&self.file, &self.dir, bytemuck::cast_slice(sums), position)?;
        self.written[block as usize] = true;
        Ok(())
    }
}

impl Totals {
    /// Bytes of the sums of so many vertices.
    pub fn bytes(vertices: u32) -> Bytes {
        Bytes::of::<u64>(vertices.into())
    }

    /// Zeros in memory.
    pub fn in_memory(vertices: u32) -> Self {
        Self { store: Mutex::new(TotalsStore::Memory(zeros(vertices as usize))) }
    }

    /// Zeros in a temporary file in `dir`.
    pub fn in_file(vertices: u32, dir: &Path) -> Result<Self> {
        let written = vec![false; vertices.div_ceil(BLOCK) as usize];
        let file = TotalsFile { vertices, file: disk::anonymous(dir)?, dir: dir.to_path_buf(), written };
        Ok(Self { store: Mutex::new(TotalsStore::File(file)) })
    }

    /// Adds a count at each of the places, which are below the number of vertices. Parallel work runs in `pool`; not to be called from
    /// there, since the sums are locked meanwhile.
    ///
    /// # Errors
    /// When the file cannot be read or written; the sums are then useless.
    pub fn add(&self, pool: &ThreadPool, places: CountedRanks<'_>, counts: &[u64]) -> Result<()> {
        match &mut *lock(&self.store) {
            TotalsStore::Memory(sums) => {
                parallel::within(pool, || add_in_memory(sums, places, counts));
                Ok(())
            }
            TotalsStore::File(file) => {
                let mut sums = Vec::new();
                for (block, range) in places.blocks(counts.len()) {
                    file.read(block, &mut sums)?;
                    let first = block * BLOCK;
                    for i in range {
                        let sum = &mut sums[(places.at(i) - first) as usize];
                        *sum = sum.wrapping_add(counts[i]);
                    }
                    file.write(block, &sums)?;
                }
                Ok(())
            }
        }
    }

    /// Calls `visit` for the blocks of [`BLOCK`] ranks, in parallel, with the first rank and the sums; returns what it returns, in
    /// the order of the blocks.
    pub fn each_block<T: Send>(&self, visit: impl Fn(u32, &[u64]) -> Result<T> + Sync) -> Result<Vec<T>> {
        match &*lock(&self.store) {
            TotalsStore::Memory(sums) => {
                let block = |(i, sums): (usize, &[u64])| visit(i as u32 * BLOCK, sums);
                parallel::try_map(sums.chunks(BLOCK as usize).enumerate(), block)
            }
            TotalsStore::File(file) => {
                let block = |sums: &mut Vec<u64>, block: u32| {
                    file.read(block, sums)?;
                    visit(block * BLOCK, sums)
                };
                parallel::try_map_with(0..file.written.len() as u32, Vec::new, block)
            }
        }
    }
}

fn add_in_memory(sums: &mut [u64], places: CountedRanks<'_>, counts: &[u64]) {
    // Each run of places has its own part of the sums.
    let mut runs = Vec::with_capacity(counts.len() / RUN + 1);
    let (mut rest, mut first) = (sums, 0);
    for (i, counts) in counts.chunks(RUN).enumerate() {
        let (begin, end) = (i * RUN, i * RUN + counts.len());
        let (from, past) = (places.at(begin) as usize, places.at(end - 1) as usize + 1);
        let (mine, after) = std::mem::take(&mut rest)[from - first..].split_at_mut(past - from);
        runs.push((mine, places.slice(begin..end), counts));
        (rest, first) = (after, past);
    }
    parallel::each(runs, |(sums, places, counts)| match places {
        CountedRanks::From(_) => sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum = sum.wrapping_add(*count)),
        CountedRanks::List(ranks) => ranks.iter().zip(counts).for_each(|(rank, count)| {
            let sum = &mut sums[(rank - ranks[0]) as usize];
            *sum = sum.wrapping_add(*count);
        }),
    });
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use trimill_system::threads;

    #[test]
    fn sums_are_the_same_in_memory_and_in_a_file() {
        let n = 3 * BLOCK + 17;
        let (dir, pool) = (tempfile::tempdir().unwrap(), threads::pool(None).unwrap());
        let stores = [Totals::in_memory(n), Totals::in_file(n, dir.path()).unwrap()];
        let mut expected = vec![0u64; n as usize];
        let ranks: Vec<u32> = (0..n).filter(|rank| rank % 7 == 3 || (65_530..65_550).contains(rank)).collect();
        let of_list: Vec<u64> = ranks.iter().map(|&rank| u64::from(rank) + (1 << 40)).collect();
        for (first, len) in [(0, n), (5, 1), (BLOCK - 1, 2), (2 * BLOCK, BLOCK), (n - 1, 1), (100, 100_000)] {
            let counts: Vec<u64> = (0..u64::from(len)).map(|i| i * i + u64::from(first)).collect();
            counts.iter().zip(first..).for_each(|(count, rank)| expected[rank as usize] += count);
            stores.iter().for_each(|store| store.add(&pool, CountedRanks::From(first), &counts).unwrap());
        }
        for _ in 0..2 {
            ranks.iter().zip(&of_list).for_each(|(&rank, count)| expected[rank as usize] += count);
            stores.iter().for_each(|store| store.add(&pool, CountedRanks::List(&ranks), &of_list).unwrap());
        }
        for store in &stores {
            store.add(&pool, CountedRanks::From(0), &[]).unwrap();
            let blocks = store.each_block(|first, sums| Ok((first, sums.to_vec()))).unwrap();
            assert!(blocks.iter().map(|(first, _)| *first).eq((0..4).map(|block| block * BLOCK)));
            assert!(blocks.into_iter().flat_map(|(_, sums)| sums).eq(expected.iter().copied()));
        }
    }
}
