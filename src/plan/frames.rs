//! Own or shared frames: what each would take in seconds, from the bytes to build, spill, read and copy.
//!
//! The rates are those measured on a machine with 16 cores, an H200 and one disk. They need not be right, only rank the
//! two: with the graph's rows in memory, shared frames cost a copy over the bus for each partition, and own frames the
//! building of every kept arc; rows in a file cost a reading for each partition.

use serde::{Deserialize, Serialize};

use super::predict::Prediction;
use crate::bytes::Bytes;
use crate::partition::sizes::PartitionSize;

/// What the machine does in a second.
#[derive(Debug, Clone, Copy)]
pub struct Rates {
    /// Bytes to the device; none where that is the host's memory.
    copy: Option<f64>,
    /// Bytes to a disk, and from it.
    write: f64,
    read: f64,
    /// Arcs that all cores induce, prune, encode.
    build: f64,
    /// Raw bytes that all cores decode.
    decode: f64,
    /// Bytes of rows that all cores read from the page cache.
    cached: f64,
    /// Locals that are looked up for a frame.
    visits: f64,
    /// Arcs of which all cores size the partitions, a sample of their spills included.
    size: f64,
}

impl Rates {
    /// The rates of so many cores and devices of their own memory (none: counting on the cores).
    pub fn new(cores: usize, devices: usize) -> Self {
        let cores = cores as f64;
        Self {
            copy: (devices > 0).then_some(55e9 * devices as f64),
            write: 2.0e9,
            read: 1.9e9,
            build: 19e6 * cores,
            decode: 2.0e9 * cores,
            cached: 3.0e9 * cores,
            visits: if devices > 0 { 2e9 * devices as f64 } else { 50e6 * cores },
            size: 11e6 * cores,
        }
    }
}

/// Seconds from the plan to the answer, without the counting itself, which is the same.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimates {
    /// With own frames; at least, where `sized` is not set.
    pub own: f64,
    /// Whether all partitions were sized for it. Where even the least is more than `shared`, nobody needs to know.
    pub sized: bool,
    /// With shared frames.
    pub shared: f64,
    /// Whether the rows of shared frames would lie in memory.
    pub in_memory: bool,
}

/// With own frames, of which all partitions together keep `arcs`, spill `spill` and stream `stream`, and look locals up
/// `visits` times. Building and decoding share the cores, spills and their reading the disk; copying overlaps with both.
fn own(rates: &Rates, arcs: u64, spill: Bytes, stream: Bytes, visits: u64) -> f64 {
    let stream = stream.get() as f64;
    let cores = arcs as f64 / rates.build + stream / rates.decode;
    let disk = spill.get() as f64 * (1.0 / rates.write + 1.0 / rates.read);
    let copies = rates.copy.map_or(0.0, |copy| stream / copy);
    cores.max(disk).max(copies) + visits as f64 / rates.visits
}

/// With own frames: at least so long, whatever the partitions keep, because every arc is resident somewhere, and they have to
/// be sized.
pub fn own_at_least(rates: &Rates, vertices: u32, edges: u64) -> f64 {
    own(rates, edges, Bytes(edges), Bytes::of::<u32>(edges), u64::from(vertices)) + edges as f64 / rates.size
}

/// With own frames, once partitions are sized.
pub fn own_sized(rates: &Rates, sizes: &[PartitionSize], predictions: &[Prediction]) -> f64 {
    own(
        rates,
        sizes.iter().map(|size| size.arcs_kept).sum(),
        predictions.iter().map(|p| p.spill).sum(),
        predictions.iter().map(|p| p.stream).sum(),
        visits(sizes, predictions),
    )
}

/// With shared frames, of a graph of so many edges.
pub fn shared(rates: &Rates, edges: u64, sizes: &[PartitionSize], predictions: &[Prediction], in_memory: bool) -> f64 {
    let passes: Bytes = predictions.iter().map(|predicted| predicted.stream).sum();
    let rows = Bytes::of::<u32>(edges).get() as f64;
    let (first, reading) = match in_memory {
        true => (rows / rates.cached, 0.0),
        false => (0.0, passes.get() as f64 / rates.read),
    };
    let copies = rates.copy.map_or(0.0, |copy| passes.get() as f64 / copy);
    first + reading.max(copies) + visits(sizes, predictions) as f64 / rates.visits
}

/// How often a local is looked up for a frame.
fn visits(sizes: &[PartitionSize], predictions: &[Prediction]) -> u64 {
    sizes.iter().zip(predictions).map(|(size, predicted)| size.locals * predicted.frames).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLION: u64 = 1_000_000;

    /// Seconds with shared frames for a graph of 260 million edges, as GAP-kron 24 has, all of which pass for each partition.
    fn kron(parts: u64, in_memory: bool) -> f64 {
        let (locals, arcs) = (9 * MILLION / parts, 260 * MILLION / parts);
        let size = PartitionSize { locals, resident_arcs: arcs, ..PartitionSize::default() };
        let prediction = Prediction {
            resident: Bytes::ZERO,
            frames: 64,
            largest_frame: Bytes::mib(16),
            spill: Bytes::ZERO,
            stream: Bytes(4 * 269 * MILLION),
            peak: Bytes::ZERO,
        };
        let (sizes, predictions) = (vec![size; parts as usize], vec![prediction; parts as usize]);
        shared(&Rates::new(16, 1), 260 * MILLION, &sizes, &predictions, in_memory)
    }

    #[test]
    fn a_graph_in_memory_is_shared_by_a_few_partitions_and_one_on_disk_is_not() {
        let own = own_at_least(&Rates::new(16, 1), 9 * MILLION as u32, 260 * MILLION);
        assert!(kron(12, true) < own, "{} {own}", kron(12, true));
        assert!(kron(500, true) > own);
        assert!(kron(12, false) > own);
    }

    #[test]
    fn what_is_kept_several_times_costs_so_many_times() {
        let rates = Rates::new(16, 1);
        let size = |kept| PartitionSize { locals: 1000, arcs_kept: kept, ..PartitionSize::default() };
        let prediction = |kept| Prediction {
            resident: Bytes::ZERO,
            frames: 2,
            largest_frame: Bytes::ZERO,
            spill: Bytes(kept),
            stream: Bytes(4 * kept),
            peak: Bytes::ZERO,
        };
        let of = |kept| own_sized(&rates, &[size(kept); 4], &[prediction(kept); 4]);
        assert!(of(200 * MILLION) > 9.0 * of(20 * MILLION));
    }
}
