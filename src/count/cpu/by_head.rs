//! Arcs that are counted head by head. Behind the hubs a head's row is mostly longer than the part of the tail's row before the head: on GAP-kron 25,
//! 423 entries and 134. So the arcs of a batch of locals to heads with enough of them are sorted by head; each head's row is marked in a bitmap once,
//! and its tails' rows probe it.
//!
//! Heads are cut into buckets of about equal numbers of arcs. Runs of locals write their arcs by bucket; a worker sorts one bucket of all by head.

use std::ops::Range;

use rayon::prelude::*;

use super::pack;
use super::postponed::{PostponedArc, SortedArcs};
use super::probe::{before, mark, unmark};
use super::vertices::{Corners, HostVertexCounters, TotalOnly};
use super::worker::{CpuWorker, LocalsRun};
use crate::count::successors::SuccessorRows;
use trimill_counting::Resident;
use trimill_counting::planes::each_bit;
use trimill_system::mapped::prefetch_all;
use trimill_system::{Bytes, parallel};

/// The most heads in all, and in a bucket, where heads are numbered with 16 bits.
const MOST: u32 = 1 << 24;
pub(super) const OF_BUCKET: usize = 1 << 14;

pub(super) const GROUP: usize = 64;

/// The most buckets, and the fewest arcs that a batch has in one.
const BUCKETS: u64 = 1 << 10;
const LEAST_ARCS: u64 = 1 << 14;

/// Only arcs in the first `PLACES` places of a row are counted by head: a place has 16 bits.
const PLACES: usize = 1 << 16;

/// Heads are chosen by a sample: of the groups of `SAMPLED_TOGETHER` consecutive locals, one in `SAMPLED` is taken.
const SAMPLED_TOGETHER: usize = 64;
const SAMPLED: usize = 256;

/// The most bytes of the tables in which threads sum up a sample, unless one is longer: a table for each thread may take more than the row block.
const SAMPLE_TABLES: usize = 4 << 20;

/// What sorting an arc costs, in probes.
const COST_OF_SORTING: i64 = 16;

/// Prefetch distance for entries, in arcs; the bounds of their rows are prefetched twice as far ahead.
const AHEAD: usize = 32;

/// Bounds of the number of arcs of a batch; the upper one is 2 GiB.
pub(super) const MOST_ROOM: u64 = 1 << 28;
const LEAST_ROOM: u64 = 1 << 20;

/// A batch has at most `ENOUGH_ROOM` arcs, or one in `BATCHES` of all if that is more, even if there is more room: allocation takes time.
pub(super) const ENOUGH_ROOM: u64 = 1 << 26;
const BATCHES: u64 = 32;

/// The most arcs of a batch for each vertex: a graph of few vertices does not need more.
const ROOM_OF_VERTEX: u64 = 32;

/// How many arcs a batch has room for within `share`; 0 if too few to be worthwhile.
pub(super) fn room(share: Bytes, vertices: u32) -> usize {
    let room = (share.get() / bytes(1).get()).min(MOST_ROOM).min(ROOM_OF_VERTEX * u64::from(vertices));
    if room < LEAST_ROOM { 0 } else { room as usize }
}

/// The number of arcs for which a batch of a partition of `arcs` arcs has room: above `enough` only to have at most `BATCHES` batches.
pub(super) fn room_taken(room: usize, arcs: u64, enough: u64) -> usize {
    room.min(arcs.min(enough.max(arcs / BATCHES)) as usize)
}

pub(super) fn bytes(arcs: usize) -> Bytes {
    Bytes::of::<u64>(arcs as u64)
}

#[derive(Debug, Default)]
pub(super) struct HeadBuckets {
    range: Range<u32>,
    /// Whether arcs to these heads are all counted by head, even the first of a row and those before the cursor.
    all: bool,
    /// Whether arcs of packed rows are counted by head, too.
    packed: bool,
    buckets: Vec<u16>,
    firsts: Vec<u32>,
}

/// What it would save, in probes, to count the sampled arcs to a group of heads by head; excludes the cost of marking the heads' rows.
#[derive(Debug, Clone, Copy, Default)]
struct GroupSample {
    arcs: u64,
    saved: i64,
    /// Entries of the rows of the arcs' heads, summed over the arcs.
    entries: u64,
}

impl HeadBuckets {
    /// `arcs` has the arcs to each group of heads in `range`; a bucket is closed when it has `least` arcs.
    pub(super) fn new(range: Range<u32>, arcs: &[u64], least: u64) -> Self {
        let (mut buckets, mut firsts) = (Vec::with_capacity(arcs.len()), Vec::new());
        let mut left = (0, 0);
        for (first, arcs) in range.clone().step_by(GROUP).zip(arcs) {
            if left.0 == 0 || left.1 == 0 {
                firsts.push(first);
                left = (least.max(1), OF_BUCKET / GROUP);
            }
            left = (left.0.saturating_sub(*arcs), left.1 - 1);
            buckets.push((firsts.len() - 1) as u16);
        }
        Self { range, buckets, firsts, ..Self::default() }
    }

    /// Takes the prefix of `range` that saves the most if a batch has up to `room` arcs; `probes` gives the cost of probing a head's row. A head
    /// does not pay off if its row is short, or if a batch has few arcs to it.
    pub(super) fn that_pay_off(
        resident: &Resident,
        range: Range<u32>,
        room: usize,
        probes: impl Fn(u32) -> usize + Sync,
    ) -> Self {
        let sampled = (0..resident.numbers.len()).into_par_iter().step_by(SAMPLED);
        if !sampled.any(|local| resident.row(local).len() as i64 > COST_OF_SORTING) {
            return Self::default();
        }
        let range = range.start..range.end.min(range.start.saturating_add(MOST));
        let samples = sample(resident, &range, probes);
        let batches = batches_of(resident, room);
        let (mut best, mut most_saved, mut sum) = (0, 0, 0);
        for (group, sample) in (1..).zip(&samples) {
            let rows = (SAMPLED as u64 * sample.arcs).min(GROUP as u64 * batches);
            let marks = 2 * rows * sample.entries / sample.arcs.max(1);
            sum += SAMPLED as i64 * sample.saved - marks as i64;
            if sum > most_saved {
                (best, most_saved) = (group, sum);
            }
        }
        Self::of_samples(range.start..range.end.min(range.start + (GROUP * best) as u32), &samples[..best], batches)
    }

    /// All heads below `end`. In rows with a middle corner among them, all arcs to them are counted by head.
    pub(super) fn all_below(end: u32, resident: &Resident, room: usize) -> Self {
        let samples = sample(resident, &(0..end), |_| 0);
        Self { all: true, ..Self::of_samples(0..end, &samples, batches_of(resident, room)) }
    }

    /// As many heads as can be numbered, for a graph whose rows will be packed ([`pack`]).
    pub(super) fn of_packed(resident: &Resident, room: usize) -> Self {
        let range = 0..MOST.min(resident.numbers.len() as u32);
        let samples = sample(resident, &range, |_| 0);
        Self { packed: true, ..Self::of_samples(range, &samples, batches_of(resident, room)) }
    }

    fn of_samples(range: Range<u32>, samples: &[GroupSample], batches: u64) -> Self {
        let arcs: Vec<u64> = samples.iter().map(|sample| SAMPLED as u64 * sample.arcs).collect();
        let least = (arcs.iter().sum::<u64>() / BUCKETS).max(LEAST_ARCS * batches);
        Self::new(range, &arcs, least)
    }

    pub(super) fn range(&self) -> &Range<u32> {
        &self.range
    }

    pub(super) fn is_empty(&self) -> bool {
        self.firsts.is_empty()
    }

    /// The places of the arcs that are counted by head in an unpacked row.
    #[inline(always)]
    pub(super) fn places(&self, row: &[u32], cursor: usize) -> Range<usize> {
        if self.is_empty() || row.get(cursor).is_none_or(|&next| next >= self.range.end) {
            return 0..0;
        }
        // The first entry has no entry before it that could close a triangle.
        let start = before(row, cursor, self.range.start).max(1);
        let end = before(row, start.min(row.len()), self.range.end).min(PLACES).max(start);
        if self.all && start < end { 0..end } else { start..end }
    }

    #[inline(always)]
    fn bucket_of(&self, head: u32) -> usize {
        usize::from(self.buckets[(head - self.range.start) as usize / GROUP])
    }

    /// Visits the run's arcs that are counted by head: the tail, the number of entries before the head in its row (0 if that is packed), the head.
    #[inline(always)]
    fn each_arc(&self, resident: &Resident, run: &LocalsRun<'_>, mut visit: impl FnMut(usize, usize, u32)) {
        for (local, cursor) in run.locals().zip(&*run.cursors) {
            let row = resident.row(local);
            if let Some(words) = pack::words(row) {
                let words = if self.packed { words } else { &[] };
                for (i, word) in words.iter().enumerate().take_while(|(_, word)| 64 * word[0] < self.range.end) {
                    // As below, the first entry closes no triangle.
                    let bits = pack::bits(word);
                    let bits = if i == 0 { bits & (bits - 1) } else { bits };
                    each_bit(bits, |bit| visit(local, 0, 64 * word[0] + bit as u32));
                }
                continue;
            }
            let places = self.places(row, *cursor as usize);
            places.clone().zip(&row[places]).for_each(|(place, &head)| visit(local, place, head));
        }
    }

    /// Writes the arcs of a run of locals into `room`, bucket by bucket; `room` has a place for each arc of the run.
    fn of_run<'a>(&self, resident: &Resident, run: &LocalsRun<'_>, room: &'a mut [u64]) -> RunArcs<'a> {
        let mut ends = vec![0; self.firsts.len()];
        self.each_arc(resident, run, |_, _, head| ends[self.bucket_of(head)] += 1);
        let mut sum = 0;
        for end in &mut ends {
            sum += std::mem::replace(end, sum);
        }
        self.each_arc(resident, run, |tail, place, head| {
            let bucket = self.bucket_of(head);
            let arc = PostponedArc { tail: tail as u32, len: place as u16, head: (head - self.firsts[bucket]) as u16 };
            room[ends[bucket] as usize] = arc.packed();
            ends[bucket] += 1;
        });
        RunArcs { arcs: room, ends }
    }

    /// The arcs of a batch of runs, written into `room`, which must hold all arcs of the runs.
    pub(super) fn of_batch<'a>(
        &self,
        resident: &Resident,
        runs: &[LocalsRun<'_>],
        room: &'a mut [u64],
    ) -> Vec<RunArcs<'a>> {
        let rooms = parallel::cut(room, runs.iter().map(|run| run.arcs(resident) as usize));
        parallel::map(runs.iter().zip(rooms), |(run, room)| self.of_run(resident, run, room))
    }

    /// The arcs of a batch in parts of up to `most` arcs, each with heads of one bucket.
    pub(super) fn parts<'a>(&self, batch: &'a [RunArcs<'_>], most: usize) -> Vec<HeadPart<'a>> {
        let mut parts = Vec::new();
        for (bucket, &first) in self.firsts.iter().enumerate() {
            let mut part = HeadPart { first, pieces: Vec::new(), arcs: 0 };
            for piece in batch.iter().flat_map(|run| run.of(bucket).chunks(most)) {
                if part.arcs + piece.len() > most {
                    parts.push(std::mem::replace(&mut part, HeadPart { first, pieces: Vec::new(), arcs: 0 }));
                }
                part.arcs += piece.len();
                part.pieces.push(piece);
            }
            parts.push(part);
        }
        parts.retain(|part| part.arcs > 0);
        parts
    }
}

pub(super) struct RunArcs<'a> {
    /// [`PostponedArc::packed`].
    arcs: &'a [u64],
    ends: Vec<u32>,
}

impl RunArcs<'_> {
    fn of(&self, bucket: usize) -> &[u64] {
        let start = bucket.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.arcs[start as usize..self.ends[bucket] as usize]
    }
}

pub(super) struct HeadPart<'a> {
    pub(super) first: u32,
    pieces: Vec<&'a [u64]>,
    pub(super) arcs: usize,
}

impl HeadPart<'_> {
    #[inline(always)]
    pub(super) fn sort<'a>(&self, room: &'a mut SortedArcs) -> &'a [PostponedArc] {
        room.sort(self.pieces.iter().copied().flatten().map(|&arc| PostponedArc::of(arc)), 0)
    }

    /// Counts the triangles for which one of these arcs joins the largest and the middle corner.
    pub(super) fn count(
        &self,
        worker: &mut CpuWorker,
        successors: &SuccessorRows<'_>,
        counters: Option<&HostVertexCounters>,
    ) -> u64 {
        match counters {
            None => count_part(worker, self, successors, &mut TotalOnly),
            Some(all) => worker.at_vertices(all, |worker, corners| count_part(worker, self, successors, corners)),
        }
    }
}

fn batches_of(resident: &Resident, room: usize) -> u64 {
    resident.arcs().div_ceil(room as u64).max(1)
}

/// Adds up, for each group of heads, what a sample of the arcs would save; `entries` gives the cost of probing a head's row.
fn sample(resident: &Resident, range: &Range<u32>, entries: impl Fn(u32) -> usize + Sync) -> Vec<GroupSample> {
    let locals = resident.numbers.len();
    let groups = range.len().div_ceil(GROUP);
    // A few threads are enough where their tables are long.
    let threads = (SAMPLE_TABLES / (size_of::<GroupSample>() * groups.max(1))).clamp(1, rayon::current_num_threads());
    let of_thread = |thread: usize| {
        let mut samples = vec![GroupSample::default(); groups];
        for first in (0..locals).step_by(SAMPLED_TOGETHER * SAMPLED).skip(thread).step_by(threads) {
            for row in (first..locals.min(first + SAMPLED_TOGETHER)).map(|local| resident.row(local)) {
                let others = if pack::words(row).is_some() { row.len() } else { before(row, 0, range.start) };
                for (place, &head) in row.iter().enumerate().skip(others.max(1)).take_while(|(_, b)| range.contains(b))
                {
                    let entries = entries(head);
                    let sample = &mut samples[(head - range.start) as usize / GROUP];
                    sample.arcs += 1;
                    sample.saved += entries as i64 - place as i64 - COST_OF_SORTING;
                    sample.entries += entries as u64;
                }
            }
        }
        samples
    };
    let of_threads = parallel::map(0..threads, of_thread);
    let sum = |group: usize| {
        of_threads.iter().map(|samples| samples[group]).fold(GroupSample::default(), |all, one| GroupSample {
            arcs: all.arcs + one.arcs,
            saved: all.saved + one.saved,
            entries: all.entries + one.entries,
        })
    };
    (0..groups).into_par_iter().with_min_len(1 << 10).map(sum).collect()
}

/// Compiled for several instruction sets, see [`super::locals::count_run`].
#[multiversion::multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx512vpopcntdq+bmi1+bmi2+lzcnt+popcnt",
    "x86_64+avx2+bmi1+bmi2+lzcnt+popcnt",
    "x86_64+popcnt"
))]
fn count_part<C: Corners>(
    worker: &mut CpuWorker,
    part: &HeadPart<'_>,
    successors: &SuccessorRows<'_>,
    corners: &mut C,
) -> u64 {
    let CpuWorker { marks, postponed, .. } = worker;
    let sorted = part.sort(&mut postponed.sorted);
    let (mut count, mut i) = (0, 0);
    for arcs in sorted.chunk_by(|a, b| a.head == b.head) {
        let head = part.first + u32::from(arcs[0].head);
        let row = successors.row(head);
        mark(row, marks);
        for arc in arcs {
            i += 1;
            if let Some(later) = sorted.get(i + 2 * AHEAD) {
                successors.prefetch_offset(later.tail as usize);
            }
            if let Some(later) = sorted.get(i + AHEAD) {
                prefetch_all(entries(later, successors));
            }
            let found = corners.marked(entries(arc, successors), marks);
            corners.number(head, found);
            corners.local(arc.tail as usize, found);
            count += found;
        }
        unmark(row, marks);
    }
    count
}

#[inline(always)]
fn entries<'a>(arc: &PostponedArc, successors: &SuccessorRows<'a>) -> &'a [u32] {
    &successors.resident(arc.tail as usize)[..usize::from(arc.len)]
}
