//! Arcs in the buckets of their tails, which become rows. Input: arcs from larger ranks to smaller ones, in any order, from many threads. Output:
//! file blocks in rank order. In a bucket ([`BlockBuckets`]) arcs go to their rows by a counting sort, then each row is sorted. Cost: 8 bytes an arc
//! in buckets, or 1 to 4 on disk; `O(m log d)` for rows of `d` successors. Memory: shares for buckets and for sorting ([`crate::clean::workspace`]).

use super::blocks::{BlockBuckets, PER_ARC};
use super::joined::{BlocksInOrder, BucketBlocks};
use super::place::Write;
use super::row_sort::sort_rows;
use crate::clean::Shares;
use crate::clean::buckets::Buckets;
use crate::clean::workspace::check_bucket;
use trimill_graph::rows::put_distances;
use trimill_graph::writing::RowsWritten;
use trimill_system::control::Task;
use trimill_system::mapped::zeros;
use trimill_system::memory::SharedBudget;
use trimill_system::{Bytes, Result, starts_of};

/// The weight of a bucket whose arcs and rows stay in a core's cache while the rows are made.
const IN_CACHE: u64 = 1 << 18;

pub(super) struct RankedArcs {
    pub(super) blocks: BlockBuckets,
    pub(super) buckets: Buckets,
    budget: SharedBudget,
}

impl RankedArcs {
    /// `degrees` are indexed by id; 0 if the id is no vertex.
    pub(super) fn new(degrees: &[u32], edges: u64, shares: &Shares<'_>) -> Self {
        let blocks = BlockBuckets::new(degrees, edges, shares, IN_CACHE);
        let buckets = Buckets::new(blocks.len(), edges, shares.buckets(), shares.space.dir);
        Self { blocks, buckets, budget: shares.sorting_budget() }
    }

    /// Adds arcs `(tail, successor)`. Thread-safe.
    pub(super) fn extend(&self, arcs: impl Iterator<Item = (u32, u32)>) -> Result<()> {
        let key = |(tail, successor)| (self.blocks.bucket_of(tail), u64::from(tail) << 32 | u64::from(successor));
        self.buckets.extend(arcs.map(key))
    }

    /// Makes all file blocks; `write` is called as by [`BlocksInOrder::add_all`].
    pub(super) fn rows(&self, write: &Write<'_>, task: &Task) -> Result<RowsWritten> {
        self.buckets.flush()?;
        let in_order = BlocksInOrder::default();
        let make = |bucket: usize| {
            task.check()?;
            let arcs = self.buckets.len(bucket);
            let taken = self.budget.take(Bytes(arcs * PER_ARC));
            check_bucket(&taken, arcs * PER_ARC)?;
            let keys = self.buckets.take(bucket)?;
            let made = self.made(bucket, &keys, arcs)?;
            task.advance(arcs);
            Ok(made)
        };
        in_order.add_all(0..self.blocks.len(), make, write)?;
        Ok(in_order.finish())
    }

    fn made(&self, bucket: usize, keys: &[Vec<u64>], arcs: u64) -> Result<BucketBlocks> {
        let ranks = self.blocks.ranks(bucket);
        let (mut lengths, mut successors) = (zeros(ranks.len()), zeros(arcs as usize));
        let mut rest = rows(keys, ranks.start, &mut lengths, &mut successors);
        self.blocks.made(bucket, &lengths, |rows, distances| {
            let lengths = &lengths[rows];
            let (of_rows, after) = rest.split_at(lengths.iter().map(|&length| length as usize).sum());
            put_distances(of_rows, lengths, distances);
            rest = after;
        })
    }
}

/// Makes the rows of the ranks from `start` on: adds to `lengths`, which are 0 before, and returns the successors.
fn rows<'a>(keys: &[Vec<u64>], start: u32, lengths: &mut [u32], successors: &'a mut [u32]) -> &'a [u32] {
    let place = |key: u64| ((key >> 32) as u32 - start) as usize;
    keys.iter().flatten().for_each(|&key| lengths[place(key)] += 1);
    let mut next = starts_of(lengths.iter().copied());
    for chunk in keys {
        for &key in chunk {
            let next = &mut next[place(key)];
            successors[*next as usize] = key as u32;
            *next += 1;
        }
    }
    sort_rows(successors, lengths);
    successors
}
