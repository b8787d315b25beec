//! The command line as typed. What it means is made elsewhere: a job's flags become [`Tables`], the same as a job file's,
//! and [`crate::job::Job::resolve`] makes a job of both.

use std::ffi::OsString;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::bytes::Bytes;
use crate::input::format::Format;
use crate::job::file::{
    CacheTable, CountTable, InputTable, MemoryTable, MetisTable, OutputTable, PartitionTable, SpillTable, Tables,
    WorkTable,
};
use crate::job::overrides::Override;
use crate::job::{Backend, Partitioner, Parts, Prune};

mod generate;
pub mod help;

pub use generate::{FamilyCommand, GenerateCommand};

/// Counts triangles exactly in graphs bigger than GPU memory.
///
/// The graph is cut into partitions that can be counted alone, spilled compressed to disk, and streamed through the
/// device in frames of bounded size. Without a GPU the same pipeline runs on the CPU.
#[derive(Debug, Parser)]
#[command(name = "trimill", version, max_term_width = 110, after_help = help::TRIMILL, propagate_version = false)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,

    /// What all commands understand.
    #[command(flatten)]
    pub global: Global,
}

/// Flags that all commands understand.
#[derive(Debug, Clone, Args)]
pub struct Global {
    /// How progress is shown on standard error: bars on a terminal and plain lines elsewhere, always plain lines, or
    /// nothing
    #[arg(long, global = true, value_enum, default_value_t, value_name = "HOW", help_heading = "General")]
    pub progress: ProgressMode,

    /// Tells more on standard error; twice tells everything
    #[arg(short, long, global = true, action = clap::ArgAction::Count, conflicts_with = "quiet", help_heading = "General")]
    pub verbose: u8,

    /// Tells nothing on standard error but errors
    #[arg(short, long, global = true, help_heading = "General")]
    pub quiet: bool,
}

/// How progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum ProgressMode {
    /// Bars on a terminal, plain lines elsewhere.
    #[default]
    Auto,
    /// A line every few seconds.
    Plain,
    /// Nothing.
    None,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Count the triangles of a graph
    #[command(after_help = help::COUNT)]
    Count(CountCommand),
    /// Run the jobs of a TOML file
    #[command(after_help = help::RUN)]
    Run(RunCommand),
    /// Tell what each partition will take and whether it fits; counts nothing
    #[command(after_help = help::PLAN)]
    Plan(PlanCommand),
    /// Cut a graph into partitions and leave them on disk; counts nothing
    #[command(after_help = help::PARTITION)]
    Partition(PartitionCommand),
    /// Show what a spilled partition holds, or all of a directory
    #[command(after_help = help::INSPECT)]
    Inspect(InspectCommand),
    /// Count with the slow independent counter, to check the fast ones
    #[command(after_help = help::VERIFY)]
    Verify(VerifyCommand),
    /// Make a graph of any size, with its known counts where there are any
    #[command(after_help = help::GENERATE)]
    Generate(GenerateCommand),
    /// Show what this machine has and what a job would be given
    #[command(after_help = help::DOCTOR)]
    Doctor(DoctorCommand),
    /// List or remove prepared graphs
    #[command(subcommand, after_help = help::CACHE)]
    Cache(CacheCommand),
    /// Print completions for a shell
    #[command(after_help = help::COMPLETIONS)]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page, of trimill or of one command
    Man {
        /// The command; without it the page of trimill itself
        command: Option<String>,
    },
    /// Print the JSON schema of job files
    Schema,
    /// Partition with METIS; trimill starts this itself
    #[command(hide = true, disable_help_flag = true)]
    MetisChild {
        /// What the parent says
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
}

/// `trimill count`
#[derive(Debug, Args)]
pub struct CountCommand {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub job: JobArgs,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub spill: SpillArgs,

    /// Also write result.json and partitions.tsv into DIR, which is made where it is missing
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub output: Option<PathBuf>,

    /// Print one JSON object instead of tables
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// `trimill plan`
#[derive(Debug, Args)]
pub struct PlanCommand {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub job: JobArgs,

    /// Print one JSON object instead of tables
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// `trimill partition`
#[derive(Debug, Args)]
pub struct PartitionCommand {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub job: JobArgs,

    /// The directory that receives the partitions and their manifest
    #[arg(long, value_name = "DIR", required = true, help_heading = "Spill")]
    pub spill_dir: PathBuf,

    /// Print one JSON object instead of tables
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// `trimill verify`
#[derive(Debug, Args)]
pub struct VerifyCommand {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub input: InputArgs,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub host: HostArgs,

    /// Print one JSON object instead of text
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// `trimill run`
#[derive(Debug, Args)]
pub struct RunCommand {
    /// The job file
    #[arg(value_name = "JOB.toml")]
    pub file: PathBuf,

    /// Check everything, input files too, and print what would run; runs nothing
    #[arg(long)]
    pub check: bool,

    /// Change a setting of all jobs (partition.parts=8) or of one (job.NAME.partition.parts=8); may be repeated, the
    /// last one wins
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,

    /// Run only the job called NAME; may be repeated
    #[arg(long, value_name = "NAME")]
    pub only: Vec<String>,

    /// Print one JSON object a line, one for each job, instead of tables
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

impl RunCommand {
    /// The `--set`s.
    ///
    /// # Errors
    /// [`crate::error::Kind::Usage`] for one that is wrong.
    pub fn overrides(&self) -> crate::error::Result<Vec<Override>> {
        self.set.iter().map(|typed| Override::parse(typed)).collect()
    }
}

/// `trimill inspect`
#[derive(Debug, Args)]
pub struct InspectCommand {
    /// A spilled partition, or a directory with a manifest
    pub spill: PathBuf,

    /// Decode everything and compare every checksum
    #[arg(long)]
    pub verify: bool,

    /// Print one JSON object instead of tables
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// `trimill doctor`
#[derive(Debug, Args)]
pub struct DoctorCommand {
    /// The directory that a job would work in
    #[arg(long, value_name = "DIR")]
    pub work_dir: Option<PathBuf>,

    /// The directory of the cache
    #[arg(long, value_name = "DIR")]
    pub cache_dir: Option<PathBuf>,

    /// Print one JSON object instead of text
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// `trimill cache`
#[derive(Debug, Subcommand)]
pub enum CacheCommand {
    /// List the prepared graphs
    List {
        #[command(flatten)]
        #[allow(missing_docs)]
        cache: CacheArgs,
    },
    /// Remove some of them
    Remove {
        /// Keys, or files that graphs were made of
        #[arg(value_name = "KEY|INPUT", required_unless_present = "max")]
        which: Vec<String>,

        /// Then remove what was not used for longest until the rest takes at most so much
        #[arg(long, value_name = "BYTES")]
        max: Option<Bytes>,

        #[command(flatten)]
        #[allow(missing_docs)]
        cache: CacheArgs,
    },
    /// Remove all of them
    Clear {
        #[command(flatten)]
        #[allow(missing_docs)]
        cache: CacheArgs,
    },
}

/// What all cache commands understand.
#[derive(Debug, Clone, Args)]
pub struct CacheArgs {
    /// The directory of the cache [default: trimill in the user's cache directory]
    #[arg(long, value_name = "DIR")]
    pub cache_dir: Option<PathBuf>,

    /// Print one JSON object instead of a table
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// What is counted.
#[derive(Debug, Clone, Args)]
pub struct InputArgs {
    /// The graph's file, or several files of one graph; `-` is standard input
    #[arg(value_name = "INPUT", required = true)]
    pub inputs: Vec<PathBuf>,

    /// The format [default: found from content and suffix]
    #[arg(long, value_name = "FORMAT", help_heading = "Input", hide_possible_values = true, long_help = help::FORMAT)]
    pub format: Option<Format>,
}

/// What may be used of the host.
#[derive(Debug, Clone, Default, Args)]
pub struct HostArgs {
    /// The most memory of the host, such as 512MiB or 16GB [default: half of the RAM]
    #[arg(long, value_name = "BYTES", help_heading = "Memory")]
    pub host_memory: Option<Bytes>,

    /// CPU threads [default: all cores]
    #[arg(long, value_name = "N", help_heading = "Count")]
    pub threads: Option<NonZeroUsize>,

    /// The directory for temporary files of the preparation [default: beside the spill]
    #[arg(long, value_name = "DIR", help_heading = "Cache and work")]
    pub work_dir: Option<PathBuf>,

    /// The directory of prepared graphs [default: trimill in the user's cache directory]
    #[arg(long, value_name = "DIR", help_heading = "Cache and work")]
    pub cache_dir: Option<PathBuf>,

    /// The most bytes of the whole cache; what was not used for longest goes first
    #[arg(long, value_name = "BYTES", help_heading = "Cache and work")]
    pub cache_max: Option<Bytes>,

    /// Neither look for a prepared graph nor keep one
    #[arg(long, help_heading = "Cache and work", conflicts_with_all = ["cache_dir", "cache_max"])]
    pub no_cache: bool,
}

/// Where partitions are spilled.
#[derive(Debug, Clone, Args)]
pub struct SpillArgs {
    /// The directory for spilled partitions [default: the system's temporary directory]
    #[arg(long, value_name = "DIR", help_heading = "Spill")]
    pub spill_dir: Option<PathBuf>,

    /// Keep the spilled partitions, for a later count or `trimill inspect`
    #[arg(long, requires = "spill_dir", help_heading = "Spill")]
    pub keep_spill: bool,
}

/// What counting, planning and partitioning have in common.
#[derive(Debug, Clone, Args)]
pub struct JobArgs {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub input: InputArgs,

    /// How vertices are assigned: random | contiguous | contiguous-vertices | metis | file:PATH
    #[arg(long, value_name = "NAME", default_value_t, help_heading = "Partition", long_help = help::PARTITIONER)]
    pub partitioner: Partitioner,

    /// The number of partitions, or `auto`: as few as fit
    #[arg(long, value_name = "N|auto", default_value_t, help_heading = "Partition")]
    pub parts: Parts,

    /// The seed of the partitioners that draw
    #[arg(long, value_name = "SEED", default_value_t = 1, help_heading = "Partition")]
    pub seed: u64,

    /// What is dropped from a partition: none | zero-indegree | direct
    #[arg(
        long,
        value_name = "LEVEL",
        value_enum,
        default_value_t,
        hide_possible_values = true,
        help_heading = "Partition",
        long_help = help::PRUNE
    )]
    pub prune: Prune,

    /// Join runs of K consecutive vertices before METIS sees the graph; for graphs above its limits
    #[arg(long, value_name = "K", help_heading = "Partition")]
    pub metis_contract: Option<NonZeroU32>,

    /// The most memory of the device, such as 512MiB or 16GB [default: 90% of what is free on a GPU, half of the host
    /// memory on the CPU]
    #[arg(long, value_name = "BYTES", help_heading = "Memory")]
    pub device_memory: Option<Bytes>,

    /// The most bytes of a frame [default: the planner's choice]
    #[arg(long, value_name = "BYTES", help_heading = "Memory")]
    pub frame_bytes: Option<Bytes>,

    /// What counts: auto | cpu | cuda; auto is a GPU where there is one
    #[arg(long, value_name = "NAME", value_enum, default_value_t, hide_possible_values = true, help_heading = "Count")]
    pub backend: Backend,

    /// The counting method; `bitmap` on the CPU [default: the backend's own choice]
    #[arg(long, value_name = "NAME", help_heading = "Count")]
    pub method: Option<String>,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub host: HostArgs,
}

impl InputArgs {
    /// The same as a job's table.
    pub fn table(&self) -> InputTable {
        InputTable { path: None, paths: Some(self.inputs.clone()), format: self.format }
    }
}

impl HostArgs {
    /// Puts the host's flags where a job file has them.
    pub fn fill(&self, tables: &mut Tables) {
        tables.memory.host = self.host_memory;
        tables.count.threads = self.threads;
        tables.work = WorkTable { dir: self.work_dir.clone() };
        tables.cache = CacheTable { enabled: Some(!self.no_cache), dir: self.cache_dir.clone(), max: self.cache_max };
    }
}

impl JobArgs {
    /// The same as a job's tables; spill and output stay as they are by default.
    pub fn tables(&self) -> Tables {
        let mut tables = Tables {
            input: self.input.table(),
            partition: PartitionTable {
                partitioner: Some(self.partitioner.clone()),
                parts: Some(self.parts),
                seed: Some(self.seed),
                prune: Some(self.prune),
                metis: MetisTable { contract: self.metis_contract },
            },
            memory: MemoryTable { device: self.device_memory, host: None, frame: self.frame_bytes },
            count: CountTable { backend: Some(self.backend), method: self.method.clone(), threads: None },
            ..Tables::default()
        };
        self.host.fill(&mut tables);
        tables
    }
}

impl CountCommand {
    /// The same as a job's tables.
    pub fn tables(&self) -> Tables {
        Tables {
            spill: SpillTable { dir: self.spill.spill_dir.clone(), keep: Some(self.spill.keep_spill) },
            output: OutputTable { dir: self.output.clone() },
            ..self.job.tables()
        }
    }
}

impl PartitionCommand {
    /// The same as a job's tables; the spill is kept.
    pub fn tables(&self) -> Tables {
        Tables { spill: SpillTable { dir: Some(self.spill_dir.clone()), keep: Some(true) }, ..self.job.tables() }
    }
}

impl VerifyCommand {
    /// The same as a job's tables.
    pub fn tables(&self) -> Tables {
        let mut tables = Tables { input: self.input.table(), ..Tables::default() };
        self.host.fill(&mut tables);
        tables
    }
}
