//! The reports of a job that several processes count: of `trimill prepare`, the ready partitions and their disk space; of `trimill count --shard`, a
//! shard's partitions, without a total, which would be mistaken for the job's; of `trimill cluster`, the files and the commands that submit them.

use std::num::NonZeroU32;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::partitions::PartitionFigures;
use super::{SCHEMA_VERSION, Stage, VERSION};
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

/// What a shard counted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ShardReport {
    /// The version of this object: 1.
    pub schema_version: u32,
    /// The version of the program.
    pub version: String,
    /// The run directory.
    #[serde(serialize_with = "path_text::shown")]
    pub directory: PathBuf,
    /// The shard, such as 3/16.
    pub shard: String,
    /// The backend that counted.
    pub backend: String,
    /// The method that counted.
    pub method: String,
    /// The mode: `in-place` or `spilled`.
    pub mode: Mode,
    /// The partitions of this shard, as in a result; `resumed` says which were counted before.
    pub partitions: Vec<PartitionFigures>,
    /// The number of partitions of the whole job.
    pub parts: u32,
    /// How many of these are not counted yet, in all shards.
    pub missing: u32,
    /// Whether the job is merged already; nothing was counted then.
    pub merged: bool,
    /// Time for all of it.
    pub seconds: f64,
}

impl ShardReport {
    /// A report without partitions.
    pub fn new(directory: PathBuf, shard: String, parts: u32, mode: Mode) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            version: VERSION.into(),
            directory,
            shard,
            mode,
            parts,
            ..Self::default()
        }
    }
}

/// What `trimill cluster` wrote.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClusterReport {
    /// The version of this object: 1.
    pub schema_version: u32,
    /// The version of the program.
    pub version: String,
    /// The run directory.
    #[serde(serialize_with = "path_text::shown")]
    pub directory: PathBuf,
    /// How many tasks count.
    pub shards: NonZeroU32,
    /// The files.
    pub files: Vec<PathBuf>,
    /// The command that submits them; where there are several, each of them does.
    pub commands: Vec<String>,
}

impl ClusterReport {
    /// A report of `files`.
    pub fn new(directory: PathBuf, shards: NonZeroU32, files: Vec<PathBuf>, commands: Vec<String>) -> Self {
        Self { schema_version: SCHEMA_VERSION, version: VERSION.into(), directory, shards, files, commands }
    }
}
