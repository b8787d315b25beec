//! What all steps share: the engine, the memory, kernels, the sort.

use std::collections::VecDeque;
use std::ops::Range;

use bytemuck::bytes_of;

use super::constants::{SCAN_THREADS, SELECT_KEYS, SELECT_TILE, SORT_KEYS, SORT_LOOK, SORT_THREADS, SORT_TILE};
use crate::arena::{ALIGNMENT, padded};
use crate::engine::{Engine, Event, Grid, HostWords, Kernel, Stream};
use crate::error::{GpuError, GpuResult};
use crate::sources::PREPARE;

/// Digits of a pass of the sort.
const DIGITS: u64 = 256;

const _: () = assert!(SORT_TILE == SORT_KEYS * SORT_THREADS && SORT_LOOK > 0);

const PASSES: u64 = 8;

/// Keys that a launch of the sort moves: their counts must fit 30 bits, and the status words of their tiles the device's cache. Fewer in
/// tests, so that there are several launches.
const PORTION: u64 = if cfg!(test) { 1 << 13 } else { 1 << 27 };

/// Makes copies wait for kernels.
const DONE: Event = crate::engine::EVENTS - 1;

/// Makes kernels wait for copies. The events below this are those of buffers.
pub(super) const COPIED: Event = crate::engine::EVENTS - 2;

/// Threads of a block of a kernel that treats each element by itself.
const THREADS: u32 = 256;

/// Blocks of a kernel that treats each element by itself, for each multiprocessor: a few, each of which takes many elements.
const BLOCKS: u64 = 16;

/// Bytes of places of digits: for all passes, and for two portions.
const PLACES: u64 = 8 * DIGITS * (PASSES + 2);

/// Bytes of the status words of a sort of `keys` keys.
fn status_bytes(keys: u64) -> u64 {
    4 + 4 * DIGITS * keys.min(PORTION).div_ceil(u64::from(SORT_TILE))
}

/// Bytes of the counts of all tiles of a selection among `elements` elements, and of their sum.
fn tiles_bytes(elements: u64) -> u64 {
    8 * (elements.div_ceil(u64::from(SELECT_TILE)) + 1)
}

/// The bytes of device memory that preparing a graph takes: `arcs` arcs, all of whose ids are below `ids`.
pub fn needed(arcs: u64, ids: u64) -> u64 {
    2 * padded(8 * arcs) + padded(4 * ids) + sort_memory(arcs, arcs) + slack(arcs)
}

/// The least arcs of a run: with fewer on the device, sorting there does not pay off. Fewer in tests, where runs are to be tested.
pub(super) const LEAST_RUN: u64 = if cfg!(any(test, feature = "testing")) { 1 << 9 } else { 1 << 24 };

/// Ids below this one have room for their degrees in `capacity` bytes, beside what sorting any number of arcs in runs takes.
pub fn ids_within(capacity: u64) -> u64 {
    capacity.saturating_sub(needed(LEAST_RUN, 0)) / ALIGNMENT * ALIGNMENT / 4
}

/// For small pieces, and those whose sizes are not known in advance: the table of file blocks, of 36 bytes for each, which has 2^15 arcs or more
/// on average.
fn slack(arcs: u64) -> u64 {
    (4 << 20) + padded(arcs / 512)
}

/// The largest number of `range` that `holds`, by bisection: the first one does, and none beyond one that does not.
pub(super) fn largest(range: Range<u64>, holds: impl Fn(u64) -> bool) -> u64 {
    let Range { start: mut most, end: mut beyond } = range;
    while beyond - most > 1 {
        let middle = most.midpoint(beyond);
        if holds(middle) { most = middle } else { beyond = middle }
    }
    most
}

/// Bytes beside the keys for sorting `keys` keys, and for selecting among `elements` elements.
pub(crate) fn sort_memory(keys: u64, elements: u64) -> u64 {
    padded(status_bytes(keys)) + padded(PLACES) + padded(tiles_bytes(elements))
}

/// Keys on the device, and as much free memory for sorting them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SortBuffers {
    pub(crate) keys: u64,
    pub(crate) free: u64,
}

/// The engine, and what is left of its memory.
pub(crate) struct PrepareSpace<'e, E: Engine + ?Sized> {
    pub(crate) engine: &'e mut E,
    next: u64,
    end: u64,
    status: u64,
    places: u64,
    /// The counts of tiles of a selection, then places.
    pub(super) tiles: u64,
    /// Page-locked buffers that are being copied from, each with an event behind its copy.
    pub(super) copied: VecDeque<(Event, HostWords)>,
}

impl<E: Engine + ?Sized> Drop for PrepareSpace<'_, E> {
    fn drop(&mut self) {
        if !self.copied.is_empty() {
            self.engine.settle();
        }
    }
}

impl<'e, E: Engine + ?Sized> PrepareSpace<'e, E> {
    /// Takes all memory of the engine.
    pub(crate) fn new(engine: &'e mut E) -> GpuResult<Self> {
        engine.load(&PREPARE)?;
        engine.layout().restart();
        let bytes = engine.layout().capacity();
        let next = engine.address() + engine.layout().take(bytes)?.offset;
        Ok(Self { engine, next, end: next + bytes, status: 0, places: 0, tiles: 0, copied: VecDeque::new() })
    }

    pub(crate) fn left(&self) -> u64 {
        self.end - self.next
    }

    /// Where the memory that is left begins.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Takes a piece of `bytes`; returns its address.
    pub(crate) fn take(&mut self, bytes: u64) -> GpuResult<u64> {
        let capacity = self.engine.layout().capacity();
        if padded(bytes) > self.left() {
            return Err(GpuError::Budget { asked: bytes, used: capacity - self.left(), capacity });
        }
        self.next += padded(bytes);
        Ok(self.next - padded(bytes))
    }

    /// Gives up all pieces that begin at `next`, where the rest began once, or later.
    pub(super) fn release(&mut self, next: u64) {
        self.next = next;
    }

    /// The most keys that can be sorted and selected in the memory that is left.
    pub(super) fn most_keys(&self) -> u64 {
        let bytes = |keys: u64| 2 * padded(8 * keys) + sort_memory(keys, keys) + slack(keys);
        largest(0..self.left() / 16 + 1, |keys| bytes(keys) <= self.left())
    }

    /// Makes copies wait for all kernels so far, which may use the memory that is to be written.
    pub(crate) fn after_kernels(&mut self) -> GpuResult<()> {
        self.engine.record(Stream::Compute, DONE)?;
        self.engine.wait(Stream::Copy, DONE)
    }

    /// Makes kernels wait for all copies so far.
    pub(crate) fn after_copies(&mut self) -> GpuResult<()> {
        self.engine.record(Stream::Copy, COPIED)?;
        self.engine.wait(Stream::Compute, COPIED)
    }

    /// Takes memory for `count` keys, and as much for sorting them.
    pub(crate) fn take_keys(&mut self, count: u64) -> GpuResult<SortBuffers> {
        Ok(SortBuffers { keys: self.take(8 * count)?, free: self.take(8 * count)? })
    }

    /// `memory`, which nothing else uses meanwhile, if it has at least `bytes` bytes; otherwise takes another piece of that size.
    pub(super) fn at_least(&mut self, bytes: u64, memory: Range<u64>) -> GpuResult<Range<u64>> {
        if memory.end - memory.start >= bytes {
            return Ok(memory);
        }
        let at = self.take(bytes)?;
        Ok(at..at + bytes)
    }

    /// Takes what sorting up to `keys` keys, and selecting among up to `elements` elements, takes.
    pub(crate) fn take_sort(&mut self, keys: u64, elements: u64) -> GpuResult<()> {
        self.status = self.take(status_bytes(keys))?;
        self.places = self.take(PLACES)?;
        self.tiles = self.take(tiles_bytes(elements))?;
        Ok(())
    }

    /// Enqueues a kernel, all of whose parameters have 8 bytes.
    pub(super) fn launch(&mut self, name: &'static str, blocks: u64, threads: u32, values: &[u64]) -> GpuResult<()> {
        let values: Vec<&[u8]> = values.iter().map(bytes_of).collect();
        let grid = Grid::of(blocks * u64::from(threads), threads)?;
        self.engine.launch(Stream::Compute, grid, Kernel { source: &PREPARE, name }, &values)
    }

    /// Enqueues a kernel that treats `count` elements in a loop.
    pub(super) fn for_each(&mut self, name: &'static str, count: u64, values: &[u64]) -> GpuResult<()> {
        self.for_each_by(name, count, THREADS, values)
    }

    /// As [`Self::for_each`], with blocks of `threads` threads.
    pub(super) fn for_each_by(
        &mut self,
        name: &'static str,
        count: u64,
        threads: u32,
        values: &[u64],
    ) -> GpuResult<()> {
        let most = u64::from(self.engine.processors()) * BLOCKS * u64::from(THREADS) / u64::from(threads);
        self.launch(name, count.div_ceil(u64::from(threads)).clamp(1, most), threads, values)
    }

    pub(crate) fn fill(&mut self, at: u64, byte: u8, bytes: u64) -> GpuResult<()> {
        self.engine.fill(Stream::Compute, at, byte, bytes)
    }

    /// Waits for all kernels and reads a number.
    pub(crate) fn number(&mut self, at: u64) -> GpuResult<u64> {
        self.engine.read_u64(Stream::Compute, at)
    }

    /// Selects among `count` elements: counts by the kernel `counting`, whose first parameters are `values` and whose next one is the
    /// place for counts; then `more`. Returns how many are selected; their places are in `self.tiles`.
    pub(super) fn select(
        &mut self,
        counting: &'static str,
        count: u64,
        values: &[u64],
        more: &[u64],
    ) -> GpuResult<u64> {
        let tiles = count.div_ceil(u64::from(SELECT_TILE));
        let parameters = [values, &[self.tiles], more].concat();
        self.selecting(counting, count, &parameters)?;
        self.scan(self.tiles, tiles)?;
        self.number(self.tiles + 8 * tiles)
    }

    /// Enqueues a kernel that selects among `count` elements.
    pub(super) fn selecting(&mut self, name: &'static str, count: u64, values: &[u64]) -> GpuResult<()> {
        self.launch(name, count.div_ceil(u64::from(SELECT_TILE)).max(1), SELECT_TILE / SELECT_KEYS, values)
    }

    /// Turns `count` numbers into the sums of those before each, and puts their total behind them.
    pub(crate) fn scan(&mut self, at: u64, count: u64) -> GpuResult<()> {
        self.launch("scan", 1, SCAN_THREADS, &[at, count])
    }

    /// How many passes a sort by `bits` bits takes.
    pub(super) fn passes(bits: u32) -> u64 {
        u64::from(bits.div_ceil(8))
    }

    /// Sorts `count` keys by `bits` bits, at most 64, from bit `low` on. For an odd number of [passes](Self::passes) they are in what
    /// was free before.
    pub(crate) fn sort(&mut self, buffers: SortBuffers, count: u64, low: u32, bits: u32) -> GpuResult<SortBuffers> {
        let passes = Self::passes(bits);
        let (low, totals) = (u64::from(low), self.places);
        self.fill(totals, 0, 8 * DIGITS * PASSES)?;
        self.for_each_by("sort_count", count, SORT_THREADS, &[buffers.keys, count, low, passes, totals])?;
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
