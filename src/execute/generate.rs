//! What `trimill generate` does: a graph whose answer is known.

use std::ops::Range;
use std::time::Instant;

use rayon::ThreadPoolBuilder;

use super::setup::Setup;
use crate::bytes::Bytes;
use crate::control::Control;
use crate::error::{Error, Result};
use crate::generate::{BaseGraph, Family, generate as write};
use crate::graph::OrientedGraph;
use crate::job::Job;
use crate::report::GenerateReport;
use crate::request::{self, GenerateRequest};

/// Makes the graph that `request` asks for; products of a given graph clean that graph first.
///
/// # Errors
/// Parameters that make no graph, a given graph that cannot be read, a file that cannot be written.
pub fn generate(request: &GenerateRequest, control: &Control) -> Result<GenerateReport> {
    let start = Instant::now();
    let pool = ThreadPoolBuilder::new()
        .num_threads(request.threads.map_or(0, std::num::NonZeroUsize::get))
        .build()
        .map_err(|e| Error::resource(format!("the threads cannot be started: {e}")))?;
    let (family, graph) = family(&request.family);
    let base = graph.map(|job| base(job, control)).transpose()?;
    let base = base.as_ref().map(|base| base as &dyn BaseGraph);
    let made = pool.install(|| write(&family, base, &request.output, control))?;
    Ok(GenerateReport {
        family: family.name().into(),
        file: request.output.clone(),
        pairs_written: made.edges_written,
        bytes: Bytes(made.bytes),
        vertices: made.known.vertices,
        edges: made.known.edges,
        triangles: made.known.triangles,
        seconds: start.elapsed().as_secs_f64(),
    })
}

/// The construction, and the graph that it is applied to.
fn family(asked: &request::Family) -> (Family, Option<&Job>) {
    use request::Family as Asked;
    match asked {
        Asked::GapKron { scale } => (Family::GapKron { scale: *scale }, None),
        Asked::GapUrand { scale } => (Family::GapUrand { scale: *scale }, None),
        Asked::Stars { leaves, kind } => {
            (Family::Stars { leaves: leaves.0.iter().map(|&leaves| leaves.into()).collect(), kind: *kind }, None)
        }
        Asked::Blowup { graph, copies } => (Family::Blowup { copies: (*copies).into() }, Some(graph)),
        Asked::TensorComplete { graph, order } => (Family::TensorComplete { q: (*order).into() }, Some(graph)),
        Asked::RingLattice { vertices, k } => {
            (Family::RingLattice { vertices: (*vertices).into(), k: (*k).into() }, None)
        }
        Asked::KingsGrid { rows, columns } => {
            (Family::KingsGrid { rows: (*rows).into(), columns: (*columns).into() }, None)
        }
        Asked::Complete { vertices } => (Family::Complete { vertices: (*vertices).into() }, None),
        Asked::RingOfCliques { cliques, size } => {
            (Family::RingOfCliques { cliques: (*cliques).into(), size: (*size).into() }, None)
        }
        Asked::Hamming { dimension, order } => (Family::Hamming { d: *dimension, q: (*order).into() }, None),
    }
}

/// A cleaned graph, and its triangles, counted so that those of the product are known.
struct Cleaned {
    graph: OrientedGraph,
    triangles: u128,
}

fn base(job: &Job, control: &Control) -> Result<Cleaned> {
    let setup = Setup::new(job, None)?;
    let (graph, _) = super::graph::graph(job, &setup, control, &mut Vec::new())?;
    let triangles = super::count::count(job, None, control)?.triangles;
    Ok(Cleaned { graph, triangles })
}

impl BaseGraph for Cleaned {
    fn vertices(&self) -> u64 {
        u64::from(self.graph.vertices())
    }

    fn edges(&self) -> u64 {
        self.graph.edges()
    }

    fn edges_of(&self, range: Range<u64>, each: &mut dyn FnMut(u64, u64)) {
        let id_of = &self.graph.numbering().id_of;
        for id in range {
            for &head in self.graph.row(id as u32) {
                each(id, u64::from(id_of[head as usize]));
            }
        }
    }

    fn triangles_known(&self) -> Option<u128> {
        Some(self.triangles)
    }
}
