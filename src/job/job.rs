//! A job: settings that were checked, with every contradiction refused. Invariants that [`Job::resolve`] establishes: at least one input, and
//! standard input only alone; budgets and block sizes above zero and at most 1 EiB; relative paths resolved against the base folder.
//! [`Job::check_files`] checks later whether files exist, because a batch continues when one job's input is missing.

use std::path::{Path, PathBuf};

use super::choices::Partitioner;
use super::file::{ClusterTable, OutputTable, Tables};
use crate::outputs::CountsWanted;
use crate::outputs::arrays::CountArrays;
use crate::paths::place::place;
use crate::run_dir::RunDir;
use crate::vertices::lcc::LccWanted;
use serde::{Deserialize, Serialize};
use trimill_partitioners::spill::manifest::MANIFEST_NAME;
use trimill_partitioners::spill::{fingerprint_of, spills_in};
use trimill_system::url::{is_url, public};
use trimill_system::{Error, Result, memory, path_text, threads};

/// The input that stands for standard input.
pub const STANDARD_INPUT: &str = "-";

/// A job, resolved and checked. Serialised, it is what a prepared run directory records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// The name in the job file; none on the command line.
    pub name: Option<String>,
    /// The files of the graph; `-` is standard input. A URL is serialised without what must not be shown.
    #[serde(with = "path_text::list")]
    pub inputs: Vec<PathBuf>,
    /// The settings as typed, without the inputs, and with defaults that depend on nothing else; methods of the tables have the others.
    pub settings: Tables,
    /// Set if local clustering coefficients of all vertices are wanted: by which arcs, and of which vertices of the input.
    pub lcc_wanted: Option<LccWanted>,
    /// Arrays that are filled for a caller in this process.
    #[serde(skip)]
    pub arrays: Option<CountArrays>,
    /// Whether a timeline is recorded, for a report or a trace.
    #[serde(rename = "recorded")]
    pub has_timeline: bool,
}

impl Job {
    /// Whether the triangles at each vertex are counted.
    pub fn counts_vertices(&self) -> bool {
        self.settings.output.describes_vertices() || matches!(self.arrays, Some(CountArrays::Vertices(_)))
    }

    /// Whether the triangles on each edge are counted, or its trussness is found.
    pub fn counts_edges(&self) -> bool {
        let output = &self.settings.output;
        output.per_edge.is_some() || output.peeling().is_some() || matches!(self.arrays, Some(CountArrays::Edges(_)))
    }

    /// The counts besides the total.
    pub fn counts(&self) -> CountsWanted {
        let output = &self.settings.output;
        let (vertices, edges, truss) = (self.counts_vertices(), self.counts_edges(), output.peeling());
        CountsWanted { vertices, edges, truss, lcc: self.lcc_wanted, bytes_per_thread: output.bytes_per_thread() }
    }

    /// What `trimill run --check --json` prints: in paths, bytes that are no UTF-8 become the replacement character.
    pub fn shown(&self) -> Self {
        let mut job = self.clone();
        let shown = |path: &mut PathBuf| *path = path.to_string_lossy().into_owned().into();
        job.settings.for_each_path(shown);
        job.inputs.iter_mut().for_each(shown);
        job
    }

    /// The cluster that counts the job; none: this process.
    pub fn cluster(&self) -> Option<&ClusterTable> {
        Some(&self.settings.cluster).filter(|cluster| cluster.engine.is_some())
    }

    /// The input, if it is a directory of kept spills; their manifest may be missing.
    pub fn kept_spills(&self) -> Option<&Path> {
        let has_spill = |dir: &Path| spills_in(dir).any(|spill| fingerprint_of(&spill).is_some());
        match self.inputs.as_slice() {
            [dir] if dir.join(MANIFEST_NAME).is_file() || has_spill(dir) => Some(dir),
            _ => None,
        }
    }

    /// Refuses kept spills as the input of a command that needs the graph.
    pub fn check_is_graph(&self) -> Result<()> {
        match self.kept_spills() {
            Some(dir) => Err(Error::usage("has spilled partitions, which can only be counted")
                .at(dir)
                .expected("the graph itself")
                .advice("count them with 'trimill count DIR', or name the file of the graph")),
            None => Ok(()),
        }
    }

    /// The job without the files of counts and kept spills.
    #[must_use]
    pub fn without_counts(mut self) -> Self {
        self.settings.output.counts_mut().into_iter().for_each(|file| *file.path = None);
        (self.arrays, self.lcc_wanted, self.settings.spill.keep) = (None, None, None);
        self
    }

    /// The job without the cache.
    #[must_use]
    pub fn without_cache(mut self) -> Self {
        self.settings.cache.enabled = Some(false);
        self
    }

    /// Checks that this machine has as many threads and as much memory as the job may take.
    pub fn check_machine(&self) -> Result<()> {
        threads::check(self.settings.count.threads)?;
        memory::check(self.settings.memory.host)
    }

    /// Checks that input files exist, not empty, and no directory is or is below a file. Errors: `Kind::Data` (file), `Kind::Resource` (directory).
    pub fn check_files(&self) -> Result<()> {
        self.check_files_after(&[])
    }

    /// As [`Self::check_files`], after jobs that make the files and kept spills `made`, which need not be there. Links are resolved.
    pub fn check_files_after(&self, made: &[PathBuf]) -> Result<()> {
        let is_made = |path: &Path| made.contains(&place(path));
        let reads_spills = matches!(self.inputs.as_slice(), [dir] if is_made(dir)) || self.kept_spills().is_some();
        if !reads_spills {
            let files = trimill_input::files_of(&self.inputs)?;
            let files = files.iter().filter(|path| path.as_os_str() != STANDARD_INPUT && !is_url(path));
            files.into_iter().try_for_each(|file| readable(file, "an input file"))?;
        }
        if let Partitioner::File(path) = self.settings.partition.partitioner() {
            readable(path, "a file that assigns the vertices")?;
        }
        let Tables { work, cache, spill, run, output, .. } = &self.settings;
        if let Some(path) = output.against.as_ref().filter(|path| !is_made(path)) {
            readable(path, "the result of an earlier count")?;
        }
        // A job whose cache directory cannot be made runs without a cache.
        let above =
            [&work.dir, &spill.dir, &run.dir, &output.dir].into_iter().flatten().flat_map(|dir| dir.ancestors());
        match above.chain(cache.dir.as_deref()).find(|dir| dir.exists() && !dir.is_dir()) {
            Some(file) => Err(Error::resource("is not a directory").at(file).expected("a directory, or nothing yet")),
            None => Ok(()),
        }
    }

    /// Checks that its run directory and kept spills do not belong to something else, as far as that is known before the input is read.
    pub fn check_run_dir(&self) -> Result<()> {
        let Tables { run, spill, cluster, .. } = &self.settings;
        let Some(run) = run.dir.as_deref() else { return Ok(()) };
        RunDir::check_place(run, cluster.engine.is_some())?;
        spill.kept().map_or(Ok(()), |dir| RunDir::check_kept(run, dir))
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

impl Tables {
    /// Passes all paths but those of inputs to `change`.
    pub fn for_each_path(&mut self, mut change: impl FnMut(&mut PathBuf)) {
        let Self { partition, spill, output, cache, work, run, .. } = self;
        if let Some(Partitioner::File(path)) = &mut partition.partitioner {
            change(path);
        }
        output.counts_mut().into_iter().flat_map(|file| file.path).for_each(&mut change);
        let OutputTable { dir, report, against, trace, .. } = output;
        let others = [&mut spill.dir, &mut cache.dir, &mut work.dir, &mut run.dir, dir, report, against, trace];
        others.into_iter().flatten().for_each(change);
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
    // Opening and closing a pipe here would send its writer an end of file.
    if !found.is_file() {
        return Ok(());
    }
    if found.len() == 0 {
        return Err(Error::data(path, "is empty").expected(what));
    }
    std::fs::File::open(path).map(drop).map_err(|error| Error::read(path, error))
}

#[cfg(test)]
mod tests;
