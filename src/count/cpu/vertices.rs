//! Where the triangles at each vertex are added up ([`trimill_kernels::VertexCounters`]).
//!
//! The smallest corner of a triangle is met once for each triangle and is nearly always a hub, so each worker has counters of its
//! own for the hubs, which it adds to those of all workers at the end of a row block. Where rows are packed, as those of a crawl, the
//! same smallest corners are met again and again in a row: these are added up for the row first. The other two corners are added once
//! for each arc.

use std::ops::AddAssign;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use trimill_counting::{COUNTER_BYTES, VertexCounters};

use trimill_system::Bytes;
use trimill_system::mapped::zeros;

/// Receives the corners of the triangles that are found.
pub(super) trait Corners {
    /// Whether they are wanted.
    const WANTED: bool;
    /// The bits of `both` are smallest corners, the lowest of them number `base`.
    fn word(&mut self, base: u32, both: u64);
    /// `triangles` have their smallest corner at this number, which is marked in the row that is counted.
    fn smallest(&mut self, number: u32, triangles: u64);
    /// `triangles` have a corner at this number.
    fn number(&mut self, number: u32, triangles: u64);
    /// `triangles` have their largest corner at local `i`.
    fn local(&mut self, i: usize, triangles: u64);
}

pub(super) struct TotalOnly;

impl Corners for TotalOnly {
    const WANTED: bool = false;

    #[inline(always)]
    fn word(&mut self, _: u32, _: u64) {}
    #[inline(always)]
    fn smallest(&mut self, _: u32, _: u64) {}
    #[inline(always)]
    fn number(&mut self, _: u32, _: u64) {}
    #[inline(always)]
    fn local(&mut self, _: usize, _: u64) {}
}

/// Adds 1 to the counter of each bit that is set. Most words have at most two, which are added without a branch that could be predicted
/// wrong: if there is no bit left, 0 is added to the 65th counter.
#[inline(always)]
fn add_bits<T: AddAssign + From<bool>>(counters: &mut [T; 65], mut bits: u64) {
    for _ in 0..2 {
        counters[bits.trailing_zeros() as usize] += T::from(bits != 0);
        bits &= bits.wrapping_sub(1);
    }
    while bits != 0 {
        counters[bits.trailing_zeros() as usize] += T::from(true);
        bits &= bits - 1;
    }
}

/// Counters for the entries of one packed row. The rows of its successors have many of these entries, so they are counted here first.
#[derive(Debug, Default)]
pub(super) struct RowCounters {
    /// The place of each word of the row, by the numbers that it holds.
    slots: Vec<u16>,
    /// For each word of the row.
    counters: Vec<u32>,
}

impl RowCounters {
    /// For rows of up to `words` words, of numbers below `numbered`.
    pub(super) fn new(numbered: u32, words: usize) -> Self {
        Self { slots: vec![0; (numbered as usize).div_ceil(64)], counters: vec![0; 64 * words + 1] }
    }

    pub(super) fn bytes(&self) -> Bytes {
        Bytes::of::<u16>(self.slots.capacity() as u64) + Bytes::of::<u32>(self.counters.capacity() as u64)
    }

    pub(super) fn bytes_for(numbered: u32, words: usize) -> Bytes {
        Bytes::of::<u16>(u64::from(numbered).div_ceil(64)) + Bytes::of::<u32>(64 * words as u64 + 1)
    }

    /// The word of a row that begins with the number `base` is in this place.
    #[inline(always)]
    pub(super) fn enter(&mut self, base: u32, place: usize) {
        self.slots[base as usize / 64] = place as u16;
    }

    /// Adds what was counted in a place, whose bits are entries of the row, and clears it.
    #[inline(always)]
    pub(super) fn take(&mut self, base: u32, mut bits: u64, place: usize, corners: &mut impl Corners) {
        while bits != 0 {
            let bit = bits.trailing_zeros();
            corners.number(base + bit, std::mem::take(&mut self.counters[64 * place + bit as usize]).into());
            bits &= bits - 1;
        }
    }
}

/// The smallest corners go to the counters of the row, the other ones to those of all.
pub(super) struct OfRow<'a, C: Corners> {
    pub(super) all: &'a mut C,
    pub(super) row: &'a mut RowCounters,
}

impl<C: Corners> Corners for OfRow<'_, C> {
    const WANTED: bool = C::WANTED;

    #[inline(always)]
    fn word(&mut self, base: u32, both: u64) {
        if both != 0 {
            let slot = 64 * usize::from(self.row.slots[base as usize / 64]);
            if let Some(counters) = self.row.counters[slot..].first_chunk_mut::<65>() {
                add_bits(counters, both);
            }
        }
    }

    #[inline(always)]
    fn smallest(&mut self, number: u32, triangles: u64) {
        if triangles > 0 {
            let slot = 64 * usize::from(self.row.slots[number as usize / 64]);
            self.row.counters[slot + number as usize % 64] += triangles as u32;
        }
    }

    #[inline(always)]
    fn number(&mut self, number: u32, triangles: u64) {
        self.all.number(number, triangles);
    }

    #[inline(always)]
    fn local(&mut self, i: usize, triangles: u64) {
        self.all.local(i, triangles);
    }
}

pub(super) struct HostVertexCounters {
    pub(super) of: VertexCounters,
    counters: Vec<AtomicU64>,
}

impl HostVertexCounters {
    pub(super) fn new(of: VertexCounters) -> Self {
        let counters = zeros(of.held() as usize);
        Self { of, counters }
    }

    #[inline(always)]
    fn add(&self, counter: u64, triangles: u64) {
        // Those before the window wrap to beyond its end.
        if let Some(held) = self.counters.get(counter.wrapping_sub(self.of.window.start) as usize)
            && triangles > 0
        {
            held.fetch_add(triangles, Relaxed);
        }
    }

    /// Adds the counters of a worker, and clears them.
    pub(super) fn take(&self, near: &mut [u64]) {
        for (held, near) in self.counters.iter().zip(near) {
            match std::mem::take(near) {
                0 => {}
                triangles => drop(held.fetch_add(triangles, Relaxed)),
            }
        }
    }

    /// How many numbers a worker counts by itself, where `hubs` of them are hubs: a multiple of 64, and 64 more.
    pub(super) fn near(of: &VertexCounters, hubs: u32) -> usize {
        if of.window.start == 0 && hubs > 0 { hubs.next_multiple_of(64) as usize + 64 } else { 0 }
    }

    pub(super) fn bytes(&self) -> Bytes {
        Bytes(COUNTER_BYTES * self.counters.capacity() as u64)
    }

    pub(super) fn finish(self) -> Vec<u64> {
        self.counters.into_iter().map(AtomicU64::into_inner).collect()
    }
}

pub(super) fn bytes_of_worker(hubs: u32) -> Bytes {
    Bytes(COUNTER_BYTES * (u64::from(hubs.next_multiple_of(64)) + 64))
}

pub(super) struct WorkerVertices<'a> {
    pub(super) all: &'a HostVertexCounters,
    pub(super) near: &'a mut [u64],
}

impl Corners for WorkerVertices<'_> {
    const WANTED: bool = true;

    #[inline(always)]
    fn word(&mut self, base: u32, both: u64) {
        let mut left = both;
        let Some(near) = self.near.get_mut(base as usize..).and_then(<[u64]>::first_chunk_mut::<65>) else {
            while left != 0 {
                self.all.add(u64::from(base + left.trailing_zeros()), 1);
                left &= left - 1;
            }
            return;
        };
        add_bits(near, left);
    }

    #[inline(always)]
    fn smallest(&mut self, number: u32, triangles: u64) {
        self.number(number, triangles);
    }

    #[inline(always)]
    fn number(&mut self, number: u32, triangles: u64) {
        match self.near.get_mut(number as usize) {
            Some(near) => *near += triangles,
            None => self.all.add(u64::from(number), triangles),
        }
    }

    #[inline(always)]
    fn local(&mut self, i: usize, triangles: u64) {
        self.all.add(self.all.of.locals_at + i as u64, triangles);
    }
}
