//! Arcs by the rank ranges of their tails, and from them the rows in rank order.
//!
//! Enters: the degrees of all ids; then arcs from larger ranks to smaller ones, in any order, from many threads. Leaves: rows in
//! rank order, in a graph file or in arrays. No row is longer than `sqrt(2 m)`: each of its successors has at least its tail's
//! degree. So the ranges can be cut before the rows are known, by the bound `min(degree, sqrt(2 m))`, and the bucket of a range
//! fits a thread's share of the memory. Within a bucket arcs are placed by counting, and each row is then sorted.
//!
//! Cost: 8 bytes an arc in buckets, on disk where they do not fit the memory; `O(m log d)` for rows of `d` successors. Memory: the
//! buckets' share, and a quarter of the workspace while rows are made.

use std::ops::Range;

use rayon::prelude::*;

use crate::clean::Workspace;
use crate::clean::buckets::Buckets;
use crate::control::{Control, Task};
use crate::error::Result;
use crate::graph::file::GraphWriter;
use crate::graph::numbering::degree_runs;

/// The most ranges: each has a staging area in every thread.
const MOST_RANGES: u64 = 2048;

/// Arcs in the buckets of rank ranges.
pub(super) struct RankedArcs {
    ranges: Vec<Range<u32>>,
    index: RangeIndex,
    buckets: Buckets,
}

impl RankedArcs {
    /// None yet, of a graph with such degrees (0: no vertex) and so many edges.
    pub(super) fn new(degrees: &[u32], edges: u64, space: Workspace<'_>) -> Self {
        let longest = (2 * edges).isqrt() + 1;
        let bounds: Vec<(u64, u32)> =
            degree_runs(degrees).into_iter().map(|(degree, many)| (u64::from(degree).min(longest), many)).collect();
        let total: u64 = bounds.iter().map(|&(bound, many)| bound * u64::from(many)).sum();
        // A key takes 8 bytes, its place in the written row 4 and, where rows are short, its row's count 4; a quarter of the
        // memory, over all threads.
        let threads = rayon::current_num_threads() as u64;
        let share = (space.memory.get().max(1 << 20) / 4 / threads / 16).min(1 << 20);
        let ranges = ranges(&bounds, share.max(total / MOST_RANGES).max(longest));
        let buckets = Buckets::new(ranges.len(), space.for_buckets(), space.dir);
        Self { index: RangeIndex::new(&ranges), ranges, buckets }
    }

    /// Adds arcs `(tail, successor)`. Called from many threads.
    ///
    /// # Errors
    /// [`crate::error::Kind::Resource`] when a bucket cannot be written.
    pub(super) fn extend(&self, arcs: impl Iterator<Item = (u32, u32)>) -> Result<()> {
        self.buckets.extend(
            arcs.map(|(tail, successor)| (self.index.range_of(tail), u64::from(tail) << 32 | u64::from(successor))),
        )
    }

    /// Bytes written to files so far.
    pub(super) fn bytes_written(&self) -> u64 {
        self.buckets.bytes_written()
    }

    /// Writes all rows to a graph file.
    ///
    /// # Errors
    /// [`crate::error::Kind::Resource`] when a bucket or the file cannot be written; a stop.
    pub(super) fn write_rows(self, writer: &GraphWriter, task: &Task, control: &Control) -> Result<()> {
        let (first_arcs, total) = self.first_arcs()?;
        self.ranges.par_iter().zip(first_arcs).enumerate().try_for_each(|(lane, (range, first))| {
            control.check()?;
            let keys = self.buckets.take(lane)?;
            write_rows(writer, range, first, &keys)?;
            task.advance(keys.len() as u64);
            Ok(())
        })?;
        debug_assert_eq!(total, writer.layout().edges);
        // All other offsets were written as the ends of rows.
        writer.write(writer.layout().offsets().start as u64, &0u64.to_le_bytes())
    }

    /// Puts all rows into arrays: `offsets`, one more than there are rows, and `successors`.
    ///
    /// # Errors
    /// [`crate::error::Kind::Resource`] when a bucket cannot be written or read; a stop.
    pub(super) fn fill(
        self,
        offsets: &mut [u64],
        successors: &mut [u32],
        task: &Task,
        control: &Control,
    ) -> Result<()> {
        let (first_arcs, _) = self.first_arcs()?;
        let (mut ends_left, mut successors_left) = (&mut offsets[1..], successors);
        let mut places = Vec::with_capacity(self.ranges.len());
        for (lane, range) in self.ranges.iter().enumerate() {
            let (ends, after) = ends_left.split_at_mut(range.len());
            let (mine, rest) = successors_left.split_at_mut(self.buckets.len(lane) as usize);
            places.push((ends, mine));
            (ends_left, successors_left) = (after, rest);
        }
        let lanes = places.into_par_iter().zip(&self.ranges).zip(first_arcs).enumerate().with_max_len(1);
        lanes.try_for_each(|(lane, (((ends, successors), range), first))| {
            control.check()?;
            let keys = self.buckets.take(lane)?;
            rows(&keys, range.start, first, ends, successors);
            task.advance(keys.len() as u64);
            Ok(())
        })
    }

    /// The arcs before each range, once all are there, and how many there are.
    fn first_arcs(&self) -> Result<(Vec<u64>, u64)> {
        self.buckets.flush()?;
        let mut total = 0;
        let first = |lane| {
            let first = total;
            total += self.buckets.len(lane);
            first
        };
        let firsts = (0..self.ranges.len()).map(first).collect();
        Ok((firsts, total))
    }
}

/// Writes the rows of a range, before which there are `first` arcs; `keys` are its arcs.
pub(crate) fn write_rows(writer: &GraphWriter, range: &Range<u32>, first: u64, keys: &[u64]) -> Result<()> {
    let layout = writer.layout();
    let (mut ends, mut successors) = (vec![0; range.len()], vec![0; keys.len()]);
    rows(keys, range.start, first, &mut ends, &mut successors);
    writer.write(layout.heads().start as u64 + 4 * first, bytemuck::cast_slice(&successors))?;
    writer.write(layout.offsets().start as u64 + 8 * (u64::from(range.start) + 1), bytemuck::cast_slice(&ends))
}

/// From the arcs of a range, which begins with rank `start` and before which there are `first` arcs, to its rows: where each
/// ends among all arcs, and their successors.
fn rows(keys: &[u64], start: u32, first: u64, ends: &mut [u64], successors: &mut [u32]) {
    let place = |key: u64| ((key >> 32) as u32 - start) as usize;
    // Where the next successor of each row goes: first the lengths, then the beginnings, in the end the ends.
    let mut next = vec![0u32; ends.len()];
    keys.iter().for_each(|&key| next[place(key)] += 1);
    let mut end = 0;
    for next in &mut next {
        end += *next;
        *next = end - *next;
    }
    for &key in keys {
        let next = &mut next[place(key)];
        successors[*next as usize] = key as u32;
        *next += 1;
    }
    let mut begin = 0;
    for (end, next) in ends.iter_mut().zip(next) {
        successors[begin as usize..next as usize].sort_unstable();
        (begin, *end) = (next, first + u64::from(next));
    }
}

/// Cuts the ranks, whose rows are bounded by runs of equal bounds, into ranges whose rows have at most `share` arcs, or one row.
fn ranges(bounds: &[(u64, u32)], share: u64) -> Vec<Range<u32>> {
    let (mut ranges, mut start, mut rank, mut sum) = (Vec::new(), 0u32, 0u32, 0u64);
    for &(bound, many) in bounds {
        let mut left = many;
        while left > 0 {
            let room = (share.saturating_sub(sum) / bound).min(u64::from(left)) as u32;
            if room == 0 && rank > start {
                ranges.push(start..rank);
                (start, sum) = (rank, 0);
                continue;
            }
            let taken = room.max(1);
            rank += taken;
            left -= taken;
            sum += bound * u64::from(taken);
        }
    }
    ranges.push(start..rank);
    ranges
}

/// Finds the range of a rank: a table over runs of 64 ranks, then a step or two.
struct RangeIndex {
    first: Vec<u16>,
    ends: Vec<u32>,
}

impl RangeIndex {
    fn new(ranges: &[Range<u32>]) -> Self {
        let ends: Vec<u32> = ranges.iter().map(|range| range.end).collect();
        let n = ends.last().copied().unwrap_or(0);
        let first = (0..n.div_ceil(64)).map(|run| ends.partition_point(|&end| end <= run * 64) as u16).collect();
        Self { first, ends }
    }

    #[inline]
    fn range_of(&self, rank: u32) -> usize {
        let mut range = self.first[rank as usize / 64] as usize;
        while self.ends[range] <= rank {
            range += 1;
        }
        range
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn ranges_tile_the_ranks_and_keep_to_the_share(
            mut bounds in prop::collection::vec((1u64..500, 1u32..300), 1..40),
            share in 1u64..5000,
        ) {
            bounds.sort_by_key(|&(bound, _)| std::cmp::Reverse(bound));
            let of_rank: Vec<u64> =
                bounds.iter().flat_map(|&(bound, many)| std::iter::repeat_n(bound, many as usize)).collect();
            let (ranges, mut end) = (ranges(&bounds, share), 0);
            let index = RangeIndex::new(&ranges);
            for (i, range) in ranges.iter().enumerate() {
                prop_assert_eq!(range.start, end);
                end = range.end;
                let sum: u64 = of_rank[range.start as usize..range.end as usize].iter().sum();
                prop_assert!(range.len() == 1 || sum <= share, "{range:?} has {sum} of {share}");
                // The next row would not have fitted.
                prop_assert!(of_rank.get(end as usize).is_none_or(|next| sum + next > share));
                prop_assert!(range.clone().all(|rank| index.range_of(rank) == i));
            }
            prop_assert_eq!(end as usize, of_rank.len());
        }
    }
}
