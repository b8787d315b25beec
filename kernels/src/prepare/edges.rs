//! From arcs to unique edges and degrees.

use std::sync::Arc;

use bytemuck::{cast_slice, cast_slice_mut};

use super::MOST_ID_BITS;
use super::constants::SELECT_TILE;
use super::runs::Runs;
use super::stored::RunStore;
use super::work::{COPIED, LEAST_RUN, PrepareSpace, SortBuffers, ids_within, needed};
use crate::arena::largest;
use crate::engine::{Engine, Event, HostWords, Stream};
use crate::error::{GpuError, GpuResult};

pub(super) fn bits_below(end: u64) -> u32 {
    u64::BITS - end.saturating_sub(1).leading_zeros()
}

/// Copies arcs to the device. If they exceed its memory, it sorts them in runs, which the host stores.
pub struct DeviceArcs<'e> {
    work: PrepareSpace<'e>,
    at: u64,
    count: u64,
    most: u64,
    runs: Runs,
    made: usize,
    next: Event,
}

impl<'e> DeviceArcs<'e> {
    /// Takes all memory of the engine; arcs that it does not hold go to the store, in runs.
    pub fn new(engine: &'e mut dyn Engine, store: Option<Arc<dyn RunStore>>) -> GpuResult<Self> {
        let work = PrepareSpace::new(engine)?;
        let (at, left) = (work.next(), work.left());
        let most = largest(0..left / 16 + 1, |arcs| needed(arcs, 1) <= left);
        Ok(Self { work, at, count: 0, most, runs: Runs::new(store), made: 0, next: 0 })
    }

    /// The most arcs that can be taken, if there are few ids; with a store, any number.
    pub fn most(&self) -> u64 {
        if self.makes_runs() { u64::MAX } else { self.most }
    }

    /// The most arcs that the device's memory holds, if there are few ids.
    pub fn most_on_device(&self) -> u64 {
        self.most
    }

    fn makes_runs(&self) -> bool {
        self.runs.store().is_some() && self.most >= LEAST_RUN
    }

    pub fn taken(&self) -> u64 {
        self.runs.keys() + self.count
    }

    /// A page-locked buffer of `arcs` arcs. If `most` (at least one) such buffers are in use, waits for the oldest copy.
    pub fn buffer(&mut self, arcs: usize, most: usize) -> GpuResult<HostWords> {
        if self.made >= most.min(COPIED)
            && let Some((event, _)) = self.work.copied.front()
        {
            self.work.engine.reach(*event)?;
            if let Some((_, buffer)) = self.work.copied.pop_front() {
                return Ok(buffer);
            }
        }
        self.made += 1;
        self.work.engine.host_words(arcs)
    }

    /// Enqueues a copy of the first `many` arcs, `tail << 32 | head` each, of what [`Self::buffer`] returned; there must be no loops.
    pub fn put(&mut self, buffer: HostWords, many: usize) -> GpuResult<()> {
        let copied = self.copy(&buffer[..many]);
        // Kept even after an error: a copy may still read a part of it.
        self.work.copied.push_back((self.next, buffer));
        copied?;
        self.work.engine.record(Stream::Copy, self.next)?;
        self.next = (self.next + 1) % COPIED;
        Ok(())
    }

    fn copy(&mut self, mut arcs: &[u64]) -> GpuResult<()> {
        let many = arcs.len() as u64;
        if self.count + many > self.most && self.taken() + many > self.most() {
            return Err(self.too_many(many));
        }
        while !arcs.is_empty() {
            if self.count == self.most {
                self.end_run()?;
            }
            let now = arcs.len().min((self.most - self.count) as usize);
            let (part, rest) = arcs.split_at(now);
            // SAFETY: the buffer is kept until the event behind its copies is reached, or all streams are empty.
            unsafe { self.work.engine.copy(self.at + 8 * self.count, &[cast_slice(part)]) }?;
            self.count += now as u64;
            arcs = rest;
        }
        Ok(())
    }

    fn too_many(&mut self, more: u64) -> GpuError {
        GpuError::Budget { asked: 16 * more, used: 16 * self.count, capacity: self.work.engine.layout().capacity() }
    }

    /// Sorts the arcs on the device, as keys of two ids of [`MOST_ID_BITS`] bits, and moves them to the host.
    fn end_run(&mut self) -> GpuResult<()> {
        let (begin, count, work) = (self.work.next(), self.count, &mut self.work);
        let buffers = work.take_keys(count)?;
        work.take_sort(count, 0)?;
        work.after_copies()?;
        work.for_each("arc_keys", count, &[buffers.keys, count, MOST_ID_BITS.into()])?;
        let sorted = work.sort(buffers, count, 0, 2 * MOST_ID_BITS + 1)?;
        self.runs.fetch(work, sorted, count)?;
        work.release(begin);
        self.count = 0;
        Ok(())
    }

    /// Makes each edge once, and the degrees of all ids below `ids`. [`GpuError::Budget`]: too little memory, ids of over [`MOST_ID_BITS`] bits.
    pub fn clean(mut self, ids: u64) -> GpuResult<DeviceEdges<'e>> {
        self.work.engine.sent()?;
        self.work.copied.clear();
        let bits = bits_below(ids).max(1);
        let fits = self.runs.is_empty() && needed(self.count, ids) <= self.work.left();
        let has_room = ids <= ids_within(self.work.left());
        if bits > MOST_ID_BITS || !(fits || (self.makes_runs() && has_room)) {
            let capacity = self.work.engine.layout().capacity();
            return Err(GpuError::Budget { asked: needed(self.count, ids), used: 0, capacity });
        }
        if fits {
            return self.clean_at_once(ids, bits);
        }
        if self.count > 0 {
            self.end_run()?;
        }
        self.clean_runs(ids)
    }

    fn clean_at_once(self, ids: u64, bits: u32) -> GpuResult<DeviceEdges<'e>> {
        let Self { mut work, at, count, .. } = self;
        let buffers = work.take_keys(count)?;
        debug_assert_eq!(buffers.keys, at);
        let degrees = work.take(4 * ids)?;
        work.take_sort(count, count)?;
        work.after_copies()?;
        work.for_each("arc_keys", count, &[at, count, bits.into()])?;
        work.fill(degrees, 0, 4 * ids)?;
        let Unique { kept, edges, distinct } = unique(&mut work, buffers, count, bits)?;
        work.for_each("add_degrees", edges, &[kept.keys, edges, bits.into(), degrees])?;
        let place = EdgePlace::Device { buffers: kept, bytes: 8 * count };
        Ok(DeviceEdges { work, edges, distinct_arcs: distinct, place, degrees, ids, bits })
    }

    /// Merges runs, a range of keys at a time. Keeps only the number of edges and the degrees; orienting makes the edges again.
    fn clean_runs(self, ids: u64) -> GpuResult<DeviceEdges<'e>> {
        let Self { mut work, mut runs, .. } = self;
        let bits = MOST_ID_BITS;
        let degrees = work.take(4 * ids)?;
        work.fill(degrees, 0, 4 * ids)?;
        let (mut edges, mut distinct) = (0, 0);
        each_range(&mut work, &mut runs, |work, found| {
            (edges, distinct) = (edges + found.edges, distinct + found.distinct);
            work.for_each("add_degrees", found.edges, &[found.kept.keys, found.edges, bits.into(), degrees])
        })?;
        Ok(DeviceEdges { work, edges, distinct_arcs: distinct, place: EdgePlace::Host(runs), degrees, ids, bits })
    }
}

pub(super) struct Unique {
    pub(super) kept: SortBuffers,
    pub(super) edges: u64,
    pub(super) distinct: u64,
}

/// Sorts keys of arcs, of ids of `bits` bits, and keeps each edge once, without its direction.
fn unique(work: &mut PrepareSpace<'_>, buffers: SortBuffers, count: u64, bits: u32) -> GpuResult<Unique> {
    let SortBuffers { keys: sorted, free: at } = work.sort(buffers, count, 0, 2 * bits + 1)?;
    let kept = SortBuffers { keys: at, free: sorted };
    if count == 0 {
        return Ok(Unique { kept, edges: 0, distinct: 0 });
    }
    // Counts the distinct keys in memory that the sort no longer uses.
    work.fill(at, 0, 8)?;
    let values = [sorted, count, work.tiles, at];
    work.selecting("count_edges", count, &values)?;
    let tiles = count.div_ceil(u64::from(SELECT_TILE));
    work.scan(work.tiles, tiles)?;
    let edges = work.number(work.tiles + 8 * tiles)?;
    let distinct = work.number(at)?;
    work.selecting("put_edges", count, &values)?;
    Ok(Unique { kept, edges, distinct })
}

/// Merges runs, a range of keys at a time: `act` gets the edges of each, in memory that the next range reuses.
pub(super) fn each_range(
    work: &mut PrepareSpace<'_>,
    runs: &mut Runs,
    mut act: impl FnMut(&mut PrepareSpace<'_>, &Unique) -> GpuResult<()>,
) -> GpuResult<()> {
    let (begin, most, mut from) = (work.next(), work.most_keys(), runs.begin());
    while let Some(to) = runs.next(&from, most)? {
        let (buffers, count) = runs.load(work, &from, &to)?;
        let found = unique(work, buffers, count, MOST_ID_BITS)?;
        act(work, &found)?;
        work.release(begin);
        from = to;
    }
    Ok(())
}

/// Where the edges, and later the rows in rank order, are stored.
pub(super) enum EdgePlace {
    /// On the device, sorted: edges as `min << bits | max`; and `bytes` bytes of free memory.
    Device { buffers: SortBuffers, bytes: u64 },
    /// As runs of keys of arcs.
    Host(Runs),
}

pub struct DeviceEdges<'e> {
    pub(super) work: PrepareSpace<'e>,
    pub edges: u64,
    /// How many distinct arcs were taken: an edge that came in both directions counts twice.
    pub distinct_arcs: u64,
    pub(super) place: EdgePlace,
    pub(super) degrees: u64,
    pub(super) ids: u64,
    pub(super) bits: u32,
}

impl DeviceEdges<'_> {
    /// Reads the degrees of all ids. Panics if `degrees` does not have one for each id.
    pub fn degrees(&mut self, degrees: &mut [u32]) -> GpuResult<()> {
        assert!(degrees.len() as u64 == self.ids, "a degree for each id");
        self.work.engine.read(Stream::Compute, self.degrees, cast_slice_mut(degrees))
    }
}
