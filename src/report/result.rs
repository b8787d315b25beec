//! The result of a count: one JSON object, documented in `docs/result.md`; fields are only ever added. Invariants of a complete result
//! ([`RunResult::check`]): `triangles` is the sum over the partitions, `parts` their number, ids differ, `transitivity` follows from the counts.

#[cfg(feature = "testing")]
pub mod example;

use std::collections::HashSet;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::partitions::{PartitionFigures, duplication};
use super::{SCHEMA_VERSION, VERSION, transitivity};
use crate::job::{Mode, Prune};
pub use crate::plan::choose::MethodEstimate;
use crate::truss::by_k::Trusses;
use crate::vertices::degrees::DegreeBin;
use crate::vertices::summary::Clustering;
use trimill_system::timeline::Timeline;
use trimill_system::{Bytes, Control, Error, Result};

/// The result of a job, with all measurements.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunResult {
    /// The version of this object: 1.
    pub schema_version: u32,
    /// The version of the program.
    pub version: String,
    /// The job's name in its job file.
    pub job: Option<String>,
    /// Triangles of the clean graph.
    pub triangles: u128,
    /// Vertices with an edge after cleaning.
    pub vertices: u64,
    /// Edges of the clean graph.
    pub edges: u64,
    /// Paths of two edges: the sum of `d (d - 1) / 2` over all vertices.
    pub wedges: u128,
    /// `3 * triangles / wedges`; 0 without wedges.
    pub transitivity: f64,
    /// The input, and what cleaning did to it.
    pub input: InputReport,
    /// The backend that counted: `cpu` or `cuda`.
    pub backend: String,
    /// The method that counted.
    pub method: String,
    /// The partitioner, as on the command line.
    pub partitioner: String,
    /// The prune level.
    pub prune: Prune,
    /// The number of partitions counted.
    pub parts: u32,
    /// The partition-memory report.
    pub partitions: Vec<PartitionFigures>,
    /// The stages, in the order of the pipeline.
    pub stages: Vec<Stage>,
    /// The process's high-water mark of memory, a METIS child's added, without `driver_host_bytes`.
    pub peak_host_bytes: Bytes,
    /// The budget on the device.
    pub device_memory: Bytes,
    /// The budget of the host.
    pub host_memory: Bytes,
    /// Arcs kept over all partitions, divided by the edges; 0 without edges.
    pub duplication: f64,
    /// Raw bytes streamed divided by spilled bytes; null when nothing was spilled.
    pub compression_ratio: Option<f64>,
    /// The seed of random choices.
    pub seed: u64,
    /// Time for the whole job.
    pub seconds: f64,
    /// The share of each GPU; empty on the CPU.
    pub devices: Vec<DeviceResult>,
    /// The mode: `in-place` or `spilled`.
    pub mode: Mode,
    /// The methods between which `auto` chose, with their estimates; empty where a method was named.
    pub methods: Vec<MethodEstimate>,
    /// What the drivers of GPUs mapped in the process when they started.
    pub driver_host_bytes: Bytes,
    /// The summary of the triangles at all vertices; null where only the total was counted.
    pub clustering: Option<Clustering>,
    /// The sizes of all trusses; null where the graph was not peeled.
    pub truss: Option<Trusses>,
    /// The degrees, in ranges, rising; null where neither a report nor a trace was asked for.
    pub degrees: Option<Vec<DegreeBin>>,
    /// What ran when; null where neither a report nor a trace was asked for.
    pub timeline: Option<Timeline>,
}

/// The input, and what cleaning removed and added: `2 * edges = arcs - loops_removed - duplicates_removed + arcs_added`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct InputReport {
    /// The vertices that the input says it has; null where it says nothing.
    pub vertices_declared: Option<u64>,
    /// Arcs in the input.
    pub arcs: u64,
    /// Arcs from a vertex to itself.
    pub loops_removed: u64,
    /// Arcs that repeat an ordered pair.
    pub duplicates_removed: u64,
    /// Reverse arcs added to make the graph undirected.
    pub arcs_added: u64,
    /// Arcs whose reverse was not in the input.
    pub arcs_without_reverse: u64,
}

/// What a GPU did, and how much of its memory was in use. A GPU with several workers has one entry for each.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DeviceResult {
    /// The driver's number.
    pub device: u32,
    /// The product.
    pub name: String,
    /// Partitions counted there.
    pub partitions: u32,
    /// Triangles found there.
    pub triangles: u128,
    /// Raw bytes streamed there.
    pub stream_bytes: Bytes,
    /// Time of counting there, by the host's clock.
    pub seconds: f64,
    /// The budget: what this program allocated there.
    pub budget_bytes: Bytes,
    /// The most of it that was in use.
    pub peak_bytes: Bytes,
    /// In use before the budget was taken: the CUDA context, the driver's own, other programs.
    pub context_bytes: Bytes,
    /// In use at the end, as the driver reports it: `context_bytes` and the budget.
    pub used_bytes: Bytes,
}

/// A stage of the pipeline.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Stage {
    /// Its name: `input`, `clean`, `orient`, ...
    pub name: String,
    /// Time in it; stages that overlap each count their own.
    pub seconds: f64,
    /// Bytes that entered.
    pub bytes_in: Bytes,
    /// Bytes that left.
    pub bytes_out: Bytes,
}

impl Stage {
    /// A stage that took `time`.
    pub(crate) fn new(name: &str, time: Duration, bytes_in: Bytes, bytes_out: Bytes) -> Self {
        Self { name: name.into(), seconds: time.as_secs_f64(), bytes_in, bytes_out }
    }

    /// A stage that began at `start` and ends now; the timeline of `control` gets it, too.
    pub(crate) fn since(name: &'static str, start: Instant, input: Bytes, output: Bytes, control: &Control) -> Self {
        let time = start.elapsed();
        control.did_stage_for(name, start, time);
        Self::new(name, time, input, output)
    }
}

impl RunResult {
    /// Sorts the partitions by id and fills in versions, `triangles`, `transitivity`, `parts`, `duplication` and `compression_ratio`.
    #[must_use]
    pub(crate) fn complete(mut self) -> Self {
        (self.schema_version, self.version) = (SCHEMA_VERSION, VERSION.into());
        self.partitions.sort_by_key(|partition| partition.id);
        self.parts = self.partitions.len() as u32;
        self.triangles = self.sum_of_triangles();
        self.transitivity = transitivity(self.triangles, self.wedges);
        self.duplication = duplication(&self.partitions, self.edges);
        let total = |bytes: fn(&PartitionFigures) -> Bytes| -> u128 {
            self.partitions.iter().map(|partition| u128::from(bytes(partition).get())).sum()
        };
        let (streamed, spilled) = (total(|partition| partition.stream_bytes), total(|partition| partition.spill_bytes));
        self.compression_ratio = (spilled > 0).then(|| streamed as f64 / spilled as f64);
        self
    }

    fn sum_of_triangles(&self) -> u128 {
        self.partitions.iter().map(|partition| u128::from(partition.counted().triangles)).sum()
    }

    /// Checks that the result is consistent.
    ///
    /// # Errors
    /// [`trimill_system::error::Kind::Data`] for another version or contradictory numbers; `origin` is where it was read.
    pub fn check(&self, origin: &std::path::Path) -> Result<()> {
        let refuse = |found: String| Err(Error::data(origin, found).expected("a consistent result"));
        if self.schema_version != SCHEMA_VERSION {
            return refuse(format!(
                "the result has version {}, this program knows {SCHEMA_VERSION}",
                self.schema_version
            ));
        }
        if let Some(partition) = self.partitions.iter().find(|partition| partition.counted.is_none()) {
            return refuse(format!("partition {} without its triangles", partition.id));
        }
        let sum = self.sum_of_triangles();
        if sum != self.triangles {
            return refuse(format!("{} triangles, but {sum} over all partitions", self.triangles));
        }
        if self.partitions.len() != self.parts as usize {
            return refuse(format!("{} parts, but {} partitions", self.parts, self.partitions.len()));
        }
        let ids: HashSet<u32> = self.partitions.iter().map(|partition| partition.id).collect();
        if ids.len() != self.partitions.len() {
            return refuse("two partitions have the same id".into());
        }
        if (self.transitivity - transitivity(self.triangles, self.wedges)).abs() > 1e-9 {
            return refuse(format!("the transitivity {} does not follow from the counts", self.transitivity));
        }
        Ok(())
    }

    /// Time over all partitions.
    pub fn counting_seconds(&self) -> f64 {
        self.partitions.iter().map(|partition| partition.counted().seconds).sum()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::example::example;

    #[test]
    fn what_follows_is_filled_in_also_for_a_graph_without_edges() {
        let result = example(3);
        assert_eq!((result.parts, result.triangles), (3, 1_234_567 * 6));
        assert!((result.transitivity - 3.0 * 7_407_402.0 / 7_861_227_192.0).abs() < 1e-15);
        assert!((result.duplication - 120_000.0 / 2_738_969.0).abs() < 1e-12);
        assert_eq!(result.compression_ratio, Some(4.0));
        result.check(Path::new("r")).unwrap();
        let mut result = example(0);
        (result.vertices, result.edges, result.wedges) = (0, 0, 0);
        let result = result.complete();
        assert_eq!((result.triangles, result.transitivity, result.duplication), (0, 0.0, 0.0));
        assert_eq!(result.compression_ratio, None);
        result.check(Path::new("r")).unwrap();
    }

    #[test]
    fn contradictions_are_found() {
        let mut results = vec![example(2); 5];
        results[0].triangles += 1;
        results[1].parts = 7;
        results[2].partitions[1].id = 0;
        results[3].transitivity = 0.5;
        results[4].schema_version = 2;
        for result in results {
            assert!(result.check(Path::new("r")).is_err());
        }
    }
}
