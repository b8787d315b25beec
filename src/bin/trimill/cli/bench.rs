//! `trimill bench` as typed.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

use super::args::{usual, without};
use super::help;
use trimill::program::execute::{BenchGraph, BenchRequest};
use trimill::program::{STANDARD_INPUT, Tables, from_one, plural};
use trimill::{Error, Result};

/// Settings that the command does not take: those of single methods, and what only a count has.
const LEFT_OUT: &str = "Spill Vertices Edges Truss Resume force against trace method block_threads tile device_timeout";

/// `trimill bench`
#[derive(Debug, Args)]
#[command(mut_args(|arg| usual(without(arg, LEFT_OUT), &["methods", "runs", "timeout", "parts", "output"])))]
#[command(mut_arg("output", |file| file.value_name("FILE.json").help("Also write the JSON object to FILE")))]
pub(crate) struct BenchCommand {
    /// The graphs, a file each
    #[arg(value_name = "GRAPH", required = true)]
    pub(crate) graphs: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) settings: Tables,

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

    /// Print one JSON object instead of tables
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

fn seconds(typed: &str) -> Result<Duration, String> {
    let seconds = typed.parse().ok().filter(|seconds| *seconds > 0.0);
    seconds
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| format!("'{typed}' is not a time; expected seconds above 0, such as 60 or 0.5"))
}

impl BenchCommand {
    fn tables(&self, graph: &Path) -> Tables {
        let mut tables = self.settings.clone();
        tables.input.path = Some(graph.to_path_buf());
        // These files are the comparison's.
        (tables.output.dir, tables.output.report) = (None, None);
        tables
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
            backend: self.settings.count.backend(),
            runs: self.runs,
            timeout: self.timeout,
            verify: self.verify,
        })
    }
}
