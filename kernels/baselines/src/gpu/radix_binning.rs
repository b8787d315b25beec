//! Method `radix-binning`: N. Tirpankar, H. Sundar, 'Towards Triangle Counting on GPU using Stable Radix binning' (2018).
//!
//! Input: the edge list with each edge in both directions. Algorithm 1: the list is sorted, which gives the vertices' lists. Each vertex of degree
//! `d` has `d (d - 1) / 2` wedges; for each wedge, the edge that would close it is written to the candidates E', at the place that a scan of the
//! numbers of wedges gives. Algorithm 2: E and E' are binned together by the highest bits of both vertices (stable); buckets that are empty on one
//! side are dropped, those with few keys on a side are compared key by key, and the rest is binned by the next bits; after the last bit every
//! candidate in a bucket counts. Each triangle is found at its three corners, so the sum is divided by three.
//!
//! Choices where the paper is silent or mentions future work: candidates are made in batches, so E' is never complete in memory, and a vertex's
//! wedges may be split between batches. A bucket with few keys on either side is counted (line 9 of Algorithm 2; the text requires it of both). No
//! dynamic parallelism: each kernel is launched once for all buckets of a level. E holds each edge once, larger vertex first, and so do the
//! candidates. The `p` threads of the paper are warps, each with a tile of a bucket. The parts that continue on the next level are listed by an
//! atomic counter; their order does not matter. The sort is that of `polak` (the paper uses CUB's).
//!
//! Whole graphs only. Device bytes: `8 m` successors, `8 m` E, `12 n`, and the sort's `33 m` or later the binning's `16 m`, 16 a batch's candidate,
//! counts of tiles and buckets. Time: `O(wedges x log n)` (wedges of the undirected graph), `O(m log n)` per batch. Lists of fewer than 2^32 entries.

mod bins;

use super::both_ways::EdgeArray;
use super::machine::BaselineDevice;
use super::primitives::{self, KeyList, ValueWidth, scan, scan_bytes, sort, sort_bytes, tile_threads, tiles};
use super::{BaselineWork, ROUNDING, TakePiece, bytes_of};
use trimill_counting::{Footprint, PartitionExtent, Resident, Scope};
use trimill_kernels::{ArenaLayout, GpuError, GpuResult};
use trimill_system::Bytes;

use bins::Bins;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RadixBinningOptions {
    /// Bits of a level, half of them for each vertex: 2, 4, 6 or 8.
    pub radix_bits: u32,
    /// In buckets with at most this many keys on a side, keys are compared one by one.
    pub threshold: u32,
    /// Candidates of a batch; `None`: four times the edges, between 2^20 and 2^30.
    pub batch: Option<u32>,
}

impl Default for RadixBinningOptions {
    fn default() -> Self {
        Self { radix_bits: 6, threshold: 32, batch: None }
    }
}

/// Bytes that do not depend on the graph: those of the smallest batch, with its tiles.
const FIXED: u64 = 17 << 20;

impl RadixBinningOptions {
    fn batch(&self, size: &PartitionExtent) -> u64 {
        self.batch.map_or((4 * size.arcs).clamp(1 << 20, 1 << 30), u64::from)
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct RadixBinningLayout {
    node: u64,
    successors: u64,
    edges: u64,
    wedges: u64,
    /// Memory for the sort, later for the bins.
    region: u64,
    region_bytes: u64,
}

/// The pieces of the sort within the region.
fn lay_sort(take: &mut TakePiece<'_>, size: &PartitionExtent) -> GpuResult<[u64; 3]> {
    let len = 2 * size.arcs;
    let scratch = sort_bytes(len).max(scan_bytes(u64::from(size.numbered) + 1, ValueWidth::U64));
    Ok([take(8 * len)?, take(8 * len)?, take(scratch)?])
}

pub(super) fn lay(
    take: &mut TakePiece<'_>,
    options: &RadixBinningOptions,
    size: &PartitionExtent,
) -> GpuResult<RadixBinningLayout> {
    let vertices = u64::from(size.numbered);
    let sorting = bytes_of(|take| lay_sort(take, size));
    let region_bytes = sorting.max(bytes_of(|take| Bins::lay(take, options, size)));
    Ok(RadixBinningLayout {
        node: take(4 * (vertices + 1))?,
        successors: take(8 * size.arcs)?,
        edges: take(8 * size.arcs)?,
        wedges: take(8 * (vertices + 1))?,
        region: take(region_bytes)?,
        region_bytes,
    })
}

/// With the default batch, up to four candidates an edge.
pub(super) const FOOTPRINT: Footprint = Footprint {
    scope: Scope::WholeGraphs,
    per_resident_arc: 116,
    per_local: 13,
    fixed: Bytes(FIXED + ROUNDING),
    ..Footprint::NOTHING
};

pub(super) struct RadixBinning {
    options: RadixBinningOptions,
    size: PartitionExtent,
    pieces: RadixBinningLayout,
    /// Pieces of the sort, of which the first one takes the edges.
    keys: [u64; 3],
    edges: EdgeArray,
}

impl RadixBinning {
    pub(super) fn begin(
        machine: &mut BaselineDevice<'_>,
        options: RadixBinningOptions,
        size: PartitionExtent,
    ) -> GpuResult<Self> {
        if ![2, 4, 6, 8].contains(&options.radix_bits) || options.batch == Some(0) {
            let found = format!("{} radix bits, batches of {:?}", options.radix_bits, options.batch);
            return Err(GpuError::Shape(format!("{found}; expected 2, 4, 6 or 8 bits, and at least one candidate")));
        }
        primitives::check_length(2 * size.arcs)?;
        let pieces = lay(&mut |bytes| machine.engine.take(bytes), &options, &size)?;
        let mut region = ArenaLayout::new(pieces.region_bytes);
        let keys = lay_sort(&mut |bytes| Ok(pieces.region + region.take(bytes)?), &size)?;
        let edges = EdgeArray::new(keys[0], true);
        Ok(Self { options, size, pieces, keys, edges })
    }

    /// Algorithm 1 up to the scan, and E. Returns the number of wedges.
    fn prepare(&self, machine: &mut BaselineDevice<'_>) -> GpuResult<u64> {
        let RadixBinningLayout { node, successors, edges, wedges, .. } = self.pieces;
        let (len, vertices) = (2 * self.size.arcs, u64::from(self.size.numbered));
        let [keys, other, scratch] = self.keys;
        let keys = sort(machine, KeyList { keys, other, len }, vertices, scratch)?.keys;
        machine.run("node_array", len + 1, &[keys, len, vertices, node])?;
        machine.run("other_ends", len, &[keys, len, successors])?;
        machine.run("count_falling", tile_threads(len), &[keys, len, scratch])?;
        let sums = scratch + (4 * tiles(len)).next_multiple_of(256);
        scan(machine, scratch, tiles(len), ValueWidth::U32, sums)?;
        machine.run("move_falling", tile_threads(len), &[keys, len, scratch, edges])?;
        machine.run("wedge_sizes", vertices + 1, &[node, vertices, wedges])?;
        let all = scan(machine, wedges, vertices + 1, ValueWidth::U64, scratch)?;
        machine.read_u64(all)
    }
}

impl BaselineWork for RadixBinning {
    fn resident(&mut self, machine: &mut BaselineDevice<'_>, run: &Resident) -> GpuResult<()> {
        self.edges.resident(machine, run)
    }

    fn finish(&mut self, machine: &mut BaselineDevice<'_>) -> GpuResult<()> {
        machine.start_clock()?;
        let wedges = self.prepare(machine)?;
        machine.stop_clock(|times| &mut times.preprocessing)?;
        let RadixBinningLayout { node, successors, edges, wedges: scanned, region, region_bytes } = self.pieces;
        machine.start_clock()?;
        let mut space = ArenaLayout::new(region_bytes);
        let bins = Bins::lay(&mut |bytes| Ok(region + space.take(bytes)?), &self.options, &self.size)?;
        machine.fill(bins.closed, 0, 8)?;
        let batch = self.options.batch(&self.size);
        let mut first = 0;
        while first < wedges {
            let many = batch.min(wedges - first);
            let arguments = [successors, node, scanned, u64::from(self.size.numbered), first, many, bins.candidates()];
            machine.run("candidates", many, &arguments)?;
            bins.count(machine, edges, many)?;
            first += many;
        }
        let closed = machine.read_u64(bins.closed)?;
        machine.stop_clock(|times| &mut times.kernels)?;
        if !closed.is_multiple_of(3) {
            return Err(GpuError::Section(format!("{closed} wedges are closed, which is no multiple of three")));
        }
        machine.triangles = closed / 3;
        Ok(())
    }
}
