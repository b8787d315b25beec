//! Peels a graph on a device (`cuda/truss.cu`), a round at a time; levels and bounds come from module `truss` of crate `trimill`. The device makes
//! the rows of all neighbours, by the sort of [`crate::prepare`]. What does not fit the engine's arena, which must be free, is in page-locked host
//! memory (module `pieces`). A round is a few kernels and one wait of the host, to read three numbers.

pub(crate) mod constants;
mod pieces;
#[cfg(test)]
mod tests;

use bytemuck::{Pod, Zeroable, bytes_of, cast_slice, cast_slice_mut};
use rayon::prelude::*;

use trimill_counting::{GraphToPeel, Peeling};
use trimill_system::mapped::zeros;
use trimill_system::{Control, Result};

use crate::engine::{Engine, Grid, HostWords, Kernel, Stream};
use crate::error::{GpuError, GpuResult};
use crate::prepare::{PrepareSpace, SortBuffers};
use crate::sources::TRUSS;
use constants::{COUNTS, SHORTEN_THREADS, TAKE_THREADS};
use pieces::PeelingPieces;

/// Threads of a block, in kernels that treat each element by itself.
const THREADS: u32 = 256;

const BLOCKS: u64 = 16;

/// Threads that search together for the triangles of an edge.
const WARP: u32 = 32;

/// Warps per multiprocessor that search for triangles at once; also the most warps for one edge.
const WARPS: u64 = 32;
const MOST_PARTS: u64 = 64;

/// The fewest falling edges that are sorted, so that edges that need the same row follow each other and find it in a cache.
const WORTH_SORTING: u64 = if cfg!(test) { 1 << 3 } else { 1 << 16 };

/// The fewest edges whose rows are fetched together.
const FETCHING: u64 = if cfg!(test) { 1 << 4 } else { 1 << 14 };

/// Heads that a thread copies at a time.
const COPIED: usize = 1 << 18;

/// Indices of the device's counts: of three lists, and the smallest value.
const FALLS: usize = 0;
const GATHERED: usize = 1;
const SHORTER: usize = 2;
const SMALLEST: usize = 3;

/// `PeeledGraph` of `truss.cu`, field by field.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
struct PeeledGraph {
    firsts: u64,
    tails: u64,
    heads: u64,
    starts: u64,
    lengths: u64,
    fallen: u64,
    neighbours: u64,
    far: u64,
    near: u64,
    edges: u64,
    far_edges: u64,
    near_edges: u64,
    rows: u64,
    fetched: u64,
    room: u64,
    taken: u64,
    values: u64,
    falls: u64,
    gathered: u64,
    shorter: u64,
    counts: u64,
    vertices: u64,
    many: u64,
}

// SAFETY: 23 `u64`; any bit pattern is valid.
unsafe impl Zeroable for PeeledGraph {}
// SAFETY: as above.
unsafe impl Pod for PeeledGraph {}

/// The remaining edges, on a device.
pub struct PeelingDevice<'e> {
    /// Dropped first, so that no kernel uses `far` any more.
    space: PrepareSpace<'e>,
    graph: PeeledGraph,
    /// The pieces that are in host memory.
    far: Vec<HostWords>,
    bound: u64,
    /// The range of the edges to remove in the next round, in the list of removed edges.
    falling: [u64; 2],
    fetching: u64,
    /// The most falling edges that are sorted at a time, and the memory for it.
    sorted: u64,
    keys: SortBuffers,
    control: Control,
}

impl<'e> PeelingDevice<'e> {
    /// The page-locked host memory, in bytes, for a graph if the engine has `capacity` bytes; `None` if it cannot be peeled there.
    pub fn on_host(vertices: u64, edges: u64, capacity: u64) -> Option<u64> {
        PeelingPieces::of(vertices, edges, capacity).map(|pieces| pieces.on_host(vertices))
    }

    /// Copies a graph to the device, and makes the rows of all neighbours. Errors: [`GpuError::Budget`]: it needs more memory than the engine has;
    /// [`GpuError::HostMemory`]: the host has too little for the rest.
    pub fn new(engine: &'e mut dyn Engine, graph: GraphToPeel<'_>, control: &Control) -> GpuResult<Self> {
        engine.load(&TRUSS)?;
        let mut space = PrepareSpace::new(engine)?;
        let (vertices, many) = (graph.firsts.len() as u64 - 1, graph.heads.len() as u64);
        let capacity = space.left();
        let Some(pieces) = PeelingPieces::of(vertices, many, capacity) else {
            return Err(GpuError::Budget { asked: 36 * vertices + 4 * many, used: 0, capacity });
        };
        let [firsts, starts] = [space.take(8 * (vertices + 1))?, space.take(8 * (vertices + 1))?];
        let tails = space.take(pieces.tails)?;
        let [lengths, fallen, shorter] =
            [space.take(pieces.by_vertex)?, space.take(pieces.by_vertex)?, space.take(pieces.by_vertex)?];
        let [counts, values] = [space.take(4 * COUNTS)?, space.take(pieces.values)?];
        let [rows, taken, fetched] = [space.take(8 * vertices)?, space.take(8)?, space.take(pieces.fetched)?];
        space.take_sort(pieces.keys(), 1)?;
        let [neighbours, edges] = [space.take(pieces.neighbours)?, space.take(pieces.edges)?];
        let mut far = Vec::new();
        let mut lists = [0; 3];
        for (list, near) in lists.iter_mut().zip(pieces.lists) {
            *list = if near {
                space.take(pieces.by_edge)?
            } else {
                in_host_memory(&mut space, &mut far, many.div_ceil(2))?
            };
        }
        let [gathered, falls, heads] = lists;
        let keys = space.take_keys(pieces.sorted)?;
        let all = PeeledGraph {
            firsts,
            tails,
            heads,
            starts,
            lengths,
            fallen,
            neighbours,
            near: 2 * many,
            edges,
            near_edges: 2 * many,
            rows,
            fetched,
            room: pieces.fetched / 4,
            taken,
            values,
            falls,
            gathered,
            shorter,
            counts,
            vertices,
            many,
            ..PeeledGraph::default()
        };
        let (sorted, control) = (pieces.sorted, control.clone());
        let mut device =
            Self { space, graph: all, far, bound: 0, falling: [0; 2], fetching: FETCHING, sorted, keys, control };
        device.space.send(firsts, cast_slice(graph.firsts))?;
        match pieces.lists[2] {
            true => device.space.send(heads, cast_slice(graph.heads))?,
            false => {
                let far = device.far.last_mut().map_or(&mut [][..], |words| cast_slice_mut(words));
                let chunks = far.par_chunks_mut(COPIED).zip(graph.heads.par_chunks(COPIED));
                chunks.for_each(|(to, from)| to[..from.len()].copy_from_slice(from));
            }
        }
        device.make_rows(&pieces)?;
        device.space.send(values, cast_slice(graph.values))?;
        Ok(device)
    }

    /// Makes the rows of all neighbours, ascending: smaller neighbours ascend in the rows of heads, and edges are ordered by tail.
    fn make_rows(&mut self, pieces: &PeelingPieces) -> GpuResult<()> {
        let PeeledGraph { starts, lengths, fallen, counts, vertices, many, values, .. } = self.graph;
        self.space.fill(lengths, 0, pieces.by_vertex)?;
        self.space.fill(fallen, 0, pieces.by_vertex)?;
        self.space.fill(counts, 0, 4 * COUNTS)?;
        self.for_each("note_tails", pieces.tails / 4, THREADS, &[])?;
        self.for_each("count_heads", many, THREADS, &[])?;
        self.for_each("begin_rows", vertices, THREADS, &[starts])?;
        self.space.scan(starts, vertices)?;
        if pieces.edges / 4 < 2 * many {
            let mut begin = vec![0u64; vertices as usize + 1];
            self.space.engine.read(Stream::Compute, starts, cast_slice_mut(&mut begin))?;
            let near = |bytes: u64| begin[begin.partition_point(|&start| start <= bytes / 4) - 1];
            (self.graph.near, self.graph.near_edges) = (near(pieces.neighbours), near(pieces.edges));
            self.graph.far = self.far_rows(self.graph.near)?;
            self.graph.far_edges = self.far_rows(self.graph.near_edges)?;
        }
        self.forget_rows()?;
        self.for_each("put_smaller", many, THREADS, &[])?;
        let bits = u64::BITS - vertices.leading_zeros();
        let buffers = SortBuffers { keys: values, free: values + 8 * pieces.keys() };
        for from in (0..many).step_by(pieces.keys() as usize) {
            let count = pieces.keys().min(many - from);
            self.for_each("put_keys", count, THREADS, &[buffers.keys, from, from + count])?;
            let sorted = self.space.sort(buffers, count, u32::BITS, bits)?.keys;
            for kernel in ["note_runs", "put_larger", "end_runs"] {
                self.for_each(kernel, count, THREADS, &[sorted, count])?;
            }
        }
        self.space.fill(fallen, 0, pieces.by_vertex)
    }

    /// Takes host memory for the rows from place `near` on; returns the address that place 0 would have.
    fn far_rows(&mut self, near: u64) -> GpuResult<u64> {
        let words = (2 * self.graph.many - near).div_ceil(2);
        let at = if words == 0 { 0 } else { in_host_memory(&mut self.space, &mut self.far, words)? };
        Ok(at.wrapping_sub(4 * near))
    }

    fn forget_rows(&mut self) -> GpuResult<()> {
        self.space.fill(self.graph.taken, 0, 8)?;
        self.for_each("reset_rows", self.graph.vertices, THREADS, &[])
    }

    /// Removes the triangles of the falling edges, some edges at a time, after fetching their rows into the cache.
    fn take_fetched(&mut self, [from, to]: [u64; 2], level: u64) -> Result<()> {
        let (mut from, room) = (from, self.graph.room);
        while from < to {
            self.control.check()?;
            let end = to.min(from + self.fetching);
            self.for_each("fetch_rows", 2 * u64::from(WARP) * (end - from), TAKE_THREADS, &[from, end])?;
            self.take([from, end], level)?;
            let taken = self.space.number(self.graph.taken)?;
            // Rows without room in the cache are read in place each time; clearing the cache takes as long as a few rounds.
            let (full, whole) = (taken > room / 4 * 3, end - from == self.fetching);
            if full {
                self.forget_rows()?;
            }
            self.fetching = match (whole, full) {
                (true, true) => (self.fetching / 2).max(FETCHING),
                (true, false) => 2 * self.fetching,
                (false, _) => self.fetching,
            };
            from = end;
        }
        Ok(())
    }

    fn sort_falls(&mut self, [from, to]: [u64; 2]) -> GpuResult<()> {
        let bits = u64::BITS - self.graph.vertices.leading_zeros();
        for from in (from..to).step_by(self.sorted as usize) {
            let end = to.min(from + self.sorted);
            self.for_each("put_ends", end - from, THREADS, &[from, end, self.keys.keys])?;
            let sorted = self.space.sort(self.keys, end - from, u32::BITS, bits)?.keys;
            self.for_each("put_falls", end - from, THREADS, &[from, end, sorted])?;
        }
        Ok(())
    }

    fn take(&mut self, [from, to]: [u64; 2], level: u64) -> GpuResult<()> {
        // If few edges fall, their rows are divided among warps; else all would wait for the longest row.
        let warps = WARPS * u64::from(self.space.engine.processors());
        let parts = (warps / (to - from)).clamp(1, MOST_PARTS);
        let threads = u64::from(WARP) * parts * (to - from);
        self.for_each("take", threads, TAKE_THREADS, &[from, to, level, self.bound, parts])
    }

    /// The smallest value of the edges left, of those gathered or of all; `None` if there is no edge.
    fn least_of(&mut self, only_gathered: bool) -> GpuResult<Option<u32>> {
        let place = self.graph.counts + 4 * SMALLEST as u64;
        self.space.engine.fill(Stream::Compute, place, 0xff, 4)?;
        self.for_each("least_value", self.graph.many, THREADS, &[only_gathered.into()])?;
        let least = self.counts()?[SMALLEST];
        Ok((least != u32::MAX).then_some(least))
    }

    fn next_falling(&mut self) -> GpuResult<u64> {
        let end = self.counts()?[FALLS].into();
        self.falling = [self.falling[1], end];
        Ok(end - self.falling[0])
    }

    fn counts(&mut self) -> GpuResult<[u32; 4]> {
        let mut counts = [0; 4];
        self.space.engine.read(Stream::Compute, self.graph.counts, cast_slice_mut(&mut counts))?;
        Ok(counts)
    }

    fn for_each(&mut self, name: &'static str, threads: u64, block: u32, more: &[u64]) -> GpuResult<()> {
        let most = u64::from(self.space.engine.processors()) * BLOCKS;
        let grid = Grid::of(threads.min(most * u64::from(block)), block)?;
        let parameters: Vec<&[u8]> = std::iter::once(bytes_of(&self.graph)).chain(more.iter().map(bytes_of)).collect();
        self.space.engine.launch(Stream::Compute, grid, Kernel { source: &TRUSS, name }, &parameters)
    }
}

impl Peeling for PeelingDevice<'_> {
    fn least(&mut self) -> Result<Option<u32>> {
        Ok(self.least_of(false)?)
    }

    fn gather(&mut self, bound: u32) -> Result<()> {
        self.bound = bound.into();
        self.space.engine.fill(Stream::Compute, self.graph.counts + 4 * GATHERED as u64, 0, 4)?;
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
        self.space.engine.fill(Stream::Compute, self.graph.counts + 4 * SHORTER as u64, 0, 4)?;
        self.for_each("note_falls", to - from, THREADS, &[from, to])?;
        // At level 0, there are no triangles.
        if level > 0 && to - from >= WORTH_SORTING && self.sorted >= WORTH_SORTING {
            self.sort_falls(self.falling)?;
        }
        match self.graph.room {
            _ if level == 0 => {}
            0 => self.take(self.falling, level)?,
            _ => self.take_fetched(self.falling, level)?,
        }
        self.for_each("settle", to - from, THREADS, &[from, to, level])?;
        let rows = (2 * (to - from)).min(self.graph.vertices);
        self.for_each("shorten", rows * u64::from(SHORTEN_THREADS), SHORTEN_THREADS, &[])?;
        Ok(self.next_falling()?)
    }

    fn worth_leaving(&self, all: u64) -> u64 {
        // Making a smaller graph takes longer than going on, unless more of it then fits the device.
        if self.far.is_empty() { 0 } else { all / 2 }
    }

    fn values(&mut self) -> Result<Vec<u32>> {
        let mut values = zeros(self.graph.many as usize);
        self.space.engine.read(Stream::Compute, self.graph.values, cast_slice_mut(&mut values))?;
        Ok(values)
    }
}

fn in_host_memory(space: &mut PrepareSpace<'_>, far: &mut Vec<HostWords>, words: u64) -> GpuResult<u64> {
    let words = space.engine.host_words(words as usize)?;
    let at = words.as_ptr() as u64;
    far.push(words);
    Ok(at)
}
