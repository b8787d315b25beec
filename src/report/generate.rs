//! The report of `trimill generate`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use trimill_system::{Bytes, path_text};

/// A graph that was made.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct GenerateReport {
    /// The family, as on the command line.
    pub family: String,
    /// The file.
    #[serde(serialize_with = "path_text::shown")]
    pub file: PathBuf,
    /// Pairs in the file; with some families more than there are edges.
    pub pairs_written: u64,
    /// The file's size.
    pub bytes: Bytes,
    /// Vertices of the clean graph; null where unknown.
    pub vertices: Option<u64>,
    /// Edges of the clean graph; null where unknown.
    pub edges: Option<u128>,
    /// Triangles of the clean graph; null where unknown.
    pub triangles: Option<u128>,
    /// Time for everything.
    pub seconds: f64,
}
