//! Where the file blocks of a graph begin, and which are made together. Input: the degrees of all ids. Each successor of a row has at least its
//! tail's degree, so no row is longer than `sqrt(2 m)`: the bounds `min(degree, sqrt(2 m))` determine, before rows are known, where blocks begin. As
//! many blocks as fit a thread's share of memory form a bucket, which collects rows in any order.

use std::ops::Range;

use super::joined::BucketBlocks;
use crate::clean::Shares;
use trimill_graph::DegreeRun;
use trimill_graph::numbering::degree_runs;
use trimill_system::Result;

/// The most buckets: each has a staging area in every thread.
const MOST_BUCKETS: u64 = 4096;

/// The usual largest weight of a bucket.
pub(super) const BUCKET: u64 = 1 << 20;

/// The largest weight (rows, and bounds on arcs) of a block of several rows. One thread decodes a block, and a row is read with its block.
pub(crate) const BLOCK: u64 = 1 << 17;

/// Bytes of a bucket per arc while its rows are made: a key, its place in a sorted row, its share of a block and, in short rows, of counts and ends.
pub(super) const PER_ARC: u64 = 24;

pub(super) struct BlockBuckets {
    pub(super) degrees: Vec<DegreeRun>,
    starts: Vec<u32>,
    per_bucket: usize,
    index: RangeIndex,
}

impl BlockBuckets {
    /// `degrees` are indexed by id; 0 if the id is no vertex. `bucket`: the largest weight of a bucket, if there may be so many.
    pub(super) fn new(degrees: &[u32], edges: u64, shares: &Shares<'_>, bucket: u64) -> Self {
        let degrees = degree_runs(degrees);
        let bounds = bounds(&degrees, edges);
        let starts = starts(&bounds, BLOCK);
        let total: u64 = bounds.iter().map(|&(bound, many)| bound * u64::from(many)).sum();
        let most = shares.staged().min(MOST_BUCKETS);
        let share = (shares.sorting() / PER_ARC).min(bucket).max(total / most);
        let per_bucket = (share / BLOCK).max(1) as usize;
        let ends = starts[1..].chunks(per_bucket).filter_map(|ends| ends.last().copied()).collect();
        Self { degrees, starts, per_bucket, index: RangeIndex::new(ends) }
    }

    pub(super) fn len(&self) -> usize {
        self.index.ends.len()
    }

    #[inline]
    pub(super) fn bucket_of(&self, rank: u32) -> usize {
        self.index.range_of(rank)
    }

    fn blocks(&self, bucket: usize) -> Range<usize> {
        let first = bucket * self.per_bucket;
        first..(first + self.per_bucket).min(self.starts.len() - 1)
    }

    pub(super) fn ranks(&self, bucket: usize) -> Range<u32> {
        let blocks = self.blocks(bucket);
        self.starts[blocks.start]..self.starts[blocks.end]
    }

    /// Makes a bucket's file blocks from the lengths of its rows; `distances` appends those of a range of rows ([`trimill_graph::rows`]).
    pub(super) fn made(
        &self,
        bucket: usize,
        lengths: &[u32],
        mut distances: impl FnMut(Range<usize>, &mut Vec<u32>),
    ) -> Result<BucketBlocks> {
        let first = self.ranks(bucket).start;
        self.made_with(self.blocks(bucket), |ranks, of_block, of_rows| {
            let rows = (ranks.start - first) as usize..(ranks.end - first) as usize;
            of_rows.extend_from_slice(&lengths[rows.clone()]);
            distances(rows, of_block);
            Ok(())
        })
    }

    pub(super) fn file_blocks(&self) -> usize {
        self.starts.len() - 1
    }

    /// Makes consecutive file blocks, at least one; `rows` appends the distances and the lengths of the rows of a block's ranks.
    pub(super) fn made_with(
        &self,
        blocks: Range<usize>,
        mut rows: impl FnMut(Range<u32>, &mut Vec<u32>, &mut Vec<u32>) -> Result<()>,
    ) -> Result<BucketBlocks> {
        let each = self.degrees.iter().flat_map(|run| std::iter::repeat_n(run.degree, run.vertices as usize));
        // Passes over a run of equal degrees in one step.
        let mut degrees = each.skip(self.starts[blocks.start] as usize);
        let (mut made, mut distances, mut lengths) = (BucketBlocks::default(), Vec::new(), Vec::new());
        for block in blocks {
            distances.clear();
            lengths.clear();
            rows(self.starts[block]..self.starts[block + 1], &mut distances, &mut lengths)?;
            made.add(self.starts[block].into(), &lengths, &distances);
            for (&length, degree) in lengths.iter().zip(&mut degrees) {
                made.probes = made.probes.saturating_add(u64::from(length) * u64::from(degree.saturating_sub(length)));
            }
        }
        Ok(made)
    }
}

pub(crate) fn block_starts(degrees: &[DegreeRun], edges: u64) -> Vec<u32> {
    starts(&bounds(degrees, edges), BLOCK)
}

/// The weights of rows (a bound on their arcs, plus one), and how many rows have each.
fn bounds(degrees: &[DegreeRun], edges: u64) -> Vec<(u64, u32)> {
    let longest = (2 * edges).isqrt() + 1;
    degrees.iter().map(|run| (u64::from(run.degree).min(longest) + 1, run.vertices)).collect()
}

/// Cuts the ranks into ranges of weight up to `share`, or of one row. Returns the first rank of each range, and the end of the last.
fn starts(bounds: &[(u64, u32)], share: u64) -> Vec<u32> {
    let (mut starts, mut start, mut rank, mut sum) = (vec![0], 0u32, 0u32, 0u64);
    for &(bound, many) in bounds {
        let mut left = many;
        while left > 0 {
            let room = (share.saturating_sub(sum) / bound).min(u64::from(left)) as u32;
            if room == 0 && rank > start {
                starts.push(rank);
                (start, sum) = (rank, 0);
                continue;
            }
            let taken = room.max(1);
            rank += taken;
            left -= taken;
            sum += bound * u64::from(taken);
        }
    }
    if rank > start {
        starts.push(rank);
    }
    starts
}

/// Finds the range of a rank: by a table over runs of 64 ranks, then in a step or two.
struct RangeIndex {
    first: Vec<u16>,
    ends: Vec<u32>,
}

impl RangeIndex {
    fn new(ends: Vec<u32>) -> Self {
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
            let starts = starts(&bounds, share);
            let index = RangeIndex::new(starts[1..].to_vec());
            for (i, range) in starts.windows(2).map(|pair| pair[0]..pair[1]).enumerate() {
                let end = range.end;
                let sum: u64 = of_rank[range.start as usize..range.end as usize].iter().sum();
                prop_assert!(range.len() == 1 || sum <= share, "{range:?} has {sum} of {share}");
                prop_assert!(of_rank.get(end as usize).is_none_or(|next| sum + next > share));
                prop_assert!(range.clone().all(|rank| index.range_of(rank) == i));
            }
            prop_assert_eq!((starts[0], starts[starts.len() - 1] as usize), (0, of_rank.len()));
        }
    }
}
