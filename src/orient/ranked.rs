//! Collects arcs by the rank ranges of their tails, and makes the file blocks of the rows in rank order.
//!
//! Input: the degrees of all ids; then arcs from larger ranks to smaller ones, in any order, from many threads. Output: file
//! blocks in rank order, to a graph file or to memory, and their index. No row is longer than `sqrt(2 m)`: each of its successors
//! has at least its tail's degree. So the beginnings of blocks can be determined before the rows are known, by the bound
//! `min(degree, sqrt(2 m))`, and depend on the graph alone. As many blocks as fit a thread's share of the memory are one bucket.
//! Within a bucket arcs are placed by counting, and then each row is sorted.
//!
//! Cost: 8 bytes an arc in buckets, on disk if they do not fit in memory; `O(m log d)` for rows of `d` successors. Memory: the
//! buckets' share, and that of sorting while rows are made ([`crate::clean::workspace`]).

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

use xxhash_rust::xxh3::xxh3_64;

use crate::clean::Shares;
use crate::clean::buckets::Buckets;
use crate::clean::workspace::Pool;
use trimill_graph::file::RowsWritten;
use trimill_graph::numbering::degree_runs;
use trimill_graph::{BlockEntry, DegreeRun, encode};
use trimill_system::control::{Control, Task};
use trimill_system::error::Result;
use trimill_system::lock;
use trimill_system::mapped::zeros;
use trimill_system::parallel;

/// The most buckets: each has a staging area in every thread.
const MOST_BUCKETS: u64 = 2048;

/// Buckets per thread whose rows may be made before those of earlier buckets are complete.
const AHEAD: usize = 2;

/// The largest sum of the rows and of their bounds on arcs in a file block, unless a single row has more. A block is decoded by
/// one thread, and reading a single row reads a whole block.
const BLOCK: u64 = 1 << 17;

/// Bytes that a bucket takes for each arc while its rows are made: a key, its place in a sorted row, its share of a block and,
/// if rows are short, of the rows' counts and ends.
const PER_ARC: u64 = 24;

/// Arcs in the buckets of rank ranges.
pub(super) struct RankedArcs {
    degrees: Vec<DegreeRun>,
    /// The first rank of each file block; one more at the end.
    blocks: Vec<u32>,
    /// The file blocks of each bucket.
    parts: Vec<Range<usize>>,
    index: RangeIndex,
    buckets: Buckets,
    pool: Pool,
}

impl RankedArcs {
    /// No arcs yet, of a graph with these degrees of ids (0: not a vertex) and this number of edges.
    pub(super) fn new(degrees: &[u32], edges: u64, shares: &Shares<'_>) -> Self {
        let degrees = degree_runs(degrees);
        let bounds = bounds(&degrees, edges);
        let blocks = ranges(&bounds, BLOCK);
        let total: u64 = bounds.iter().map(|&(bound, many)| bound * u64::from(many)).sum();
        let most = shares.staged().min(MOST_BUCKETS);
        let share = (shares.sorting() / PER_ARC).min(1 << 20).max(total / most);
        let per_bucket = (share / BLOCK).max(1) as usize;
        let parts: Vec<Range<usize>> =
            (0..blocks.len()).step_by(per_bucket).map(|first| first..blocks.len().min(first + per_bucket)).collect();
        let ends = parts.iter().map(|part| blocks[part.end - 1].end).collect();
        let buckets = Buckets::new(parts.len(), edges, shares.buckets(), shares.dir);
        let blocks = starts(&blocks);
        Self { degrees, blocks, index: RangeIndex::new(ends), parts, buckets, pool: Pool::of_sorting(shares) }
    }

    /// How many vertices have each degree, falling.
    pub(super) fn degrees(&self) -> &[DegreeRun] {
        &self.degrees
    }

    /// Adds arcs `(tail, successor)`. Called from many threads.
    pub(super) fn extend(&self, arcs: impl Iterator<Item = (u32, u32)>) -> Result<()> {
        self.buckets.extend(
            arcs.map(|(tail, successor)| (self.index.range_of(tail), u64::from(tail) << 32 | u64::from(successor))),
        )
    }

    /// Bytes written to files so far.
    pub(super) fn bytes_written(&self) -> u64 {
        self.buckets.bytes_written()
    }

    /// Makes all file blocks. `write` receives the position of some consecutive blocks among the bytes of all, and their bytes; it
    /// is called from many threads, in no order. Runs in the current thread pool.
    pub(super) fn rows(
        &self,
        write: impl Fn(u64, Vec<u8>) -> Result<()> + Sync,
        task: &Task,
        control: &Control,
    ) -> Result<RowsWritten> {
        self.buckets.flush()?;
        let (next, joined) = (AtomicUsize::new(0), Ordered::default());
        let one = |bucket: usize| -> Result<()> {
            control.check()?;
            let arcs = self.buckets.len(bucket);
            let taken = self.pool.take(arcs * PER_ARC);
            taken.check(arcs * PER_ARC)?;
            let keys = self.buckets.take(bucket)?;
            let made = self.made(&self.parts[bucket], &keys);
            task.advance(arcs);
            drop((keys, taken));
            joined.add(bucket, made).into_iter().try_for_each(|(position, bytes)| write(position, bytes))
        };
        // Threads take buckets in order, so that few are complete before their position is known.
        let ahead = AHEAD * rayon::current_num_threads();
        parallel::try_each(0..rayon::current_num_threads(), |_| {
            loop {
                let bucket = next.fetch_add(1, Ordering::Relaxed);
                if bucket >= self.parts.len() || !joined.reaches(bucket, ahead) {
                    return Ok(());
                }
                one(bucket).inspect_err(|_| joined.fail())?;
            }
        })?;
        let JoinedBlocks { entries, position, longest, probes, .. } =
            joined.joined.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(RowsWritten { entries, block_bytes: position, longest_row: longest, probes })
    }

    /// The file blocks of a bucket with these arcs.
    fn made(&self, part: &Range<usize>, keys: &[u64]) -> BucketBlocks {
        let (first, end) = (self.blocks[part.start], self.blocks[part.end]);
        let (mut ends, mut successors) = (zeros((end - first) as usize), zeros(keys.len()));
        rows(keys, first, &mut ends, &mut successors);
        let mut made = BucketBlocks { arcs: keys.len() as u64, ..BucketBlocks::default() };
        let mut begin = 0;
        let degrees = self.degrees_from(first);
        for (&end, degree) in ends.iter().zip(degrees) {
            let length = end - begin;
            made.longest = made.longest.max(length);
            made.probes = made.probes.saturating_add(u64::from(length) * u64::from(degree.saturating_sub(length)));
            begin = end;
        }
        let mut arc = 0;
        for block in part.clone() {
            let rows = (self.blocks[block] - first) as usize..(self.blocks[block + 1] - first) as usize;
            let (position, last) = (made.bytes.len(), ends[rows.end - 1]);
            let own = &mut ends[rows];
            own.iter_mut().for_each(|end| *end -= arc);
            encode(own, &successors[arc as usize..last as usize], &mut made.bytes);
            made.entries.push(BlockEntry {
                first_rank: self.blocks[block].into(),
                first_arc: arc.into(),
                position: position as u64,
                checksum: xxh3_64(&made.bytes[position..]),
            });
            arc = last;
        }
        made
    }

    /// The degrees from rank `first` on.
    fn degrees_from(&self, first: u32) -> impl Iterator<Item = u32> + '_ {
        let (mut run, mut before) = (0, 0);
        while run < self.degrees.len() && before + self.degrees[run].vertices <= first {
            before += self.degrees[run].vertices;
            run += 1;
        }
        let each = self.degrees[run..].iter().flat_map(|run| std::iter::repeat_n(run.degree, run.vertices as usize));
        each.skip((first - before) as usize)
    }
}

/// The first rank of each file block of a graph with these degrees, and the number of vertices behind them.
pub(crate) fn block_starts(degrees: &[DegreeRun], edges: u64) -> Vec<u32> {
    starts(&ranges(&bounds(degrees, edges), BLOCK))
}

/// The weights of rows: a bound on their arcs, and one more; and how many rows have each.
fn bounds(degrees: &[DegreeRun], edges: u64) -> Vec<(u64, u32)> {
    let longest = (2 * edges).isqrt() + 1;
    degrees.iter().map(|run| (u64::from(run.degree).min(longest) + 1, run.vertices)).collect()
}

fn starts(blocks: &[Range<u32>]) -> Vec<u32> {
    let end = blocks.last().map_or(0, |last| last.end);
    blocks.iter().map(|block| block.start).chain([end]).collect()
}

/// The file blocks of a bucket, with arcs and positions counted from the beginning of the bucket.
#[derive(Default)]
struct BucketBlocks {
    bytes: Vec<u8>,
    entries: Vec<BlockEntry>,
    arcs: u64,
    longest: u32,
    probes: u64,
}

/// [`JoinedBlocks`], shared by threads.
#[derive(Default)]
struct Ordered {
    joined: Mutex<JoinedBlocks>,
    changed: Condvar,
}

impl Ordered {
    /// Waits until all buckets before this one except the last `ahead` were added. `false`: a thread failed.
    fn reaches(&self, bucket: usize, ahead: usize) -> bool {
        let far = |joined: &mut JoinedBlocks| !joined.failed && bucket > joined.next + ahead;
        let joined = self.changed.wait_while(lock(&self.joined), far);
        !joined.unwrap_or_else(PoisonError::into_inner).failed
    }

    fn add(&self, bucket: usize, made: BucketBlocks) -> Vec<(u64, Vec<u8>)> {
        let ready = lock(&self.joined).add(bucket, made);
        self.changed.notify_all();
        ready
    }

    fn fail(&self) {
        lock(&self.joined).failed = true;
        self.changed.notify_all();
    }
}

/// The file blocks of all buckets so far, in order.
#[derive(Default)]
struct JoinedBlocks {
    failed: bool,
    /// Buckets that were made before one of those in front of them.
    waiting: BTreeMap<usize, BucketBlocks>,
    next: usize,
    position: u64,
    arcs: u64,
    entries: Vec<BlockEntry>,
    longest: u32,
    probes: u64,
}

impl JoinedBlocks {
    /// Adds the blocks of a bucket. Returns all blocks whose position is known now and was not before.
    fn add(&mut self, bucket: usize, made: BucketBlocks) -> Vec<(u64, Vec<u8>)> {
        self.waiting.insert(bucket, made);
        let mut ready = Vec::new();
        while let Some(made) = self.waiting.remove(&self.next) {
            let (position, arcs) = (self.position, self.arcs);
            let placed = |entry: BlockEntry| BlockEntry {
                first_arc: arcs + entry.first_arc,
                position: position + entry.position,
                ..entry
            };
            self.entries.extend(made.entries.into_iter().map(placed));
            self.position += made.bytes.len() as u64;
            self.arcs += made.arcs;
            self.longest = self.longest.max(made.longest);
            self.probes = self.probes.saturating_add(made.probes);
            self.next += 1;
            ready.push((position, made.bytes));
        }
        ready
    }
}

/// Makes the rows of a range of ranks, which begins with `start`, from its arcs: the end of each row, and the successors.
fn rows(keys: &[u64], start: u32, ends: &mut [u32], successors: &mut [u32]) {
    let place = |key: u64| ((key >> 32) as u32 - start) as usize;
    // `ends` holds first the lengths of rows, then the place of each row's next successor, and finally the ends.
    keys.iter().for_each(|&key| ends[place(key)] += 1);
    let mut end = 0;
    for next in &mut *ends {
        end += *next;
        *next = end - *next;
    }
    for &key in keys {
        let next = &mut ends[place(key)];
        successors[*next as usize] = key as u32;
        *next += 1;
    }
    let mut begin = 0;
    for &end in &*ends {
        successors[begin as usize..end as usize].sort_unstable();
        begin = end;
    }
}

/// Divides the ranks, whose bounds come in runs of equal ones, into ranges of at most `share` in bounds, or of one row.
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
    if rank > start {
        ranges.push(start..rank);
    }
    ranges
}

/// Finds the range of a rank: by a table over runs of 64 ranks, then by a step or two.
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
            let index = RangeIndex::new(ranges.iter().map(|range| range.end).collect());
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
