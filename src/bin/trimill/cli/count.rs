//! `trimill count`, `plan`, `partition` and `verify`: commands on one graph.

use std::path::PathBuf;

use clap::{ArgGroup, Args};

use super::{CountArgs, HostArgs, InputArgs, JobArgs, ReportArgs, SpillArgs};
use trimill::program::ShardChoice;
use trimill::program::{OutputTable, RunTable, SpillTable, Tables};

/// `trimill count`
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("files").multiple(true)))]
#[command(mut_arg("inputs", |inputs| inputs.required(false).required_unless_present("shard")))]
pub(crate) struct CountCommand {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub(crate) job: JobArgs,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub(crate) spill: SpillArgs,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub(crate) counts: CountArgs,

    /// Keep what is done in DIR, so that the same command continues where it was, however it ended
    #[arg(long, value_name = "DIR", help_heading = "Resume")]
    pub(crate) run_dir: Option<PathBuf>,

    /// Count a share of the partitions of a job that `trimill prepare` made in the run directory: I/N, or auto for the one that the
    /// scheduler's environment names
    #[arg(
        long,
        value_name = "I/N|auto",
        help_heading = "Resume",
        requires = "run_dir",
        conflicts_with_all = [
            "inputs", "format", "header", "columns", "partitioner", "parts", "seed", "prune", "metis_contract", "block_bytes", "prepare",
            "spill_dir", "spill", "keep_spill", "cache_dir", "cache_max", "no_cache", "clustering", "files", "force", "report",
            "trace",
        ]
    )]
    pub(crate) shard: Option<ShardChoice>,

    /// Also write result.json and partitions.tsv into DIR, which is made where it is missing
    #[arg(long, value_name = "DIR", group = "files", help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,

    /// Replace a result that is in the directory of --output already, and files of vertices, edges and kept spills that are there
    #[arg(long, requires = "files", help_heading = "Output")]
    pub(crate) force: bool,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub(crate) report: ReportArgs,

    /// Also write when each thread and device did what, in the Trace Event format, which Perfetto shows
    #[arg(long, value_name = "FILE.json", help_heading = "Output")]
    pub(crate) trace: Option<PathBuf>,

    /// Print one JSON object instead of tables
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// `trimill plan`
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("files").multiple(true)))]
pub(crate) struct PlanCommand {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub(crate) job: JobArgs,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub(crate) spill: SpillArgs,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub(crate) counts: CountArgs,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub(crate) report: ReportArgs,

    /// Print one JSON object instead of tables
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// `trimill partition`
#[derive(Debug, Args)]
pub(crate) struct PartitionCommand {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub(crate) job: JobArgs,

    /// The directory that receives the partitions and their manifest
    #[arg(long, value_name = "DIR", required = true, help_heading = "Spill")]
    pub(crate) spill_dir: PathBuf,

    /// Replace files that are there under the names of partitions
    #[arg(long, help_heading = "Spill")]
    pub(crate) force: bool,

    /// Print one JSON object instead of tables
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// `trimill verify`
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("files").multiple(true)))]
pub(crate) struct VerifyCommand {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub(crate) input: InputArgs,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub(crate) host: HostArgs,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub(crate) counts: CountArgs,

    /// Replace files of vertices that are there already
    #[arg(long, requires = "files", help_heading = "Output")]
    pub(crate) force: bool,

    /// Print one JSON object instead of text
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

impl CountCommand {
    /// The same as a job's tables. The input of a shard is its run directory.
    pub(crate) fn tables(&self) -> Tables {
        if let (Some(_), Some(run)) = (&self.shard, &self.run_dir) {
            let tables = Tables { input: super::cluster::input_of(run), ..self.job.tables() };
            return Tables { run: RunTable { dir: Some(run.clone()) }, ..tables };
        }
        let mut output = OutputTable { dir: self.output.clone(), force: Some(self.force), ..OutputTable::default() };
        self.counts.fill(&mut output);
        output.report.clone_from(&self.report.report);
        output.trace.clone_from(&self.trace);
        Tables { spill: self.spill.table(), run: RunTable { dir: self.run_dir.clone() }, output, ..self.job.tables() }
    }
}

impl PlanCommand {
    /// The same as a job's tables.
    pub(crate) fn tables(&self) -> Tables {
        let mut output = OutputTable { report: self.report.report.clone(), ..OutputTable::default() };
        self.counts.fill(&mut output);
        Tables { spill: self.spill.table(), output, ..self.job.tables() }
    }
}

impl PartitionCommand {
    /// The same as a job's tables; the spill is kept.
    pub(crate) fn tables(&self) -> Tables {
        Tables {
            spill: SpillTable { to: None, dir: Some(self.spill_dir.clone()), keep: Some(true) },
            output: OutputTable { force: Some(self.force), ..OutputTable::default() },
            ..self.job.tables()
        }
    }
}

impl VerifyCommand {
    /// The same as a job's tables.
    pub(crate) fn tables(&self) -> Tables {
        let mut tables = Tables { input: self.input.table(), ..Tables::default() };
        self.host.fill(&mut tables);
        self.counts.fill(&mut tables.output);
        tables.output.force = Some(self.force);
        tables
    }
}
