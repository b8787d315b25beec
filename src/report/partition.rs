//! The report of `trimill partition`: the graph, and each spilled partition.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::Stage;
use super::partitions::PartitionFigures;
use crate::job::Prune;
use trimill_system::{Bytes, path_text};

/// What `trimill partition` wrote to disk.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PartitionReport {
    /// The version of this object: 1.
    pub schema_version: u32,
    /// The version of the program.
    pub version: String,
    /// The directory with the manifest and the partitions.
    #[serde(serialize_with = "path_text::shown")]
    pub directory: PathBuf,
    /// Vertices of the clean graph.
    pub vertices: u64,
    /// Edges of the clean graph.
    pub edges: u64,
    /// The partitioner, as on the command line.
    pub partitioner: String,
    /// The prune level.
    pub prune: Prune,
    /// The seed of random choices.
    pub seed: u64,
    /// The number of partitions.
    pub parts: u32,
    /// The partitions.
    pub partitions: Vec<PartitionFigures>,
    /// The stages.
    pub stages: Vec<Stage>,
    /// The process's high-water mark of memory.
    pub peak_host_bytes: Bytes,
    /// The budget on the device that the partitions were cut for.
    pub device_memory: Bytes,
}
