//! A job as typed: tables whose keys are all optional.
//!
//! Input: the text of a TOML file, or the flags of a command. Output: [`Tables`], which hold only what was typed;
//! defaults and checks come later, in [`super::job`]. An unknown key is an error with its line, column and the likely
//! name. Every table is a plain struct, and a variant with settings of its own has its own table
//! (`[job.partition.metis]`), because tagged enums lose the position of an error. Paths that a comparison hands to its children as
//! JSON keep all their bytes.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::choices::{Backend, Partitioner, Parts, Prepare};
use super::devices::{Devices, SpillTo};
use super::limits::{budget, tile};
use super::suggest;
use crate::cluster::Scheduler;
use crate::partition::prune::Prune;
use crate::shards::MOST_SHARDS;
use trimill_input::format::Format;
use trimill_input::{ColumnNames, Header};
use trimill_system::bytes::Bytes;
use trimill_system::error::{Error, Result};
use trimill_system::path_text;
use trimill_system::whole::whole;

/// A job file: settings for all jobs, and the jobs.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(title = "trimill job file")]
pub struct JobFile {
    /// Settings of all jobs; each job overrides them key by key.
    pub defaults: Tables,
    /// The jobs, in the order in which they run.
    pub job: Vec<JobEntry>,
}

/// The tables of a job, or of `[defaults]`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Tables {
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

/// One job: the tables, and a name.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct JobEntry {
    /// The job's name, for `--only`, `--set job.NAME...` and the results; `job-1`, `job-2`, ... where it is missing.
    #[schemars(regex(pattern = r"\S"))]
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
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct InputTable {
    /// The file; `-` is standard input.
    #[schemars(length(min = 1), with = "Option<PathBuf>")]
    #[serde(with = "path_text::optional")]
    pub path: Option<PathBuf>,
    /// Several files of one graph, instead of `path`.
    #[schemars(length(min = 1), inner(length(min = 1)))]
    pub paths: Option<Vec<PathBuf>>,
    /// The format; found from content and suffix where it is missing.
    pub format: Option<Format>,
    /// Whether the first line of each edge list is a header; found from the content where it is missing.
    pub header: Option<Header>,
    /// The columns with the ends of edges, such as `["src", "dst"]`, in a Parquet file; the first two where they are not named.
    pub columns: Option<ColumnNames>,
}

/// `[job.partition]`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PartitionTable {
    /// The partitioner; default `auto`.
    pub partitioner: Option<Partitioner>,
    /// The number of partitions; default `auto`.
    pub parts: Option<Parts>,
    /// The seed of `random` and `metis`; default 1.
    #[serde(deserialize_with = "whole")]
    pub seed: Option<u64>,
    /// The prune level; default `direct`. Named, partitions are spilled.
    pub prune: Option<Prune>,
    /// Settings that only the METIS partitioner has.
    pub metis: MetisTable,
}

/// `[job.partition.metis]`; for the METIS partitioner alone.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MetisTable {
    /// Joins runs of so many consecutive vertices before METIS sees the graph.
    #[schemars(range(max = 4_294_967_295_u32))]
    #[serde(deserialize_with = "whole")]
    pub contract: Option<NonZeroU32>,
}

/// `[job.memory]`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MemoryTable {
    /// The budget on the device; default on a GPU what the input can need, at most 90% of what is free; on the CPU half of the host budget.
    #[schemars(schema_with = "budget")]
    pub device: Option<Bytes>,
    /// The budget of the host; default half of the RAM.
    #[schemars(schema_with = "budget")]
    pub host: Option<Bytes>,
    /// The most bytes of a row block; default: the planner's choice.
    #[schemars(schema_with = "budget")]
    pub block: Option<Bytes>,
}

/// `[job.spill]`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SpillTable {
    /// Where partitions wait until they are counted; default `disk`.
    pub to: Option<SpillTo>,
    /// The directory for spilled partitions; default: the system's temporary directory.
    #[schemars(length(min = 1), with = "Option<PathBuf>")]
    #[serde(with = "path_text::optional")]
    pub dir: Option<PathBuf>,
    /// Keep the spilled partitions; default false.
    pub keep: Option<bool>,
}

/// `[job.count]`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CountTable {
    /// The backend; default `auto`.
    pub backend: Option<Backend>,
    /// The GPUs that count, `"all"` or a list of numbers; default: the driver's first.
    pub devices: Option<Devices>,
    /// The counting method of the backend; default: the backend's own choice.
    pub method: Option<String>,
    /// Threads of a block on a GPU: a multiple of 32, up to 1024; default: the method's, 128 for `lstc`.
    #[schemars(range(min = 32, max = 1024), extend("multipleOf" = 32))]
    #[serde(deserialize_with = "whole")]
    pub block_threads: Option<u32>,
    /// Entries of a row that method `lstc` keeps in shared memory at a time: 64 to 1024, or 0 to read rows from device memory;
    /// default 128.
    #[schemars(schema_with = "tile")]
    #[serde(deserialize_with = "whole")]
    pub tile: Option<u32>,
    /// Seconds without an answer after which a GPU is abandoned; default 600.
    #[schemars(range(min = 1, max = 4_294_967_295_u32))]
    #[serde(deserialize_with = "whole")]
    pub device_timeout: Option<NonZeroU32>,
    /// The number of CPU threads; default: all cores.
    #[serde(deserialize_with = "whole")]
    pub threads: Option<NonZeroUsize>,
}

/// `[job.output]`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OutputTable {
    /// The directory that receives `result.json` and `partitions.tsv`; default: none are written.
    #[schemars(length(min = 1))]
    pub dir: Option<PathBuf>,
    /// Replace a result that is in the directory already, and files that are there; default false.
    pub force: Option<bool>,
    /// Count the triangles at each vertex, for averages and quantiles in the result; default: where one of the two files is named.
    pub clustering: Option<bool>,
    /// The file that receives the triangles at each vertex: `.tsv`, `.tsv.gz`, `.tsv.zst`, `.npy` or `.parquet`.
    #[schemars(regex(pattern = r"\.(tsv|tsv\.gz|tsv\.zst|npy|parquet)$"))]
    pub per_vertex: Option<PathBuf>,
    /// The file that receives, for each degree, its vertices, their triangles and their average clustering: `.tsv`, `.tsv.gz` or
    /// `.tsv.zst`.
    #[schemars(regex(pattern = r"\.(tsv|tsv\.gz|tsv\.zst)$"))]
    pub by_degree: Option<PathBuf>,
    /// The file that receives the triangles on each edge: `.tsv`, `.tsv.gz`, `.tsv.zst` or `.parquet`.
    #[schemars(regex(pattern = r"\.(tsv|tsv\.gz|tsv\.zst|parquet)$"))]
    pub per_edge: Option<PathBuf>,
    /// The file that receives a report to look at: one self-contained HTML page.
    #[schemars(regex(pattern = r"\.html$"))]
    pub report: Option<PathBuf>,
    /// The file that receives the timeline of the count in the Trace Event format, for Perfetto.
    #[schemars(regex(pattern = r"\.json$"))]
    pub trace: Option<PathBuf>,
}

/// `[job.cache]`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CacheTable {
    /// Whether the prepared graph is kept and found again; default true.
    pub enabled: Option<bool>,
    /// The cache's directory; default: `trimill` in the user's cache directory.
    #[schemars(length(min = 1), with = "Option<PathBuf>")]
    #[serde(with = "path_text::optional")]
    pub dir: Option<PathBuf>,
    /// The most bytes of the whole cache; what was not used for longest goes first.
    pub max: Option<Bytes>,
}

/// `[job.work]`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WorkTable {
    /// The directory for buckets and graphs while they are prepared; default: beside the spill.
    #[schemars(length(min = 1), with = "Option<PathBuf>")]
    #[serde(with = "path_text::optional")]
    pub dir: Option<PathBuf>,
    /// What prepares the graph; default `auto`.
    pub prepare: Option<Prepare>,
}

/// `[job.run]`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RunTable {
    /// The directory that holds what is done, so that the job goes on there after any end; default: none.
    #[schemars(length(min = 1))]
    pub dir: Option<PathBuf>,
}

/// `[job.cluster]`; the job is then prepared in its run directory, and scripts for the scheduler are written there.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ClusterTable {
    /// The scheduler; default: none, the job is counted at once.
    pub engine: Option<Scheduler>,
    /// How many tasks count; default: one for each partition of the plan.
    #[schemars(range(min = 1, max = MOST_SHARDS))]
    #[serde(deserialize_with = "whole")]
    pub shards: Option<NonZeroU32>,
    /// GPUs of a task, 0 for a count on the CPU; default 1.
    #[schemars(range(max = 4_294_967_295_u32))]
    #[serde(deserialize_with = "whole")]
    pub gpus_per_task: Option<u32>,
    /// Cores of a task; default 4.
    #[schemars(range(min = 1, max = 4_294_967_295_u32))]
    #[serde(deserialize_with = "whole")]
    pub cpus_per_task: Option<NonZeroU32>,
    /// The most time of a task, as Slurm writes it; default: the cluster's.
    #[schemars(regex(pattern = r"^[A-Za-z0-9_./,:+@=-]+$"))]
    pub time: Option<String>,
    /// The partition of the cluster; default: its own.
    #[schemars(regex(pattern = r"^[A-Za-z0-9_./,:+@=-]+$"))]
    pub partition: Option<String>,
    /// The account that is charged; default: the user's.
    #[schemars(regex(pattern = r"^[A-Za-z0-9_./,:+@=-]+$"))]
    pub account: Option<String>,
    /// The host's memory of a task, as Slurm writes it; default: the cluster's.
    #[schemars(regex(pattern = r"^[A-Za-z0-9_./,:+@=-]+$"))]
    pub memory: Option<String>,
}

/// Reads `text` as a `T`; errors begin with `origin` (the file, or the flag).
///
/// # Errors
/// [`trimill_system::error::Kind::Usage`] with line, column, a caret under the position and, for an unknown key or name, the
/// likely one.
pub fn parse<T: DeserializeOwned>(text: &str, origin: &Path) -> Result<T> {
    toml::from_str(text).map_err(|error| {
        let mut message = error.to_string().trim_end().to_owned();
        for name in ["a nonzero u32", "a nonzero usize"] {
            message = message.replace(name, "a whole number from 1 on");
        }
        message.push_str(&likely(error.message()));
        let usage = Error::usage(message).at(origin);
        match error.span() {
            Some(span) => {
                let before = &text.as_bytes()[..span.start.min(text.len())];
                usage.line(1 + before.iter().filter(|byte| **byte == b'\n').count() as u64)
            }
            None => usage,
        }
    })
}

/// The suggestion that belongs to serde's `unknown field ..` and `unknown variant ..`: the first name in backquotes is
/// what was typed, the others are what is known.
pub(crate) fn likely(message: &str) -> String {
    if !message.starts_with("unknown ") {
        return String::new();
    }
    let mut names = message.split('`').skip(1).step_by(2);
    names.next().map(|typed| suggest::did_you_mean(typed, names)).unwrap_or_default()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        let error = parse::<JobFile>(text, Path::new("jobs.toml")).unwrap_err();
        assert_eq!(error.kind(), trimill_system::error::Kind::Usage);
        error.to_string()
    }

    #[test]
    fn every_refusal_has_line_column_caret_and_the_likely_name() {
        let cases = [
            ("[[job]]\n[job.partition]\n  pats = 4\n", 3, 3, "^^^^", "did you mean `parts`?"),
            ("[[job]]\n[job.partiton]\nparts = 4\n", 2, 6, "^^^^^^^^", "did you mean `partition`?"),
            ("[default]\n", 1, 2, "^^^^^^^", "did you mean `defaults`?"),
            ("[defaults]\nname = 'x'\n", 2, 1, "^^^^", "unknown field `name`"),
            ("[[job]]\n[job.partition]\nprune = 'direkt'\n", 3, 9, "^^^^^^^^", "did you mean `direct`?"),
            ("[[job]]\n[job.count]\nbackend = 'cude'\n", 3, 11, "^^^^^^", "did you mean `cuda`?"),
            ("[[job]]\n[job.input]\nformat = 'matrixmarket'\n", 3, 10, "^^^", "did you mean `matrix-market`?"),
            ("[[job]]\n[job.partition]\npartitioner = 'metsi'\n", 3, 15, "^^^^^^^", "did you mean `metis`?"),
            ("[[job]]\n[job.partition]\npartitioner = 'file:'\n", 3, 15, "^^^^^^^", "expected file:PATH"),
            ("[[job]]\n[job.partition]\nparts = 0\n", 3, 9, "^", "0 is not a number of parts"),
            ("[[job]]\n[job.partition]\nparts = -3\n", 3, 9, "^^", "\"auto\" or a number from 1"),
            ("[[job]]\n[job.partition]\nparts = 'many'\n", 3, 9, "^^^^^^", "expected `auto` or a number"),
            ("[[job]]\n[job.memory]\ndevice = '3 parsecs'\n", 3, 10, "^^^^^^^^^", "not a size"),
            ("[[job]]\n[job.memory]\nhost = -5\n", 3, 8, "^^", "expected a size: a number of bytes from 0"),
            ("[[job]]\n[job.memory]\nhost = 1.5\n", 3, 8, "^^^", "expected a size: a number of bytes from 0"),
            ("[[job]]\n[job.partition]\nparts = '8'\n", 3, 9, "^^^", "expected 8, without quotes"),
            ("[[job]]\n[job.count]\ndevices = '0,1'\n", 3, 11, "^^^^^", "a list of GPUs such as [0, 1]"),
            ("[[job]]\n[job.count]\nthreads = 0\n", 3, 11, "^", "expected a whole number from 1 on"),
            ("[[job]]\n[job.partition.metis]\ncontact = 2\n", 3, 1, "^^^^^^^", "did you mean `contract`?"),
            ("[[job]\n", 1, 7, "^", "unclosed"),
            ("[job]\nname = 'x'\n", 1, 1, "^^^^^", "expected a sequence"),
        ];
        for (text, line, column, caret, hint) in cases {
            let message = refusal(text);
            assert!(message.starts_with(&format!("jobs.toml:{line}: ")), "{message}");
            assert!(message.contains(&format!("at line {line}, column {column}\n")), "{message}");
            assert!(message.contains(caret), "{message}");
            assert!(message.contains(hint), "{message}");
        }
    }

    #[test]
    fn far_names_get_no_suggestion() {
        assert!(!refusal("[[job]]\ncolour = 3\n").contains("did you mean"));
    }
}
