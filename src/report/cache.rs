//! The reports of `trimill cache list` and `clear`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use trimill_system::{Bytes, path_text};

/// What the cache holds, or what was removed from it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheReport {
    /// The cache's directory.
    #[serde(serialize_with = "path_text::shown")]
    pub directory: PathBuf,
    /// The entries concerned.
    pub entries: Vec<CacheEntry>,
    /// The size of all of them.
    pub bytes: Bytes,
}

/// A prepared graph in the cache.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheEntry {
    /// Its key; a unique prefix suffices to remove it.
    pub key: String,
    /// The files that it was made of.
    #[serde(serialize_with = "path_text::all_shown")]
    pub inputs: Vec<PathBuf>,
    /// Vertices.
    pub vertices: u64,
    /// Edges.
    pub edges: u64,
    /// Its size on disk.
    pub bytes: Bytes,
    /// Seconds since it was last used.
    pub idle_seconds: u64,
    /// Its file.
    #[serde(skip)]
    pub path: PathBuf,
}
