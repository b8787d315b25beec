//! The commands that count a job in several processes.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use super::args::{AnswerArgs, usual, without};
use super::count::{GraphJobArgs, files};
use trimill::program::{ClusterTable, InputTable, RunTable, Scheduler, Tables, from_one};

/// Settings that `trimill prepare` does not take: the shards count, and the graph and spills are in the run directory.
const NOT_OF_PREPARE: &str = "spill spill_dir keep_spill no_cache cache_max report against trace";
/// Settings that `trimill merge` does not take: it counts nothing, and `trimill prepare` got all others.
const NOT_OF_MERGE: &str = "Input Partition Spill Vertices Edges Truss Resume device_memory block_bytes backend devices \
    method block_threads tile device_timeout no_cache cache_dir cache_max prepare output force report against \
    trace";
/// Settings that HyperQueue's scripts cannot express.
const NOT_OF_HQ: &str = "time partition account at_once sbatch merge_time merge_partition merge_sbatch";

/// `trimill prepare`
#[derive(Debug, Args)]
#[command(group(files()), mut_args(|arg| usual(without(arg, NOT_OF_PREPARE), &["shards"])))]
#[command(mut_arg("inputs", |all| all.help("The graph's file, or several files or a directory of one graph")))]
#[command(mut_arg("run_dir", |dir| {
    dir.required(true)
        .help_heading("Shards")
        .help("The directory that receives the graph, the plan and the spills, and later what is counted; all nodes must see it")
}))]
#[command(mut_arg("output", |dir| dir.help("Have `trimill merge` also write result.json and partitions.tsv into DIR")))]
#[command(mut_arg("force", |force| {
    force.help("Have it replace a result that is there already, and files of vertices and edges that are there")
}))]
#[command(mut_arg("cache_dir", |dir| {
    dir.help("The directory with the rates of this machine [default: trimill in the user's cache directory]")
}))]
#[command(mut_arg("details", |all| all.help("Also print the table of stages")))]
pub(crate) struct PrepareCommand {
    #[command(flatten)]
    pub(crate) graph: GraphJobArgs,

    /// Cut the graph into at least N partitions, one for each shard [default: as few as fit]
    #[arg(long, value_parser = from_one::<NonZeroU32>, value_name = "N", help_heading = "Shards")]
    pub(crate) shards: Option<NonZeroU32>,
}

/// `trimill merge`
#[derive(Debug, Args)]
#[command(mut_args(|arg| without(arg, NOT_OF_MERGE)))]
pub(crate) struct MergeCommand {
    /// The run directory of `trimill prepare`
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,

    #[command(flatten)]
    settings: Tables,

    #[command(flatten)]
    pub(crate) answer: AnswerArgs,
}

/// `trimill cluster`
#[derive(Debug, Subcommand)]
pub(crate) enum ClusterCommand {
    /// Write RUN/slurm: an array of tasks that count, a job that merges, and what submits both
    Slurm(TaskArgs),
    /// Write RUN/hq: job files of tasks that count and of the merge, what submits both, and a Python script that does the same
    #[command(mut_args(|arg| without(arg, NOT_OF_HQ)))]
    Hq(TaskArgs),
}

/// What all schedulers understand.
#[derive(Debug, Args)]
pub(crate) struct TaskArgs {
    /// The run directory of `trimill prepare`
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,

    #[command(flatten)]
    pub(crate) cluster: ClusterTable,

    /// Replace scripts that are there already and differ
    #[arg(long, help_heading = "Output")]
    pub(crate) force: bool,

    /// Print one JSON object instead of text
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// A run directory instead of an input.
pub(super) fn run_dir_as_input(run: &Path) -> InputTable {
    InputTable { path: Some(run.to_path_buf()), ..InputTable::default() }
}

impl MergeCommand {
    pub(crate) fn tables(&self) -> Tables {
        let run = RunTable { dir: Some(self.run.clone()) };
        Tables { input: run_dir_as_input(&self.run), run, ..self.settings.clone() }
    }
}

impl ClusterCommand {
    pub(crate) fn tasks(&self) -> (Scheduler, &TaskArgs) {
        match self {
            Self::Slurm(tasks) => (Scheduler::Slurm, tasks),
            Self::Hq(tasks) => (Scheduler::Hq, tasks),
        }
    }
}
