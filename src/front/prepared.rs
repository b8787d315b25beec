//! A graph that is prepared once, and then asked any number of questions.

use std::sync::Arc;

use super::graph::in_memory;
use super::{Graph, Options, apart, check_no_run_dir, count_with, resolved};
use crate::execute;
use crate::execute::session::{Purpose, Session};
use crate::job::file::{InputTable, Tables};
use crate::outputs::arrays::{CountArrays, EdgeColumns, VertexColumns, filled};
use crate::paths::{self, Paths};
use crate::report::{RunResult, Stage};
use crate::sums::{ByRank, Sums};
use crate::vertices::order::VerticesOfGraph;
use trimill_graph::OrientedGraph;
use trimill_system::{Bytes, Control, Error, Result, parallel, threads};

/// A graph that was read, cleaned and oriented, so that each question only counts. It takes one to three bytes an edge and up to 12 a vertex in
/// memory; if that is more than a quarter of the host's budget, it is in a temporary file; a graph from the cache stays there. Clones share it.
///
/// ```
/// use trimill::{Graph, Options};
///
/// // A triangle with a tail.
/// let options = Options::new();
/// let graph = Graph::from_edges([(5, 6), (6, 7), (7, 5), (7, 8)]).prepare(&options)?;
/// assert_eq!(graph.count(&options)?.triangles, 1);
///
/// let (_, vertices) = graph.vertices(&options)?;
/// assert_eq!(vertices.ids, [5, 6, 7, 8]);
/// assert_eq!(vertices.degrees, [2, 2, 3, 1]);
/// assert_eq!(vertices.triangles, [1, 1, 1, 0]);
///
/// let (_, edges) = graph.edges(&options)?;
/// let supports = edges.u.iter().zip(&edges.v).zip(&edges.counts);
/// assert!(supports.eq([((&5, &6), &1), ((&5, &7), &1), ((&6, &7), &1), ((&7, &8), &0)]));
/// # Ok::<(), trimill::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct PreparedGraph {
    graph: OrientedGraph,
    stages: Vec<Stage>,
    /// What was read, which no file of counts replaces.
    inputs: Paths,
}

impl Graph<'_> {
    /// Reads, cleans and orients it, for several questions.
    ///
    /// # Errors
    /// As [`Self::count`].
    pub fn prepare(&self, options: &Options) -> Result<PreparedGraph> {
        self.prepare_with(options, &Control::silent())
    }

    /// As [`Self::prepare`], but it reports progress to an [`Observer`](crate::Observer) and can be stopped.
    ///
    /// # Errors
    /// As [`Self::count_with`].
    pub fn prepare_with(&self, options: &Options, control: &Control) -> Result<PreparedGraph> {
        check_no_run_dir(options)?;
        let job = self.job(options)?;
        let named = job.paths();
        paths::check(std::slice::from_ref(&named))?;
        let inputs = named.inputs();
        apart(job.settings.count.may_use_gpu(), || {
            let session = Session::open(job, Purpose::Count, None, control)?;
            let opened = session.input(self.edges())?;
            opened.open_gpus()?;
            let mut stages = Vec::new();
            let (graph, _) = opened.graph(&mut stages)?;
            Ok(PreparedGraph { graph, stages, inputs })
        })
    }
}

impl PreparedGraph {
    /// Its edges, without loops and repeated ones.
    pub fn edge_count(&self) -> u64 {
        self.graph.edges()
    }

    /// Its vertices with an edge.
    pub fn vertex_count(&self) -> u32 {
        self.graph.vertices()
    }

    /// Paths of two edges: the sum of `d (d - 1) / 2` over all vertices.
    pub fn wedges(&self) -> u128 {
        self.graph.wedges()
    }

    /// The ids and degrees of the vertices with an edge; nothing is counted, so all triangles are 0.
    ///
    /// # Errors
    /// Where the graph's file cannot be read any more; threads that the system refuses.
    pub fn degrees(&self, options: &Options) -> Result<VertexColumns> {
        self.degrees_with(options, &Control::silent())
    }

    /// As [`Self::degrees`], but it can be stopped.
    ///
    /// # Errors
    /// As [`Self::degrees`]; [`Kind::Interrupted`](crate::Kind::Interrupted) once it was stopped.
    pub fn degrees_with(&self, options: &Options, control: &Control) -> Result<VertexColumns> {
        self.check_numbers()?;
        let arrays = Arc::default();
        apart(false, || {
            let (graph, sums) = (&self.graph, &Sums::<ByRank>::in_memory(self.graph.vertices().into()));
            let to = CountArrays::Vertices(Arc::clone(&arrays));
            let pool = threads::pool(options.tables.count.threads)?;
            let memory = Bytes(u64::MAX);
            parallel::within(&pool, || to.take_vertices(&VerticesOfGraph { graph, sums, memory, control }))
        })?;
        Ok(filled(&arrays))
    }

    /// Counts its triangles, exactly. Settings of how a graph is read are not used.
    ///
    /// # Errors
    /// As [`Graph::count`].
    pub fn count(&self, options: &Options) -> Result<RunResult> {
        self.count_with(options, &Control::silent())
    }

    /// As [`Self::count`], but it reports progress to an [`Observer`](crate::Observer) and can be stopped.
    ///
    /// # Errors
    /// As [`Graph::count_with`].
    pub fn count_with(&self, options: &Options, control: &Control) -> Result<RunResult> {
        self.asked(options, None, control)
    }

    /// Counts the triangles at each vertex.
    ///
    /// # Memory
    /// The arrays take 20 bytes a vertex, outside of [`Options::host_memory`].
    ///
    /// # Errors
    /// As [`Graph::count`].
    pub fn vertices(&self, options: &Options) -> Result<(RunResult, VertexColumns)> {
        self.vertices_with(options, &Control::silent())
    }

    /// As [`Self::vertices`], but it reports progress to an [`Observer`](crate::Observer) and can be stopped.
    ///
    /// # Errors
    /// As [`Graph::count_with`].
    pub fn vertices_with(&self, options: &Options, control: &Control) -> Result<(RunResult, VertexColumns)> {
        let arrays = Arc::default();
        let result = self.asked(options, Some(CountArrays::Vertices(Arc::clone(&arrays))), control)?;
        Ok((result, filled(&arrays)))
    }

    /// Counts the triangles on each edge or, with [`Options::truss`], finds its trussness.
    ///
    /// # Memory
    /// The arrays take 20 bytes an edge, outside of [`Options::host_memory`].
    ///
    /// # Errors
    /// As [`Graph::count`].
    pub fn edges(&self, options: &Options) -> Result<(RunResult, EdgeColumns)> {
        self.edges_with(options, &Control::silent())
    }

    /// As [`Self::edges`], but it reports progress to an [`Observer`](crate::Observer) and can be stopped.
    ///
    /// # Errors
    /// As [`Graph::count_with`].
    pub fn edges_with(&self, options: &Options, control: &Control) -> Result<(RunResult, EdgeColumns)> {
        let arrays = Arc::default();
        let result = self.asked(options, Some(CountArrays::Edges(Arc::clone(&arrays))), control)?;
        Ok((result, filled(&arrays)))
    }

    fn check_numbers(&self) -> Result<()> {
        match self.graph.has_names() {
            false => Ok(()),
            true => Err(Error::usage("counts as arrays, of a graph whose ids are names")
                .expected("ids that are numbers")
                .advice("write the counts to a file: per_vertex or per_edge")),
        }
    }

    fn asked(&self, options: &Options, arrays: Option<CountArrays>, control: &Control) -> Result<RunResult> {
        check_no_run_dir(options)?;
        let mut tables = Tables { input: InputTable::default(), ..options.tables.clone() };
        in_memory(&mut tables, self.graph.edges())?;
        if arrays.is_some() {
            self.check_numbers()?;
        }
        tables.input.names = self.graph.has_names().then_some(true);
        let mut job = resolved(&tables)?;
        job.arrays = arrays;
        let Self { graph, stages, inputs } = self.clone();
        // What writes nothing replaces nothing; there may be thousands of inputs.
        let mut writes = false;
        job.settings.for_each_path(|_| writes = true);
        let inputs = writes.then_some(inputs);
        paths::check(&inputs.into_iter().chain([job.paths()]).collect::<Vec<_>>())?;
        count_with(job, |job| execute::count::count_prepared(job, graph, stages, options.helper.clone(), control))
    }
}
