//! Method `packed`: rows are packed into words of bits; for each arc the longer row is in a table, and the words of the shorter one are looked up
//! there. `cuda/packed.cu` explains how it counts; this module divides its work. Input: a partition's resident section and its row blocks, ascending.
//! Output: the triangles whose corner of largest number is local.
//!
//! Successors are packed on the device as they arrive, and only packed rows are kept. The resident section goes in steps through the two halves of
//! the work space; row blocks through two slots, one copied while one is counted. The work space is the rest of the arena, up to the useful size
//! ([`preferred_bytes`]); if it is smaller, a row block is counted in pieces and batches (`packed/space.rs`), each of which makes its owners' tables
//! once. A batch takes two passes over its words to assign arcs to owners, a list of owners, and three counting kernels. If no row has more than
//! [`GROUP_WORDS`] words, arcs have no owners: these kernels end at once, and a fourth one counts.
//!
//! Device bytes: 4 per resident arc; 24 per local (place of its row 8, next successor 4, padding to the next chunk 12); two row blocks; a
//! work space of at least 2 per arc, 4 per local, two row blocks and 64 KiB ([`FOOTPRINT`]); to count all at once 12 per arc and 40 per
//! local. Counters of vertices are apart ([`trimill_counting::VertexCounters`]). Counting on arcs takes 6 more per resident arc, 3 more per
//! local and three more row blocks ([`FOOTPRINT_WITH_EDGES`]); arcs' counters are all numbered with 32 bits. Work: the sum over arcs a -> b
//! of min(words of b's row, words of a's row up to b). Host: 8 bytes per 256 locals. Numbers are below 1,879,048,192.

mod arcs_into;
mod arguments;
pub(crate) mod constants;
mod counter;
mod resident;
mod row_blocks;
mod space;
#[cfg(test)]
mod tests;

use bytemuck::bytes_of;

use crate::arena::{ALIGNMENT, padded};
use crate::compact;
use crate::edges::{self, EdgeCounters};
use crate::engine::{Engine, Event, Grid, Kernel, RING, Stream, Timed, TimedEvents};
use crate::error::{GpuError, GpuResult};
use crate::method::CountingMethod;
use crate::received::Received;
use crate::sources::PACKED;
use arcs_into::ArcBounds;
use arguments::{PackedArguments, SharedArguments};
use constants::{GROUP_WORDS, ONE_CHUNK, OWNER_THREADS, ROW_LANES, SCAN};
use space::{
    ArcsBefore, LEAST, LEAST_PER_ARC, LEAST_PER_ARC_WITH_EDGES, LEAST_PER_LOCAL, LEAST_ROW_BLOCKS,
    LEAST_ROW_BLOCKS_WITH_EDGES, firsts_bytes, preferred_space,
};
use trimill_counting::{
    Detail, DeviceTimes, EDGE_COUNTER_BYTES, Footprint, PartitionCount, PartitionCounter, PartitionExtent, Resident,
    RowBlockRoom, VertexCounters,
};
use trimill_system::Bytes;

/// Row blocks on the device at a time; and halves of the work space for the resident section's copies.
const SLOTS: usize = 2;

/// Events of the resident section's copies, between those of row blocks and of batches, of which up to [`RING`] each are enqueued ahead.
const RESIDENT: TimedEvents = TimedEvents::of(RING);

/// The events of the copies of runs, used alternately: the two kernel events of [`RESIDENT`], which are otherwise unused.
const COPIED: [Event; 2] = [RESIDENT.kernel, RESIDENT.counted];

const fn of_row_block(row_block: usize) -> TimedEvents {
    TimedEvents::of(row_block % RING)
}

const fn of_batch(batch: usize) -> TimedEvents {
    TimedEvents::of(RING + 1 + batch % RING)
}

/// Threads of a block, for kernels without a constant of their own.
const THREADS: u32 = 256;

const WARP: u32 = 32;

/// From this mean length of rows on, a warp takes a row. Most shorter rows have no successor in a given small range.
const LONG_ROW: u64 = 128;

/// Blocks per multiprocessor: of the kernels that take their work from a counter, and of those that go through arrays.
const BY_WARP_BLOCKS: u32 = 9;
const BY_BLOCK_BLOCKS: u32 = 12;
const BY_GROUP_BLOCKS: u32 = 10;
const OTHER_BLOCKS: u32 = 16;

/// The most bytes whose chunks can be numbered with 32 bits: 64 GiB.
const REACH: u64 = 16 << 32;

/// The part of [`REACH`] for row blocks: more than the two largest take.
const REACH_OF_ROW_BLOCKS: u64 = 1 << 30;

/// The most counters of arcs, which are numbered with 32 bits.
const MOST_COUNTERS: u64 = 1 << 32;

/// The least bytes of the method: two slots, and a work space that includes the size of two more.
pub(crate) const FOOTPRINT: Footprint = Footprint {
    per_resident_arc: 4 + LEAST_PER_ARC,
    per_local: 8 + 4 + 12 + LEAST_PER_LOCAL,
    fixed: Bytes(32 + 16 + LEAST + 7 * (ALIGNMENT - 1)),
    row_blocks: RowBlockRoom::Always(SLOTS as u64 + LEAST_ROW_BLOCKS),
    // A row's words take at most 4 bytes per arc and 12 more: at most 4 / (4 + LEAST_PER_ARC) of what the row takes in all.
    most_resident: Bytes((REACH - REACH_OF_ROW_BLOCKS) / 4 * (4 + LEAST_PER_ARC)),
    of_budget: Some(|size, budget| preferred_bytes(size, false).min(budget)),
    ..Footprint::NOTHING
};

/// As [`FOOTPRINT`], with counters of arcs: 4 bytes for each counter, and 4 for each chunk.
pub(crate) const FOOTPRINT_WITH_EDGES: Footprint = Footprint {
    per_resident_arc: 4 + LEAST_PER_ARC_WITH_EDGES + EDGE_COUNTER_BYTES + 1,
    per_local: FOOTPRINT.per_local + 3,
    fixed: Bytes(FOOTPRINT.fixed.get() + (edges::PIECES + 1) * (ALIGNMENT - 1) + 4),
    row_blocks: RowBlockRoom::Always((SLOTS + edges::SLOTS) as u64 + LEAST_ROW_BLOCKS_WITH_EDGES),
    most_resident: Bytes(
        (MOST_COUNTERS - REACH_OF_ROW_BLOCKS / 4) * (4 + LEAST_PER_ARC_WITH_EDGES + EDGE_COUNTER_BYTES + 1),
    ),
    of_budget: Some(|size, budget| preferred_bytes(size, true).min(budget)),
    ..FOOTPRINT
};

/// The bytes with which everything is counted at once, and each table made once; more is never taken. `edges`: with counters of arcs.
fn preferred_bytes(size: &PartitionExtent, edges: bool) -> u64 {
    let footprint = if edges { FOOTPRINT_WITH_EDGES } else { FOOTPRINT };
    let (least, space) = (footprint.least(size), least_space(size, edges));
    least - space + padded(preferred_space(size, edges).max(space))
}

fn least_space(size: &PartitionExtent, edges: bool) -> u64 {
    let (row_blocks, per_arc) = match edges {
        true => (LEAST_ROW_BLOCKS_WITH_EDGES, LEAST_PER_ARC_WITH_EDGES),
        false => (LEAST_ROW_BLOCKS, LEAST_PER_ARC),
    };
    LEAST + row_blocks * size.row_block_limit + per_arc * size.arcs + LEAST_PER_LOCAL * size.locals
}

/// How many low bits of a number select its bit in a word; `None` if there are too many numbers.
fn bits_for(numbered: u32) -> Option<u32> {
    // A word has 32 bits; the first eighth of all values is for the words of hubs.
    [4u32, 3, 2, 1].into_iter().find(|k| u64::from(numbered) <= 7 << (29 - (1 << k) + k))
}

/// Whether a graph with `vertices` vertices can be packed.
pub fn takes(vertices: u32) -> bool {
    bits_for(vertices).is_some()
}

/// An upper bound of the bytes of `rows` rows with `arcs` successors, however they are packed.
const fn packed_bytes(rows: u64, arcs: u64) -> u64 {
    16 * (arcs + 3 * rows).div_ceil(4)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Packed;

impl CountingMethod for Packed {
    fn name(&self) -> &'static str {
        "packed"
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
        Ok(Box::new(PackedCounter::begin(engine, size, detail)?))
    }
}

struct PackedCounter<'g> {
    engine: &'g mut dyn Engine,
    received: Received,
    all: SharedArguments,
    locals: u32,
    blocks: ArcsBefore,
    /// How many resident arcs lead into each range of numbers; `None` if there is one row block, into which all of them lead.
    into: Option<ArcBounds>,
    /// An upper bound of the resident arcs into the current row block, for which the work space has room; the tighter, the fewer pieces.
    arcs_into: u64,
    /// Whether the device counted `into` while it unpacked rows, and still holds the counts.
    binned: bool,
    vertices: Option<VertexCounters>,
    edges: Option<EdgeCounters>,
    space: u64,
    space_bytes: u64,
    /// The most bytes of a piece, unless it has only one number.
    piece_limit: u64,
    slots: [u64; SLOTS],
    /// Copies into halves of the work space so far.
    halves: usize,
    runs: usize,
    row_blocks: usize,
    batches: usize,
    /// The run that is being copied; dropping the counter first waits for the device.
    copied: Option<Resident>,
    times: DeviceTimes,
    peak_bytes: u64,
}

impl<'g> PackedCounter<'g> {
    fn begin(engine: &'g mut dyn Engine, size: PartitionExtent, detail: Detail) -> GpuResult<Self> {
        let received = Received::new(size)?;
        let k = bits_for(size.numbered).ok_or_else(|| {
            let text = format!("{} numbers are too many to be packed; split the graph, or use lstc", size.numbered);
            GpuError::TooLarge(text)
        })?;
        engine.load(&PACKED)?;
        let words = packed_bytes(size.locals, size.arcs);
        let with_edges = matches!(detail, Detail::Edges);
        let least = least_space(&size, with_edges);
        if padded(words) + LEAST + LEAST_ROW_BLOCKS * size.row_block_limit > REACH {
            return Err(GpuError::TooLarge("rows of more than 64 GiB cannot be packed; split the partition".into()));
        }
        if with_edges && size.arcs + size.row_block_limit / 2 + ALIGNMENT > MOST_COUNTERS {
            let text = "more than 2^32 arcs cannot have counters; split the partition, or use lstc";
            return Err(GpuError::TooLarge(text.into()));
        }
        engine.layout().restart();
        let edges = if with_edges { Some(EdgeCounters::take(engine, &size)?) } else { None };
        let rows = engine.take(8 * size.locals)?;
        let firsts = engine.take(if with_edges { firsts_bytes(words) } else { 0 })?;
        let next = engine.take(4 * size.locals)?;
        let total = engine.take(16)?;
        let slots = [engine.take(size.row_block_limit)?, engine.take(size.row_block_limit)?];
        // Right before the work space, so that chunks are numbered from here in both.
        let packed = engine.take(words)?;
        let most = preferred_space(&size, with_edges).max(least);
        let rest = (engine.layout().capacity() - engine.layout().used()) / ALIGNMENT * ALIGNMENT;
        let left = rest.max(least).min(padded(most));
        let space = engine.take(left)?;
        let mut counting = Self {
            all: SharedArguments {
                rows,
                next,
                words: packed,
                total,
                longest: total + 8,
                on_arcs: edges.as_ref().map_or(0, |edges| edges.resident),
                firsts,
                numbered: size.numbered,
                k,
                chunk_first: ((space - packed) / 16) as u32,
                most_words: if matches!(detail, Detail::Total | Detail::Share(_)) { GROUP_WORDS } else { ONE_CHUNK },
                ..SharedArguments::default()
            },
            locals: size.locals as u32,
            received,
            blocks: ArcsBefore::default(),
            // If all vertices are local, there is one row block.
            into: (size.locals < u64::from(size.numbered)).then(|| ArcBounds::new(size.numbered)),
            arcs_into: u64::MAX,
            binned: false,
            vertices: match detail {
                Detail::Vertices(counters) => Some(counters),
                Detail::Total | Detail::Share(_) | Detail::Edges => None,
            },
            edges,
            space,
            space_bytes: left,
            piece_limit: (left / 2).min(REACH - padded(words)),
            slots,
            halves: 0,
            runs: 0,
            row_blocks: 0,
            batches: 0,
            copied: None,
            times: DeviceTimes::default(),
            peak_bytes: engine.layout().used(),
            engine,
        };
        counting.clear()?;
        Ok(counting)
    }

    fn clear(&mut self) -> GpuResult<()> {
        let Self { engine, all, edges, vertices, locals, .. } = self;
        engine.record(Stream::Copy, RESIDENT.copy)?;
        compact::begin(*engine)?;
        engine.fill(Stream::Copy, all.rows, 0, 8 * u64::from(*locals))?;
        engine.fill(Stream::Copy, all.total, 0, 16)?;
        if let Some(edges) = edges {
            edges.clear(*engine)?;
        }
        if let Some(of) = &*vertices {
            // Vertices are fewer than 2^32: see `bits_for`.
            let VertexCounters { window, locals_at } = of;
            all.counters = crate::vertices::clear(of, *engine)?;
            (all.counters_first, all.counters_end) = (window.start as u32, window.end as u32);
            all.locals_at = *locals_at as u32;
        }
        engine.record(Stream::Copy, RESIDENT.copied)
    }

    fn end(mut self) -> GpuResult<PartitionCount> {
        self.received.finish()?;
        if self.row_blocks == 0 {
            return Ok(PartitionCount { triangles: 0, device: Some(self.times) });
        }
        let triangles = self.engine.read_u64(Stream::Compute, self.all.total)?;
        compact::check(self.engine)?;
        for row_block in self.row_blocks.saturating_sub(RING)..self.row_blocks {
            self.account(row_block)?;
        }
        for batch in self.batches.saturating_sub(RING)..self.batches {
            self.account_batch(batch)?;
        }
        self.times.copies += self.engine.time(Timed::Copy, RESIDENT.copy, RESIDENT.copied)?;
        Ok(PartitionCount { triangles, device: Some(self.times) })
    }
}

/// Lanes that take a row: a warp if rows are long. `rows` and `arcs` are totals.
fn lanes_for(rows: u64, arcs: u64) -> u32 {
    if arcs / rows.max(1) >= LONG_ROW { WARP } else { ROW_LANES }
}

/// Lanes that pack a row: one if rows are short, a warp if they are long.
fn packing_lanes(rows: u64, arcs: u64) -> u32 {
    if arcs / rows.max(1) < u64::from(ROW_LANES) { 1 } else { lanes_for(rows, arcs) }
}

fn grid_blocks(rows: u32, lanes: u32) -> u32 {
    rows.div_ceil(THREADS / lanes)
}

/// Starts a kernel of `packed.cu`, unless it has no blocks.
fn launch(engine: &mut dyn Engine, name: &'static str, grid: Grid, arguments: &PackedArguments) -> GpuResult<()> {
    if grid.blocks == 0 {
        return Ok(());
    }
    engine.launch(Stream::Compute, grid, Kernel { source: &PACKED, name }, &[bytes_of(arguments)])
}

fn blocks(blocks: u32) -> Grid {
    Grid { blocks, threads: THREADS, shared: 0 }
}

impl Drop for PackedCounter<'_> {
    fn drop(&mut self) {
        // The next partition will reuse the memory.
        self.engine.settle();
        self.engine.layout().restart();
    }
}
