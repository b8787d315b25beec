//! What `trimill generate` does: writes a graph whose triangle count is known.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::count::count_prepared;
use super::session::{Purpose, Session};
use crate::job::{Backend, Job};
use crate::report::GenerateReport;
use trimill_generate::{BaseGraph, Family, GeneratedFile, RowArcs, generate_file};
use trimill_graph::{Direction, OrientedGraph};
use trimill_system::{Bytes, Control, Result, parallel, starts_of, threads};

/// A graph to be made.
#[derive(Debug, Clone, PartialEq)]
pub struct GenerateRequest {
    /// The family, with its parameters.
    pub family: Family,
    /// The graph that a product is made from; it is cleaned first.
    pub graph: Option<Box<Job>>,
    /// Which arcs of an edge the rows have, in files that store rows.
    pub arcs: RowArcs,
    /// The file; its suffix determines how edges are written to it.
    pub output: PathBuf,
    /// Whether existing files are replaced.
    pub force: bool,
    /// CPU threads; none: all cores.
    pub threads: Option<NonZeroUsize>,
}

impl GenerateRequest {
    /// The files that are written; none if edges go to standard output.
    pub fn files(&self) -> Vec<PathBuf> {
        match self.output.extension() {
            _ if self.output == Path::new("-") => Vec::new(),
            Some(suffix) if suffix == "graph" => trimill_input::companions(&self.output).into(),
            _ => vec![self.output.clone()],
        }
    }
}

/// Makes the graph that `request` asks for; products of a given graph clean that graph first.
pub fn generate(request: &GenerateRequest, control: &Control) -> Result<GenerateReport> {
    let start = Instant::now();
    let pool = threads::pool(request.threads)?;
    let base = request.graph.as_deref().map(|job| base(job.clone(), control)).transpose()?;
    let file = GeneratedFile { path: &request.output, arcs: request.arcs, force: request.force, control };
    let made = parallel::within(&pool, || generate_file(&request.family, base.as_ref(), &file))?;
    Ok(GenerateReport {
        family: request.family.name().into(),
        file: request.output.clone(),
        pairs_written: made.edges_written,
        bytes: Bytes(made.bytes),
        vertices: made.known.vertices,
        edges: made.known.edges,
        triangles: made.known.triangles,
        seconds: start.elapsed().as_secs_f64(),
    })
}

fn base(mut job: Job, control: &Control) -> Result<BaseGraph> {
    // The base graph fits in memory, so it is counted on the CPU, without looking for a GPU.
    job.settings.count.backend = Some(Backend::Cpu);
    let opened = Session::open(job.clone(), Purpose::Count, None, control)?.input(None)?;
    let (graph, _) = opened.graph(&mut Vec::new())?;
    // The input may be a pipe, which is read once.
    let triangles = count_prepared(job, graph.clone(), Vec::new(), None, control)?.triangles;
    parallel::within(&opened.session.pool, || cleaned(&graph, triangles, control))
}

/// Reads `graph` twice.
fn cleaned(graph: &OrientedGraph, triangles: u128, control: &Control) -> Result<BaseGraph> {
    let order = graph.order()?;
    let mut lengths = vec![0u64; graph.vertices() as usize];
    let each = |edge: &mut (dyn FnMut(u32, u32) + Send)| {
        graph.pass(Bytes::mib(16), Direction::Rising, control, |block| {
            for rank in block.ranks() {
                let vertex = order[rank as usize];
                let others = block.row(rank).iter().map(|&successor| order[successor as usize]);
                others.for_each(|other| edge(vertex.min(other), vertex.max(other)));
            }
            Ok(())
        })
    };
    each(&mut |u, _| lengths[u as usize] += 1)?;
    let begins = starts_of(lengths);
    let (mut next, mut neighbours) = (begins.clone(), vec![0; graph.edges() as usize]);
    each(&mut |u, v| {
        neighbours[next[u as usize] as usize] = v;
        next[u as usize] += 1;
    })?;
    Ok(BaseGraph { begins, neighbours, triangles: Some(triangles) })
}
