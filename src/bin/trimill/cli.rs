//! The command line as typed. A job's flags become [`Tables`], like a job file's settings; [`trimill::program::Job::resolve`] makes a job of either.

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;

use clap::{ArgMatches, Args, Parser, Subcommand, ValueEnum};

use args::{usual, without};
use count::{NOT_OF_PARTITION, NOT_OF_PLAN, NOT_OF_TRUSS, NOT_OF_VERIFY, files};
use trimill::program::{Failure, Tables, html, json};
use trimill::{Bytes, Result};

mod args;
mod bench;
mod cluster;
mod count;
mod generate;
pub(crate) mod help;

pub(crate) use args::AnswerArgs;
pub(crate) use bench::BenchCommand;
pub(crate) use cluster::{ClusterCommand, MergeCommand, PrepareCommand};
pub(crate) use count::{CountCommand, GraphJobArgs};
pub(crate) use generate::GenerateCommand;

/// Counts triangles exactly in graphs bigger than GPU memory.
///
/// It cuts the graph into partitions and counts them one by one in a fixed amount of memory, reading the rest from disk
/// as it goes. Without a GPU, the CPU does the same.
#[derive(Debug, Parser)]
#[command(name = "trimill", version, max_term_width = 110, after_help = help::FIRST, after_long_help = help::TRIMILL, propagate_version = false)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,

    /// What all commands understand.
    #[command(flatten)]
    pub(crate) global: Global,
}

/// Flags that all commands understand.
#[derive(Debug, Clone, Args)]
pub(crate) struct Global {
    /// How progress is shown on standard error: a bar on a terminal and plain lines elsewhere, always plain lines, or
    /// nothing
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t,
        value_name = "HOW",
        hide_short_help = true,
        help_heading = "General"
    )]
    pub(crate) progress: ProgressMode,

    /// Say more on standard error; given twice, say everything
    #[arg(short, long, global = true, action = clap::ArgAction::Count, conflicts_with = "quiet", help_heading = "General")]
    pub(crate) verbose: u8,

    /// Say nothing on standard error but errors
    #[arg(short, long, global = true, help_heading = "General")]
    pub(crate) quiet: bool,
}

/// How progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum ProgressMode {
    /// A bar on a terminal, plain lines elsewhere.
    #[default]
    Auto,
    /// A line every few seconds.
    Plain,
    /// Nothing.
    None,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Count the triangles of a graph
    #[command(after_help = help::MORE, after_long_help = help::COUNT)]
    Count(CountCommand),
    /// Find the trussness of each edge of a graph, and the sizes of its trusses
    #[command(after_help = help::MORE, after_long_help = help::TRUSS)]
    #[command(group(files()), mut_args(|arg| usual(without(arg, NOT_OF_TRUSS), &["k", "by_k"])))]
    #[command(mut_arg("per_edge", |file| {
        file.help("Write the ids and the trussness of each edge: .tsv, .csv (or with .gz, .zst), .parquet, or `-`")
            .long_help(help::TRUSS_PER_EDGE)
    }))]
    Truss(GraphJobArgs),
    /// Run the jobs of a TOML file
    #[command(after_help = help::RUN)]
    Run(RunCommand),
    /// Prepare a graph once, so that several processes or nodes can count shares of it
    #[command(after_help = help::MORE, after_long_help = help::PREPARE)]
    Prepare(PrepareCommand),
    /// Add what the shards of a prepared job have counted
    #[command(after_help = help::MERGE)]
    Merge(MergeCommand),
    /// Write scripts that have a prepared job counted by Slurm or HyperQueue
    #[command(subcommand, after_help = help::CLUSTER)]
    Cluster(ClusterCommand),
    /// Predict what each partition takes and whether it fits; counts nothing
    #[command(after_help = help::MORE, after_long_help = help::PLAN)]
    #[command(group(files()), mut_args(|arg| usual(without(arg, NOT_OF_PLAN), &["parts"])))]
    #[command(mut_arg("details", |all| {
        all.help("Also print the partitions, the least host memory of each stage, and other numbers of parts")
    }))]
    Plan(GraphJobArgs),
    /// Cut a graph into partitions and keep them on disk; counts nothing
    #[command(after_help = help::MORE, after_long_help = help::PARTITION)]
    #[command(group(files()), mut_args(|arg| usual(without(arg, NOT_OF_PARTITION), &["parts"])))]
    #[command(mut_arg("spill_dir", |dir| {
        dir.required(true).group("files").help("The directory that receives the partitions and their manifest")
    }))]
    #[command(mut_arg("force", |force| force.help("Replace files that are there under the names of partitions")))]
    #[command(mut_arg("details", |all| all.help("Also print the tables of partitions and stages")))]
    Partition(GraphJobArgs),
    /// Show what a spilled partition holds, or all of a directory
    #[command(after_help = help::INSPECT)]
    Inspect(InspectCommand),
    /// Count with the slow independent counter, to check the fast ones
    #[command(after_help = help::MORE, after_long_help = help::VERIFY)]
    #[command(group(files()), mut_args(|arg| usual(without(arg, NOT_OF_VERIFY), &[])))]
    #[command(mut_arg("force", |force| force.help("Replace files of vertices and edges that are there already")))]
    Verify(GraphJobArgs),
    /// Compare counting methods on graphs: times, rates, memory, and whether the counts agree
    #[command(after_help = help::MORE, after_long_help = help::BENCH)]
    Bench(BenchCommand),
    /// Make a graph of any size, with its known counts where there are any
    #[command(after_help = help::GENERATE)]
    Generate(GenerateCommand),
    /// Show what this machine has and the defaults of a job
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
        /// The command, such as count or generate gap-kron; without it the page of trimill itself
        command: Vec<String>,
    },
    /// Print the JSON schema of job files
    Schema,
    /// Count the jobs on standard input, one a line; trimill bench starts this itself
    #[command(hide = true, disable_help_flag = true)]
    BenchChild,
    /// Partition with METIS; trimill starts this itself
    #[command(hide = true, disable_help_flag = true)]
    MetisChild {
        /// The arguments from the parent
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
}

/// `trimill run`
#[derive(Debug, Args)]
#[command(mut_arg("json", |json| json.help("Print one JSON object a line, one for each job, instead of text")))]
pub(crate) struct RunCommand {
    /// The job file
    #[arg(value_name = "JOB.toml")]
    pub(crate) file: PathBuf,

    /// Check everything, input files too, and print what would run; runs nothing
    #[arg(long)]
    pub(crate) check: bool,

    /// Change a setting of all jobs (partition.parts=8) or of one (job.NAME.partition.parts=8); may be repeated, and
    /// the last one wins
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,

    /// Run only the job called NAME; may be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) only: Vec<String>,

    /// Also write a report: one HTML page that needs no other file; an earlier report is replaced
    #[arg(long, value_name = "FILE.html", value_parser = html, help_heading = "Output")]
    pub(crate) report: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) answer: AnswerArgs,
}

/// `trimill inspect`
#[derive(Debug, Args)]
pub(crate) struct InspectCommand {
    /// A spilled partition, or a directory with a manifest
    pub(crate) spill: PathBuf,

    /// Decode everything and compare every checksum
    #[arg(long)]
    pub(crate) verify: bool,

    /// Print one JSON object instead of tables
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// `trimill doctor`
#[derive(Debug, Args)]
pub(crate) struct DoctorCommand {
    /// The directory that a job would work in
    #[arg(long, value_name = "DIR")]
    pub(crate) work_dir: Option<PathBuf>,

    /// The directory of the cache
    #[arg(long, value_name = "DIR")]
    pub(crate) cache_dir: Option<PathBuf>,

    /// Measure how fast this machine is, for about half a minute, and store the rates in the cache directory: `auto` then uses them
    #[arg(long)]
    pub(crate) measure: bool,

    /// Print one JSON object instead of text
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// `trimill cache`
#[derive(Debug, Subcommand)]
pub(crate) enum CacheCommand {
    /// List the prepared graphs
    List(CacheArgs),
    /// Remove some of them
    Remove {
        /// Keys, or files that graphs were made of; needed unless there is --max
        #[arg(value_name = "KEY|INPUT", required_unless_present = "max")]
        which: Vec<OsString>,

        /// Then remove the least recently used graphs until the others take at most this much
        #[arg(long, value_name = "BYTES")]
        max: Option<Bytes>,

        #[command(flatten)]
        cache: CacheArgs,
    },
    /// Remove all of them
    Clear(CacheArgs),
}

/// What all cache commands understand.
#[derive(Debug, Clone, Args)]
pub(crate) struct CacheArgs {
    /// The directory of the cache [default: trimill in the user's cache directory]
    #[arg(long, value_name = "DIR")]
    pub(crate) cache_dir: Option<PathBuf>,

    /// Print one JSON object instead of a table
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// Where a failure is a JSON object, as the answer would be: on standard error if a table of counts takes standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JsonTo {
    Nowhere,
    Output,
    Error,
}

impl JsonTo {
    pub(crate) fn of(typed: &ArgMatches) -> Self {
        if let Some((_, command)) = typed.subcommand() {
            return Self::of(command);
        }
        let mut files = typed.try_get_many::<clap::Id>("files").ok().flatten().into_iter().flatten();
        let values = |id: &clap::Id| typed.try_get_raw(id.as_str()).ok().flatten().into_iter().flatten();
        let as_json = matches!(typed.try_get_one("json"), Ok(Some(true)));
        Self::new(as_json, files.any(|id| values(id).any(|value| value == "-")))
    }

    /// Of a refused command line, whose words are all that is known.
    pub(crate) fn of_words(words: &[OsString]) -> Self {
        let has = |word: &str| words.iter().any(|typed| typed == word);
        let table = Tables::default().output.counts_mut().into_iter().any(|file| {
            let option = format!("--{}", file.key.replace('_', "-"));
            has(&format!("{option}=-")) || words.windows(2).any(|pair| pair[0] == *option && pair[1] == "-")
        });
        Self::new(has("--json"), table)
    }

    /// `table`: whether a table of counts takes standard output.
    pub(crate) fn new(as_json: bool, table: bool) -> Self {
        match (as_json, table) {
            (false, _) => Self::Nowhere,
            (true, false) => Self::Output,
            (true, true) => Self::Error,
        }
    }

    pub(crate) fn write(self, failure: &Failure, out: &mut dyn Write, err: &mut dyn Write) -> Result<()> {
        match self {
            Self::Nowhere => Ok(()),
            Self::Output => json::write_line(out, failure),
            Self::Error => json::write_line(err, failure),
        }
    }
}
