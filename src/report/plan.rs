//! The report of `trimill plan`: what a job will take, without counting.

use serde::{Deserialize, Serialize};

use super::partitions::{PartitionFigures, duplication};
use super::{SCHEMA_VERSION, VERSION};
use crate::job::{Mode, Prune};
use crate::plan::choose::MethodEstimate;
pub use crate::plan::modes::Estimates;
use trimill_system::Bytes;
pub use trimill_system::disk::{DiskNeed, DiskNeeds};
use trimill_system::memory::HostFloor;

/// The plan of a job.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PlanReport {
    /// The version of this object: 1.
    pub schema_version: u32,
    /// The version of the program.
    pub version: String,
    /// The job's name in its job file.
    pub job: Option<String>,
    /// Whether every partition fits the device's budget, and the disks have room for what is certain to be written. A job that does not fit the
    /// host's budget has no plan, but an error.
    pub fits: bool,
    /// Vertices of the clean graph.
    pub vertices: u64,
    /// Edges of the clean graph.
    pub edges: u64,
    /// The backend that would count.
    pub backend: String,
    /// The method that would count.
    pub method: String,
    /// The partitioner, as on the command line.
    pub partitioner: String,
    /// The prune level.
    pub prune: Prune,
    /// The number of partitions, parts that were split included.
    pub parts: u32,
    /// Why the graph is cut into `parts` partitions.
    pub parts_reason: PartsReason,
    /// What each partition will take.
    pub partitions: Vec<PartitionFigures>,
    /// The budget on the device.
    pub device_memory: Bytes,
    /// The smallest budget on the device that works for this graph.
    pub smallest_device_memory: Bytes,
    /// The most bytes of a row block.
    pub block_bytes: Bytes,
    /// The budget of the host.
    pub host_memory: Bytes,
    /// The smallest budget of the host with which the graph is prepared and counted; above `host_memory` only where the graph
    /// is in the cache, so that it is not prepared.
    pub smallest_host_memory: Bytes,
    /// The smallest budgets of the host with which its graph is prepared and counted in either mode.
    pub host_floors: Vec<HostFloor>,
    /// Raw bytes streamed to the device, over all partitions.
    pub stream_bytes: Bytes,
    /// Bytes of spills on disk at once, at most.
    pub disk_bytes: Bytes,
    /// What the job writes to each disk (directories on one disk together), and the free space there.
    pub disks: Vec<DiskNeeds>,
    /// Bytes of the graph file; where there is none, of the graph in memory.
    pub graph_bytes: Bytes,
    /// What preparing the graph takes, where it is not in the cache; an estimate.
    pub preparing: PreparingFigures,
    /// The seconds that counting takes; an estimate.
    pub counting_seconds: f64,
    /// The seconds that peeling takes, if it is asked for; an estimate.
    pub peeling_seconds: Option<f64>,
    /// The seconds of the whole job, if the graph is not cached: to prepare it, start a GPU that counts, count, and peel; an estimate.
    pub seconds: f64,
    /// What the job would take with more memory, where that matters.
    pub more_memory: Vec<MoreMemory>,
    /// Arcs kept over all partitions, divided by the edges.
    pub duplication: f64,
    /// Plans with 1, 2, 4 to 128 parts, and whether they would fit.
    pub alternatives: Vec<Alternative>,
    /// What to change, one sentence each; empty when nothing needs to be.
    pub advice: Vec<String>,
    /// The mode: `in-place` or `spilled`.
    pub mode: Mode,
    /// The seconds that either mode would take, where there is a choice.
    pub estimates: Option<Estimates>,
    /// The methods between which `auto` chose, with their estimates; empty where a method was named.
    pub methods: Vec<MethodEstimate>,
}

/// The reason for the number of partitions of a graph.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum PartsReason {
    /// The whole graph fits at once.
    #[default]
    Whole,
    /// As few as fit.
    Fewest,
    /// The job, or the file of its assignment, says so.
    Asked,
    /// Some of the parts that were asked for do not fit, and are split.
    Split,
    /// One for each device.
    Devices,
}

/// A budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum MemoryBudget {
    /// Of the device: `--device-memory`.
    Device,
    /// Of the host: `--host-memory`.
    Host,
}

/// The job with a larger budget.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MoreMemory {
    /// Which budget is larger.
    pub budget: MemoryBudget,
    /// The larger one.
    pub bytes: Bytes,
    /// The number of partitions.
    pub parts: u32,
    /// What preparing takes.
    pub preparing: PreparingFigures,
    /// The seconds that counting takes.
    pub counting_seconds: f64,
    /// The seconds of the whole job.
    pub seconds: f64,
}

/// What preparing a graph takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PreparingFigures {
    /// How often the input is read.
    pub passes: u64,
    /// The most bytes of temporary files at a time.
    pub scratch_bytes: Bytes,
    /// The seconds.
    pub seconds: f64,
}

/// What a plan with a given number of parts takes, for comparison.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Alternative {
    /// The number.
    pub parts: u32,
    /// Arcs left after pruning in the partition that has most of them; in the in-place mode, its resident arcs.
    pub largest_arcs_kept: u64,
    /// Locals and kept proxies of the partition that has most of them.
    pub largest_vertices_kept: u64,
    /// Arcs kept over all partitions, divided by the edges.
    pub duplication: f64,
    /// The peak of its largest partition, at most.
    pub largest_peak_bytes: Bytes,
    /// Raw bytes that would be streamed to the device.
    pub stream_bytes: Bytes,
    /// Whether it fits.
    pub fits: bool,
}

impl PlanReport {
    /// Fills in the versions and what follows from partitions and disks: `fits`, that of each partition, `parts`, `stream_bytes` and `duplication`.
    #[must_use]
    pub(crate) fn complete(mut self) -> Self {
        (self.schema_version, self.version) = (SCHEMA_VERSION, VERSION.into());
        for partition in &mut self.partitions {
            partition.fits = Some(partition.peak_bytes_predicted <= self.device_memory);
        }
        let partitions = self.partitions.iter().all(|partition| partition.fits == Some(true));
        self.fits = partitions && self.disks.iter().all(DiskNeeds::can_fit);
        self.parts = self.partitions.len() as u32;
        self.stream_bytes = self.partitions.iter().map(|partition| partition.stream_bytes).sum();
        self.duplication = duplication(&self.partitions, self.edges);
        self
    }
}
