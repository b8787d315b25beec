//! How long either stream takes, from the bytes to build, spill, read and copy.
//!
//! The rates are those measured on a machine with 16 cores, an H200 and one disk (docs/results/rank-order-h200.md). They need not
//! be right, only rank the two. Counting itself is left out: it is the same.

use serde::{Deserialize, Serialize};

use super::predict::Prediction;
use crate::bytes::Bytes;
use crate::graph::OrientedGraph;
use crate::partition::sizes::PartitionSize;

/// What the machine does in a second.
#[derive(Debug, Clone, Copy)]
pub struct Rates {
    /// Bytes to the device; none where that is the host's memory.
    copy: Option<f64>,
    /// Bytes to a disk, and from it.
    write: f64,
    read: f64,
    /// Bytes of the graph's file that all cores read: from the page cache, or from a disk.
    graph: f64,
    /// Arcs of the graph's file that all cores decode.
    rows: f64,
    /// Arcs that all cores induce, prune, encode.
    build: f64,
    /// Raw bytes of spills that all cores decode.
    decode: f64,
    /// Locals that are looked up for a row block.
    visits: f64,
    /// Arcs of which all cores size the partitions.
    size: f64,
}

impl Rates {
    /// The rates of so many cores and devices of their own memory (none: counting on the cores); whether the graph's file fits the
    /// page cache.
    pub fn new(cores: usize, devices: usize, cached: bool) -> Self {
        let cores = cores as f64;
        Self {
            copy: (devices > 0).then_some(55e9 * devices as f64),
            write: 2.0e9,
            read: 1.9e9,
            graph: if cached { 2.8e9 * cores } else { 1.9e9 },
            // A GPU unpacks them itself.
            rows: if devices > 0 { 5e10 } else { 4e8 * cores },
            build: 19e6 * cores,
            decode: 2.0e9 * cores,
            visits: if devices > 0 { 2e9 * devices as f64 } else { 50e6 * cores },
            size: 20e6 * cores,
        }
    }
}

/// Seconds from the plan to the answer, without the counting itself.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimates {
    /// By the graph stream.
    pub graph: f64,
    /// By the partition stream; at least, where `sized` is not set.
    pub partition: f64,
    /// Whether all partitions were sized for it. Where even the least is more than `graph`, nobody needs to know.
    pub sized: bool,
}

/// By the partition stream, whose partitions together keep `arcs`, spill `spill` and stream `stream`, and look locals up
/// `visits` times. Building and decoding share the cores, spills and their reading the disk; copying overlaps with both.
fn partition(rates: &Rates, arcs: u64, spill: Bytes, stream: Bytes, visits: u64) -> f64 {
    let stream = stream.get() as f64;
    let cores = arcs as f64 / rates.build + stream / rates.decode;
    let disk = spill.get() as f64 * (1.0 / rates.write + 1.0 / rates.read);
    let copies = rates.copy.map_or(0.0, |copy| stream / copy);
    cores.max(disk).max(copies) + visits as f64 / rates.visits
}

/// By the partition stream: at least so long, whatever the partitions keep, because every arc is resident somewhere, and they have
/// to be sized.
pub fn partition_at_least(rates: &Rates, vertices: u32, edges: u64) -> f64 {
    partition(rates, edges, Bytes(edges), Bytes::of::<u32>(edges), u64::from(vertices)) + edges as f64 / rates.size
}

/// By the partition stream, once partitions are sized. A spilled arc takes about a byte and a half.
pub fn partition_sized(rates: &Rates, sizes: &[PartitionSize], predictions: &[Prediction]) -> f64 {
    let arcs = sizes.iter().map(|size| size.arcs_kept).sum();
    let stream = predictions.iter().map(|p| p.stream).sum();
    partition(rates, arcs, Bytes(arcs / 2 * 3), stream, visits(sizes, predictions))
}

/// By the graph stream.
pub fn graph(rates: &Rates, graph: &OrientedGraph, predictions: &[Prediction], sizes: &[PartitionSize]) -> f64 {
    let raw: Bytes = predictions.iter().map(|predicted| predicted.stream).sum();
    let passes = raw.get() as f64 / graph.csr_bytes().get().max(1) as f64;
    let reading = passes * graph.stored_bytes().get() as f64 / rates.graph;
    let decoding = passes * graph.edges() as f64 / rates.rows;
    let copies = rates.copy.map_or(0.0, |copy| raw.get() as f64 / copy);
    reading.max(decoding).max(copies) + visits(sizes, predictions) as f64 / rates.visits
}

/// How often a local is looked up for a row block.
fn visits(sizes: &[PartitionSize], predictions: &[Prediction]) -> u64 {
    sizes.iter().zip(predictions).map(|(size, predicted)| size.locals * predicted.frames).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLION: u64 = 1_000_000;

    #[test]
    fn what_is_kept_several_times_costs_so_many_times() {
        let rates = Rates::new(16, 1, true);
        let size = |kept| PartitionSize { locals: 1000, arcs_kept: kept, ..PartitionSize::default() };
        let prediction = |kept| Prediction {
            resident: Bytes::ZERO,
            frames: 2,
            largest_frame: Bytes::ZERO,
            spill: Bytes(kept),
            stream: Bytes(4 * kept),
            peak: Bytes::ZERO,
        };
        let of = |kept| partition_sized(&rates, &[size(kept); 4], &[prediction(kept); 4]);
        assert!(of(200 * MILLION) > 9.0 * of(20 * MILLION));
        // What every partition must keep is the least.
        assert!(partition_at_least(&rates, 1000, 20 * MILLION) < of(20 * MILLION) + 20e6 / rates.size);
    }
}
