//! Estimates how long either mode takes, from the arcs and bytes to build, spill, read and copy, and the machine's [`Rates`].
//! Counting itself is left out: it takes both equally long.

use serde::{Deserialize, Serialize};

use super::predict::Prediction;
use crate::graph::OrientedGraph;
use crate::partition::sizes::PartitionSize;
use crate::rates::Rates;
use trimill_system::bytes::Bytes;

/// Approximate bytes of an arc in a spill: more than most graphs take.
const SPILLED: f64 = 1.5;

/// Locals that a core looks up for a row block in a second. Not measured by `trimill doctor`: it hardly ever decides.
const CORE_VISITS: f64 = 50e6;

/// The machine that a job runs on.
#[derive(Debug, Clone, Copy)]
pub struct Machine {
    pub rates: Rates,
    pub cores: usize,
    /// GPUs; none where the cores count.
    pub gpus: usize,
    /// Whether the graph's file fits the page cache.
    pub cached: bool,
}

impl Machine {
    fn cores(&self) -> f64 {
        self.cores as f64
    }

    /// Seconds to read rows from the graph's file or from spills, decode them, and copy them to the devices.
    fn moving(&self, arcs: f64, bytes: f64, from_disk: bool, spilled: bool) -> f64 {
        let Rates { cpu, gpu, gpu_arcs, read_bytes, .. } = self.rates;
        let of = if self.gpus > 0 { gpu } else { cpu };
        let decoding = arcs / (if spilled { of.spill } else { of.graph } * self.cores());
        let copying = if self.gpus > 0 { arcs / (gpu_arcs * self.gpus as f64) } else { 0.0 };
        let reading = if from_disk { bytes / read_bytes } else { 0.0 };
        decoding.max(copying).max(reading)
    }

    fn visiting(&self, visits: u64) -> f64 {
        let visits = visits as f64;
        match self.gpus {
            0 => visits / (CORE_VISITS * self.cores()),
            gpus => visits * self.rates.packed().visit / gpus as f64,
        }
    }
}

/// Seconds from the plan to the result, without the counting itself.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimates {
    /// By the in-place mode.
    pub in_place: f64,
    /// By the spilled mode; a lower bound where `sized` is not set.
    pub spilled: f64,
    /// Whether all partitions were sized for it, which takes a while: not done where even the lower bound is above `graph`.
    pub sized: bool,
}

/// Seconds in the spilled mode, whose partitions together keep `arcs` of the `edges` of the graph, and look locals up `visits` times: they
/// are sized, a batch is built, then counted.
fn partition(machine: &Machine, edges: u64, arcs: u64, visits: u64) -> f64 {
    let (arcs, bytes) = (arcs as f64, SPILLED * arcs as f64);
    let sizing = edges as f64 / (machine.rates.size_arcs * machine.cores());
    let building = (arcs / (machine.rates.build_arcs * machine.cores())).max(bytes / machine.rates.write_bytes);
    sizing + building + machine.moving(arcs, bytes, true, true) + machine.visiting(visits)
}

/// The least seconds in the spilled mode, whatever the partitions keep: every arc is resident in one of them.
pub fn partition_at_least(machine: &Machine, vertices: u32, edges: u64) -> f64 {
    partition(machine, edges, edges, u64::from(vertices))
}

/// Seconds in the spilled mode, once partitions are sized.
pub fn partition_sized(machine: &Machine, edges: u64, sizes: &[PartitionSize], predictions: &[Prediction]) -> f64 {
    partition(machine, edges, sizes.iter().map(|size| size.arcs_kept).sum(), visits(sizes, predictions))
}

/// Seconds in the in-place mode.
pub fn graph(machine: &Machine, graph: &OrientedGraph, predictions: &[Prediction], sizes: &[PartitionSize]) -> f64 {
    let streamed: Bytes = predictions.iter().map(|predicted| predicted.stream).sum();
    let passes = streamed.get() as f64 / graph.csr_bytes().get().max(1) as f64;
    let bytes = passes * graph.stored_bytes().get() as f64;
    machine.moving(passes * graph.edges() as f64, bytes, !machine.cached, false)
        + machine.visiting(visits(sizes, predictions))
}

/// How often a local is looked up for a row block.
fn visits(sizes: &[PartitionSize], predictions: &[Prediction]) -> u64 {
    sizes.iter().zip(predictions).map(|(size, predicted)| size.locals * predicted.row_blocks).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLION: u64 = 1_000_000;

    #[test]
    fn seconds_grow_with_the_arcs_that_are_kept() {
        for gpus in [0, 1] {
            let machine = Machine { rates: Rates::default(), cores: 16, gpus, cached: true };
            let size = |kept| PartitionSize { locals: 1000, arcs_kept: kept, ..PartitionSize::default() };
            let prediction = Prediction {
                resident: Bytes::ZERO,
                row_blocks: 2,
                largest_row_block: Bytes::ZERO,
                spill: Bytes::ZERO,
                stream: Bytes::ZERO,
                peak: Bytes::ZERO,
            };
            let of = |kept| partition_sized(&machine, 80 * MILLION, &[size(kept); 4], &[prediction; 4]);
            let sizing = 80e6 / (16.0 * machine.rates.size_arcs);
            assert!(of(200 * MILLION) - sizing > 9.0 * (of(20 * MILLION) - sizing));
            // The lower bound is for the arcs that must be kept.
            let least = partition_at_least(&machine, 1000, 80 * MILLION);
            assert!(least < of(20 * MILLION) && least > of(19 * MILLION));
        }
    }
}
