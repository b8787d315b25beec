//! The reports of `trimill cache list` and `clear`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::table::{TableColumn, grid, list, seconds, thousands};
use trimill_system::bytes::Bytes;
use trimill_system::path_text;

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
}

impl CacheReport {
    /// The report as text; `what` is `holds` or `removed`.
    pub fn table(&self, what: &str) -> String {
        const COLUMNS: [TableColumn<CacheEntry>; 6] = [
            TableColumn { heading: "key", cell: |e| e.key.clone() },
            TableColumn {
                heading: "input",
                cell: |e| e.inputs.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" "),
            },
            TableColumn { heading: "vertices", cell: |e| thousands(e.vertices) },
            TableColumn { heading: "edges", cell: |e| thousands(e.edges) },
            TableColumn { heading: "size", cell: |e| e.bytes.to_string() },
            TableColumn { heading: "idle", cell: |e| seconds(e.idle_seconds as f64) },
        ];
        let mut text = list(&[
            ("cache", self.directory.display().to_string()),
            (what, format!("{} graphs, {}", self.entries.len(), self.bytes)),
        ]);
        if !self.entries.is_empty() {
            text.push_str(&grid(&COLUMNS, &self.entries, None));
        }
        text
    }
}
