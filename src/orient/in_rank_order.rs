//! Orients the rows of a mapped file in rank order, so that each is encoded once, into its file block, and none waits for others.
//!
//! Input: [`MappedRows`] of which every arc should have its reverse. Output: file blocks in rank order. The checks are those of [`super::row_pass`];
//! their outcome is known when all blocks are made. A thread copies some short rows of a block, looks up the ranks of all their successors in one loop,
//! so that many of these reads are under way at a time, and then keeps, sorts and encodes row by row.
//!
//! Cost: a read of each row at a random place, two look-ups and two hashes for each edge, a sort of each row that is kept. Memory: the mapped file, 4
//! bytes a vertex, and for each thread a file block.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::blocks::{BlockBuckets, sort_row};
use super::joined::BlocksInOrder;
use super::place::Write;
use super::row_pass::{ascends, hash, keep};
use trimill_graph::rows::put_distances;
use trimill_graph::writing::RowsWritten;
use trimill_input::rows::{MappedRows, PART};
use trimill_system::control::{Control, Task};
use trimill_system::{Error, Result};

/// The most successors of rows that are copied together; a longer row is taken in parts of [`PART`].
const TOGETHER: usize = 1 << 12;

/// How many rows ahead a row is prefetched; the place where it begins, twice as many.
const AHEAD: u32 = 12;

pub(super) struct RowsInRankOrder<'a> {
    pub(super) rows: MappedRows,
    pub(super) rank_of: &'a [u32],
    /// The id of each rank.
    pub(super) ids: Vec<u32>,
    pub(super) blocks: BlockBuckets,
    pub(super) edges: u64,
    pub(super) key: u64,
    /// The sum of all hashes, modulo 2^64.
    pub(super) hash: AtomicU64,
    /// Whether a row was found that no clean graph has, or an arc without its reverse.
    pub(super) unclean: AtomicBool,
}

#[derive(Default)]
struct RowBatch {
    successors: Vec<u32>,
    ranks: Vec<u32>,
    /// The end of each row among `successors`.
    ends: Vec<usize>,
    kept: Vec<u32>,
    hash: u64,
}

impl RowBatch {
    /// Looks up the ranks of all successors. False if one is no vertex.
    fn look_up(&mut self, rank_of: &[u32]) -> bool {
        let largest = self.successors.iter().fold(0, |largest, &successor| largest.max(successor));
        if largest as usize >= rank_of.len() {
            return self.successors.is_empty();
        }
        self.ranks.clear();
        self.ranks.extend(self.successors.iter().map(|&successor| rank_of[successor as usize]));
        true
    }
}

impl RowsInRankOrder<'_> {
    /// Makes all file blocks; an error if the rows are not those of a clean graph ([`Self::is_unclean`]).
    pub(super) fn rows(&self, write: &Write<'_>, task: &Task, control: &Control) -> Result<RowsWritten> {
        let in_order = BlocksInOrder::default();
        let make = |bucket: usize| {
            control.check()?;
            let (mut batch, mut arcs) = (RowBatch::default(), 0);
            let made = self.blocks.made_with(bucket, |ranks, distances, lengths| {
                let taken = self.block(ranks, &mut batch, distances, lengths);
                arcs += taken.ok_or_else(|| self.unclean())?;
                Ok(())
            })?;
            self.hash.fetch_add(batch.hash, Ordering::Relaxed);
            task.advance(arcs);
            Ok(made)
        };
        in_order.add_all(0..self.blocks.len(), make, write)?;
        match in_order.arcs() == self.edges && self.hash.load(Ordering::Relaxed) == 0 {
            true => Ok(in_order.finish()),
            false => Err(self.unclean()),
        }
    }

    pub(super) fn is_unclean(&self) -> bool {
        self.unclean.load(Ordering::Relaxed)
    }

    #[cold]
    fn unclean(&self) -> Error {
        self.unclean.store(true, Ordering::Relaxed);
        Error::defect("rows of a clean graph were expected")
    }

    /// Appends the distances and the lengths of the rows of a block; returns how many arcs were read. `None`: the rows are not clean.
    fn block(
        &self,
        ranks: Range<u32>,
        batch: &mut RowBatch,
        distances: &mut Vec<u32>,
        lengths: &mut Vec<u32>,
    ) -> Option<u64> {
        let (mut next, mut arcs) = (ranks.start, 0);
        while next < ranks.end {
            let first = next;
            batch.successors.clear();
            batch.ends.clear();
            while next < ranks.end {
                let row = self.row(next);
                if batch.successors.len() + row.len() > TOGETHER {
                    break;
                }
                batch.successors.extend(row.iter().map(|&successor| u32::from_le_bytes(successor)));
                batch.ends.push(batch.successors.len());
                next += 1;
            }
            arcs += batch.successors.len() as u64;
            if next == first {
                arcs += self.long_row(next, batch)?;
                put_row(batch, distances, lengths);
                next += 1;
                continue;
            }
            if !batch.look_up(self.rank_of) {
                return None;
            }
            let mut begin = 0;
            for row in 0..batch.ends.len() {
                let (rank, end) = (first + row as u32, batch.ends[row]);
                batch.kept.clear();
                self.take(rank, begin..end, batch)?;
                put_row(batch, distances, lengths);
                begin = end;
            }
        }
        Some(arcs)
    }

    #[inline]
    fn row(&self, rank: u32) -> &[[u8; 4]] {
        let ahead = |ranks: u32| self.ids.get((rank + ranks) as usize);
        ahead(2 * AHEAD).into_iter().for_each(|&id| self.rows.prefetch_begin(id));
        ahead(AHEAD).into_iter().for_each(|&id| self.rows.prefetch_row(id));
        self.rows.row(self.ids[rank as usize])
    }

    /// Keeps successors of the row of `rank`, which are in a place of the batch. `None` if they are not clean.
    #[inline]
    fn take(&self, rank: u32, place: Range<usize>, batch: &mut RowBatch) -> Option<()> {
        let id = self.ids[rank as usize];
        if !ascends(&batch.successors[place.clone()]) {
            batch.successors[place.clone()].sort_unstable();
            if !ascends(&batch.successors[place.clone()]) {
                return None;
            }
            // The ranks are those of all successors, whatever their order.
        }
        batch.hash = batch.hash.wrapping_add(hash(id, &batch.successors[place.clone()], self.key));
        keep(rank, batch.ranks[place].iter().copied(), &mut batch.kept);
        Some(())
    }

    /// Keeps the successors of a row of more than [`TOGETHER`]; returns how many were read.
    fn long_row(&self, rank: u32, batch: &mut RowBatch) -> Option<u64> {
        let row = self.row(rank);
        batch.kept.clear();
        let mut last = None;
        for part in row.chunks(PART) {
            batch.successors.clear();
            batch.successors.extend(part.iter().map(|&successor| u32::from_le_bytes(successor)));
            if last >= batch.successors.first().copied() || !batch.look_up(self.rank_of) {
                return None;
            }
            self.take(rank, 0..part.len(), batch)?;
            last = batch.successors.last().copied();
        }
        Some(row.len() as u64)
    }
}

/// Appends the distances and the length of the row that was kept.
#[inline]
fn put_row(batch: &mut RowBatch, distances: &mut Vec<u32>, lengths: &mut Vec<u32>) {
    sort_row(&mut batch.kept);
    put_distances(&batch.kept, distances);
    lengths.push(batch.kept.len() as u32);
}
