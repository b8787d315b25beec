//! Adds up the triangles at each vertex ([`trimill_counting::VertexCounters`]). The smallest corner is found once for each triangle and is nearly
//! always a hub, so each worker has its own counters for the hubs (`near`), added to the shared ones at the end of a row block. Packed rows, as in
//! web crawls, find the same smallest corners repeatedly: these are summed per row first (`row`). The other corners are added once per arc.

mod near;
mod row;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use trimill_counting::{COUNTER_BYTES, VertexCounters};

pub(super) use near::NearCounters;
pub(super) use row::{OfRow, RowCounters};

use super::probe::{
    NonEmptyWords, common, common_of_four, each_marked, marked_words, probe, probe_words, words_in_common,
};
use trimill_counting::planes::each_bit;
use trimill_system::Bytes;
use trimill_system::mapped::zeros;

/// Counts common entries of rows, and receives the corners of the triangles.
pub(super) trait Corners {
    const WANTED: bool;

    /// How many bits the packed words of a row share with `bits`; they are smallest corners.
    fn common(&mut self, row: NonEmptyWords<'_>, bits: &[u64]) -> u64;
    /// As [`Self::common`], for each of `four` of the same length.
    fn common_of_four(&mut self, row: NonEmptyWords<'_>, four: [&[u64]; 4]) -> [u64; 4];
    /// How many bits of the words are marked; they are smallest corners.
    fn marked_bits(&mut self, words: &[[u32; 3]], marks: &[u64]) -> u64;
    /// How many entries of a row are marked; they are smallest corners.
    fn marked(&mut self, row: &[u32], marks: &[u64]) -> u64;
    /// `triangles` have a corner at this number.
    fn number(&mut self, number: u32, triangles: u64);
    /// `triangles` have their largest corner at local `i`.
    fn local(&mut self, i: usize, triangles: u64);
}

pub(super) struct TotalOnly;

impl Corners for TotalOnly {
    const WANTED: bool = false;

    #[inline(always)]
    fn common(&mut self, row: NonEmptyWords<'_>, bits: &[u64]) -> u64 {
        common(row, bits)
    }

    #[inline(always)]
    fn common_of_four(&mut self, row: NonEmptyWords<'_>, four: [&[u64]; 4]) -> [u64; 4] {
        common_of_four(row, four)
    }

    #[inline(always)]
    fn marked_bits(&mut self, words: &[[u32; 3]], marks: &[u64]) -> u64 {
        probe_words(words, marks)
    }

    #[inline(always)]
    fn marked(&mut self, row: &[u32], marks: &[u64]) -> u64 {
        probe(row, marks)
    }

    #[inline(always)]
    fn number(&mut self, _: u32, _: u64) {}
    #[inline(always)]
    fn local(&mut self, _: usize, _: u64) {}
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
        // Numbers before the window wrap around to values beyond its end.
        if let Some(held) = self.counters.get(counter.wrapping_sub(self.of.window.start) as usize)
            && triangles > 0
        {
            held.fetch_add(triangles, Relaxed);
        }
    }

    pub(super) fn take(&self, near: &mut NearCounters) {
        for (held, near) in self.counters.iter().zip(near.all()) {
            match std::mem::take(near) {
                0 => {}
                triangles => drop(held.fetch_add(triangles, Relaxed)),
            }
        }
    }

    /// How many of the `hubs` a worker has its own counters for.
    pub(super) fn near(of: &VertexCounters, hubs: u32) -> u32 {
        if of.window.start == 0 { hubs } else { 0 }
    }

    pub(super) fn bytes(&self) -> Bytes {
        Bytes(COUNTER_BYTES * self.counters.capacity() as u64)
    }

    pub(super) fn finish(self) -> Vec<u64> {
        self.counters.into_iter().map(AtomicU64::into_inner).collect()
    }
}

pub(super) struct WorkerVertices<'a> {
    pub(super) all: &'a HostVertexCounters,
    pub(super) near: &'a mut NearCounters,
}

impl Corners for WorkerVertices<'_> {
    const WANTED: bool = true;

    #[inline(always)]
    fn common(&mut self, row: NonEmptyWords<'_>, bits: &[u64]) -> u64 {
        let mut count = 0;
        for (places, words) in row.places.chunks(64).zip(row.words.chunks(64)) {
            each_bit(words_in_common(NonEmptyWords { places, words }, bits), |i| {
                let both = bits[usize::from(places[i])] & words[i];
                count += u64::from(both.count_ones());
                each_bit(both, |bit| self.number(64 * u32::from(places[i]) + bit as u32, 1));
            });
        }
        count
    }

    /// The first hubs share many bits: the words of four of them are added at once.
    #[inline(always)]
    fn common_of_four(&mut self, row: NonEmptyWords<'_>, four: [&[u64]; 4]) -> [u64; 4] {
        self.near.count_four(row, four).unwrap_or_else(|| four.map(|bits| self.common(row, bits)))
    }

    #[inline(always)]
    fn marked_bits(&mut self, words: &[[u32; 3]], marks: &[u64]) -> u64 {
        let mut count = 0;
        for (base, both) in marked_words(words, marks) {
            count += u64::from(both.count_ones());
            each_bit(both, |bit| self.number(base + bit as u32, 1));
        }
        count
    }

    #[inline(always)]
    fn marked(&mut self, row: &[u32], marks: &[u64]) -> u64 {
        each_marked(row, marks, |c| self.number(c, 1))
    }

    #[inline(always)]
    fn number(&mut self, number: u32, triangles: u64) {
        match self.near.get_mut(number) {
            Some(near) => *near += triangles,
            None => self.all.add(u64::from(number), triangles),
        }
    }

    #[inline(always)]
    fn local(&mut self, i: usize, triangles: u64) {
        self.all.add(self.all.of.locals_at + i as u64, triangles);
    }
}
