//! Method `lstc`: Algorithm 3 of "LSTC: Large-Scale Triangle Counting on Single GPU" (ICPE 2026), a row block at a time. The head of `cuda/lstc.cu`
//! says how the kernel's lines follow the paper's. Input: a partition's resident section and its row blocks, ascending. Output: the triangles whose
//! corner of largest number is local.
//!
//! The resident section stays on the device; row blocks go through two slots: one is copied while the kernel works on the other. Not from the paper:
//! row blocks (the paper holds a partition whole, as one row block); the list of vertices that may start a triangle, with two successors or more (in
//! the paper every vertex gets a block; its prototype skips rows of two); the sum of the blocks' sums on the device, by blocks with fixed shares.
//!
//! Device bytes ([`FOOTPRINT`]): 4 per resident arc; 24 per local (offset 8, cursor 4, sum 8, list 4); two row blocks; under 5 KiB. Counters of
//! arcs: 4 more per resident arc, two more row blocks; those of vertices are apart ([`trimill_counting::VertexCounters`]). Probes: the rows of all
//! locals' successors, once per tile of the local's row that begins before the successor. Host: a pass over offsets.

mod arguments;
mod counter;
mod shape;
#[cfg(test)]
mod tests;

use bytemuck::{bytes_of, cast_slice};

use crate::arena::{ALIGNMENT, padded};
use crate::compact::{self, Unpack};
use crate::edges::{self, EdgeCounters};
use crate::engine::{Engine, Grid, Kernel, LONGEST_GRID, Stream, Timed, TimedEvents};
use crate::error::GpuResult;
use crate::method::CountingMethod;
use crate::received::Received;
use crate::sections::RowBlockSlices;
use crate::sources::LSTC;
use arguments::LstcArguments;
pub use shape::Lstc;
use trimill_counting::{
    Detail, DeviceTimes, EDGE_COUNTER_BYTES, Footprint, PartitionCount, PartitionCounter, PartitionExtent, Resident,
    RowBlockRoom, VertexCounters,
};
use trimill_system::Bytes;

const SLOTS: usize = 2;

const SUM_GRID: Grid = Grid { blocks: 256, threads: 256, shared: 0 };

/// Entries of the work list that are made and copied together.
const LIST_CHUNK: usize = 1 << 20;

/// Per resident arc a successor; per local an offset, a cursor, a sum and a work list entry; sums of sums, and all padding. Never exceeded.
pub(crate) const FOOTPRINT: Footprint = Footprint {
    per_resident_arc: 4,
    per_local: 8 + 4 + 8 + 4,
    fixed: Bytes(8 + padded(SUMS_BYTES) + 7 * (ALIGNMENT - 1)),
    row_blocks: RowBlockRoom::Always(SLOTS as u64),
    ..Footprint::NOTHING
};

pub(crate) const FOOTPRINT_WITH_EDGES: Footprint = Footprint {
    per_resident_arc: FOOTPRINT.per_resident_arc + EDGE_COUNTER_BYTES,
    fixed: Bytes(FOOTPRINT.fixed.get() + edges::PIECES * (ALIGNMENT - 1)),
    row_blocks: RowBlockRoom::Always((SLOTS + edges::SLOTS) as u64),
    ..FOOTPRINT
};

/// The sums of blocks, and their sum.
const SUMS_BYTES: u64 = 8 * (SUM_GRID.blocks as u64 + 1);

const fn kernel(name: &'static str) -> Kernel {
    Kernel { source: &LSTC, name }
}

impl CountingMethod for Lstc {
    fn name(&self) -> &'static str {
        "lstc"
    }

    fn footprint(&self) -> Footprint {
        FOOTPRINT
    }

    fn footprint_with_edges(&self) -> Footprint {
        FOOTPRINT_WITH_EDGES
    }

    fn takes_encoded_rows(&self) -> bool {
        true
    }

    fn begin<'g>(
        &self,
        engine: &'g mut dyn Engine,
        size: PartitionExtent,
        detail: Detail,
    ) -> GpuResult<Box<dyn PartitionCounter + 'g>> {
        Ok(Box::new(LstcCounter::begin(engine, *self, size, detail)?))
    }
}

/// The events of the resident section and of the final sum, after those of the slots.
const RESIDENT: TimedEvents = TimedEvents::of(SLOTS);

struct LstcCounter<'g> {
    engine: &'g mut dyn Engine,
    method: Lstc,
    received: Received,
    locals: u64,
    arguments: LstcArguments,
    vertices: Option<VertexCounters>,
    edges: Option<EdgeCounters>,
    list: u64,
    /// Entries of the list so far: locals that may start a triangle, each counted by one block.
    work: u32,
    /// Device addresses, as are the slots'.
    sums: u64,
    slots: [u64; SLOTS],
    longest_grid: u32,
    row_blocks: usize,
    times: DeviceTimes,
    peak_bytes: u64,
}

impl<'g> LstcCounter<'g> {
    fn begin(engine: &'g mut dyn Engine, method: Lstc, size: PartitionExtent, detail: Detail) -> GpuResult<Self> {
        let received = Received::new(size)?;
        engine.load(&LSTC)?;
        engine.layout().restart();
        let (vertices, edges) = match detail {
            Detail::Total | Detail::Share(_) => (None, None),
            Detail::Vertices(counters) => (Some(counters), None),
            Detail::Edges => (None, Some(EdgeCounters::take(engine, &size)?)),
        };
        let arguments = LstcArguments {
            offsets: engine.take(8 * (size.locals + 1))?,
            successors: engine.take(4 * size.arcs)?,
            cursors: engine.take(4 * size.locals)?,
            sums: engine.take(8 * size.locals)?,
            on_arcs: edges.as_ref().map_or(0, |edges| edges.resident),
            tile_width: method.tile(),
            ..LstcArguments::default()
        };
        let list = engine.take(4 * size.locals)?;
        let sums = engine.take(SUMS_BYTES)?;
        let slots = [engine.take(size.row_block_limit)?, engine.take(size.row_block_limit)?];
        Ok(Self {
            peak_bytes: engine.layout().used(),
            engine,
            method,
            received,
            locals: size.locals,
            arguments,
            vertices,
            edges,
            list,
            work: 0,
            sums,
            slots,
            longest_grid: LONGEST_GRID as u32,
            row_blocks: 0,
            times: DeviceTimes::default(),
        })
    }

    /// Enqueues the copies of a run. No kernel needs to wait for them: row blocks, for which kernels wait, are copied later in the same stream.
    ///
    /// # Safety
    /// As [`Engine::copy`], for the run.
    unsafe fn enqueue_resident(&mut self, run: &mut Resident) -> GpuResult<()> {
        let (locals, arcs) = (self.received.locals(), self.received.arcs());
        self.received.run(run)?;
        let (engine, to) = (&mut *self.engine, self.arguments);
        if locals == 0 {
            engine.record(Stream::Copy, RESIDENT.copy)?;
            compact::begin(engine)?;
            engine.fill(Stream::Copy, to.cursors, 0, 4 * self.locals)?;
            engine.fill(Stream::Copy, to.sums, 0, 8 * self.locals)?;
            if let Some(vertices) = &self.vertices {
                self.arguments.counters = crate::vertices::clear(vertices, engine)?;
                (self.arguments.counters_first, self.arguments.counters_end) =
                    (vertices.window.start, vertices.window.end);
                self.arguments.locals_at = vertices.locals_at;
            }
            if let Some(edges) = &self.edges {
                edges.clear(engine)?;
            }
        }
        // A run's first offset overwrites the last one of the run before, which has the same value.
        let (offsets_at, successors_at) = (to.offsets + 8 * u64::from(locals), to.successors + 4 * arcs);
        // SAFETY: as the caller promised.
        unsafe {
            engine.copy(offsets_at, &[cast_slice(&run.offsets)])?;
            match run.encoded_rows() {
                None => engine.copy(successors_at, &[cast_slice(&run.successors)])?,
                Some(encoded) => {
                    let order = Unpack { encoded, offsets_at, wide: true, base: arcs, successors_at, bin_shift: None };
                    compact::unpack(engine, &order)?;
                }
            }
        }
        let mut starting = (locals..).zip(run.offsets.windows(2)).filter(|(_, row)| row[1] - row[0] > 1);
        loop {
            let list: Vec<u32> = starting.by_ref().take(LIST_CHUNK).map(|(a, _)| a).collect();
            if list.is_empty() {
                break;
            }
            // SAFETY: not page-locked.
            unsafe { engine.copy(self.list + 4 * u64::from(self.work), &[cast_slice(&list)])? };
            self.work += list.len() as u32;
        }
        engine.record(Stream::Copy, RESIDENT.copied)
    }

    /// # Safety
    /// As [`Engine::copy`], for the row block.
    unsafe fn enqueue_row_block(&mut self, row_block: &RowBlockSlices<'_>) -> GpuResult<()> {
        self.received.row_block(row_block)?;
        if self.work == 0 || row_block.range.is_empty() {
            if let Some(edges) = &mut self.edges {
                edges.skip_row_block(row_block.arcs());
            }
            return Ok(());
        }
        let slot = self.row_blocks % SLOTS;
        if self.row_blocks >= SLOTS {
            self.account(slot)?;
        }
        self.row_blocks += 1;
        let events = TimedEvents::of(slot);
        let mut arguments = LstcArguments {
            range_start: row_block.range.start,
            range_end: row_block.range.end,
            first_local: row_block.first_local,
            whole: u32::from(row_block.range == (0..self.received.numbered())),
            // A list of all locals is not needed.
            work: if u64::from(self.work) == self.locals { 0 } else { self.list },
            ..self.arguments
        };
        let engine = &mut *self.engine;
        // SAFETY: as the caller promised.
        let places = unsafe { row_block.send(engine, self.slots[slot], events)? };
        (arguments.words, arguments.ranks) = (places.words, places.ranks);
        (arguments.row_block_offsets, arguments.row_block_successors) = (places.offsets, places.successors);
        engine.record(Stream::Compute, events.kernel)?;
        if let Some(edges) = &mut self.edges {
            arguments.row_block_on_arcs = edges.begin_row_block(engine, slot, row_block.arcs(), events.counted)?;
        }
        let method = self.method;
        let (name, shared) = match (method.tile(), &self.vertices, &self.edges) {
            (0, None, None) => ("lstc_global", method.shared()),
            (_, None, None) => ("lstc_tiled", method.shared()),
            (0, Some(_), _) => ("lstc_global_vertices", method.shared_with_details()),
            (_, Some(_), _) => ("lstc_tiled_vertices", method.shared_with_details()),
            (0, None, Some(_)) => ("lstc_global_edges", method.shared_with_details()),
            (_, None, Some(_)) => ("lstc_tiled_edges", method.shared_with_details()),
        };
        let mut first = 0;
        while first < self.work {
            let blocks = (self.work - first).min(self.longest_grid);
            let grid = Grid { blocks, threads: method.block_threads(), shared };
            let arguments = LstcArguments { work_first: first, ..arguments };
            engine.launch(Stream::Compute, grid, kernel(name), &[bytes_of(&arguments)])?;
            first += blocks;
        }
        engine.record(Stream::Compute, events.counted)
    }

    /// Waits for a slot's kernel, which frees the slot, and adds its times.
    fn account(&mut self, slot: usize) -> GpuResult<()> {
        let events = TimedEvents::of(slot);
        self.engine.reach(events.counted)?;
        self.times.copies += self.engine.time(Timed::Copy, events.copy, events.copied)?;
        self.times.kernels += self.engine.time(Timed::Count, events.kernel, events.counted)?;
        Ok(())
    }

    fn end(mut self) -> GpuResult<PartitionCount> {
        self.received.finish()?;
        if self.work == 0 {
            return Ok(PartitionCount { triangles: 0, device: Some(self.times) });
        }
        let sums = self.sums;
        let total = sums + 8 * u64::from(SUM_GRID.blocks);
        self.engine.record(Stream::Compute, RESIDENT.kernel)?;
        let mut sum = |grid, parameters: [u64; 3]| {
            self.engine.launch(Stream::Compute, grid, kernel("sum"), &parameters.each_ref().map(bytes_of))
        };
        sum(SUM_GRID, [self.arguments.sums, self.locals, sums])?;
        sum(Grid { blocks: 1, ..SUM_GRID }, [sums, SUM_GRID.blocks.into(), total])?;
        self.engine.record(Stream::Compute, RESIDENT.counted)?;
        let triangles = self.engine.read_u64(Stream::Compute, total)?;
        compact::check(self.engine)?;
        for slot in 0..SLOTS.min(self.row_blocks) {
            self.account(slot)?;
        }
        self.times.copies += self.engine.time(Timed::Copy, RESIDENT.copy, RESIDENT.copied)?;
        self.times.kernels += self.engine.time(Timed::Sum, RESIDENT.kernel, RESIDENT.counted)?;
        Ok(PartitionCount { triangles, device: Some(self.times) })
    }
}

impl Drop for LstcCounter<'_> {
    fn drop(&mut self) {
        // The next partition will reuse the memory.
        self.engine.settle();
        self.engine.layout().restart();
    }
}
