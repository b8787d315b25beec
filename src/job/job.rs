//! A resolved job: every choice made, every contradiction refused.
//!
//! Invariants of a [`Job`] that [`Job::resolve`] made: at least one input, standard input only alone; budgets and block
//! sizes above zero, and larger ones than 1 EiB lowered to that; relative paths taken from the base folder. Whether files exist is checked later, by
//! [`Job::check_files`], because a batch goes on when one job's input is missing.

use std::path::{Path, PathBuf};

use super::choices::{Mode, Partitioner, Parts, Prepare};
use super::devices::SpillTo;
use super::file::CountTable;
use crate::cluster::Cluster;
use crate::outputs::arrays::CountArrays;
use crate::outputs::{Asked, CountsWanted};
use crate::truss::TrussWanted;
use crate::vertices::lcc::LccWanted;
use serde::{Deserialize, Serialize};
use trimill_input::InputSettings;
use trimill_partitioners::partition::prune::Prune;
use trimill_partitioners::spill::manifest::MANIFEST_NAME;
use trimill_system::url::{is_url, public};
use trimill_system::{Bytes, Error, Result, memory, path_text, threads};

/// The input that stands for standard input.
pub const STANDARD_INPUT: &str = "-";

/// A job, resolved and checked. Serialised, it is what `trimill run --check --json` prints, and what a prepared run directory records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// The name in the job file; none on the command line.
    pub name: Option<String>,
    /// The files of the graph; `-` is standard input. Of a URL only what may be shown is written.
    #[serde(with = "path_text::list")]
    pub inputs: Vec<PathBuf>,
    /// What the user says about them.
    #[serde(flatten)]
    pub reading: InputSettings,
    /// How the graph is cut.
    #[serde(flatten)]
    pub cut: CutSettings,
    /// The budget on the device; none: the default of the backend.
    pub device_memory: Option<Bytes>,
    /// The budget of the host; none: half of the RAM, or of the limit of the process's control groups.
    pub host_memory: Option<Bytes>,
    /// What counts, as typed, except that the backend is not left open.
    #[serde(flatten)]
    pub counter: CountTable,
    /// Where buckets and graphs are prepared; none: beside the spill.
    #[serde(with = "path_text::optional")]
    pub work_dir: Option<PathBuf>,
    /// What prepares the graph.
    pub prepare: Prepare,
    /// Where prepared graphs are kept.
    #[serde(flatten)]
    pub cache: CacheSettings,
    /// Where spilled partitions are.
    #[serde(flatten)]
    pub spill: SpillSettings,
    /// The directory in which the job is resumed.
    #[serde(with = "path_text::optional")]
    pub run_dir: Option<PathBuf>,
    /// What is made of the counts.
    #[serde(flatten)]
    pub output: OutputSettings,
    /// The cluster that counts the job; none: this process.
    pub cluster: Option<Cluster>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CutSettings {
    /// How vertices are assigned; its METIS settings are in here, too.
    pub partitioner: Partitioner,
    pub parts: Parts,
    pub seed: u64,
    pub prune: Prune,
    /// The mode; none: the one that is estimated to be faster.
    pub mode: Option<Mode>,
    /// The most bytes of a row block; none: the planner's choice.
    pub block_bytes: Option<Bytes>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheSettings {
    #[serde(rename = "cache")]
    pub enabled: bool,
    /// Its directory; none: the user's cache directory.
    #[serde(rename = "cache_dir", with = "path_text::optional")]
    pub dir: Option<PathBuf>,
    /// The most bytes of all of it.
    #[serde(rename = "cache_max")]
    pub max: Option<Bytes>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpillSettings {
    /// The directory; none: the system's temporary directory.
    #[serde(rename = "spill_dir", with = "path_text::optional")]
    pub dir: Option<PathBuf>,
    #[serde(rename = "spill_to")]
    pub to: SpillTo,
    #[serde(rename = "keep_spill")]
    pub keep: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputSettings {
    /// The directory for `result.json` and `partitions.tsv`.
    #[serde(rename = "output", with = "path_text::optional")]
    pub dir: Option<PathBuf>,
    /// Whether a result that is there already is replaced.
    pub force: bool,
    /// Whether the triangles at each vertex are counted, for the result.
    pub clustering: bool,
    pub truss: Option<TrussWanted>,
    /// What of the input the coefficients of all vertices are of, where they are wanted.
    pub lcc_wanted: Option<LccWanted>,
    /// Files of counts, and arrays.
    #[serde(flatten)]
    pub files: Asked,
    #[serde(with = "path_text::optional")]
    pub report: Option<PathBuf>,
    #[serde(with = "path_text::optional")]
    pub against: Option<PathBuf>,
    #[serde(with = "path_text::optional")]
    pub trace: Option<PathBuf>,
    /// Whether a timeline is recorded, for one of these.
    pub recorded: bool,
}

impl OutputSettings {
    /// Whether the triangles at each vertex are counted.
    pub fn counts_vertices(&self) -> bool {
        self.describes_vertices() || matches!(self.files.arrays, Some(CountArrays::Vertices(_)))
    }

    /// Whether they are wanted for more than arrays.
    pub fn describes_vertices(&self) -> bool {
        let Asked { per_vertex, by_degree, lcc, .. } = &self.files;
        self.clustering || per_vertex.is_some() || by_degree.is_some() || lcc.is_some()
    }

    pub fn counts_edges(&self) -> bool {
        let Asked { per_edge, arrays, .. } = &self.files;
        per_edge.is_some() || self.truss.is_some() || matches!(arrays, Some(CountArrays::Edges(_)))
    }

    /// The counts besides the total.
    pub fn counts(&self) -> CountsWanted {
        let bytes_per_thread = self.files.bytes_per_thread();
        let (vertices, edges, truss) = (self.counts_vertices(), self.counts_edges(), self.truss);
        CountsWanted { vertices, edges, truss, lcc: self.lcc_wanted, bytes_per_thread }
    }

    /// The settings with absolute paths: other processes may start elsewhere.
    pub fn absolute(&self) -> Result<Self> {
        let absolute = |path: &Option<PathBuf>| match path {
            Some(path) => std::path::absolute(path).map(Some).map_err(|error| Error::write(path, error)),
            None => Ok(None),
        };
        let Asked { per_vertex, by_degree, lcc, per_edge, by_k, arrays } = &self.files;
        let files = Asked {
            per_vertex: absolute(per_vertex)?,
            by_degree: absolute(by_degree)?,
            lcc: absolute(lcc)?,
            per_edge: absolute(per_edge)?,
            by_k: absolute(by_k)?,
            arrays: arrays.clone(),
        };
        Ok(Self { files, dir: absolute(&self.dir)?, ..self.clone() })
    }
}

impl Job {
    /// The input, if it is a directory of kept spills.
    pub fn kept_spills(&self) -> Option<&Path> {
        match self.inputs.as_slice() {
            [dir] if dir.join(MANIFEST_NAME).is_file() => Some(dir),
            _ => None,
        }
    }

    /// The job without the files of counts and kept spills.
    #[must_use]
    pub fn without_counts(mut self) -> Self {
        self.output.files = Asked::default();
        self.output.lcc_wanted = None;
        self.spill.keep = false;
        self
    }

    /// The job without the cache.
    #[must_use]
    pub fn without_cache(mut self) -> Self {
        self.cache.enabled = false;
        self
    }

    /// Checks that this machine has as many threads and as much memory as the job may take.
    pub fn check_machine(&self) -> Result<()> {
        threads::check(self.counter.threads)?;
        memory::check(self.host_memory)
    }

    /// Checks that the files that the job reads exist and are not empty, and that no directory that it writes to is a file. Errors:
    /// `Kind::Data` for a file that is read, `Kind::Resource` for a directory.
    pub fn check_files(&self) -> Result<()> {
        if self.kept_spills().is_none() {
            let files = trimill_input::files_of(&self.inputs)?;
            let files = files.iter().filter(|path| path.as_os_str() != STANDARD_INPUT && !is_url(path));
            files.into_iter().try_for_each(|file| readable(file, "an input file"))?;
        }
        if let Partitioner::File(path) = &self.cut.partitioner {
            readable(path, "a file that assigns the vertices")?;
        }
        for dir in
            [&self.work_dir, &self.cache.dir, &self.spill.dir, &self.run_dir, &self.output.dir].into_iter().flatten()
        {
            if dir.exists() && !dir.is_dir() {
                return Err(Error::resource("is not a directory").at(dir).expected("a directory, or nothing yet"));
            }
        }
        Ok(())
    }

    /// Whether its input is standard input, or edges in memory.
    pub fn is_read_once(&self) -> bool {
        self.inputs.iter().any(|path| path.as_os_str() == STANDARD_INPUT)
    }

    /// What the job is called in reports: its name, or its first input.
    pub fn title(&self) -> String {
        match (&self.name, self.inputs.as_slice()) {
            (Some(name), _) => name.clone(),
            (None, [only]) => public(only).display().to_string(),
            (None, [first, others @ ..]) => format!("{} and {} more", public(first).display(), others.len()),
            (None, []) => String::new(),
        }
    }
}

fn readable(path: &Path, what: &str) -> Result<()> {
    // A graph of several files may be named by their base name, as WebGraph's own tools do.
    let one = trimill_input::read_together(path).into_iter().find(|file| !path.exists() && file.exists());
    let path = one.as_deref().unwrap_or(path);
    let found = std::fs::metadata(path).map_err(|error| Error::read(path, error).expected(what))?;
    if found.is_dir() {
        return Err(Error::data(path, "is a directory").expected(what));
    }
    // Opening and closing a pipe here would end it for its writer.
    if !found.is_file() {
        return Ok(());
    }
    if found.len() == 0 {
        return Err(Error::data(path, "is empty").expected(what));
    }
    std::fs::File::open(path).map(drop).map_err(|error| Error::read(path, error))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests;
