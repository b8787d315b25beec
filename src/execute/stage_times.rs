//! The times and bytes of stages that overlap.

use std::time::Duration;

use crate::report::Stage;
use crate::stream::CountedPartition;
use trimill_counting::DeviceTimes;
use trimill_graph::OrientedGraph;
use trimill_partitioners::build::BuiltPartition;
use trimill_system::Bytes;

/// Sums over partitions and devices; overlapping stages each add their own time.
#[derive(Default)]
pub(super) struct StageTimes {
    inducing: Duration,
    pruning: Duration,
    pub(super) spilling: Duration,
    pub(super) spilled: Bytes,
    /// Without triangles, whose sum over all partitions may exceed 64 bits.
    pub(super) counted: CountedPartition,
}

impl StageTimes {
    pub(super) fn add_built(&mut self, built: &BuiltPartition) {
        self.inducing += built.inducing;
        self.pruning += built.pruning;
        self.spilling += built.spilling;
        self.spilled += Bytes(built.spill.bytes);
    }

    pub(super) fn add_counted(&mut self, counted: &CountedPartition) {
        self.counted = self.counted.and(CountedPartition { triangles: 0, ..*counted });
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.inducing += other.inducing;
        self.pruning += other.pruning;
        self.spilling += other.spilling;
        self.spilled += other.spilled;
        self.counted = self.counted.and(other.counted);
    }

    pub(super) fn built_stages(&self, graph: &OrientedGraph) -> [Stage; 3] {
        let arcs = graph.stored_bytes();
        [
            Stage::new("induce", self.inducing, arcs, Bytes::ZERO),
            Stage::new("prune", self.pruning, arcs, Bytes::ZERO),
            Stage::new("spill", self.spilling, arcs, self.spilled),
        ]
    }

    /// Bytes of the graph file that the in-place mode read.
    pub(super) fn read(&self, graph: &OrientedGraph) -> Bytes {
        let passes = self.counted.streamed.get() as f64 / graph.csr_bytes().get().max(1) as f64;
        Bytes((passes * graph.stored_bytes().get() as f64) as u64)
    }

    pub(super) fn streamed_stages(&self, read: Bytes) -> Vec<Stage> {
        let CountedPartition { reading, counting, streamed, device, .. } = self.counted;
        let mut stages =
            vec![Stage::new("stream", reading, read, streamed), Stage::new("count", counting, streamed, Bytes::ZERO)];
        stages.extend(device_stages(device, streamed));
        stages
    }
}

/// The stages that a device's own clock measures; they overlap with 'count', the host's time.
pub(super) fn device_stages(times: Option<DeviceTimes>, streamed: Bytes) -> Vec<Stage> {
    let Some(times) = times else { return Vec::new() };
    let mut stages = vec![Stage::new("copy", times.copies, streamed, streamed)];
    if !times.preprocessing.is_zero() {
        stages.push(Stage::new("preprocess", times.preprocessing, streamed, Bytes::ZERO));
    }
    stages.push(Stage::new("kernel", times.kernels, streamed, Bytes::ZERO));
    stages
}
