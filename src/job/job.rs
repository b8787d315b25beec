//! A resolved job: every choice made, every contradiction refused.
//!
//! Invariants of a [`Job`] that [`Job::resolve`] made: at least one input, standard input only alone; budgets and block
//! sizes above zero, and larger ones than 1 EiB lowered to that; relative paths taken from the base folder. Whether files exist is checked later, by
//! [`Job::check_files`], because a batch goes on when one job's input is missing.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use trimill_kernels::Shape;

use super::choices::{Backend, Mode, Partitioner, Parts, Prepare};
use super::devices::{Devices, SpillTo};
use super::file::{ClusterTable, OutputTable, Tables};
use super::limits::MOST_MEMORY;
use crate::cluster::{Cluster, Scheduler};
use crate::outputs::arrays::CountArrays;
use crate::outputs::{Asked, CountsWanted};
use crate::table::format::STANDARD_OUTPUT;
use crate::truss::{LEAST, MOST_K, TrussWanted};
use trimill_input::format::Format;
use trimill_input::{ColumnNames, Header, InputSettings};
use trimill_partitioners::partition::prune::Prune;
use trimill_partitioners::spill::manifest::MANIFEST_NAME;
use trimill_system::bytes::Bytes;
use trimill_system::error::{Error, Result};
use trimill_system::{memory, path_text, threads};

/// The input that stands for standard input.
pub const STANDARD_INPUT: &str = "-";

/// A job, resolved and checked. Serialised, it is what `trimill run --check --json` prints, and what a prepared run directory records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// The name in the job file; none on the command line.
    pub name: Option<String>,
    /// The files of the graph; `-` is standard input.
    #[serde(with = "path_text::list")]
    pub inputs: Vec<PathBuf>,
    /// The format, where the user named it.
    pub format: Option<Format>,
    /// Whether the first line of edge lists is a header, where the user said so.
    pub header: Option<Header>,
    /// The columns with the ends of edges, where the user named them.
    pub columns: Option<ColumnNames>,
    /// How vertices are assigned; its METIS settings are in here, too.
    pub partitioner: Partitioner,
    /// The number of partitions.
    pub parts: Parts,
    /// The seed of random choices.
    pub seed: u64,
    /// The prune level.
    pub prune: Prune,
    /// The mode; none: the one that is estimated to be faster.
    pub mode: Option<Mode>,
    /// The budget on the device; none: the default of the backend.
    pub device_memory: Option<Bytes>,
    /// The budget of the host; none: half of the RAM.
    pub host_memory: Option<Bytes>,
    /// The most bytes of a row block; none: the planner's choice.
    pub block_bytes: Option<Bytes>,
    /// The backend.
    pub backend: Backend,
    /// The GPUs that count; none: the driver's first.
    pub devices: Option<Devices>,
    /// The method of the backend; none: the backend's own choice.
    pub method: Option<String>,
    /// Threads of a block on a GPU; none: the method's own.
    pub block_threads: Option<u32>,
    /// The tile of method `lstc` in shared memory, 0 for none; none: 128.
    pub tile: Option<u32>,
    /// Seconds without an answer after which a GPU is abandoned; none: 600.
    pub device_timeout: Option<NonZeroU32>,
    /// CPU threads; none: all cores.
    pub threads: Option<NonZeroUsize>,
    /// Where buckets and graphs are prepared; none: beside the spill.
    #[serde(with = "path_text::optional")]
    pub work_dir: Option<PathBuf>,
    /// What prepares the graph.
    pub prepare: Prepare,
    /// Whether the cache is used.
    pub cache: bool,
    /// The cache's directory; none: the user's cache directory.
    #[serde(with = "path_text::optional")]
    pub cache_dir: Option<PathBuf>,
    /// The most bytes of the whole cache.
    pub cache_max: Option<Bytes>,
    /// The directory for spilled partitions; none: the system's temporary directory.
    #[serde(with = "path_text::optional")]
    pub spill_dir: Option<PathBuf>,
    /// Where spilled partitions wait until they are counted.
    pub spill_to: SpillTo,
    /// Whether spilled partitions stay.
    pub keep_spill: bool,
    /// The directory in which the job is resumed.
    #[serde(with = "path_text::optional")]
    pub run_dir: Option<PathBuf>,
    /// The directory for `result.json` and `partitions.tsv`.
    #[serde(with = "path_text::optional")]
    pub output: Option<PathBuf>,
    /// Whether a result that is there already is replaced.
    pub force: bool,
    /// Whether the triangles at each vertex are counted, for the result.
    pub clustering: bool,
    /// The file for the triangles at each vertex.
    #[serde(with = "path_text::optional")]
    pub per_vertex: Option<PathBuf>,
    /// The file for the sums of each degree.
    #[serde(with = "path_text::optional")]
    pub by_degree: Option<PathBuf>,
    /// The file for the triangles on each edge.
    #[serde(with = "path_text::optional")]
    pub per_edge: Option<PathBuf>,
    /// What of the truss decomposition is wanted.
    pub truss: Option<TrussWanted>,
    /// The file for the sizes of all trusses.
    #[serde(with = "path_text::optional")]
    pub by_k: Option<PathBuf>,
    /// Arrays that are filled for a caller in this process.
    #[serde(skip)]
    pub arrays: Option<CountArrays>,
    /// The file for the HTML report.
    #[serde(with = "path_text::optional")]
    pub report: Option<PathBuf>,
    /// The file for the trace.
    #[serde(with = "path_text::optional")]
    pub trace: Option<PathBuf>,
    /// Whether a timeline is recorded, for one of these.
    pub recorded: bool,
    /// The cluster that counts the job; none: this process.
    pub cluster: Option<Cluster>,
}

impl Job {
    /// Resolves the settings that were typed. Relative paths are taken from `base` (the job file's folder; empty on the
    /// command line).
    ///
    /// # Errors
    /// [`trimill_system::error::Kind::Usage`] when there is no input, or two settings contradict each other.
    pub fn resolve(name: Option<String>, typed: &Tables, base: &Path) -> Result<Self> {
        let refuse = |found: String| match &name {
            Some(name) => Error::usage(format!("job '{name}': {found}")),
            None => Error::usage(found),
        };
        let based = |path: &PathBuf| if path.as_os_str() == STANDARD_INPUT { path.clone() } else { base.join(path) };
        let dir = |path: &Option<PathBuf>, what: &str| match path {
            Some(path) if path.as_os_str().is_empty() => {
                Err(refuse(format!("{what} has an empty name")).expected("the path of a directory"))
            }
            path => Ok(path.as_ref().map(|path| base.join(path))),
        };
        let table = |path: &Option<PathBuf>, what: &str| match path {
            Some(path) if path.as_os_str() == "-" => Ok(Some(STANDARD_OUTPUT.into())),
            path => dir(path, what),
        };
        let bytes = |bytes: Option<Bytes>, what: &str| match bytes {
            Some(Bytes::ZERO) => Err(refuse(format!("{what} is 0")).expected("a size such as 512MiB")),
            other => Ok(other.map(|bytes| bytes.min(MOST_MEMORY))),
        };

        let inputs: Vec<PathBuf> = match (&typed.input.path, &typed.input.paths) {
            (Some(_), Some(_)) => {
                return Err(refuse("both `input.path` and `input.paths` are given".into())
                    .expected("`path` for one file, or `paths` for several"));
            }
            (Some(path), None) => vec![based(path)],
            (None, Some(paths)) => paths.iter().map(based).collect(),
            (None, None) => Vec::new(),
        };
        let nameless = |path: &PathBuf| path.as_os_str().is_empty();
        let unnamed = typed.input.path.iter().chain(typed.input.paths.iter().flatten()).any(nameless);
        if inputs.is_empty() || unnamed {
            return Err(refuse("no input".into()).expected("`path = \"FILE\"` in the table `input`"));
        }
        if inputs.len() > 1 && inputs.iter().any(|path| path.as_os_str() == STANDARD_INPUT) {
            return Err(refuse("standard input (`-`) beside other inputs".into()).expected("`-` alone, or files"));
        }
        let run_dir = dir(&typed.run.dir, "the run directory")?;
        if run_dir.is_some() && inputs.iter().any(|path| path.as_os_str() == STANDARD_INPUT) {
            return Err(refuse("a run directory, but standard input cannot be read again on a later start".into())
                .advice("write it to a file first, or leave out the run directory"));
        }
        let partition = &typed.partition;
        let partitioner = match partition.partitioner.clone().unwrap_or_default().based(base) {
            Partitioner::Metis { .. } => Partitioner::Metis { contract: partition.metis.contract },
            other => other,
        };
        let keep_spill = typed.spill.keep.unwrap_or(false);
        if keep_spill && typed.spill.dir.is_none() {
            return Err(refuse("the spill is to be kept, but its directory is not named".into())
                .advice("name it with `spill.dir` or --spill-dir"));
        }
        let spills = match (partition.prune, keep_spill) {
            (Some(prune), _) => Some(format!("the prune level {prune}")),
            (None, true) => Some("the spill is to be kept".into()),
            (None, false) => None,
        };
        let mode = match (&partitioner, spills) {
            (Partitioner::Rank, Some(other)) => {
                return Err(refuse(format!("the partitioner rank, and {other}")).expected(
                    "one of the two: with rank ranges the graph's own rows are streamed, and nothing is pruned or spilled",
                ));
            }
            (Partitioner::Rank, None) => Some(Mode::InPlace),
            (Partitioner::Auto, None) => None,
            _ => Some(Mode::Spilled),
        };
        let (block_threads, tile) = (typed.count.block_threads, typed.count.tile);
        let usual = Shape::default();
        Shape::new(block_threads.unwrap_or(usual.block_threads()), tile.unwrap_or(usual.tile()))
            .map_err(|error| refuse(error.to_string()))?;
        let in_job = |error: Error| match &name {
            Some(name) => error.while_doing(&format!("job '{name}'")),
            None => error,
        };
        threads::check(typed.count.threads).map_err(in_job)?;
        let spill_to = typed.spill.to.unwrap_or_default();
        let files = Asked {
            per_vertex: table(&typed.output.per_vertex, "the file of the vertices")?,
            by_degree: table(&typed.output.by_degree, "the file of the degrees")?,
            per_edge: table(&typed.output.per_edge, "the file of the edges")?,
            by_k: table(&typed.output.by_k, "the file of the trusses")?,
            arrays: None,
        };
        files.check_names().map_err(in_job)?;
        let OutputTable { truss, k: until, .. } = typed.output;
        if until.is_some_and(|k| !(LEAST + 1..=MOST_K).contains(&k)) {
            return Err(
                refuse(format!("k is {}", until.unwrap_or(0))).expected(format!("a k from {} to {MOST_K}", LEAST + 1))
            );
        }
        let peels = truss.unwrap_or(false) || until.is_some() || files.by_k.is_some();
        let page = |path: &Option<PathBuf>, what: &str, suffix: &str| match path {
            Some(path) if path.extension().is_none_or(|found| found != suffix) => {
                Err(refuse(format!("{what} is '{}'", path.display()))
                    .expected(format!("a name that ends with .{suffix}")))
            }
            path => dir(path, what),
        };
        let report = page(&typed.output.report, "the report", "html")?;
        let trace = page(&typed.output.trace, "the trace", "json")?;
        if typed.cluster.engine.is_some() && (report.is_some() || trace.is_some()) {
            return Err(refuse("a report or a trace of a job that a cluster counts".into())
                .expected("a job that is counted at once; `trimill merge` prints the result of the others"));
        }
        if keep_spill && spill_to == SpillTo::Memory {
            return Err(refuse("the spill is to be kept, and to be in memory".into()).expected("one of the two"));
        }
        Ok(Self {
            inputs,
            format: typed.input.format,
            header: typed.input.header,
            columns: typed.input.columns.clone(),
            partitioner,
            parts: partition.parts.unwrap_or_default(),
            seed: partition.seed.unwrap_or(1),
            prune: partition.prune.unwrap_or_default(),
            mode,
            device_memory: bytes(typed.memory.device, "the device memory")?,
            host_memory: bytes(typed.memory.host, "the host memory")?,
            block_bytes: bytes(typed.memory.block, "the size of a row block")?,
            backend: typed.count.backend.unwrap_or_default(),
            devices: typed.count.devices.clone(),
            method: typed.count.method.clone(),
            block_threads,
            tile,
            device_timeout: typed.count.device_timeout,
            threads: typed.count.threads,
            work_dir: dir(&typed.work.dir, "the work directory")?,
            prepare: typed.work.prepare.unwrap_or_default(),
            cache: typed.cache.enabled.unwrap_or(true),
            cache_dir: dir(&typed.cache.dir, "the directory of the cache")?,
            cache_max: typed.cache.max,
            spill_dir: dir(&typed.spill.dir, "the directory of the spill")?,
            spill_to,
            keep_spill,
            output: dir(&typed.output.dir, "the directory of the output")?,
            force: typed.output.force.unwrap_or(false),
            clustering: typed.output.clustering.unwrap_or(false),
            per_vertex: files.per_vertex,
            by_degree: files.by_degree,
            per_edge: files.per_edge,
            truss: peels.then_some(TrussWanted { until }),
            by_k: files.by_k,
            arrays: files.arrays,
            recorded: report.is_some() || trace.is_some(),
            report,
            trace,
            cluster: cluster_of(&typed.cluster, run_dir.is_some()).map_err(in_job)?,
            run_dir,
            name,
        })
    }

    /// Whether the triangles at each vertex are counted.
    pub fn counts_vertices(&self) -> bool {
        let arrays = matches!(self.arrays, Some(CountArrays::Vertices(_)));
        self.clustering || self.per_vertex.is_some() || self.by_degree.is_some() || arrays
    }

    /// Whether the triangles on each edge are counted.
    pub fn counts_edges(&self) -> bool {
        self.per_edge.is_some() || self.truss.is_some() || matches!(self.arrays, Some(CountArrays::Edges(_)))
    }

    /// What is counted besides the total.
    pub fn counts(&self) -> CountsWanted {
        let bytes_per_thread = self.output_files().bytes_per_thread();
        let (vertices, edges, truss) = (self.counts_vertices(), self.counts_edges(), self.truss);
        CountsWanted { vertices, edges, truss, bytes_per_thread }
    }

    /// The same job with absolute paths of what it writes: other processes may start elsewhere.
    ///
    /// # Errors
    /// Where the current directory is not known.
    pub fn with_absolute_outputs(&self) -> Result<Self> {
        let absolute = |path: &Option<PathBuf>| match path {
            Some(path) => std::path::absolute(path).map(Some).map_err(|error| Error::write(path, error)),
            None => Ok(None),
        };
        Ok(Self {
            per_vertex: absolute(&self.per_vertex)?,
            by_degree: absolute(&self.by_degree)?,
            per_edge: absolute(&self.per_edge)?,
            by_k: absolute(&self.by_k)?,
            output: absolute(&self.output)?,
            ..self.clone()
        })
    }

    /// The files of counts that are to be written, and the arrays.
    pub fn output_files(&self) -> Asked {
        let Self { per_vertex, by_degree, per_edge, by_k, arrays, .. } = self.clone();
        Asked { per_vertex, by_degree, per_edge, by_k, arrays }
    }

    /// The input, if it is a directory of kept spills.
    pub fn kept_spills(&self) -> Option<&Path> {
        match self.inputs.as_slice() {
            [dir] if dir.join(MANIFEST_NAME).is_file() => Some(dir),
            _ => None,
        }
    }

    /// What the job says about its input.
    pub fn reading(&self) -> InputSettings {
        InputSettings { format: self.format, header: self.header, columns: self.columns.clone() }
    }

    /// Checks that this machine has as many threads and as much memory as the job may take.
    ///
    /// # Errors
    /// [`trimill_system::error::Kind::Usage`].
    pub fn check_machine(&self) -> Result<()> {
        threads::check(self.threads)?;
        memory::check(self.host_memory)
    }

    /// Checks that the files that the job reads exist and are not empty, and that no directory that it writes to is a file.
    ///
    /// # Errors
    /// [`trimill_system::error::Kind::Data`] for a file that is read, [`trimill_system::error::Kind::Resource`] for a directory.
    pub fn check_files(&self) -> Result<()> {
        let files = self.inputs.iter().filter(|path| path.as_os_str() != STANDARD_INPUT);
        for input in files.filter(|_| self.kept_spills().is_none()) {
            readable(input, "an input file")?;
        }
        if let Partitioner::File(path) = &self.partitioner {
            readable(path, "a file that assigns the vertices")?;
        }
        for dir in [&self.work_dir, &self.cache_dir, &self.spill_dir, &self.run_dir, &self.output].into_iter().flatten()
        {
            if dir.exists() && !dir.is_dir() {
                return Err(Error::resource("is not a directory").at(dir).expected("a directory, or nothing yet"));
            }
        }
        Ok(())
    }

    /// What the job is called in reports: its name, or its first input.
    pub fn title(&self) -> String {
        match (&self.name, self.inputs.as_slice()) {
            (Some(name), _) => name.clone(),
            (None, [only]) => only.display().to_string(),
            (None, [first, others @ ..]) => format!("{} and {} more", first.display(), others.len()),
            (None, []) => String::new(),
        }
    }
}

/// The cluster of a job; none where no scheduler is named.
fn cluster_of(typed: &ClusterTable, has_run_dir: bool) -> Result<Option<Cluster>> {
    let cluster = typed.of(typed.engine.unwrap_or(Scheduler::Slurm));
    cluster.check()?;
    match (typed.engine, has_run_dir) {
        (None, _) => Ok(None),
        (Some(_), true) => Ok(Some(cluster)),
        (Some(_), false) => Err(Error::usage("a cluster, and no run directory, where its nodes find the job")
            .advice("name a directory that all nodes see with `run.dir`")),
    }
}

fn readable(path: &Path, what: &str) -> Result<()> {
    // A crawl may be named by its base name, as WebGraph's own tools do.
    let crawl = PathBuf::from(format!("{}.graph", path.display()));
    let path = if path.exists() || !crawl.exists() { path } else { &crawl };
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
