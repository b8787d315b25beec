//! How a graph is to be counted.

use std::ffi::OsString;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use super::settings::{self, Setting};
use crate::job::file::Tables;
use crate::job::{Backend, Devices, Partitioner, Parts, Prune};
use trimill_input::ColumnNames;
use trimill_system::child::Helper;
use trimill_system::{Bytes, Result};

/// How a graph is to be counted. Settings that are not given have the defaults of the program, which `docs/jobs.md` lists.
///
/// Settings that contradict each other are refused when counting begins ([`Kind::Usage`](crate::Kind::Usage)).
///
/// ```
/// use trimill::{Backend, Bytes, Options};
///
/// let options = Options::new()
///     .backend(Backend::Cpu)
///     .device_memory(Bytes::mib(512))
///     .host_memory("4GiB".parse()?)
///     .without_cache();
/// # let graph = trimill::Graph::from_edges([(0, 1), (1, 2), (2, 0)]);
/// assert_eq!(graph.count(&options)?.device_memory, Bytes::mib(512));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct Options {
    pub(super) tables: Tables,
    pub(super) helper: Option<Helper>,
}

impl Options {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// What counts: the CPU, a GPU, or a GPU where there is one.
    pub fn backend(mut self, backend: Backend) -> Self {
        self.tables.count.backend = Some(backend);
        self
    }

    /// The counting method, by its name: `docs/methods.md` lists them.
    pub fn method(mut self, name: &str) -> Self {
        self.tables.count.method = Some(name.into());
        self
    }

    /// The GPUs that count; by default the first one of the driver.
    pub fn devices(mut self, devices: Devices) -> Self {
        self.tables.count.devices = Some(devices);
        self
    }

    /// The number of CPU threads; by default one for each core, but one alone for fewer than 65,536 edges in memory.
    pub fn threads(mut self, threads: NonZeroUsize) -> Self {
        self.tables.count.threads = Some(threads);
        self
    }

    /// The most bytes of device memory (on the CPU: of memory for counting), never exceeded.
    pub fn device_memory(mut self, bytes: Bytes) -> Self {
        self.tables.memory.device = Some(bytes);
        self
    }

    /// The most host memory that a job may take beyond what the process holds; by default half of the machine's or the control groups' limit.
    pub fn host_memory(mut self, bytes: Bytes) -> Self {
        self.tables.memory.host = Some(bytes);
        self
    }

    /// How vertices are assigned to partitions. METIS runs in a child process: see [`Self::program`].
    pub fn partitioner(mut self, partitioner: Partitioner) -> Self {
        self.tables.partition.partitioner = Some(partitioner);
        self
    }

    /// METIS sees runs of this many consecutive vertices as one; for graphs above its limits.
    pub fn metis_contract(mut self, vertices: NonZeroU32) -> Self {
        self.tables.partition.metis.contract = Some(vertices);
        self
    }

    /// The number of partitions; by default as few as fit the budget.
    pub fn parts(mut self, parts: NonZeroU32) -> Self {
        self.tables.partition.parts = Some(Parts::Exactly(parts));
        self
    }

    /// What is dropped of each partition before it is spilled.
    pub fn prune(mut self, level: Prune) -> Self {
        self.tables.partition.prune = Some(level);
        self
    }

    /// The seed of random choices; by default 1. The count does not depend on it.
    pub fn seed(mut self, seed: u64) -> Self {
        self.tables.partition.seed = Some(seed);
        self
    }

    /// The columns of a Parquet or Arrow file that hold the ends of edges; by default the first two.
    pub fn columns(mut self, columns: ColumnNames) -> Self {
        self.tables.input.columns = Some(columns);
        self
    }

    /// Whether the ids of edge lists, Parquet or Arrow files are names: text, whose numbers follow the order of its bytes. Counts at each
    /// vertex or on each edge are then written to files only.
    pub fn names(mut self, names: bool) -> Self {
        self.tables.input.names = Some(names);
        self
    }

    /// The directory for temporary files; by default the system's. Spilled partitions are among them, unless `spill_dir` was [set](Self::set).
    pub fn work_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        settings::set_work_dir(&mut self.tables, Some(dir.into()));
        self
    }

    /// Where prepared graphs are kept, so that the next count of a file begins at partitioning; by default `trimill` in the user's cache directory.
    pub fn cache_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.tables.cache.dir = Some(dir.into());
        self
    }

    /// Prepares the graph each time and keeps nothing.
    pub fn without_cache(mut self) -> Self {
        self.tables.cache.enabled = Some(false);
        self
    }

    /// Counts the triangles at each vertex, too, for [`RunResult::clustering`](crate::RunResult::clustering). Counting then takes 1.1 to 5.3
    /// times as long, and 8 bytes a vertex.
    ///
    /// ```
    /// use trimill::{Graph, Options};
    ///
    /// // A triangle with a tail.
    /// let graph = Graph::from_edges([(0, 1), (1, 2), (2, 0), (2, 3)]);
    /// let clustering = graph.count(&Options::new().clustering())?.clustering.unwrap_or_default();
    /// assert_eq!(clustering.average_clustering_of_degree_2, (1.0 + 1.0 + 1.0 / 3.0) / 3.0);
    /// # Ok::<(), trimill::Error>(())
    /// ```
    pub fn clustering(mut self) -> Self {
        self.tables.output.clustering = Some(true);
        self
    }

    /// Writes the triangles at each vertex to `file`, a new one: `.tsv` or `.csv` (either with `.gz` or `.zst`), `.npy` or `.parquet`
    /// ([`Kind::Usage`](crate::Kind::Usage) otherwise, and for a file that is there, without [`Self::force`]).
    pub fn per_vertex(mut self, file: impl Into<PathBuf>) -> Self {
        self.tables.output.per_vertex = Some(file.into());
        self
    }

    /// Writes the vertices of each degree, their triangles and their average clustering to `file`, as [`Self::per_vertex`].
    pub fn by_degree(mut self, file: impl Into<PathBuf>) -> Self {
        self.tables.output.by_degree = Some(file.into());
        self
    }

    /// Writes the local clustering coefficient of every vertex of the input to `file`, a new one: lines of its id and the value, in the order
    /// of the ids, 0 for those without an edge; `.gz` and `.zst` are compressed. Edges of a graph whose files say that it is directed count by
    /// their direction; see [`Self::directed`]. Not of a [`PreparedGraph`](crate::PreparedGraph).
    pub fn lcc(mut self, file: impl Into<PathBuf>) -> Self {
        self.tables.output.lcc = Some(file.into());
        self
    }

    /// Says whether the arcs of the input's files have a direction, for [`Self::lcc`]; by default they do if the files say so.
    pub fn directed(mut self, directed: bool) -> Self {
        self.tables.output.directed = Some(directed);
        self
    }

    /// Writes the triangles on each edge to `file`, as [`Self::per_vertex`]: `.tsv` or `.csv` (either with `.gz` or `.zst`), or `.parquet`. The
    /// sums take 4 bytes an edge.
    pub fn per_edge(mut self, file: impl Into<PathBuf>) -> Self {
        self.tables.output.per_edge = Some(file.into());
        self
    }

    /// Peels the graph, too: the trussness of each edge, which [`Self::per_edge`] then writes, and the sizes of all trusses, for
    /// [`RunResult::truss`](crate::RunResult::truss). All edges are in memory, up to 44 bytes for each.
    ///
    /// ```
    /// use trimill::{Graph, Options};
    ///
    /// // A complete graph of four vertices, with a tail.
    /// let graph = Graph::from_edges([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3), (3, 4)]);
    /// let trusses = graph.count(&Options::new().truss())?.truss.unwrap_or_default();
    /// assert_eq!((trusses.largest_k, trusses.by_k[1].edges), (4, 6));
    /// # Ok::<(), trimill::Error>(())
    /// ```
    pub fn truss(mut self) -> Self {
        self.tables.output.truss = Some(true);
        self
    }

    /// Writes the vertices and edges of the truss of each k to `file`, as [`Self::by_degree`].
    pub fn by_k(mut self, file: impl Into<PathBuf>) -> Self {
        self.tables.output.by_k = Some(file.into());
        self
    }

    /// Writes a page that shows the result to `file`, an HTML file that opens in a browser. A page of an earlier count is replaced.
    pub fn report(mut self, file: impl Into<PathBuf>) -> Self {
        self.tables.output.report = Some(file.into());
        self
    }

    /// Makes that page compare with an earlier result: `file` holds a [`RunResult`](crate::RunResult) as JSON.
    pub fn against(mut self, file: impl Into<PathBuf>) -> Self {
        self.tables.output.against = Some(file.into());
        self
    }

    /// Replaces files that are there already under the names of outputs; inputs are never replaced.
    pub fn force(mut self) -> Self {
        self.tables.output.force = Some(true);
        self
    }

    /// The directory that records finished work, so that the same count, started again after any end, continues from there.
    pub fn run_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.tables.run.dir = Some(dir.into());
        self
    }

    /// The program `trimill`, which is started for the partitioner METIS: that library traps signals and may end its process, so it
    /// never runs in this one. A program that is not `trimill` names another command: [`Self::metis_command`].
    pub fn program(mut self, program: impl Into<PathBuf>) -> Self {
        self.helper = Some(Helper::metis(program.into()));
        self
    }

    /// The command that is started for the partitioner METIS: a program, and its first arguments. The library adds arguments of its
    /// own, with which that process calls [`metis_child`](crate::metis_child).
    pub fn metis_command<A: Into<OsString>>(
        mut self,
        program: impl Into<PathBuf>,
        arguments: impl IntoIterator<Item = A>,
    ) -> Self {
        let arguments = arguments.into_iter().map(Into::into).collect();
        self.helper = Some(Helper { program: program.into(), arguments });
        self
    }

    /// Makes a setting by its name, for callers that let their users name it. Names and values are those of the program's flags, with
    /// `_` for `-`, and `cache`; [`Self::setting_names`] lists them.
    ///
    /// ```
    /// use trimill::{Graph, Options};
    ///
    /// let options = Options::new().set("device_memory", "1MiB")?.set("parts", 2)?.set("cache", false)?;
    /// let graph = Graph::from_edges([(0, 1), (1, 2), (2, 0)]);
    /// assert_eq!(graph.count(&options)?.device_memory, trimill::Bytes::mib(1));
    ///
    /// let error = Options::new().set("device_memroy", "1MiB").unwrap_err().to_string();
    /// assert!(error.contains("did you mean `device_memory`?"));
    /// # Ok::<(), trimill::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Kind::Usage`](crate::Kind::Usage): an unknown name; a value that the setting cannot have.
    pub fn set(mut self, name: &str, value: impl Into<Setting>) -> Result<Self> {
        settings::set(&mut self.tables, name, value.into())?;
        Ok(self)
    }

    /// The names for [`Self::set`].
    pub fn setting_names() -> impl Iterator<Item = &'static str> {
        settings::names()
    }
}
