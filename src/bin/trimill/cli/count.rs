//! `trimill count`, `truss`, `plan`, `partition` and `verify`: commands on one graph.

use std::path::PathBuf;

use clap::{ArgGroup, Args};

use super::args::{AnswerArgs, names, usual};
use trimill::program::{ShardChoice, Tables};

/// Settings that `trimill plan` does not take: it writes only a report. Like those below, by their headings in the help, or one by one.
pub(super) const NOT_OF_PLAN: &str = "Resume output force against trace";
/// The setting that `trimill truss` does not take, since the command implies it.
pub(super) const NOT_OF_TRUSS: &str = "truss";
/// Settings that `trimill partition` does not take: it counts nothing, and keeps what it spills.
pub(super) const NOT_OF_PARTITION: &str = "Vertices Edges Truss Resume spill keep_spill output report against trace";
/// Settings that `trimill verify` does not take: it counts the whole graph at once, in memory, on the cores.
pub(super) const NOT_OF_VERIFY: &str = "Partition Spill Resume device_memory block_bytes backend devices method \
    block_threads tile device_timeout no_cache cache_dir cache_max prepare output lcc directed report against trace \
    details";

/// What `trimill count --shard` does not take, since `trimill prepare` got it.
const NOT_OF_SHARD: &str = "inputs Input Partition Spill Vertices Edges Truss no_cache cache_dir cache_max block_bytes \
    prepare output force report against trace";

/// The options that name files to write.
pub(super) fn files() -> ArgGroup {
    ArgGroup::new("files").multiple(true)
}

/// `trimill count`
#[derive(Debug, Args)]
#[command(group(files()), mut_args(|arg| {
    usual(if names(NOT_OF_SHARD, &arg) { arg.conflicts_with("shard") } else { arg }, &[])
}))]
#[command(mut_arg("inputs", |all| all.required(false).required_unless_present("shard")))]
pub(crate) struct CountCommand {
    #[command(flatten)]
    pub(crate) graph: GraphJobArgs,

    /// Count a share of the partitions of a job that `trimill prepare` made in the run directory: I/N, or auto for the one that the
    /// scheduler's environment names
    #[arg(long, value_name = "I/N|auto", help_heading = "Resume", requires = "run_dir")]
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

impl CountCommand {
    /// The input of a shard is its run directory.
    pub(crate) fn tables(&self) -> Tables {
        let mut tables = self.graph.tables();
        if let (Some(_), Some(run)) = (&self.shard, &tables.run.dir) {
            tables.input = super::cluster::run_dir_as_input(run);
        }
        tables
    }
}
