//! `trimill count`, `plan`, `partition` and `verify`: commands on one graph.

use std::path::PathBuf;

use clap::{ArgGroup, Args};

use super::args::{AnswerArgs, usual, without};
use super::help;
use trimill::program::{ShardChoice, Tables};

/// What `trimill plan` does not take: it writes a report alone.
const NOT_OF_PLAN: &str = "run_dir output force against trace";
/// What `trimill truss` does not take: it is what the command is for.
const NOT_OF_TRUSS: &str = "truss";
/// What `trimill partition` does not take: it counts nothing, and keeps what it spills.
const NOT_OF_PARTITION: &str = "spill keep_spill run_dir output clustering per_vertex by_degree lcc directed per_edge truss \
    k by_k report against trace";
/// What `trimill verify` does not take: it counts the whole graph at once, in memory, on the cores.
const NOT_OF_VERIFY: &str = "partitioner parts seed prune metis_contract device_memory block_bytes spill spill_dir keep_spill backend devices \
    method block_threads tile device_timeout prepare run_dir output lcc directed report against trace details";

/// `trimill count`
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("files").multiple(true)), mut_args(|arg| usual(arg, &[])))]
#[command(mut_arg("inputs", |all| all.required(false).required_unless_present("shard")))]
pub(crate) struct CountCommand {
    #[command(flatten)]
    pub(crate) graph: GraphJobArgs,

    /// Count a share of the partitions of a job that `trimill prepare` made in the run directory: I/N, or auto for the one that the
    /// scheduler's environment names
    #[arg(
        long,
        value_name = "I/N|auto",
        help_heading = "Resume",
        requires = "run_dir",
        conflicts_with_all = [
            "inputs", "format", "header", "columns", "names", "cloud_credentials", "partitioner", "parts", "seed", "prune", "metis_contract", "block_bytes", "prepare",
            "spill_dir", "spill", "keep_spill", "cache_dir", "cache_max", "no_cache", "clustering", "truss", "k", "files", "force", "report",
            "trace", "against",
        ]
    )]
    pub(crate) shard: Option<ShardChoice>,
}

/// A graph, the settings of a job on it, and how the answer is printed.
#[derive(Debug, Args)]
pub(crate) struct GraphJobArgs {
    /// The graph's file, or several files or a directory of one graph; `-` is standard input
    #[arg(value_name = "INPUT", required = true)]
    inputs: Vec<PathBuf>,

    #[command(flatten)]
    settings: Tables,

    #[command(flatten)]
    pub(crate) answer: AnswerArgs,
}

impl GraphJobArgs {
    pub(crate) fn tables(&self) -> Tables {
        let mut tables = self.settings.clone();
        tables.input.paths = Some(self.inputs.clone());
        tables
    }
}

/// `trimill truss`
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("files").multiple(true)), mut_args(|arg| usual(without(arg, NOT_OF_TRUSS), &["k", "by_k"])))]
#[command(mut_arg("per_edge", |file| {
    file.help("Write the ids and the trussness of each edge: .tsv, .csv (or with .gz, .zst), .parquet, or `-`").long_help(help::TRUSS_PER_EDGE)
}))]
pub(crate) struct TrussCommand {
    #[command(flatten)]
    pub(crate) graph: GraphJobArgs,
}

/// `trimill plan`
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("files").multiple(true)), mut_args(|arg| usual(without(arg, NOT_OF_PLAN), &["parts"])))]
pub(crate) struct PlanCommand {
    #[command(flatten)]
    pub(crate) graph: GraphJobArgs,
}

/// `trimill partition`
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("files").multiple(true)), mut_args(|arg| usual(without(arg, NOT_OF_PARTITION), &["parts"])))]
#[command(mut_arg("spill_dir", |dir| dir.required(true).group("files").help("The directory that receives the partitions and their manifest")))]
#[command(mut_arg("force", |force| force.help("Replace files that are there under the names of partitions")))]
pub(crate) struct PartitionCommand {
    #[command(flatten)]
    pub(crate) graph: GraphJobArgs,
}

/// `trimill verify`
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("files").multiple(true)), mut_args(|arg| usual(without(arg, NOT_OF_VERIFY), &[])))]
#[command(mut_arg("force", |force| force.help("Replace files of vertices and edges that are there already")))]
pub(crate) struct VerifyCommand {
    #[command(flatten)]
    pub(crate) graph: GraphJobArgs,
}

impl CountCommand {
    /// The input of a shard is its run directory.
    pub(crate) fn tables(&self) -> Tables {
        let mut tables = self.graph.tables();
        if let (Some(_), Some(run)) = (&self.shard, &tables.run.dir) {
            tables.input = super::cluster::input_of(run);
        }
        tables
    }
}

impl TrussCommand {
    pub(crate) fn tables(&self) -> Tables {
        let mut tables = self.graph.tables();
        tables.output.truss = Some(true);
        tables
    }
}

impl PartitionCommand {
    /// The spill is kept.
    pub(crate) fn tables(&self) -> Tables {
        let mut tables = self.graph.tables();
        tables.spill.keep = Some(true);
        tables
    }
}
