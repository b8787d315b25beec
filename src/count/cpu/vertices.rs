//! Where the triangles at each vertex are added up ([`trimill_kernels::VertexCounters`]).
//!
//! The smallest corner of a triangle is met once for each triangle and is nearly always a hub, so each worker has counters of its
//! own for the hubs, which it adds to those of all workers at the end of a row block. The other two corners are added once for each
//! arc.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use trimill_kernels::{COUNTER_BYTES, VertexCounters};

use crate::bytes::Bytes;
use crate::mapped::zeros;

/// Receives the corners of the triangles that are found.
pub(super) trait Corners {
    /// Whether they are wanted.
    const WANTED: bool;
    /// The bits of `both` are smallest corners, the lowest of them number `base`.
    fn word(&mut self, base: u32, both: u64);
    /// `triangles` have a corner at this number.
    fn number(&mut self, number: u32, triangles: u64);
    /// `triangles` have their largest corner at local `i`.
    fn local(&mut self, i: usize, triangles: u64);
}

/// Only the total is wanted.
pub(super) struct TotalOnly;

impl Corners for TotalOnly {
    const WANTED: bool = false;

    #[inline(always)]
    fn word(&mut self, _: u32, _: u64) {}
    #[inline(always)]
    fn number(&mut self, _: u32, _: u64) {}
    #[inline(always)]
    fn local(&mut self, _: usize, _: u64) {}
}

/// The counters of all workers.
pub(super) struct Counters {
    pub(super) of: VertexCounters,
    counters: Vec<AtomicU64>,
}

impl Counters {
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

    /// The counters of the window.
    pub(super) fn finish(self) -> Vec<u64> {
        self.counters.into_iter().map(AtomicU64::into_inner).collect()
    }
}

/// Bytes of a worker's own counters, at most.
pub(super) fn bytes_of_worker(hubs: u32) -> Bytes {
    Bytes(COUNTER_BYTES * (u64::from(hubs.next_multiple_of(64)) + 64))
}

/// The counters that a worker adds to.
pub(super) struct AtVertices<'a> {
    pub(super) all: &'a Counters,
    pub(super) near: &'a mut [u64],
}

impl Corners for AtVertices<'_> {
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
        // Most words have none to two common bits: without a branch for these, few are predicted wrong. No bit is the 65th counter.
        for _ in 0..2 {
            near[left.trailing_zeros() as usize] += u64::from(left != 0);
            left &= left.wrapping_sub(1);
        }
        while left != 0 {
            near[left.trailing_zeros() as usize] += 1;
            left &= left - 1;
        }
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
