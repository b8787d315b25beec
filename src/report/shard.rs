//! The report of `trimill count --shard`: the partitions of one shard. It has no total, so that it cannot be taken for one.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::partitions::PartitionFigures;
use super::{SCHEMA_VERSION, VERSION};
use crate::job::Mode;
use trimill_system::path_text;

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
