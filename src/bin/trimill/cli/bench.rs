//! `trimill bench` as typed.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

use super::args::{usual, without};
use super::{ReportArgs, help};
use trimill::program::execute::{BenchGraph, BenchRequest};
use trimill::program::{
    CacheTable, CountTable, InputTable, MemoryTable, PartitionTable, STANDARD_INPUT, Tables, WorkTable, from_one,
    plural,
};
use trimill::{Error, Result};

/// Settings that the command does not take: those of single methods.
const LEFT_OUT: &str = "method block_threads tile device_timeout";

/// `trimill bench`
#[derive(Debug, Args)]
#[command(mut_args(|arg| usual(without(arg, LEFT_OUT), &["methods", "runs", "timeout", "parts", "output"])))]
pub(crate) struct BenchCommand {
    /// The graphs, a file each
    #[arg(value_name = "GRAPH", required = true)]
    pub(crate) graphs: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) input: InputTable,

    /// The methods, by the names of docs/methods.md [default: all that this machine can run]
    #[arg(long, value_name = "NAME,NAME", value_delimiter = ',', help_heading = "Comparison", long_help = help::METHODS)]
    pub(crate) methods: Vec<String>,

    /// What others are compared with [default: lstc, or forward without a GPU]
    #[arg(long, value_name = "NAME", help_heading = "Comparison")]
    pub(crate) baseline: Option<String>,

    /// Runs of each method on each graph; another one before them warms up
    #[arg(long, value_parser = from_one::<NonZeroU32>, value_name = "N", default_value = "5", help_heading = "Comparison")]
    pub(crate) runs: NonZeroU32,

    /// The most time for all runs of a method on a graph
    #[arg(
        long,
        value_name = "SECONDS",
        default_value = "60",
        value_parser = seconds,
        help_heading = "Comparison",
        long_help = help::TIMEOUT
    )]
    pub(crate) timeout: Duration,

    /// The triangles of each graph, in the order of the graphs
    #[arg(long, value_name = "N,N", value_delimiter = ',', help_heading = "Comparison", conflicts_with = "verify")]
    pub(crate) expect: Vec<u128>,

    /// Count each graph with the slow independent counter too, and compare with that
    #[arg(long, help_heading = "Comparison")]
    pub(crate) verify: bool,

    #[command(flatten)]
    pub(crate) partition: PartitionTable,

    #[command(flatten)]
    pub(crate) memory: MemoryTable,

    #[command(flatten)]
    pub(crate) count: CountTable,

    #[command(flatten)]
    pub(crate) cache: CacheTable,

    #[command(flatten)]
    pub(crate) work: WorkTable,

    /// Print one JSON object instead of tables
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,

    /// Also write the JSON object to FILE
    #[arg(long, value_name = "FILE.json", help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) report: ReportArgs,
}

fn seconds(typed: &str) -> Result<Duration, String> {
    let seconds = typed.parse().ok().filter(|seconds| *seconds > 0.0);
    seconds
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| format!("'{typed}' is not a time; expected seconds above 0, such as 60 or 0.5"))
}

impl BenchCommand {
    fn tables(&self, graph: &Path) -> Tables {
        let Self { input, partition, memory, count, cache, work, .. } = self;
        Tables {
            input: InputTable { path: Some(graph.to_path_buf()), ..input.clone() },
            partition: partition.clone(),
            memory: memory.clone(),
            count: count.clone(),
            cache: cache.clone(),
            work: work.clone(),
            ..Tables::default()
        }
    }

    pub(crate) fn request(&self) -> Result<BenchRequest> {
        if self.graphs.iter().any(|graph| graph.as_os_str() == STANDARD_INPUT) {
            return Err(
                Error::usage("standard input (`-`) cannot be counted several times").advice("write it to a file first")
            );
        }
        if !self.expect.is_empty() && self.expect.len() != self.graphs.len() {
            return Err(Error::usage(format!(
                "--expect has {} for {}",
                plural(self.expect.len(), "count", "counts"),
                plural(self.graphs.len(), "graph", "graphs")
            ))
            .expected("one for each graph, separated by commas, in the order of the graphs"));
        }
        let graphs = self
            .graphs
            .iter()
            .enumerate()
            .map(|(i, path)| BenchGraph { tables: self.tables(path), expected: self.expect.get(i).copied() });
        Ok(BenchRequest {
            graphs: graphs.collect(),
            methods: self.methods.clone(),
            baseline: self.baseline.clone(),
            backend: self.count.backend.unwrap_or_default(),
            runs: self.runs,
            timeout: self.timeout,
            verify: self.verify,
        })
    }
}
