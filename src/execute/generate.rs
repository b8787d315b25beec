//! What `trimill generate` does: a graph whose answer is known.

use std::ops::Range;
use std::time::Instant;

use super::graph::Input;
use super::setup::Setup;
use crate::bytes::Bytes;
use crate::control::Control;
use crate::error::Result;
use crate::generate::{BaseGraph, generate as write};
use crate::graph::OrientedGraph;
use crate::job::Job;
use crate::report::GenerateReport;
use crate::request::GenerateRequest;
use crate::threads;

/// Makes the graph that `request` asks for; products of a given graph clean that graph first.
///
/// # Errors
/// Parameters that make no graph, a given graph that cannot be read, a file that cannot be written.
pub fn generate(request: &GenerateRequest, control: &Control) -> Result<GenerateReport> {
    let start = Instant::now();
    let pool = threads::pool(request.threads)?;
    let base = request.graph.as_ref().map(|job| base(job, control)).transpose()?;
    let base = base.as_ref().map(|base| base as &dyn BaseGraph);
    let made = pool.install(|| write(&request.family, base, &request.output, control))?;
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

/// A cleaned graph, and its triangles, counted so that those of the product are known.
struct Cleaned {
    graph: OrientedGraph,
    triangles: u128,
}

fn base(job: &Job, control: &Control) -> Result<Cleaned> {
    let setup = Setup::new(job, None)?;
    let (graph, _) = Input::open(job, &setup, control)?.graph(&setup, control, &mut Vec::new())?;
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
            for &head in self.graph.row(self.graph.rank_of(id as u32)) {
                each(id, u64::from(id_of[head as usize]));
            }
        }
    }

    fn triangles_known(&self) -> Option<u128> {
        Some(self.triangles)
    }
}
