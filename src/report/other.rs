//! The smaller reports: spilling only, verifying, generating, the cache.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::table::{Column, grid, list, or_dash, seconds, thousands};
use super::tables::{against, shown, stages};
use super::{InputReport, SCHEMA_VERSION, Stage};
use crate::bytes::Bytes;
use crate::job::{Job, Prune};
use crate::path_text;

/// What `trimill partition` left on disk.
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
    /// The stages that the data passed.
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

impl PartitionReport {
    /// A report that knows its job and nothing else yet; the directory is the job's spill directory.
    pub fn of(job: &Job) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            version: env!("CARGO_PKG_VERSION").into(),
            directory: job.spill_dir.clone().unwrap_or_default(),
            vertices: 0,
            edges: 0,
            partitioner: job.partitioner.to_string(),
            prune: job.prune,
            seed: job.seed,
            parts: 0,
            partitions: Vec::new(),
            stages: Vec::new(),
            peak_host_bytes: Bytes::ZERO,
            device_memory: job.device_memory.unwrap_or_default(),
        }
    }

    /// The report as text.
    pub fn table(&self, short: bool) -> String {
        const COLUMNS: [Column<SpilledPartition>; 11] = [
            Column { heading: "part", cell: |p| p.id.to_string() },
            Column { heading: "local\nvertices", cell: |p| thousands(p.local_vertices) },
            Column { heading: "proxies\ninduced", cell: |p| thousands(p.proxies_induced) },
            Column { heading: "proxies\nkept", cell: |p| thousands(p.proxies_kept) },
            Column { heading: "arcs\ninduced", cell: |p| thousands(p.arcs_induced) },
            Column { heading: "arcs\nkept", cell: |p| thousands(p.arcs_kept) },
            Column { heading: "resident", cell: |p| p.resident_bytes.to_string() },
            Column { heading: "row\nblocks", cell: |p| thousands(p.row_blocks) },
            Column { heading: "largest\nblock", cell: |p| p.largest_block_bytes.to_string() },
            Column { heading: "spilled", cell: |p| p.spill_bytes.to_string() },
            Column { heading: "peak\npredicted", cell: |p| p.peak_bytes_predicted.to_string() },
        ];
        let largest = self.partitions.iter().map(|p| p.peak_bytes_predicted).max().unwrap_or_default();
        let (rows, note) = shown(&self.partitions, short, |p| p.peak_bytes_predicted);
        let mut text = list(&[
            ("directory", self.directory.display().to_string()),
            ("vertices", thousands(self.vertices)),
            ("edges", thousands(self.edges)),
            ("partitions", format!("{} by {}, prune {}", self.parts, self.partitioner, self.prune)),
            ("spilled", self.partitions.iter().map(|p| p.spill_bytes).sum::<Bytes>().to_string()),
            ("largest partition", against(largest, self.device_memory)),
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

/// What the slow independent counter found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VerifyReport {
    /// The version of this object: 1.
    pub schema_version: u32,
    /// The version of the program.
    pub version: String,
    /// Triangles.
    pub triangles: u128,
    /// Vertices with an edge.
    pub vertices: u64,
    /// Edges.
    pub edges: u64,
    /// Paths of two edges.
    pub wedges: u128,
    /// `3 * triangles / wedges`; 0 without wedges.
    pub transitivity: f64,
    /// What came in, and what cleaning did to it.
    pub input: InputReport,
    /// Time for everything.
    pub seconds: f64,
}

impl VerifyReport {
    /// A report with its versions and the transitivity filled in.
    pub fn new(triangles: u128, vertices: u64, edges: u64, wedges: u128, input: InputReport, seconds: f64) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            version: env!("CARGO_PKG_VERSION").into(),
            triangles,
            vertices,
            edges,
            wedges,
            transitivity: super::transitivity(triangles, wedges),
            input,
            seconds,
        }
    }

    /// The report as text.
    pub fn table(&self) -> String {
        list(&[
            ("triangles", thousands(self.triangles)),
            ("vertices", thousands(self.vertices)),
            ("edges", thousands(self.edges)),
            ("wedges", thousands(self.wedges)),
            ("transitivity", format!("{:.6}", self.transitivity)),
            ("took", seconds(self.seconds)),
        ])
    }
}

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
    /// Vertices, isolated ones included; null where unknown.
    pub vertices: Option<u64>,
    /// Edges of the clean graph; null where unknown.
    pub edges: Option<u128>,
    /// Triangles of the clean graph; null where unknown.
    pub triangles: Option<u128>,
    /// Time for everything.
    pub seconds: f64,
}

impl GenerateReport {
    /// The report as text.
    pub fn table(&self) -> String {
        let known = |value: Option<String>| value.unwrap_or_else(|| "unknown".into());
        list(&[
            ("family", self.family.clone()),
            ("file", format!("{} ({}, {} pairs)", self.file.display(), self.bytes, thousands(self.pairs_written))),
            ("vertices", known(self.vertices.map(thousands))),
            ("edges", known(self.edges.map(thousands))),
            ("triangles", known(self.triangles.map(thousands))),
            ("took", seconds(self.seconds)),
        ])
    }
}

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
    /// Its key; a beginning that is unique will do to remove it.
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
        const COLUMNS: [Column<CacheEntry>; 6] = [
            Column { heading: "key", cell: |e| e.key.clone() },
            Column {
                heading: "input",
                cell: |e| e.inputs.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" "),
            },
            Column { heading: "vertices", cell: |e| thousands(e.vertices) },
            Column { heading: "edges", cell: |e| thousands(e.edges) },
            Column { heading: "size", cell: |e| e.bytes.to_string() },
            Column { heading: "idle", cell: |e| seconds(e.idle_seconds as f64) },
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

/// A job of a batch in its summary.
#[derive(Debug, Clone, PartialEq)]
pub struct SummaryLine {
    /// The job's name.
    pub job: String,
    /// Triangles, edges, parts, where it was counted.
    pub counted: Option<(u128, u64, u32)>,
    /// Time for the whole job.
    pub seconds: f64,
    /// `done`, or what went wrong.
    pub outcome: String,
}

/// The summary of a batch as text.
pub fn summary(lines: &[SummaryLine]) -> String {
    const COLUMNS: [Column<SummaryLine>; 6] = [
        Column { heading: "job", cell: |l| l.job.clone() },
        Column { heading: "triangles", cell: |l| or_dash(l.counted, |(triangles, ..)| thousands(triangles)) },
        Column { heading: "edges", cell: |l| or_dash(l.counted, |(_, edges, _)| thousands(edges)) },
        Column { heading: "parts", cell: |l| or_dash(l.counted, |(.., parts)| thousands(parts)) },
        Column { heading: "seconds", cell: |l| format!("{:.3}", l.seconds) },
        Column { heading: "outcome", cell: |l| l.outcome.clone() },
    ];
    grid(&COLUMNS, lines, None)
}
