//! Orients the rows of a mapped file in rank order, so that each is encoded once, into its file block, and none waits for others. Input:
//! [`MappedRows`] of which every arc should have its reverse. Output: file blocks in rank order. The checks are those of [`super::row_pass`]; their
//! outcome is known when all blocks are made. A thread copies some short rows of a block, looks up the ranks of all their successors in one loop, so
//! that many of these reads are under way at a time, and then keeps, sorts and encodes them together.
//!
//! Cost: a read of each row at a random place, two look-ups and two hashes for each edge, a sort of each row. Memory: the mapped file, 4
//! bytes a vertex, and for each thread a file block.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::blocks::BlockBuckets;
use super::joined::BlocksInOrder;
use super::place::Write;
use super::row_pass::{append_kept, arc_hash, are_distinct, keep};
use super::row_sort::sort_rows;
use trimill_graph::rows::put_distances;
use trimill_graph::writing::RowsWritten;
use trimill_input::rows::{MappedRows, PART};
use trimill_system::control::Task;
use trimill_system::{Error, Result};

/// The most successors, and the most rows, that are copied together; a longer row is taken in parts of [`PART`].
const BATCH: usize = 1 << 14;
const BATCH_ROWS: u32 = 1 << 9;

/// File blocks that are made together: few, so that their bytes come from the heap, and not from new pages each time.
const TOGETHER: usize = 2;

/// Prefetch distances, in rows: for the first successors of a row (the places where rows begin: twice as far), and for more of longer ones.
const AHEAD: u32 = 12;
const NEXT: u32 = 2;

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

/// Some rows, or a part of a long one: for each successor its tail and its rank.
#[derive(Default)]
struct RowBatch {
    tails: Vec<u32>,
    successors: Vec<u32>,
    ranks: Vec<u32>,
    ends: Vec<usize>,
    kept: Vec<u32>,
    hash: u64,
}

impl RowBatch {
    fn clear(&mut self) {
        self.tails.clear();
        self.successors.clear();
        self.ends.clear();
    }

    /// Adds a row of the vertex `id`, or a part of it.
    #[inline]
    fn add(&mut self, id: u32, row: &[[u8; 4]]) {
        self.successors.extend(row.iter().map(|&successor| u32::from_le_bytes(successor)));
        self.tails.resize(self.successors.len(), id);
        self.ends.push(self.successors.len());
    }

    /// Checks the rows, hashes their arcs, and looks up the ranks of all successors. False if the rows are not clean.
    fn look_up(&mut self, rank_of: &[u32], key: u64) -> bool {
        let Self { tails, successors, ranks, ends, hash, .. } = self;
        if !ascend(tails, successors) {
            let mut begin = 0;
            for &end in &*ends {
                successors[begin..end].sort_unstable();
                begin = end;
            }
            if !ascend(tails, successors) {
                return false;
            }
        }
        if successors.iter().fold(0, |largest, &successor| largest.max(successor)) as usize >= rank_of.len() {
            return successors.is_empty();
        }
        *hash = hash.wrapping_add(hash_of(tails, successors, key));
        ranks.clear();
        ranks.extend(successors.iter().map(|&successor| rank_of[successor as usize]));
        true
    }

    /// Keeps the successors of smaller rank of each row, of which the first has rank `first`; appends how many these are.
    fn keep(&mut self, first: u32, lengths: &mut Vec<u32>) {
        self.kept.resize(self.ranks.len(), 0);
        let (mut begin, mut kept) = (0, 0);
        for (rank, &end) in (first..).zip(&self.ends) {
            let more = keep(rank, self.ranks[begin..end].iter().copied(), &mut self.kept[kept..]);
            lengths.push(more as u32);
            (begin, kept) = (end, kept + more);
        }
        self.kept.truncate(kept);
    }
}

/// Whether the successors of each tail ascend strictly.
#[multiversion::multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn ascend(tails: &[u32], successors: &[u32]) -> bool {
    let pairs = tails.windows(2).zip(successors.windows(2));
    pairs.fold(true, |ascend, (tails, pair)| ascend & ((tails[0] != tails[1]) | (pair[0] < pair[1])))
}

#[multiversion::multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn hash_of(tails: &[u32], successors: &[u32], key: u64) -> u64 {
    let arcs = tails.iter().zip(successors);
    arcs.fold(0, |sum: u64, (&tail, &successor)| sum.wrapping_add(arc_hash(tail, successor, key)))
}

impl RowsInRankOrder<'_> {
    /// Makes all file blocks; an error if the rows are not those of a clean graph ([`Self::is_unclean`]).
    pub(super) fn rows(&self, write: &Write<'_>, task: &Task) -> Result<RowsWritten> {
        let in_order = BlocksInOrder::default();
        let blocks = self.blocks.file_blocks();
        let make = |first: usize| {
            task.check()?;
            let (mut batch, mut arcs) = (RowBatch::default(), 0);
            let these = first * TOGETHER..blocks.min((first + 1) * TOGETHER);
            let made = self.blocks.made_with(these, |ranks, distances, lengths| {
                arcs += self.block(ranks, &mut batch, distances, lengths).ok_or_else(|| self.unclean())?;
                Ok(())
            })?;
            self.hash.fetch_add(batch.hash, Ordering::Relaxed);
            task.advance(arcs);
            Ok(made)
        };
        in_order.add_all(0..blocks.div_ceil(TOGETHER), make, write)?;
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

    /// Appends the distances and the lengths of the rows of a file block; returns how many arcs were read. `None`: the rows are not clean.
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
            batch.clear();
            while next < ranks.end.min(first.saturating_add(BATCH_ROWS)) {
                let row = self.row(next);
                if batch.successors.len() + row.len() > BATCH {
                    break;
                }
                batch.add(self.ids[next as usize], row);
                next += 1;
            }
            arcs += batch.successors.len() as u64;
            let of_batch = lengths.len();
            if next == first {
                arcs += self.long_row(next, batch)?;
                lengths.push(batch.kept.len() as u32);
                next += 1;
            } else if batch.look_up(self.rank_of, self.key) {
                batch.keep(first, lengths);
            } else {
                return None;
            }
            sort_rows(&mut batch.kept, &lengths[of_batch..]);
            put_distances(&batch.kept, &lengths[of_batch..], distances);
        }
        Some(arcs)
    }

    #[inline]
    fn row(&self, rank: u32) -> &[[u8; 4]] {
        let ahead = |ranks: u32| self.ids.get((rank + ranks) as usize);
        ahead(2 * AHEAD).into_iter().for_each(|&id| self.rows.prefetch_begin(id));
        ahead(AHEAD).into_iter().for_each(|&id| self.rows.prefetch_row(id));
        let row = self.rows.row(self.ids[rank as usize]);
        // The next rows are about as long.
        if row.len() > MappedRows::SHORT {
            ahead(NEXT).into_iter().for_each(|&id| self.rows.prefetch_long_row(id));
        }
        row
    }

    /// Keeps the successors of a row of more than [`BATCH`]; returns how many were read.
    fn long_row(&self, rank: u32, batch: &mut RowBatch) -> Option<u64> {
        let row = self.row(rank);
        batch.kept.clear();
        let (mut last, mut ascends) = (None, true);
        for part in row.chunks(PART) {
            batch.clear();
            batch.add(self.ids[rank as usize], part);
            if !batch.look_up(self.rank_of, self.key) {
                return None;
            }
            ascends &= last < batch.successors.first().copied();
            last = batch.successors.last().copied();
            append_kept(rank, batch.ranks.iter().copied(), &mut batch.kept);
        }
        let whole = || row.iter().map(|&successor| u32::from_le_bytes(successor)).collect();
        (ascends || are_distinct(whole())).then_some(row.len() as u64)
    }
}
