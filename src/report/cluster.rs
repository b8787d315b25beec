//! The report of `trimill cluster`: the files that were written, and the commands that submit them.

use std::num::NonZeroU32;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{SCHEMA_VERSION, VERSION};
use trimill_system::path_text;

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
