//! A graph to be counted.

use std::fmt;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Options, apart, count_with, resolved, titled};
use crate::job::Job;
use crate::job::file::Tables;
use crate::job::job::STANDARD_INPUT;
use crate::report::{PlanReport, RunResult};
use crate::{execute, paths};
use trimill_input::InputPattern;
use trimill_input::arcs::{ArcList, EdgeSource};
use trimill_input::format::Format;
use trimill_system::{Control, Error, Result};

/// A graph whose triangles are to be counted: files, or edges in memory.
///
/// It may be directed, and have loops and repeated edges: it is counted as the undirected simple graph of its edges. Nothing is read before counting.
///
/// ```
/// use trimill::{Graph, Options};
///
/// // A square with a diagonal, one edge given twice, and a loop.
/// let graph = Graph::from_edges([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2), (2, 0), (3, 3)]);
/// let counted = graph.count(&Options::new())?;
/// assert_eq!(counted.triangles, 2);
/// assert_eq!((counted.vertices, counted.edges), (4, 5));
/// # Ok::<(), trimill::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct Graph<'a> {
    source: GraphSource<'a>,
    format: Option<Format>,
}

#[derive(Clone)]
enum GraphSource<'a> {
    Files(Vec<PathBuf>),
    Edges(Arc<dyn EdgeSource + 'a>),
}

impl fmt::Debug for GraphSource<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Files(paths) => f.debug_tuple("Files").field(paths).finish(),
            Self::Edges(edges) => f.debug_tuple("Edges").field(&edges.arcs()).finish(),
        }
    }
}

impl<'a> Graph<'a> {
    /// The graph of a file: BVGraph (its `.graph`), edge list, Matrix Market, METIS, GAPBS `.sg`, Graph500, pairs, NumPy `.npy`, SciPy
    /// `.npz`, LDBC Graphalytics, or Parquet and Arrow (with the feature `parquet`); also `.gz`, `.bz2` or `.zst` or, except a BVGraph, alone in
    /// a `.tar` or `.zip`. Its format is found from content and suffix.
    ///
    /// # Input files
    /// A directory stands for all files in it and below it, a list (`NAME.paths`) or a description of GraphAr for the files that it names, `-` for
    /// standard input; with the feature `remote`, a URL for an object of a server, and `s3://BUCKET/PREFIX/`, or a key with `*` or `[...]`, for
    /// several. Any other name is that of one file, whatever characters it has: only the program takes names of files as patterns.
    ///
    /// A file must not be shortened while it is read: it is mapped into memory, and reading what is no longer there ends the process by SIGBUS.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("triangle.txt");
    /// std::fs::write(&path, "0 1\n1 2\n2 0\n")?;
    /// let counted = trimill::Graph::from_file(&path).count(&trimill::Options::new().without_cache())?;
    /// assert_eq!(counted.triangles, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_file(path: impl Into<PathBuf>) -> Self {
        Self::from_files([path])
    }

    /// The graph of the edges of several files, each as in [`Self::from_file`]; `-` only alone.
    pub fn from_files<P: Into<PathBuf>>(paths: impl IntoIterator<Item = P>) -> Self {
        Self { source: GraphSource::Files(paths.into_iter().map(Into::into).collect()), format: None }
    }

    /// The graph of a list of edges, which takes 16 bytes each. Ids may be any numbers below 2^64 - 1.
    pub fn from_edges(edges: impl IntoIterator<Item = (u64, u64)>) -> Self {
        Self::from_source(ArcList { arcs: edges.into_iter().collect(), declared: None })
    }

    /// The graph of edges that the caller holds, which are read where they are: [`Pairs`](crate::Pairs) of columns, a matrix in
    /// compressed rows ([`Csr`](crate::Csr)), or any other [`EdgeSource`].
    pub fn from_source(edges: impl EdgeSource + 'a) -> Self {
        Self { source: GraphSource::Edges(Arc::new(edges)), format: None }
    }

    /// Sets the format, for files whose content and suffix do not determine it.
    pub fn with_format(mut self, format: Format) -> Self {
        self.format = Some(format);
        self
    }

    /// Counts its triangles, exactly.
    ///
    /// Time: reading and cleaning, then the sum over all edges of the length of the shorter row of its ends. Memory: within the
    /// budgets of `options`. Disk: 2 to 5 bytes an arc while the graph is prepared, if that does not fit in memory. The prepared graph of
    /// a file is kept in the user's cache directory, usually `~/.cache/trimill`: [`Options::without_cache`] keeps none.
    ///
    /// # Errors
    /// [`Kind::Data`](crate::Kind::Data): a file is missing, malformed or damaged. [`Kind::Usage`](crate::Kind::Usage): options that
    /// contradict each other. [`Kind::Resource`](crate::Kind::Resource): a budget below the graph's floor, a full disk, no such
    /// device. [`Kind::Defect`](crate::Kind::Defect): a mistake of this library.
    ///
    /// Where all is counted and only files of counts cannot be written, the error has the result:
    /// [`error.answer::<RunResult>()`](crate::Error::answer).
    pub fn count(&self, options: &Options) -> Result<RunResult> {
        self.count_with(options, &Control::silent())
    }

    /// As [`Self::count`], but it reports progress to an [`Observer`](crate::Observer) and can be stopped.
    ///
    /// ```
    /// use trimill::{Control, Graph, Kind, Options};
    ///
    /// let control = Control::silent();
    /// control.stop();
    /// let graph = Graph::from_edges([(0, 1), (1, 2), (2, 0)]);
    /// let stopped = graph.count_with(&Options::new(), &control).unwrap_err();
    /// assert_eq!(stopped.kind(), Kind::Interrupted);
    /// ```
    ///
    /// # Errors
    /// As [`Self::count`]; [`Kind::Interrupted`](crate::Kind::Interrupted) once it was stopped.
    ///
    /// # Panics
    /// Where the [`EdgeSource`] or the [`Observer`](crate::Observer) of the caller panics, unless that becomes an error of
    /// [`Kind::Defect`](crate::Kind::Defect). Later counts work.
    pub fn count_with(&self, options: &Options, control: &Control) -> Result<RunResult> {
        let job = self.job(options)?;
        paths::check(&[job.paths()])?;
        count_with(job, |job| execute::count::count(job, self.edges(), options.helper.clone(), control))
    }

    /// What counting would take, partition by partition, and the smallest budgets that suffice. Counts nothing.
    ///
    /// ```
    /// use trimill::{Graph, Options};
    ///
    /// let complete = (0..100).flat_map(|u| (0..u).map(move |v| (u, v)));
    /// let plan = Graph::from_edges(complete).plan(&Options::new())?;
    /// assert_eq!(plan.partitions.len(), 1);
    /// assert!(plan.fits && plan.smallest_device_memory <= plan.device_memory);
    /// # Ok::<(), trimill::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Self::count`].
    pub fn plan(&self, options: &Options) -> Result<PlanReport> {
        self.plan_with(options, &Control::silent())
    }

    /// As [`Self::plan`], but it reports progress to an [`Observer`](crate::Observer) and can be stopped.
    ///
    /// # Errors
    /// As [`Self::count_with`].
    pub fn plan_with(&self, options: &Options, control: &Control) -> Result<PlanReport> {
        let job = self.job(options)?;
        let shown = titled(job.clone()).without_counts();
        paths::check(&[job.paths_of_plan()])?;
        apart(job.settings.count.may_use_gpu(), || {
            let plan = execute::plan::plan(job, self.edges(), options.helper.clone(), control)?;
            shown.write_plan(&plan)?;
            Ok(plan)
        })
    }

    pub(super) fn edges(&self) -> Option<&dyn EdgeSource> {
        match &self.source {
            GraphSource::Files(_) => None,
            GraphSource::Edges(edges) => Some(&**edges),
        }
    }

    pub(super) fn job(&self, options: &Options) -> Result<Job> {
        let mut tables = options.tables.clone();
        tables.input.format = self.format.or(tables.input.format);
        match &self.source {
            GraphSource::Files(paths) => {
                paths.iter().try_for_each(|path| check_is_no_pattern(path))?;
                tables.input.paths = Some(paths.clone());
            }
            GraphSource::Edges(edges) => in_memory(&mut tables, edges.arcs())?,
        }
        resolved(&tables)
    }
}

/// Refuses a name that no file has but that matches files as a pattern: only the program accepts patterns.
fn check_is_no_pattern(path: &Path) -> Result<()> {
    match std::fs::metadata(path) {
        Err(error) if InputPattern::of(path).is_some() => {
            Err(Error::read(path, error).expected("the name of one file: only the program takes patterns"))
        }
        _ => Ok(()),
    }
}

/// Below this, one thread counts in some milliseconds: others would waste processor time waiting for it.
const FEW_ARCS: u64 = 1 << 16;

/// Sets the input of `tables` to `arcs` arcs in memory, which are treated like standard input.
pub(super) fn in_memory(tables: &mut Tables, arcs: u64) -> Result<()> {
    if tables.run.dir.is_some() {
        return Err(Error::usage("a run directory for edges in memory")
            .expected("a graph in a file, which can be read again on a later start"));
    }
    if tables.input.format.is_some()
        || tables.input.header.is_some()
        || tables.input.columns.is_some()
        || tables.input.names == Some(true)
    {
        return Err(Error::usage("a format, a header, columns, or names for edges in memory")
            .expected("these settings for files only"));
    }
    tables.input.path = Some(STANDARD_INPUT.into());
    tables.count.threads = tables.count.threads.or(NonZeroUsize::new(1).filter(|_| arcs < FEW_ARCS));
    Ok(())
}
