//! Peels a graph on a device (`cuda/truss.cu`), a round at a time. The caller says which levels and bounds (the module `truss` of the
//! crate `trimill`).
//!
//! All memory is the engine's arena, which must be free: [`PeelingDevice::needed`] says how much. A round is a few kernels, and the host
//! waits for it once, to read three numbers.

pub(crate) mod constants;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use bytemuck::{Pod, Zeroable, bytes_of, cast_slice, cast_slice_mut};

use trimill_counting::{GraphToPeel, Peeling};
use trimill_system::error::Result;

use crate::arena::padded;
use crate::engine::{Engine, Event, Grid, Kernel, Stream};
use crate::error::GpuResult;
use crate::sources::TRUSS;
use constants::{SHORTEN_THREADS, TAKE_THREADS};

/// Threads of a block of a kernel that treats each element by itself.
const THREADS: u32 = 256;

/// Blocks of a kernel for each multiprocessor, at most.
const BLOCKS: u64 = 16;

/// Threads that look for the triangles of an edge together.
const WARP: u32 = 32;

/// Makes kernels wait for copies.
const COPIED: Event = 0;

/// The lists of the device that have counts, and the smallest value.
const FALLS: usize = 0;
const GATHERED: usize = 1;
const SHORTER: usize = 2;
const SMALLEST: usize = 3;

/// `PeeledGraph` of `truss.cu`, field by field.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
struct PeeledGraph {
    firsts: u64,
    heads: u64,
    starts: u64,
    lengths: u64,
    fallen: u64,
    neighbours: u64,
    values: u64,
    falls: u64,
    gathered: u64,
    shorter: u64,
    counts: u64,
    vertices: u64,
    many: u64,
}

// SAFETY: 13 `u64`; any bit pattern is valid.
unsafe impl Zeroable for PeeledGraph {}
// SAFETY: as above.
unsafe impl Pod for PeeledGraph {}

/// The edges that are left, on a device.
pub struct PeelingDevice<'e, E: Engine + ?Sized> {
    engine: &'e mut E,
    graph: PeeledGraph,
    bound: u64,
    /// Where the edges begin that fall in the next round, and their end, among all that fell.
    falling: [u64; 2],
}

impl<'e, E: Engine + ?Sized> PeelingDevice<'e, E> {
    /// The bytes of device memory that a graph takes.
    pub fn needed(vertices: u64, edges: u64) -> u64 {
        Self::pieces(vertices, edges).into_iter().map(padded).sum()
    }

    /// The bytes of each piece, in the order of the fields.
    fn pieces(vertices: u64, edges: u64) -> [u64; 11] {
        let (by_vertex, by_edge) = (4 * vertices, 4 * edges);
        [
            8 * (vertices + 1),
            by_edge,
            8 * (vertices + 1),
            by_vertex,
            by_vertex,
            4 * by_edge,
            by_edge,
            by_edge,
            by_edge,
            by_vertex,
            4 * 4,
        ]
    }

    /// Copies a graph to the device.
    ///
    /// # Errors
    /// [`crate::GpuError::Budget`]: it needs more memory than the engine has.
    pub fn new(engine: &'e mut E, graph: GraphToPeel<'_>) -> GpuResult<Self> {
        engine.load(&TRUSS)?;
        engine.layout().restart();
        let (vertices, many) = (graph.firsts.len() as u64 - 1, graph.heads.len() as u64);
        let mut at = [0; 11];
        for (at, bytes) in at.iter_mut().zip(Self::pieces(vertices, many)) {
            *at = engine.layout().take(bytes)?.offset + engine.address();
        }
        let [firsts, heads, starts, lengths, fallen, neighbours, values, falls, gathered, shorter, counts] = at;
        let row_lengths: Vec<u32> = graph.starts.windows(2).map(|row| (row[1] - row[0]) as u32).collect();
        let copies: [(u64, &[u8]); 6] = [
            (firsts, cast_slice(graph.firsts)),
            (heads, cast_slice(graph.heads)),
            (starts, cast_slice(graph.starts)),
            (lengths, cast_slice(&row_lengths)),
            (neighbours, cast_slice(graph.neighbours)),
            (values, cast_slice(graph.values)),
        ];
        for (to, bytes) in copies {
            // SAFETY: the pieces are in pageable memory, or stay until all is sent.
            unsafe { engine.copy(to, &[bytes])? };
        }
        engine.sent()?;
        engine.record(Stream::Copy, COPIED)?;
        engine.wait(Stream::Compute, COPIED)?;
        let all = PeeledGraph {
            firsts,
            heads,
            starts,
            lengths,
            fallen,
            neighbours,
            values,
            falls,
            gathered,
            shorter,
            counts,
            vertices,
            many,
        };
        engine.fill(Stream::Compute, fallen, 0, 4 * vertices)?;
        engine.fill(Stream::Compute, counts, 0, 16)?;
        Ok(Self { engine, graph: all, bound: 0, falling: [0; 2] })
    }

    /// The smallest value of an edge that is left, among those that are gathered or among all; none: there is no such edge.
    fn least_of(&mut self, only_gathered: bool) -> GpuResult<Option<u32>> {
        let place = self.graph.counts + 4 * SMALLEST as u64;
        self.engine.fill(Stream::Compute, place, 0xff, 4)?;
        self.for_each("least_value", self.graph.many, THREADS, &[only_gathered.into()])?;
        let least = self.counts()?[SMALLEST];
        Ok((least != u32::MAX).then_some(least))
    }

    fn next_falling(&mut self) -> GpuResult<u64> {
        let end = self.counts()?[FALLS].into();
        self.falling = [self.falling[1], end];
        Ok(end - self.falling[0])
    }

    /// Waits for all kernels.
    fn counts(&mut self) -> GpuResult<[u32; 4]> {
        let mut counts = [0; 4];
        self.engine.read(Stream::Compute, self.graph.counts, cast_slice_mut(&mut counts))?;
        Ok(counts)
    }

    /// Enqueues a kernel that treats what `threads` threads treat, in a loop.
    fn for_each(&mut self, name: &'static str, threads: u64, block: u32, more: &[u64]) -> GpuResult<()> {
        let most = u64::from(self.engine.processors()) * BLOCKS;
        let grid = Grid::of(threads.min(most * u64::from(block)), block)?;
        let parameters: Vec<&[u8]> = std::iter::once(bytes_of(&self.graph)).chain(more.iter().map(bytes_of)).collect();
        self.engine.launch(Stream::Compute, grid, Kernel { source: &TRUSS, name }, &parameters)
    }
}

impl<E: Engine + ?Sized> Peeling for PeelingDevice<'_, E> {
    fn least(&mut self) -> Result<Option<u32>> {
        Ok(self.least_of(false)?)
    }

    fn gather(&mut self, bound: u32) -> Result<()> {
        self.bound = bound.into();
        self.engine.fill(Stream::Compute, self.graph.counts + 4 * GATHERED as u64, 0, 4)?;
        Ok(self.for_each("gather", self.graph.many, THREADS, &[self.bound])?)
    }

    fn least_gathered(&mut self) -> Result<Option<u32>> {
        Ok(self.least_of(true)?)
    }

    fn begin(&mut self, level: u32) -> Result<u64> {
        self.for_each("begin_level", self.graph.many, THREADS, &[level.into()])?;
        Ok(self.next_falling()?)
    }

    fn round(&mut self, level: u32) -> Result<u64> {
        let ([from, to], level) = (self.falling, u64::from(level));
        self.engine.fill(Stream::Compute, self.graph.counts + 4 * SHORTER as u64, 0, 4)?;
        self.for_each("note_falls", to - from, THREADS, &[from, to, level])?;
        self.for_each("take", u64::from(WARP) * (to - from), TAKE_THREADS, &[from, to, level, self.bound])?;
        self.for_each("settle", to - from, THREADS, &[from, to, level])?;
        let rows = (2 * (to - from)).min(self.graph.vertices);
        self.for_each("shorten", rows * u64::from(SHORTEN_THREADS), SHORTEN_THREADS, &[])?;
        Ok(self.next_falling()?)
    }

    fn worth_leaving(&self, all: u64) -> u64 {
        // To make the new graph takes longer than to go on, unless there is little of it.
        all / 16
    }

    fn values(&mut self, into: &mut [u32]) -> Result<()> {
        Ok(self.engine.read(Stream::Compute, self.graph.values, cast_slice_mut(into))?)
    }
}
