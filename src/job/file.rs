//! A job as typed: tables whose keys are all optional. Each setting is declared here, once: its key in job files, its flag, its type, and what
//! help, the schema and its documentation say of it. Methods of its table give what it is if nothing was typed.
//!
//! Input: the text of a TOML file, or the flags of a command. Output: [`Tables`], only what was typed; checks come later, in [`super::job`]. An
//! unknown key is an error with line, column and the likely name. Each table is a plain struct, and a variant with settings has a table of its own
//! (`[job.partition.metis]`), since tagged enums lose an error's position. Paths in the JSON for a comparison's children keep all their bytes.

mod cluster;
mod output;

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};

#[cfg(feature = "cli")]
use clap::{ArgAction, Args};
#[cfg(feature = "cli")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::choices::{Backend, Mode, Partitioner, Parts, Prepare};
use super::devices::{Devices, SpillTo};
#[cfg(feature = "cli")]
use super::typed::{self, budget, tile};
use trimill_input::format::Format;
use trimill_input::{ColumnNames, Header, InputSettings};
use trimill_partitioners::partition::prune::Prune;
use trimill_system::integers::whole;
use trimill_system::{Bytes, path_text};

pub use cluster::{ClusterTable, Scheduler};
pub use output::OutputTable;

/// A job file: settings for all jobs, and the jobs.
#[derive(Debug, Clone, Default, Deserialize)]
#[cfg_attr(feature = "cli", derive(JsonSchema))]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "cli", schemars(title = "trimill job file"))]
pub struct JobFile {
    /// Settings of all jobs; each job overrides them key by key.
    pub defaults: Tables,
    /// The jobs, in the order in which they run.
    pub job: Vec<JobEntry>,
}

/// The tables of a job, or of `[defaults]`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(Args, JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Tables {
    /// What is counted.
    #[cfg_attr(feature = "cli", command(flatten))]
    pub input: InputTable,
    /// How the graph is cut.
    #[cfg_attr(feature = "cli", command(flatten))]
    pub partition: PartitionTable,
    /// What may be used of memory.
    #[cfg_attr(feature = "cli", command(flatten))]
    pub memory: MemoryTable,
    /// Where the partitions are spilled.
    #[cfg_attr(feature = "cli", command(flatten))]
    pub spill: SpillTable,
    /// What counts.
    #[cfg_attr(feature = "cli", command(flatten))]
    pub count: CountTable,
    /// Where the results go.
    #[cfg_attr(feature = "cli", command(flatten))]
    pub output: OutputTable,
    /// Where prepared graphs are kept for the next job on the same input.
    #[cfg_attr(feature = "cli", command(flatten))]
    pub cache: CacheTable,
    /// The directory of temporary files, and what prepares the graph.
    #[cfg_attr(feature = "cli", command(flatten))]
    pub work: WorkTable,
    /// Where the job is resumed.
    #[cfg_attr(feature = "cli", command(flatten))]
    pub run: RunTable,
    /// The cluster that counts the job.
    #[cfg_attr(feature = "cli", arg(skip))]
    pub cluster: ClusterTable,
}

impl Tables {
    /// The mode; none: the one that is estimated to be faster.
    pub fn mode(&self) -> Option<Mode> {
        match self.partition.partitioner() {
            Partitioner::Rank => Some(Mode::InPlace),
            Partitioner::Auto if self.partition.prune.is_none() && !self.spill.keep() => None,
            _ => Some(Mode::Spilled),
        }
    }
}

/// One job: the tables, and a name.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "cli", derive(JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct JobEntry {
    /// The job's name, for `--only`, `--set job.NAME...` and the results; `job-1`, `job-2`, ... where it is missing.
    #[cfg_attr(feature = "cli", schemars(regex(pattern = r"\S")))]
    pub name: Option<String>,
    /// What is counted.
    pub input: InputTable,
    /// How the graph is cut.
    pub partition: PartitionTable,
    /// What may be used of memory.
    pub memory: MemoryTable,
    /// Where the partitions are spilled.
    pub spill: SpillTable,
    /// What counts.
    pub count: CountTable,
    /// Where the results go.
    pub output: OutputTable,
    /// Where prepared graphs are kept for the next job on the same input.
    pub cache: CacheTable,
    /// The directory of temporary files, and what prepares the graph.
    pub work: WorkTable,
    /// Where the job is resumed.
    pub run: RunTable,
    /// The cluster that counts the job.
    pub cluster: ClusterTable,
}

/// `[job.input]`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(Args, JsonSchema))]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "cli", command(next_help_heading = "Input"))]
pub struct InputTable {
    /// The file, or a directory or pattern of several files; `-` is standard input; a URL where it is built with `remote`.
    #[cfg_attr(feature = "cli", schemars(length(min = 1), with = "Option<PathBuf>"))]
    #[serde(with = "path_text::optional")]
    #[cfg_attr(feature = "cli", arg(skip))]
    pub path: Option<PathBuf>,
    /// Several files of one graph, instead of `path`.
    #[cfg_attr(feature = "cli", schemars(length(min = 1), inner(length(min = 1))))]
    #[cfg_attr(feature = "cli", arg(skip))]
    pub paths: Option<Vec<PathBuf>>,
    /// The format [default: found from content and suffix]
    #[cfg_attr(feature = "cli", arg(long, value_name = "FORMAT", hide_possible_values = true, long_help = typed::FORMAT))]
    pub format: Option<Format>,
    /// Whether the first line of an edge list is a header: yes | no [default: found from content]
    #[cfg_attr(feature = "cli", arg(long, value_name = "yes|no", hide_possible_values = true, long_help = typed::HEADER))]
    pub header: Option<Header>,
    /// The names of the two columns of a Parquet or Arrow file that hold the ends of edges [default: the first two columns]
    #[cfg_attr(feature = "cli", arg(long, value_name = "TAIL,HEAD"))]
    pub columns: Option<ColumnNames>,
    /// The ids of an edge list, or of a Parquet or Arrow file, are names: any text, and vertices are in the order of its bytes
    #[cfg_attr(feature = "cli", arg(long, action = ArgAction::SetTrue))]
    pub names: Option<bool>,
    /// Ask the metadata service of the cloud that this machine is in for the credentials of s3:// inputs
    #[cfg_attr(feature = "cli", arg(long, action = ArgAction::SetTrue))]
    pub cloud_credentials: Option<bool>,
}

impl InputTable {
    /// Whether the ids of edge lists are names.
    pub fn names(&self) -> bool {
        self.names.unwrap_or_default()
    }

    /// What the user says about the files.
    pub fn reading(&self) -> InputSettings {
        InputSettings {
            format: self.format,
            header: self.header,
            columns: self.columns.clone(),
            names: self.names(),
            cloud_credentials: self.cloud_credentials.unwrap_or_default(),
        }
    }
}

/// `[job.partition]`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(Args, JsonSchema))]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "cli", command(next_help_heading = "Partition"))]
pub struct PartitionTable {
    /// How vertices are assigned: auto | rank | random | contiguous | contiguous-vertices | metis | file:PATH [default: auto]
    #[cfg_attr(feature = "cli", arg(long, value_name = "NAME", long_help = typed::PARTITIONER))]
    pub partitioner: Option<Partitioner>,
    /// The number of partitions, or `auto`: as few as fit [default: auto]
    #[cfg_attr(feature = "cli", arg(long, value_name = "N|auto"))]
    pub parts: Option<Parts>,
    /// The seed of partitioners that draw at random [default: 1]
    // TOML has no larger numbers: neither a job file nor the settings of a report could hold them.
    #[cfg_attr(feature = "cli", schemars(range(max = i64::MAX)))]
    #[serde(deserialize_with = "whole")]
    #[cfg_attr(feature = "cli", arg(long, value_name = "SEED", value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64)))]
    pub seed: Option<u64>,
    /// What is dropped from a partition before it is spilled: none | zero-indegree | direct [default: direct]
    #[cfg_attr(feature = "cli", arg(long, value_name = "LEVEL", hide_possible_values = true, long_help = typed::PRUNE))]
    pub prune: Option<Prune>,
    /// Settings that only the METIS partitioner has.
    #[cfg_attr(feature = "cli", command(flatten))]
    pub metis: MetisTable,
}

impl PartitionTable {
    /// How vertices are assigned.
    pub fn partitioner(&self) -> &Partitioner {
        self.partitioner.as_ref().unwrap_or(&Partitioner::Auto)
    }

    /// The number of partitions.
    pub fn parts(&self) -> Parts {
        self.parts.unwrap_or_default()
    }

    /// The seed of what is drawn at random.
    pub fn seed(&self) -> u64 {
        self.seed.unwrap_or(1)
    }

    /// What is dropped from a partition before it is spilled.
    pub fn prune(&self) -> Prune {
        self.prune.unwrap_or_default()
    }
}

/// `[job.partition.metis]`; for the METIS partitioner alone.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(Args, JsonSchema))]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "cli", command(next_help_heading = "Partition"))]
pub struct MetisTable {
    /// Join runs of K consecutive vertices before METIS sees the graph; for graphs above its limits
    #[cfg_attr(feature = "cli", schemars(range(max = 4_294_967_295_u32)))]
    #[serde(deserialize_with = "whole")]
    #[cfg_attr(feature = "cli", arg(id = "metis_contract", long = "metis-contract", value_name = "K", value_parser = typed::from_one::<NonZeroU32>))]
    pub contract: Option<NonZeroU32>,
}

/// `[job.memory]`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(Args, JsonSchema))]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "cli", command(next_help_heading = "Memory"))]
pub struct MemoryTable {
    /// The most memory of the device, such as 512MiB or 16GB [default: on a GPU what the input can need, at most 90% of
    /// what is free; on the CPU half of what the host's budget leaves]
    #[cfg_attr(feature = "cli", schemars(schema_with = "budget"))]
    #[cfg_attr(feature = "cli", arg(id = "device_memory", long = "device-memory", value_name = "BYTES"))]
    pub device: Option<Bytes>,
    /// The most memory of the host, such as 512MiB or 16GB [default: half of the RAM, or of the limit of the process's control groups]
    #[cfg_attr(feature = "cli", schemars(schema_with = "budget"))]
    #[cfg_attr(feature = "cli", arg(id = "host_memory", long = "host-memory", value_name = "BYTES"))]
    pub host: Option<Bytes>,
    /// The most bytes of a row block [default: the planner's choice]
    #[cfg_attr(feature = "cli", schemars(schema_with = "budget"))]
    #[cfg_attr(feature = "cli", arg(id = "block_bytes", long = "block-bytes", value_name = "BYTES"))]
    pub block: Option<Bytes>,
}

/// `[job.spill]`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(Args, JsonSchema))]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "cli", command(next_help_heading = "Spill"))]
pub struct SpillTable {
    /// Where partitions wait until they are counted: disk | memory; what does not fit in memory goes to disk [default: disk]
    #[cfg_attr(feature = "cli", arg(id = "spill", long = "spill", value_name = "PLACE", hide_possible_values = true))]
    pub to: Option<SpillTo>,
    /// The directory for spilled partitions [default: the system's temporary directory]
    #[cfg_attr(feature = "cli", schemars(length(min = 1), with = "Option<PathBuf>"))]
    #[serde(with = "path_text::optional")]
    #[cfg_attr(feature = "cli", arg(id = "spill_dir", long = "spill-dir", value_name = "DIR"))]
    pub dir: Option<PathBuf>,
    /// Keep the spilled partitions; `trimill inspect` looks at them
    #[cfg_attr(feature = "cli", arg(id = "keep_spill", long = "keep-spill", action = ArgAction::SetTrue, requires = "spill_dir", group = "files"))]
    pub keep: Option<bool>,
}

impl SpillTable {
    /// Where partitions wait.
    pub fn to(&self) -> SpillTo {
        self.to.unwrap_or_default()
    }

    /// Whether they are kept.
    pub fn keep(&self) -> bool {
        self.keep.unwrap_or_default()
    }

    /// The directory where they are kept.
    pub fn kept(&self) -> Option<&Path> {
        self.dir.as_deref().filter(|_| self.keep())
    }
}

/// `[job.count]`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(Args, JsonSchema))]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "cli", command(next_help_heading = "Count"))]
pub struct CountTable {
    /// What counts: auto | cpu | cuda; auto is a GPU where there is one [default: auto]
    #[cfg_attr(feature = "cli", arg(long, value_name = "NAME", hide_possible_values = true))]
    pub backend: Option<Backend>,
    /// The GPUs that count: `all`, or their numbers from 0 on [default: the driver's first]
    #[cfg_attr(feature = "cli", arg(long, value_name = "all|N,N"))]
    pub devices: Option<Devices>,
    /// A counting method of docs/methods.md [default: auto]
    #[cfg_attr(feature = "cli", arg(long, value_name = "NAME"))]
    pub method: Option<String>,
    /// Threads of a block on a GPU, a multiple of 32 up to 1024 [default: the method's, 128 for lstc]
    #[cfg_attr(feature = "cli", schemars(range(min = 32, max = 1024), extend("multipleOf" = 32)))]
    #[serde(deserialize_with = "whole")]
    #[cfg_attr(feature = "cli", arg(long, value_name = "N"))]
    pub block_threads: Option<u32>,
    /// Entries of a row that lstc keeps in shared memory: 64 to 1024, or 0 for none [default: 128]
    #[cfg_attr(feature = "cli", schemars(schema_with = "tile"))]
    #[serde(deserialize_with = "whole")]
    #[cfg_attr(feature = "cli", arg(long, value_name = "N"))]
    pub tile: Option<u32>,
    /// Seconds without an answer after which a GPU is abandoned [default: 600]
    #[cfg_attr(feature = "cli", schemars(range(min = 1, max = 4_294_967_295_u32)))]
    #[serde(deserialize_with = "whole")]
    #[cfg_attr(feature = "cli", arg(long, value_name = "SECONDS", value_parser = typed::from_one::<NonZeroU32>))]
    pub device_timeout: Option<NonZeroU32>,
    /// CPU threads [default: all cores]
    #[serde(deserialize_with = "whole")]
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", value_parser = typed::from_one::<NonZeroUsize>))]
    pub threads: Option<NonZeroUsize>,
}

impl CountTable {
    /// What counts.
    pub fn backend(&self) -> Backend {
        self.backend.unwrap_or_default()
    }
}

/// `[job.cache]`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(Args, JsonSchema))]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "cli", command(next_help_heading = "Cache and work"))]
pub struct CacheTable {
    /// Whether a prepared graph is looked for and kept [default: true]
    #[cfg_attr(feature = "cli", arg(id = "no_cache", long = "no-cache", action = ArgAction::SetFalse, help = "Neither look for a prepared graph nor keep one", conflicts_with_all = ["cache_dir", "cache_max"]))]
    pub enabled: Option<bool>,
    /// The directory of prepared graphs [default: trimill in the user's cache directory]
    #[cfg_attr(feature = "cli", schemars(length(min = 1), with = "Option<PathBuf>"))]
    #[serde(with = "path_text::optional")]
    #[cfg_attr(feature = "cli", arg(id = "cache_dir", long = "cache-dir", value_name = "DIR"))]
    pub dir: Option<PathBuf>,
    /// The most bytes of the whole cache; the least recently used graphs go first
    #[cfg_attr(feature = "cli", arg(id = "cache_max", long = "cache-max", value_name = "BYTES"))]
    pub max: Option<Bytes>,
}

impl CacheTable {
    /// Whether a prepared graph is looked for and kept.
    pub fn enabled(&self) -> bool {
        self.enabled.unwrap_or(true)
    }
}

/// `[job.work]`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(Args, JsonSchema))]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "cli", command(next_help_heading = "Cache and work"))]
pub struct WorkTable {
    /// The directory for temporary files while the graph is prepared [default: that of spilled partitions]
    #[cfg_attr(feature = "cli", schemars(length(min = 1), with = "Option<PathBuf>"))]
    #[serde(with = "path_text::optional")]
    #[cfg_attr(feature = "cli", arg(id = "work_dir", long = "work-dir", value_name = "DIR"))]
    pub dir: Option<PathBuf>,
    /// What prepares the graph: auto | cpu | gpu; auto is the GPU that counts, if the input is large [default: auto]
    #[cfg_attr(feature = "cli", arg(long, value_name = "NAME", hide_possible_values = true))]
    pub prepare: Option<Prepare>,
}

impl WorkTable {
    /// What prepares the graph.
    pub fn prepare(&self) -> Prepare {
        self.prepare.unwrap_or_default()
    }
}

/// `[job.run]`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(Args, JsonSchema))]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "cli", command(next_help_heading = "Resume"))]
pub struct RunTable {
    /// Keep finished work in DIR, so that the same command goes on where it stopped, however it ended
    #[cfg_attr(feature = "cli", schemars(length(min = 1), with = "Option<PathBuf>"))]
    #[serde(with = "path_text::optional")]
    #[cfg_attr(feature = "cli", arg(id = "run_dir", long = "run-dir", value_name = "DIR"))]
    pub dir: Option<PathBuf>,
}
