//! The commands that count a job in several processes.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use clap::{ArgGroup, Args, Subcommand};

use super::args::{CountArgs, HostArgs, JobArgs, from_one};
use trimill::program::{Cluster, Scheduler, USUAL_CPUS, USUAL_GPUS};
use trimill::program::{InputTable, OutputTable, RunTable, Tables};

/// `trimill prepare`
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("files").multiple(true)))]
pub(crate) struct PrepareCommand {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub(crate) job: JobArgs,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub(crate) counts: CountArgs,

    /// The directory that receives the graph, the plan and the spills, and later what is counted; all nodes must see it
    #[arg(long, value_name = "DIR", required = true, help_heading = "Shards")]
    pub(crate) run_dir: PathBuf,

    /// Cut the graph into at least N partitions, one for each shard [default: as few as fit]
    #[arg(long, value_parser = from_one::<NonZeroU32>, value_name = "N", help_heading = "Shards")]
    pub(crate) shards: Option<NonZeroU32>,

    /// Have `trimill merge` also write result.json and partitions.tsv into DIR
    #[arg(long, value_name = "DIR", group = "files", help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,

    /// Have it replace a result that is there already, and files of vertices and edges that are there
    #[arg(long, requires = "files", help_heading = "Output")]
    pub(crate) force: bool,

    /// Print one JSON object instead of text
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// `trimill merge`
#[derive(Debug, Args)]
pub(crate) struct MergeCommand {
    /// The run directory of `trimill prepare`
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub(crate) host: HostArgs,

    /// Print one JSON object instead of tables
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// `trimill cluster`
#[derive(Debug, Subcommand)]
pub(crate) enum ClusterCommand {
    /// Write RUN/slurm: an array of tasks that count, a job that merges, and what submits both
    Slurm {
        #[command(flatten)]
        #[allow(missing_docs)]
        tasks: TaskArgs,

        /// The most time of a task, such as 4:00:00 [default: the cluster's]
        #[arg(long, value_name = "TIME", help_heading = "Tasks")]
        time: Option<String>,

        /// The partition of the cluster [default: its own]
        #[arg(long, value_name = "NAME", help_heading = "Tasks")]
        partition: Option<String>,

        /// The account that is charged [default: the user's]
        #[arg(long, value_name = "NAME", help_heading = "Tasks")]
        account: Option<String>,

        /// The host's memory of a task, such as 64G [default: the cluster's]
        #[arg(long, value_name = "SIZE", help_heading = "Tasks")]
        memory: Option<String>,
    },
    /// Write RUN/hq: a job file for `hq job submit-file`, and a Python script that does the same
    Hq {
        #[command(flatten)]
        #[allow(missing_docs)]
        tasks: TaskArgs,
    },
}

/// What all schedulers understand.
#[derive(Debug, Args)]
pub(crate) struct TaskArgs {
    /// The run directory of `trimill prepare`
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,

    /// How many tasks count [default: as many as the job was prepared for]
    #[arg(long, value_parser = from_one::<NonZeroU32>, value_name = "N", help_heading = "Tasks")]
    pub(crate) shards: Option<NonZeroU32>,

    /// GPUs of a task; 0: its cores count
    #[arg(long, value_name = "N", default_value_t = USUAL_GPUS, help_heading = "Tasks")]
    pub(crate) gpus_per_task: u32,

    /// Cores of a task
    #[arg(long, value_parser = from_one::<NonZeroU32>, value_name = "N", default_value_t = USUAL_CPUS, help_heading = "Tasks")]
    pub(crate) cpus_per_task: NonZeroU32,

    /// Print one JSON object instead of text
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// A run directory in the place of an input.
pub(super) fn input_of(run: &Path) -> InputTable {
    InputTable { path: Some(run.to_path_buf()), ..InputTable::default() }
}

impl PrepareCommand {
    /// The same as a job's tables.
    pub(crate) fn tables(&self) -> Tables {
        let mut output = OutputTable { dir: self.output.clone(), force: Some(self.force), ..OutputTable::default() };
        self.counts.fill(&mut output);
        Tables { run: RunTable { dir: Some(self.run_dir.clone()) }, output, ..self.job.tables() }
    }
}

impl MergeCommand {
    /// The same as a job's tables.
    pub(crate) fn tables(&self) -> Tables {
        let run = RunTable { dir: Some(self.run.clone()) };
        let mut tables = Tables { input: input_of(&self.run), run, ..Tables::default() };
        self.host.fill(&mut tables);
        tables
    }
}

impl ClusterCommand {
    fn tasks(&self) -> &TaskArgs {
        let (Self::Slurm { tasks, .. } | Self::Hq { tasks }) = self;
        tasks
    }

    /// Whether the report is printed as JSON.
    pub(crate) fn json(&self) -> bool {
        self.tasks().json
    }

    /// The run directory of the job.
    pub(crate) fn run_dir(&self) -> &Path {
        &self.tasks().run
    }

    /// The scheduler, and what each task gets.
    pub(crate) fn cluster(&self) -> Cluster {
        let TaskArgs { shards, gpus_per_task, cpus_per_task, .. } = self.tasks();
        let of = |engine| Cluster {
            shards: *shards,
            gpus_per_task: *gpus_per_task,
            cpus_per_task: *cpus_per_task,
            ..Cluster::new(engine)
        };
        match self {
            Self::Slurm { time, partition, account, memory, .. } => Cluster {
                time: time.clone(),
                partition: partition.clone(),
                account: account.clone(),
                memory: memory.clone(),
                ..of(Scheduler::Slurm)
            },
            Self::Hq { .. } => of(Scheduler::Hq),
        }
    }
}
