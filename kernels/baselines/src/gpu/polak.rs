//! Method `polak`: A. Polak, 'Counting Triangles in Large Graphs on GPU' (2015), the forward algorithm with one thread per edge.
//!
//! Input: the edge array, each edge in both directions. The eight steps of section 3.2:
//!
//! 1. copy the edge array; 2. the largest vertex; 3. sort the edges as 64-bit integers; 4. the node array; 5. mark backward edges, from
//!    higher degree to lower; 6. drop them; 7. unzip to a structure of arrays; 8. the node array again.
//!
//! Then the kernel of section 3.3, which reads one value per step (3.4.3), with 8 blocks per multiprocessor, by default of 64 threads; and a sum.
//!
//! Choices where the paper is silent or its libraries are not used: the sort is a radix sort, 8 bits per pass, lowest first (Thrust's is a radix
//! sort, too); edges are removed by counting those kept in each tile, a scan, and a move. The high half of a sorted key is the vertex whose list the
//! edge is in, which is the paper's 'second vertex'. Vertices are numbered in descending degree order, as in the rest of this program, not by the
//! input's ids. With [`PolakOptions::on_cpu`] (3.4.5) backward edges never reach the device: the host drops them when it orients the graph; steps 2,
//! 5 and 6 are not needed, and the others have half the work. With several devices, each does the whole preparation and counts a share of the edges
//! ([`EdgeShare`]); the paper prepares on one device and copies.
//!
//! Whole graphs only. Device bytes, for `m` edges and `n` vertices: about `33 m + 4 n`, or `16.5 m + 4 n` where the CPU prepares:
//! the two buffers of the sort, and its counts. `O(m^1.5)` time; lists of fewer than 2^32 entries.

use super::both_ways::EdgeArray;
use super::machine::BaselineDevice;
use super::primitives::{self, KeyList, SUM_BYTES, ValueWidth, scan, sort, sort_bytes, tile_threads, tiles};
use super::{BaselineWork, ROUNDING, TakePiece, is_block};
use trimill_counting::{EdgeShare, Footprint, PartitionExtent, Resident, Scope};
use trimill_kernels::engine::Grid;
use trimill_kernels::{GpuError, GpuResult};
use trimill_system::Bytes;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PolakOptions {
    pub block_threads: u32,
    /// Whether the CPU drops backward edges even if the sort fits the GPU.
    pub on_cpu: bool,
}

impl Default for PolakOptions {
    /// The paper's.
    fn default() -> Self {
        Self { block_threads: 64, on_cpu: false }
    }
}

/// Blocks for each multiprocessor.
const BLOCKS: u32 = 8;

/// Thread blocks that search for the largest vertex.
const MAX_BLOCKS: u64 = 512;

/// The most counting threads, more than any existing device runs; bounds the bytes of their results.
const MOST_THREADS: u64 = 1 << 19;

/// Bytes that do not depend on the graph.
const FIXED: u64 = 8 * MOST_THREADS + SUM_BYTES;

pub(super) struct PolakLayout {
    keys: u64,
    other: u64,
    node: u64,
    /// Counts of the sort; later counts of kept edges; results of threads; sums.
    scratch: u64,
}

/// The keys of all edges: if `both`, one in each direction.
fn key_count(size: &PartitionExtent, both: bool) -> u64 {
    size.arcs * (1 + u64::from(both))
}

pub(super) fn lay(take: &mut TakePiece<'_>, size: &PartitionExtent, both: bool) -> GpuResult<PolakLayout> {
    let len = key_count(size, both);
    Ok(PolakLayout {
        keys: take(8 * len)?,
        other: take(8 * len)?,
        node: take(4 * (u64::from(size.numbered) + 1))?,
        scratch: take(sort_bytes(len).max(8 * MOST_THREADS + SUM_BYTES).max(8 * (MAX_BLOCKS + 1)))?,
    })
}

/// The footprint of two buffers of keys, and half a byte a key for the counts of the sort.
const fn with_keys(per_resident_arc: u64) -> Footprint {
    let (scope, fixed) = (Scope::SharesOfGraphs, Bytes(FIXED + ROUNDING));
    Footprint { scope, per_resident_arc, per_local: 4, fixed, ..Footprint::NOTHING }
}

const ON_GPU: Footprint = with_keys(34);
const ON_CPU: Footprint = with_keys(17);

/// Whether the GPU can prepare with so many bytes: it sorts each edge in both directions.
fn prepares(size: &PartitionExtent, budget: u64) -> bool {
    ON_GPU.least(size) <= budget && primitives::check_length(key_count(size, true)).is_ok()
}

/// Unless the options say otherwise, the GPU prepares if it can.
pub(super) fn footprint(options: &PolakOptions) -> Footprint {
    if options.on_cpu {
        return ON_CPU;
    }
    let fitting = |size: &PartitionExtent, budget| if prepares(size, budget) { ON_GPU.least(size) } else { 0 };
    Footprint { of_budget: Some(fitting), ..ON_CPU }
}

pub(super) struct Polak {
    options: PolakOptions,
    share: EdgeShare,
    size: PartitionExtent,
    pieces: PolakLayout,
    /// In both directions if the GPU prepares.
    edges: EdgeArray,
}

impl Polak {
    pub(super) fn begin(
        machine: &mut BaselineDevice<'_>,
        options: PolakOptions,
        size: PartitionExtent,
        share: EdgeShare,
    ) -> GpuResult<Self> {
        let PolakOptions { block_threads, on_cpu } = options;
        let threads = u64::from(block_threads) * u64::from(BLOCKS) * u64::from(machine.engine.processors());
        if !is_block(block_threads) || threads > MOST_THREADS {
            return Err(GpuError::Shape(format!(
                "blocks of {block_threads} threads, {BLOCKS} a multiprocessor; expected a multiple of 32 up to 1024, and at most \
                 {MOST_THREADS} threads in all"
            )));
        }
        if share.index >= share.of {
            return Err(GpuError::Shape(format!("share {} of {}; expected one below it", share.index, share.of)));
        }
        let both = !on_cpu && prepares(&size, machine.engine.layout().capacity());
        primitives::check_length(key_count(&size, both))?;
        let pieces = lay(&mut |bytes| machine.engine.take(bytes), &size, both)?;
        let edges = EdgeArray::new(pieces.keys, both);
        Ok(Self { options, share, size, pieces, edges })
    }

    /// Steps 2 to 8; returns the addresses of the arrays of edges and of nodes.
    fn preprocess(&self, machine: &mut BaselineDevice<'_>) -> GpuResult<(u64, u64)> {
        let PolakLayout { keys, other, node, scratch } = self.pieces;
        let len = key_count(&self.size, self.edges.both);
        let mut vertices = u64::from(self.size.numbered);
        if self.edges.both {
            let all = scratch + 8 * MAX_BLOCKS;
            let blocks = len.div_ceil(256).min(MAX_BLOCKS);
            machine.run("largest_vertex", blocks * 256, &[keys, len, scratch])?;
            machine.run("largest_vertex", 256, &[scratch, blocks, all])?;
            vertices = machine.read_u64(all)? + 1;
        }
        let list = sort(machine, KeyList { keys, other, len }, vertices, scratch)?;
        let KeyList { mut keys, mut other, .. } = list;
        let mut kept = len;
        if self.edges.both {
            machine.run("node_array", len + 1, &[keys, len, vertices, node])?;
            machine.run("mark_backward", len, &[keys, len, node])?;
            machine.run("count_kept", tile_threads(len), &[keys, len, scratch])?;
            let sums = scratch + (4 * tiles(len)).next_multiple_of(256);
            let all = scan(machine, scratch, tiles(len), ValueWidth::U32, sums)?;
            machine.run("move_kept", tile_threads(len), &[keys, len, scratch, other])?;
            kept = u64::from(machine.read_u32(all)?);
            (keys, other) = (other, keys);
        }
        if kept != self.size.arcs {
            return Err(GpuError::Section(format!("{kept} edges go forward; there are {}", self.size.arcs)));
        }
        machine.run("unzip", kept, &[keys, kept, other])?;
        machine.run("node_array", kept + 1, &[keys, kept, vertices, node])?;
        Ok((other, node))
    }
}

impl BaselineWork for Polak {
    fn resident(&mut self, machine: &mut BaselineDevice<'_>, run: &Resident) -> GpuResult<()> {
        self.edges.resident(machine, run)
    }

    fn finish(&mut self, machine: &mut BaselineDevice<'_>) -> GpuResult<()> {
        machine.start_clock()?;
        let (edge, node) = self.preprocess(machine)?;
        machine.stop_clock(|times| &mut times.preprocessing)?;
        let block_threads = self.options.block_threads;
        let EdgeShare { index, of } = self.share;
        let threads = u64::from(block_threads) * u64::from(BLOCKS * machine.engine.processors());
        let m = self.size.arcs;
        let bound = |share: u32| (u128::from(m) * u128::from(share) / u128::from(of)) as u64;
        let results = self.pieces.scratch;
        machine.start_clock()?;
        let arguments = [bound(index), bound(index + 1), m, edge, node, results];
        machine.launch(0, "count_triangles", Grid::of(threads, block_threads)?, &arguments)?;
        machine.triangles = primitives::sum(machine, results, threads, ValueWidth::U64, results + 8 * MOST_THREADS)?;
        machine.stop_clock(|times| &mut times.kernels)
    }
}
