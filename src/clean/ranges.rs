//! Classes of arcs by ranges of ids, for inputs in the order of ids whose arcs mostly join near ids, such as web crawls. Input: all arcs. Output:
//! [`IdRanges`] of about equal numbers of arcs by smaller id. So consecutive arcs mostly go to the same buckets, and arrays are accessed locally.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use trimill_input::{ArcSink, around_tail};
use trimill_system::Result;

/// The most blocks of ids whose arcs are counted together.
const MOST_BLOCKS: u64 = 1 << 16;

/// A range is not continued from this many ids on, so that its ids and a direction fit in 32 bits.
const MANY_IDS: u64 = 1 << 30;

pub(super) struct BySmallerId {
    /// The binary logarithm of the ids in a block.
    shift: u32,
    counts: Vec<AtomicU64>,
    end: u64,
}

impl BySmallerId {
    /// All ids are below `ids`: the reader of ordered rows refuses others.
    pub(super) fn new(ids: u64) -> Self {
        let mut shift = 0;
        while ids >> shift >= MOST_BLOCKS {
            shift += 1;
        }
        Self { shift, counts: (0..=ids >> shift).map(|_| AtomicU64::new(0)).collect(), end: ids }
    }

    fn add(&self, id: u64, arcs: usize) {
        self.counts[(id >> self.shift) as usize].fetch_add(arcs as u64, Ordering::Relaxed);
    }

    /// About `many` ranges; `None` if one of them would have more than `most` arcs.
    pub(super) fn ranges(self, many: usize, most: u64) -> Option<IdRanges> {
        let counts: Vec<u64> = self.counts.into_iter().map(AtomicU64::into_inner).collect();
        let share = counts.iter().sum::<u64>().div_ceil(many as u64).max(1);
        let (mut range_of, mut starts, mut sum) = (Vec::with_capacity(counts.len()), vec![0], 0);
        for (block, count) in (0..).zip(counts) {
            let begun = starts.last().copied().unwrap_or(0);
            if sum >= share || (block << self.shift) - begun >= MANY_IDS {
                starts.push(block << self.shift);
                sum = 0;
            }
            sum += count;
            if sum > most {
                return None;
            }
            range_of.push((starts.len() - 1) as u32);
        }
        starts.push((range_of.len() as u64) << self.shift);
        Some(IdRanges { shift: self.shift, range_of, starts, end: self.end })
    }
}

impl ArcSink for BySmallerId {
    fn arcs(&self, batch: &[(u64, u64)]) -> Result<()> {
        batch.iter().for_each(|&(u, v)| self.add(u.min(v), usize::from(u != v)));
        Ok(())
    }

    fn rows(&self, rows: &[(u64, usize)], heads: &[u32]) -> Result<()> {
        let mut begin = 0;
        for &(tail, end) in rows {
            let (below, _, above) = around_tail(tail, &heads[begin..end]);
            for run in below.chunk_by(|a, b| a >> self.shift == b >> self.shift) {
                self.add(run[0].into(), run.len());
            }
            self.add(tail, above.len());
            begin = end;
        }
        Ok(())
    }
}

pub(super) struct IdRanges {
    shift: u32,
    range_of: Vec<u32>,
    starts: Vec<u64>,
    /// All ids are below it.
    pub(super) end: u64,
}

impl IdRanges {
    pub(super) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    #[inline]
    pub(super) fn range_of(&self, id: u64) -> usize {
        self.range_of[(id >> self.shift) as usize] as usize
    }

    pub(super) fn ids(&self, range: usize) -> Range<u64> {
        self.starts[range]..self.starts[range + 1]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn ranges_tile_the_ids_and_are_even(
            ids in 1u64..300_000,
            draws in prop::collection::vec((any::<u64>(), 0u64..90), 0..400),
            many in 1usize..40,
        ) {
            let arcs: Vec<(u64, u64)> = draws.iter().map(|&(u, step)| (u % ids, (u % ids + step) % ids)).collect();
            let counted = |arcs: &[(u64, u64)]| {
                let counted = BySmallerId::new(ids);
                counted.arcs(arcs).unwrap();
                counted
            };
            let mut sorted = arcs.clone();
            sorted.sort_unstable();
            sorted.dedup();
            let heads: Vec<u32> = sorted.iter().map(|&(_, v)| v as u32).collect();
            let ends = sorted.iter().zip(1..).map(|(&(u, _), end)| (u, end));
            let rows: Vec<(u64, usize)> =
                ends.collect::<Vec<_>>().chunk_by(|a, b| a.0 == b.0).map(|row| row[row.len() - 1]).collect();
            let by_rows = BySmallerId::new(ids);
            by_rows.rows(&rows, &heads).unwrap();
            let numbers = |all: BySmallerId| all.counts.into_iter().map(AtomicU64::into_inner).collect::<Vec<_>>();
            prop_assert_eq!(numbers(by_rows), numbers(counted(&sorted)));

            let without_loops = arcs.iter().filter(|(u, v)| u != v);
            let total = without_loops.clone().count() as u64;
            let ranges = counted(&arcs).ranges(many, u64::MAX).unwrap();
            prop_assert!(ranges.len() <= many + 1);
            let mut sizes = vec![0; ranges.len()];
            for &(u, v) in without_loops {
                let range = ranges.range_of(u.min(v));
                prop_assert!(ranges.ids(range).contains(&u.min(v)));
                sizes[range] += 1;
            }
            let largest = sizes.iter().copied().max().unwrap_or(0);
            // A range ends with the block that makes it full.
            let block = total.min(400);
            prop_assert!(largest <= total.div_ceil(many as u64).max(1) + block);
            prop_assert!(counted(&arcs).ranges(many, largest).is_some());
            prop_assert!(total == 0 || counted(&arcs).ranges(many, largest - 1).is_none());
        }
    }
}
