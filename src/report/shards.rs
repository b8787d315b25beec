//! The reports of a job that several processes count: of `trimill prepare`, the ready partitions and their disk space; of `trimill count --shard`, a
//! shard's partitions, without a total, which would be mistaken for the job's; of `trimill cluster`, the files and the commands that submit them; of
//! `trimill run`, the first and the last together.

#![allow(missing_docs)]

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
    pub schema_version: u32,
    pub version: String,
    #[serde(serialize_with = "path_text::shown")]
    pub directory: PathBuf,
    pub vertices: u64,
    pub edges: u64,
    pub partitioner: String,
    pub mode: Mode,
    pub parts: u32,
    pub shards: Option<NonZeroU32>,
    pub costs: Vec<u64>,
    pub graph_bytes: Bytes,
    pub spilled_bytes: Bytes,
    pub counts_bytes: Bytes,
    pub device_memory: Bytes,
    pub peak_host_bytes: Bytes,
    pub stages: Vec<Stage>,
    pub seconds: f64,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub merged: bool,
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
    #[serde(serialize_with = "path_text::shown")]
    pub directory: PathBuf,
    pub shard: String,
    pub backend: String,
    pub method: String,
    pub mode: Mode,
    pub partitions: Vec<PartitionFigures>,
    pub parts: u32,
    pub missing: u32,
    pub merged: bool,
    pub seconds: f64,
}

impl ShardReport {
    /// A report without partitions.
    pub fn new(directory: PathBuf, shard: String, parts: u32, mode: Mode) -> Self {
        Self { directory, shard, mode, parts, ..Self::default() }
    }
}

/// What `trimill cluster` wrote.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClusterReport {
    pub schema_version: u32,
    pub version: String,
    #[serde(serialize_with = "path_text::shown")]
    pub directory: PathBuf,
    pub shards: NonZeroU32,
    #[serde(serialize_with = "path_text::all_shown")]
    pub files: Vec<PathBuf>,
    pub commands: Vec<String>,
}

impl ClusterReport {
    /// A report of `files`.
    pub fn new(directory: PathBuf, shards: NonZeroU32, files: Vec<PathBuf>, commands: Vec<String>) -> Self {
        Self { schema_version: SCHEMA_VERSION, version: VERSION.into(), directory, shards, files, commands }
    }
}

/// What `trimill run` made for a job that a cluster counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClusterJobReport {
    pub job: String,
    pub prepared: PreparedReport,
    pub cluster: ClusterReport,
}

impl ClusterJobReport {
    /// A report of the job called `job`.
    pub fn new(job: &str, prepared: PreparedReport, cluster: ClusterReport) -> Self {
        Self { job: job.into(), prepared, cluster }
    }
}
