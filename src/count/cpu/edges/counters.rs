//! The counters of arcs, and additions to them that are collected until a range of counters has many.

use std::ops::Range;

use trimill_system::mapped::{LockedBlocks, populate};
use trimill_system::{Bytes, parallel};

const RANGES: u64 = 1 << 8;

/// The least binary logarithm of the number of counters of a range.
const LEAST_SHIFT: u32 = 12;

/// The size of a worker's buffer of additions for a range.
const COLLECTED: usize = 128;

/// The size of a worker's buffer of the counts of rows that follow each other.
const OF_ROWS: usize = 1 << 10;

/// Counters in ranges of equal length, each with a lock: first the resident arcs, then the arcs of a row block.
#[derive(Debug, Default)]
pub(super) struct HostEdgeCounters {
    shift: u32,
    resident: u64,
    ranges: LockedBlocks<u32>,
}

impl HostEdgeCounters {
    /// Bytes besides 4 an arc: the ranges, and the unused end of the last one.
    pub(super) const FIXED: Bytes = Bytes(64 * (RANGES + 2) + (4 << LEAST_SHIFT));

    /// Zeros for `resident` resident arcs, and for the `row_block` arcs of the largest row block.
    pub(super) fn new(resident: u64, row_block: u64) -> Self {
        let all = resident + row_block;
        let shift = (LEAST_SHIFT..).find(|shift| all >> shift < RANGES).unwrap_or(LEAST_SHIFT);
        Self { shift, resident, ranges: LockedBlocks::zeros(all as usize, 1 << shift) }
    }

    pub(super) fn bytes(&self) -> Bytes {
        self.ranges.bytes()
    }

    fn places(&self, first: u64, len: usize) -> impl Iterator<Item = (usize, Range<usize>)> {
        let (mut at, end) = (first, first + len as u64);
        std::iter::from_fn(move || {
            let (range, place) = (at >> self.shift, at & ((1 << self.shift) - 1));
            let next = ((range + 1) << self.shift).min(end);
            let places = place as usize..(place + next - at) as usize;
            (std::mem::replace(&mut at, next) < end).then_some((range as usize, places))
        })
    }

    #[inline(always)]
    pub(super) fn add(&self, first: u64, counts: &[u32]) {
        let mut rest = counts;
        for (range, places) in self.places(first, counts.len()) {
            let (counts, after) = rest.split_at(places.len());
            self.ranges.change(range, |counters| {
                counters[places].iter_mut().zip(counts).for_each(|(counter, count)| *counter += count);
            });
            rest = after;
        }
    }

    /// Copies counters. As the following functions, it runs in the current thread pool.
    pub(super) fn read(&self, first: u64, into: &mut [u32]) {
        let places: Vec<_> = self.places(first, into.len()).collect();
        let parts = parallel::cut(into, places.iter().map(|(_, places)| places.len()));
        let parts = places.into_iter().zip(parts);
        parallel::each(parts, |((range, places), into)| {
            self.ranges.read(range, |counters| into.copy_from_slice(&counters[places]));
        });
    }

    pub(super) fn read_row_block(&self, into: &mut [u32]) {
        self.read(self.resident, into);
    }

    pub(super) fn clear_row_block(&self, arcs: u64) {
        parallel::each(self.places(self.resident, arcs as usize), |(range, places)| {
            self.ranges.change(range, |counters| counters[places].fill(0));
        });
    }

    pub(super) fn populate(&self) {
        parallel::each(0..self.ranges.blocks(), |range| self.ranges.change(range, populate));
    }
}

/// Adds 1 for each bit of the masks; the lowest is for the counter at the mask's place. Compiled for several instruction sets.
#[multiversion::multiversion(targets("x86_64+avx2+bmi1+bmi2+lzcnt+popcnt", "x86_64+popcnt"))]
fn add_masks(counters: &mut [u32], places: &[u32], masks: &[u64]) {
    for (&place, &mask) in places.iter().zip(masks) {
        let mut at = place as usize;
        if mask & mask.wrapping_sub(1) == 0 {
            counters[at + mask.trailing_zeros() as usize] += 1;
            continue;
        }
        let mut left = mask;
        while left != 0 {
            match counters.get_mut(at..).and_then(<[u32]>::first_chunk_mut::<8>) {
                Some(eight) => {
                    let bits = left as u32 & 0xff;
                    eight.iter_mut().zip(0..).for_each(|(counter, bit)| *counter += bits >> bit & 1);
                }
                None => {
                    let counters = counters[at..].iter_mut().zip(0..8);
                    counters.for_each(|(counter, bit)| *counter += (left >> bit) as u32 & 1);
                }
            }
            (at, left) = (at + 8, left >> 8);
        }
    }
}

#[derive(Debug)]
pub(super) struct Additions {
    shift: u32,
    /// A buffer of [`COLLECTED`] places for each range, each with a mask: a bit for each of the 64 counters from there on.
    places: Vec<u32>,
    masks: Vec<u64>,
    used: Vec<u16>,
    /// Counts to be added to the counters from `first_of_rows` on.
    rows: Vec<u32>,
    first_of_rows: u64,
}

impl Additions {
    pub(super) const BYTES: Bytes = Bytes((RANGES + 1) * (12 * COLLECTED as u64 + 2) + 4 * OF_ROWS as u64);

    pub(super) fn new(counters: &HostEdgeCounters) -> Self {
        let ranges = counters.ranges.blocks();
        let all = COLLECTED * ranges;
        Self {
            shift: counters.shift,
            places: vec![0; all],
            masks: vec![0; all],
            used: vec![0; ranges],
            rows: Vec::with_capacity(OF_ROWS),
            first_of_rows: 0,
        }
    }

    pub(super) fn bytes(&self) -> Bytes {
        Bytes::of::<u32>(self.places.capacity() as u64)
            + Bytes::of::<u64>(self.masks.capacity() as u64)
            + Bytes::of::<u16>(self.used.capacity() as u64)
            + Bytes::of::<u32>(self.rows.capacity() as u64)
    }

    /// Adds the counts of a row, now or later: taking locks for each short row would be slow.
    #[inline(always)]
    pub(super) fn push_row(&mut self, first: u64, counts: &[u32], counters: &HostEdgeCounters) {
        let place = first.wrapping_sub(self.first_of_rows);
        if place < self.rows.len() as u64 || place.saturating_add(counts.len() as u64) > OF_ROWS as u64 {
            self.add_rows(counters);
            self.first_of_rows = first;
            if counts.len() > OF_ROWS {
                return counters.add(first, counts);
            }
        }
        // The rows in between have no triangles.
        self.rows.resize((first - self.first_of_rows) as usize, 0);
        self.rows.extend_from_slice(counts);
    }

    fn add_rows(&mut self, counters: &HostEdgeCounters) {
        counters.add(self.first_of_rows, &self.rows);
        self.rows.clear();
    }

    /// Adds 1, now or later, for each bit of `mask`; its lowest bit is for `counter`.
    #[inline(always)]
    pub(super) fn push(&mut self, counter: u64, mask: u64, counters: &HostEdgeCounters) {
        let (range, place) = ((counter >> self.shift) as usize, counter & ((1 << self.shift) - 1));
        let room = (1 << self.shift) - place;
        if room < 64 && mask >> room != 0 {
            self.push_in(range + 1, 0, mask >> room, counters);
            if mask << (64 - room) != 0 {
                self.push_in(range, place as u32, mask & ((1 << room) - 1), counters);
            }
            return;
        }
        self.push_in(range, place as u32, mask, counters);
    }

    #[inline(always)]
    fn push_in(&mut self, range: usize, place: u32, mask: u64, counters: &HostEdgeCounters) {
        let used = &mut self.used[range];
        let at = COLLECTED * range + usize::from(*used);
        (self.places[at], self.masks[at]) = (place, mask);
        *used += 1;
        if usize::from(*used) == COLLECTED {
            self.add_range(range, counters);
        }
    }

    #[inline(never)]
    fn add_range(&mut self, range: usize, counters: &HostEdgeCounters) {
        let used = usize::from(std::mem::take(&mut self.used[range]));
        if used > 0 {
            let at = COLLECTED * range..COLLECTED * range + used;
            let (places, masks) = (&self.places[at.clone()], &self.masks[at]);
            counters.ranges.change(range, |counters| add_masks(counters, places, masks));
        }
    }

    pub(super) fn flush(&mut self, counters: &HostEdgeCounters) {
        self.add_rows(counters);
        (0..self.used.len()).for_each(|range| self.add_range(range, counters));
    }
}
