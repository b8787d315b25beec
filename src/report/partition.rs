//! The report of `trimill partition`: the graph, and each spilled partition.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::result_table::{shown, stages, used_of_budget};
use super::table::{TableColumn, grid, list, thousands};
use super::{SCHEMA_VERSION, Stage};
use crate::job::Prune;
use trimill_system::bytes::Bytes;
use trimill_system::path_text;

/// What `trimill partition` wrote to disk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    pub partitions: Vec<SpilledPartition>,
    /// The stages.
    pub stages: Vec<Stage>,
    /// The process's high-water mark of memory.
    pub peak_host_bytes: Bytes,
    /// The budget on the device that the partitions were cut for.
    pub device_memory: Bytes,
}

/// A partition on disk.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SpilledPartition {
    /// The partition, from 0.
    pub id: u32,
    /// Its file.
    #[serde(serialize_with = "path_text::shown")]
    pub file: PathBuf,
    /// Vertices that are local here.
    pub local_vertices: u64,
    /// Proxies of the induced subgraph.
    pub proxies_induced: u64,
    /// Proxies left after pruning.
    pub proxies_kept: u64,
    /// Arcs of the induced subgraph.
    pub arcs_induced: u64,
    /// Arcs left after pruning.
    pub arcs_kept: u64,
    /// The resident section in memory.
    pub resident_bytes: Bytes,
    /// Row blocks.
    pub row_blocks: u64,
    /// The largest row block in memory.
    pub largest_block_bytes: Bytes,
    /// The file's size.
    pub spill_bytes: Bytes,
    /// The peak of device (or counting) memory that counting it will take.
    pub peak_bytes_predicted: Bytes,
}

impl Default for PartitionReport {
    /// Nothing was measured yet.
    fn default() -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            version: env!("CARGO_PKG_VERSION").into(),
            directory: PathBuf::new(),
            vertices: 0,
            edges: 0,
            partitioner: String::new(),
            prune: Prune::default(),
            seed: 0,
            parts: 0,
            partitions: Vec::new(),
            stages: Vec::new(),
            peak_host_bytes: Bytes::ZERO,
            device_memory: Bytes::ZERO,
        }
    }
}

impl PartitionReport {
    /// The report as text.
    pub fn table(&self, short: bool) -> String {
        const COLUMNS: [TableColumn<SpilledPartition>; 11] = [
            TableColumn { heading: "part", cell: |p| p.id.to_string() },
            TableColumn { heading: "local\nvertices", cell: |p| thousands(p.local_vertices) },
            TableColumn { heading: "proxies\ninduced", cell: |p| thousands(p.proxies_induced) },
            TableColumn { heading: "proxies\nkept", cell: |p| thousands(p.proxies_kept) },
            TableColumn { heading: "arcs\ninduced", cell: |p| thousands(p.arcs_induced) },
            TableColumn { heading: "arcs\nkept", cell: |p| thousands(p.arcs_kept) },
            TableColumn { heading: "resident", cell: |p| p.resident_bytes.to_string() },
            TableColumn { heading: "row\nblocks", cell: |p| thousands(p.row_blocks) },
            TableColumn { heading: "largest\nblock", cell: |p| p.largest_block_bytes.to_string() },
            TableColumn { heading: "spilled", cell: |p| p.spill_bytes.to_string() },
            TableColumn { heading: "peak\npredicted", cell: |p| p.peak_bytes_predicted.to_string() },
        ];
        let largest = self.partitions.iter().map(|p| p.peak_bytes_predicted).max().unwrap_or_default();
        let (rows, note) = shown(&self.partitions, short, |p| p.peak_bytes_predicted);
        let mut text = list(&[
            ("directory", self.directory.display().to_string()),
            ("vertices", thousands(self.vertices)),
            ("edges", thousands(self.edges)),
            ("partitions", format!("{} by {}, prune {}", self.parts, self.partitioner, self.prune)),
            ("spilled", self.partitions.iter().map(|p| p.spill_bytes).sum::<Bytes>().to_string()),
            ("largest partition", used_of_budget(largest, self.device_memory)),
            ("peak host memory", self.peak_host_bytes.to_string()),
        ]);
        text.push('\n');
        text.push_str(&grid(&COLUMNS, rows, None));
        text.push_str(&note);
        text.push('\n');
        text.push_str(&stages(&self.stages));
        text.push_str(&format!("\nto count them: trimill count {}\n", self.directory.display()));
        text
    }
}
