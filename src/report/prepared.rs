//! The report of `trimill prepare`: the partitions of a job that is ready for shards, and the disk that it needs.

use std::num::NonZeroU32;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::Stage;
use crate::job::Mode;
use crate::shards::costliest;
use trimill_system::{Bytes, path_text};

/// What `trimill prepare` made.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PreparedReport {
    /// The version of this object: 1.
    pub schema_version: u32,
    /// The version of the program.
    pub version: String,
    /// The run directory.
    #[serde(serialize_with = "path_text::shown")]
    pub directory: PathBuf,
    /// Vertices of the clean graph.
    pub vertices: u64,
    /// Edges of the clean graph.
    pub edges: u64,
    /// The partitioner, as on the command line.
    pub partitioner: String,
    /// The mode: `in-place` or `spilled`.
    pub mode: Mode,
    /// The number of partitions.
    pub parts: u32,
    /// How many shards were asked for; null where none were.
    pub shards: Option<NonZeroU32>,
    /// What each partition is expected to cost, in nanoseconds on some machine: only their ratios matter.
    pub costs: Vec<u64>,
    /// The prepared graph on disk.
    pub graph_bytes: Bytes,
    /// The spilled partitions on disk; 0 in the in-place mode.
    pub spilled_bytes: Bytes,
    /// What the counts at vertices or on edges of all partitions take on disk until they are added, at most.
    pub counts_bytes: Bytes,
    /// The budget on the device that the partitions were cut for.
    pub device_memory: Bytes,
    /// The process's high-water mark of memory.
    pub peak_host_bytes: Bytes,
    /// The stages; none where an earlier start had prepared the job.
    pub stages: Vec<Stage>,
    /// Time for all of it.
    pub seconds: f64,
}

impl PreparedReport {
    /// What the costliest shard is expected to take, as a multiple of the mean.
    pub fn imbalance(&self, shards: NonZeroU32) -> f64 {
        let (most, sum) =
            (costliest(&self.costs, shards), self.costs.iter().map(|&cost| u128::from(cost)).sum::<u128>());
        if sum == 0 { 1.0 } else { most as f64 * f64::from(shards.get()) / sum as f64 }
    }
}
