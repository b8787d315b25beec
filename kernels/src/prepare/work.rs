//! Shared by all steps: the engine, its memory, kernels, the sort.

use std::collections::VecDeque;
use std::ops::Range;

use bytemuck::bytes_of;

use super::constants::{SCAN_THREADS, SELECT_KEYS, SELECT_TILE, SORT_KEYS, SORT_LOOK, SORT_THREADS, SORT_TILE};
use crate::arena::{ALIGNMENT, largest, padded};
use crate::engine::{Engine, Event, Grid, HostWords, Kernel, Stream};
use crate::error::{GpuError, GpuResult};
use crate::sources::PREPARE;

/// Digits of a pass of the sort.
const DIGITS: u64 = 256;

const _: () = assert!(SORT_TILE == SORT_KEYS * SORT_THREADS && SORT_LOOK > 0 && SORT_THREADS == THREADS);

const PASSES: u64 = 8;

/// The most keys of a launch of the sort: counts fit 30 bits, and the tiles' status words the device's cache. Fewer in tests, for several launches.
const PORTION: u64 = if cfg!(test) { 1 << 13 } else { 1 << 27 };

/// The event by which copies wait for kernels.
const DONE: Event = crate::engine::EVENTS - 1;

/// The event by which kernels wait for copies. Events with lower numbers are those of buffers.
pub(super) const COPIED: Event = crate::engine::EVENTS - 2;

/// Threads of a block, in kernels that treat each element by itself.
const THREADS: u32 = 256;

/// Blocks of such a kernel per multiprocessor; each takes many elements.
const BLOCKS: u64 = 16;

/// Bytes of places of digits: for all passes, and for two portions.
const PLACES: u64 = 8 * DIGITS * (PASSES + 2);

fn status_bytes(keys: u64) -> u64 {
    4 + 4 * DIGITS * keys.min(PORTION).div_ceil(u64::from(SORT_TILE))
}

/// The counts of all tiles of a selection among `elements` elements, and their sum.
fn tiles_bytes(elements: u64) -> u64 {
    8 * (elements.div_ceil(u64::from(SELECT_TILE)) + 1)
}

/// The device memory, in bytes, for preparing a graph of `arcs` arcs whose ids are all below `ids`.
pub fn needed(arcs: u64, ids: u64) -> u64 {
    2 * padded(8 * arcs) + padded(4 * ids) + sort_memory(arcs, arcs) + slack(arcs)
}

/// The fewest arcs of a run: with fewer on the device, sorting there does not pay off. Fewer in tests, which need runs.
pub(super) const LEAST_RUN: u64 = if cfg!(any(test, feature = "testing")) { 1 << 9 } else { 1 << 24 };

/// The most ids whose degrees fit `capacity` bytes beside what sorting any number of arcs in runs takes.
pub fn ids_within(capacity: u64) -> u64 {
    capacity.saturating_sub(needed(LEAST_RUN, 0)) / ALIGNMENT * ALIGNMENT / 4
}

/// For small pieces, and those of unknown size: the table of file blocks has 36 bytes for each block, of 2^15 arcs or more on average.
fn slack(arcs: u64) -> u64 {
    (4 << 20) + padded(arcs / 512)
}

/// Bytes, beside the keys, for sorting `keys` keys, and for selecting among `elements` elements.
pub(crate) fn sort_memory(keys: u64, elements: u64) -> u64 {
    padded(status_bytes(keys)) + padded(PLACES) + padded(tiles_bytes(elements))
}

/// Keys on the device, and as much free memory, which sorting them needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SortBuffers {
    pub(crate) keys: u64,
    pub(crate) free: u64,
}

pub(crate) struct PrepareSpace<'e> {
    pub(crate) engine: &'e mut dyn Engine,
    next: u64,
    end: u64,
    status: u64,
    places: u64,
    /// The counts of tiles of a selection; later its places.
    pub(super) tiles: u64,
    /// Page-locked buffers that are the source of a copy, each with the event after it.
    pub(super) copied: VecDeque<(Event, HostWords)>,
}

impl Drop for PrepareSpace<'_> {
    fn drop(&mut self) {
        // Kernels and copies may still use the memory that is freed next.
        self.engine.settle();
    }
}

impl<'e> PrepareSpace<'e> {
    pub(crate) fn new(engine: &'e mut dyn Engine) -> GpuResult<Self> {
        engine.load(&PREPARE)?;
        engine.layout().restart();
        let bytes = engine.layout().capacity();
        let next = engine.address() + engine.layout().take(bytes)?;
        Ok(Self { engine, next, end: next + bytes, status: 0, places: 0, tiles: 0, copied: VecDeque::new() })
    }

    pub(crate) fn left(&self) -> u64 {
        self.end - self.next
    }

    pub(super) fn next(&self) -> u64 {
        self.next
    }

    pub(crate) fn take(&mut self, bytes: u64) -> GpuResult<u64> {
        let capacity = self.engine.layout().capacity();
        if padded(bytes) > self.left() {
            return Err(GpuError::Budget { asked: bytes, used: capacity - self.left(), capacity });
        }
        self.next += padded(bytes);
        Ok(self.next - padded(bytes))
    }

    /// Frees all pieces from `next` on, an earlier value of [`Self::next`].
    pub(super) fn release(&mut self, next: u64) {
        self.next = next;
    }

    pub(super) fn most_keys(&self) -> u64 {
        let bytes = |keys: u64| 2 * padded(8 * keys) + sort_memory(keys, keys) + slack(keys);
        largest(0..self.left() / 16 + 1, |keys| bytes(keys) <= self.left())
    }

    /// Makes copies wait for all kernels so far, which may use the memory that is to be written.
    pub(super) fn after_kernels(&mut self) -> GpuResult<()> {
        self.engine.record(Stream::Compute, DONE)?;
        self.engine.wait(Stream::Copy, DONE)
    }

    pub(super) fn after_copies(&mut self) -> GpuResult<()> {
        self.engine.record(Stream::Copy, COPIED)?;
        self.engine.wait(Stream::Compute, COPIED)
    }

    /// Copies bytes after all kernels so far and before later ones; returns once the bytes may change.
    pub(crate) fn send(&mut self, to: u64, bytes: &[u8]) -> GpuResult<()> {
        self.after_kernels()?;
        // SAFETY: the bytes live until `sent` has returned, which is called in any case.
        let copied = unsafe { self.engine.copy(to, &[bytes]) };
        let sent = self.engine.sent();
        copied.and(sent)?;
        self.after_copies()
    }

    pub(crate) fn take_keys(&mut self, count: u64) -> GpuResult<SortBuffers> {
        Ok(SortBuffers { keys: self.take(8 * count)?, free: self.take(8 * count)? })
    }

    /// Returns `memory`, which must be unused, if it has at least `bytes` bytes; otherwise takes another piece.
    pub(super) fn at_least(&mut self, bytes: u64, memory: Range<u64>) -> GpuResult<Range<u64>> {
        if memory.end - memory.start >= bytes {
            return Ok(memory);
        }
        let at = self.take(bytes)?;
        Ok(at..at + bytes)
    }

    /// Takes the memory for sorting up to `keys` keys, and for selecting among up to `elements` elements.
    pub(crate) fn take_sort(&mut self, keys: u64, elements: u64) -> GpuResult<()> {
        self.status = self.take(status_bytes(keys))?;
        self.places = self.take(PLACES)?;
        self.tiles = self.take(tiles_bytes(elements))?;
        Ok(())
    }

    /// Enqueues a kernel whose parameters all have 8 bytes.
    pub(super) fn launch(&mut self, name: &'static str, blocks: u64, threads: u32, values: &[u64]) -> GpuResult<()> {
        let values: Vec<&[u8]> = values.iter().map(bytes_of).collect();
        let grid = Grid::of(blocks * u64::from(threads), threads)?;
        self.engine.launch(Stream::Compute, grid, Kernel { source: &PREPARE, name }, &values)
    }

    /// Enqueues a kernel that treats `count` elements in a loop.
    pub(super) fn for_each(&mut self, name: &'static str, count: u64, values: &[u64]) -> GpuResult<()> {
        let most = u64::from(self.engine.processors()) * BLOCKS;
        self.launch(name, count.div_ceil(THREADS.into()).clamp(1, most), THREADS, values)
    }

    pub(crate) fn fill(&mut self, at: u64, byte: u8, bytes: u64) -> GpuResult<()> {
        self.engine.fill(Stream::Compute, at, byte, bytes)
    }

    pub(crate) fn number(&mut self, at: u64) -> GpuResult<u64> {
        self.engine.read_u64(Stream::Compute, at)
    }

    /// Enqueues a kernel of a selection among `count` elements.
    pub(super) fn selecting(&mut self, name: &'static str, count: u64, values: &[u64]) -> GpuResult<()> {
        self.launch(name, count.div_ceil(u64::from(SELECT_TILE)).max(1), SELECT_TILE / SELECT_KEYS, values)
    }

    /// Replaces `count` numbers by their exclusive prefix sums, and puts the total after them.
    pub(crate) fn scan(&mut self, at: u64, count: u64) -> GpuResult<()> {
        self.launch("scan", 1, SCAN_THREADS, &[at, count])
    }

    /// Sorts `count` keys by `bits` bits (at most 64) from `low` on, 8 bits a pass; after an odd number of passes into `free`'s memory.
    pub(crate) fn sort(&mut self, buffers: SortBuffers, count: u64, low: u32, bits: u32) -> GpuResult<SortBuffers> {
        let passes = u64::from(bits.div_ceil(8));
        let (low, totals) = (u64::from(low), self.places);
        self.fill(totals, 0, 8 * DIGITS * PASSES)?;
        self.for_each("sort_count", count, &[buffers.keys, count, low, passes, totals])?;
        if passes > 0 {
            self.launch("sort_places", passes, SORT_THREADS, &[totals])?;
        }
        let SortBuffers { keys: mut from, free: mut to } = buffers;
        for pass in 0..passes {
            let mut places = totals + 8 * DIGITS * pass;
            for (portion, first) in (0..).zip((0..count).step_by(PORTION as usize)) {
                let now = (count - first).min(PORTION);
                let next = totals + 8 * DIGITS * (PASSES + portion % 2);
                self.fill(self.status, 0, status_bytes(now))?;
                let values = [from + 8 * first, to, now, low + 8 * pass, places, next, self.status];
                self.launch("sort_pass", now.div_ceil(u64::from(SORT_TILE)), SORT_THREADS, &values)?;
                places = next;
            }
            std::mem::swap(&mut from, &mut to);
        }
        Ok(SortBuffers { keys: from, free: to })
    }
}
