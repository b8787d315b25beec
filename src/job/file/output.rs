//! What a job makes of its counts: `[job.output]`.

use std::path::PathBuf;

#[cfg(feature = "cli")]
use clap::{ArgAction, Args};
#[cfg(feature = "cli")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[cfg(feature = "cli")]
use crate::job::typed;
#[cfg(feature = "cli")]
use crate::truss::MOST_K;
use crate::truss::TrussWanted;
use trimill_system::integers::whole;
use trimill_system::path_text;

/// `[job.output]`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(Args, JsonSchema))]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "cli", command(next_help_heading = "Output"))]
pub struct OutputTable {
    /// Also write result.json and partitions.tsv into DIR, which is made where it is missing
    #[cfg_attr(feature = "cli", schemars(length(min = 1), with = "Option<PathBuf>"))]
    #[serde(with = "path_text::optional")]
    #[cfg_attr(feature = "cli", arg(id = "output", long = "output", value_name = "DIR", group = "files"))]
    pub dir: Option<PathBuf>,
    /// Replace an earlier result in --output, existing files of --per-vertex, --by-degree, --lcc, --per-edge and --by-k, and names of kept spills
    #[cfg_attr(feature = "cli", arg(long, action = ArgAction::SetTrue, requires = "files"))]
    pub force: Option<bool>,
    /// Count the triangles at each vertex, for the averages and quantiles of the result
    #[cfg_attr(feature = "cli", arg(long, action = ArgAction::SetTrue, help_heading = "Vertices"))]
    pub clustering: Option<bool>,
    /// Write id, degree, triangles and local clustering coefficient of each vertex: .tsv, .csv (or with .gz, .zst), .npy, .parquet, or `-`
    #[cfg_attr(
        feature = "cli",
        schemars(regex(pattern = r"^-$|\.([tc]sv(\.gz|\.zst)?|npy|parquet)$"), with = "Option<PathBuf>")
    )]
    #[serde(with = "path_text::optional")]
    #[cfg_attr(feature = "cli", arg(long, value_name = "FILE", help_heading = "Vertices", group = "files", long_help = typed::PER_VERTEX))]
    pub per_vertex: Option<PathBuf>,
    /// Write, for each degree, its vertices, their triangles and average clustering: .tsv or .csv (or with .gz, .zst), or `-`
    #[cfg_attr(feature = "cli", schemars(regex(pattern = r"^-$|\.[tc]sv(\.gz|\.zst)?$"), with = "Option<PathBuf>"))]
    #[serde(with = "path_text::optional")]
    #[cfg_attr(feature = "cli", arg(long, value_name = "FILE", help_heading = "Vertices", group = "files"))]
    pub by_degree: Option<PathBuf>,
    /// Write the local clustering coefficient of every vertex, even without an edge, in lines of `id value`; or `-`
    #[cfg_attr(feature = "cli", schemars(length(min = 1), with = "Option<PathBuf>"))]
    #[serde(with = "path_text::optional")]
    #[cfg_attr(feature = "cli", arg(long, value_name = "FILE", help_heading = "Vertices", group = "files", long_help = typed::LCC))]
    pub lcc: Option<PathBuf>,
    /// For --lcc: take the graph as directed [default: what a Graphalytics graph says, else false]
    #[cfg_attr(feature = "cli", arg(long, value_name = "true|false", num_args = 0..=1, require_equals = true, default_missing_value = "true", hide_possible_values = true, help_heading = "Vertices", requires = "lcc"))]
    pub directed: Option<bool>,
    /// Write the ids and the triangles of each edge, or its trussness if the graph is peeled: .tsv, .csv (or with .gz, .zst), .parquet, or `-`
    #[cfg_attr(
        feature = "cli",
        schemars(regex(pattern = r"^-$|\.([tc]sv(\.gz|\.zst)?|parquet)$"), with = "Option<PathBuf>")
    )]
    #[serde(with = "path_text::optional")]
    #[cfg_attr(feature = "cli", arg(long, value_name = "FILE", help_heading = "Edges", group = "files", long_help = typed::PER_EDGE))]
    pub per_edge: Option<PathBuf>,
    /// Peel the graph: find the trussness of each edge and the sizes of all trusses (docs/truss.md)
    #[cfg_attr(feature = "cli", arg(long, action = ArgAction::SetTrue, help_heading = "Truss"))]
    pub truss: Option<bool>,
    /// Peel only until the K-truss is left, whose edges are then those of --per-edge
    #[cfg_attr(feature = "cli", schemars(range(min = 3, max = MOST_K)))]
    #[serde(deserialize_with = "whole")]
    #[cfg_attr(feature = "cli", arg(long, value_name = "K", help_heading = "Truss", value_parser = clap::value_parser!(u32).range(3..=i64::from(MOST_K))))]
    pub k: Option<u32>,
    /// Write, for each k, the vertices and edges of the k-truss: .tsv or .csv (or with .gz, .zst), or `-`
    #[cfg_attr(feature = "cli", schemars(regex(pattern = r"^-$|\.[tc]sv(\.gz|\.zst)?$"), with = "Option<PathBuf>"))]
    #[serde(with = "path_text::optional")]
    #[cfg_attr(feature = "cli", arg(long, value_name = "FILE", help_heading = "Truss", group = "files"))]
    pub by_k: Option<PathBuf>,
    /// Also write a report: one HTML page that needs no other file; an earlier report is replaced
    #[cfg_attr(feature = "cli", schemars(regex(pattern = r"\.html$"), with = "Option<PathBuf>"))]
    #[serde(with = "path_text::optional")]
    #[cfg_attr(feature = "cli", arg(long, value_name = "FILE.html", value_parser = typed::html))]
    pub report: Option<PathBuf>,
    /// In the report, compare with an earlier result: a file with what --json printed
    #[cfg_attr(feature = "cli", schemars(length(min = 1), with = "Option<PathBuf>"))]
    #[serde(with = "path_text::optional")]
    #[cfg_attr(feature = "cli", arg(long, value_name = "FILE.json", requires = "report"))]
    pub against: Option<PathBuf>,
    /// Also write what each thread and device did when, in the Trace Event format, which Perfetto shows
    #[cfg_attr(feature = "cli", schemars(regex(pattern = r"\.json$"), with = "Option<PathBuf>"))]
    #[serde(with = "path_text::optional")]
    #[cfg_attr(feature = "cli", arg(long, value_name = "FILE.json"))]
    pub trace: Option<PathBuf>,
}

/// The setting of a file of counts.
pub struct CountFile<'a> {
    pub key: &'static str,
    /// What the file holds, for messages.
    pub title: &'static str,
    pub path: &'a mut Option<PathBuf>,
}

impl OutputTable {
    /// The setting of each file of counts, always in the same order.
    pub fn counts_mut(&mut self) -> [CountFile<'_>; 5] {
        let Self { per_vertex, by_degree, lcc, per_edge, by_k, .. } = self;
        [
            ("per_vertex", "the triangles at each vertex", per_vertex),
            ("by_degree", "the sums of each degree", by_degree),
            ("lcc", "the coefficients of all vertices", lcc),
            ("per_edge", "the triangles on each edge", per_edge),
            ("by_k", "the sizes of trusses", by_k),
        ]
        .map(|(key, title, path)| CountFile { key, title, path })
    }

    /// The files of counts, in the order of [`Self::counts_mut`].
    pub fn count_files(&self) -> impl Iterator<Item = &PathBuf> {
        [&self.per_vertex, &self.by_degree, &self.lcc, &self.per_edge, &self.by_k].into_iter().flatten()
    }

    /// Whether existing results are replaced.
    pub fn force(&self) -> bool {
        self.force.unwrap_or_default()
    }

    /// Whether the triangles at each vertex are counted for more than arrays.
    pub fn describes_vertices(&self) -> bool {
        let Self { clustering, per_vertex, by_degree, lcc, .. } = self;
        *clustering == Some(true) || per_vertex.is_some() || by_degree.is_some() || lcc.is_some()
    }

    /// How far the graph is peeled, if it is.
    pub fn peeling(&self) -> Option<TrussWanted> {
        let peels = self.truss == Some(true) || self.k.is_some() || self.by_k.is_some();
        peels.then_some(TrussWanted { until: self.k })
    }
}
