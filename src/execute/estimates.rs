//! Estimates the seconds that a planned job takes to prepare, count and peel, from the rates of the machine. Reads no files.

use super::planning::Planning;
use crate::clean::workspace::{GraphToPrepare, IdCount, InputForm};
use crate::clean::{Workspace, needs};
use crate::names;
use crate::plan::Plan;
use crate::plan::cost::GPU_START;
use crate::plan::predict::PlannedPartition;
use crate::plan::whole::WholeWork;
use crate::report::plan::PreparingFigures;
use trimill_graph::OrientedGraph;
use trimill_system::Bytes;
use trimill_system::memory::{HostMemory, Needs};

#[derive(Debug, Clone, Copy)]
pub(super) struct JobEstimate {
    pub(super) parts: u32,
    pub(super) preparing: PreparingFigures,
    pub(super) counting: f64,
    pub(super) peeling: Option<f64>,
}

impl JobEstimate {
    pub(super) fn seconds(&self, gpus: usize) -> f64 {
        let start = if gpus > 0 { GPU_START } else { 0.0 };
        self.preparing.seconds + start + self.counting + self.peeling.unwrap_or(0.0)
    }
}

pub(super) struct Estimating<'a> {
    pub(super) planning: Planning<'a>,
    pub(super) plan: &'a Plan,
    pub(super) work: WholeWork,
    pub(super) has_rows: bool,
}

impl Estimating<'_> {
    pub(super) fn now(&self) -> JobEstimate {
        self.of(self.plan, &self.planning, self.planning.session.host)
    }

    pub(super) fn of(&self, plan: &Plan, planning: &Planning<'_>, host: HostMemory) -> JobEstimate {
        let Planning { session, graph, limits, .. } = *planning;
        JobEstimate {
            parts: plan.parts(),
            preparing: self.preparing(host, limits.device),
            counting: planning.counting(plan, || {
                let streamed: Bytes = plan.partitions.iter().map(|planned| planned.predicted.stream).sum();
                let row_blocks = |planned: &PlannedPartition| planned.predicted.passes * planned.predicted.row_blocks;
                let row_blocks = plan.partitions.iter().map(row_blocks).sum();
                limits.machine.counting_on_cores(&self.work.times(plan.passes()), streamed, row_blocks)
            }),
            peeling: session.job.settings.output.peeling().map(|_| limits.machine.peeling(graph.edges())),
        }
    }

    pub(super) fn preparing(&self, host: HostMemory, device: Bytes) -> PreparingFigures {
        let Self { has_rows, planning: Planning { session, graph, limits, .. }, .. } = *self;
        let (space, report) = (Workspace { memory: host, ..session.workspace() }, graph.report());
        // Cannot fail, since preparing the graph had at least this memory.
        let Ok(shares) = space.beside(&least_to_prepare(graph, space)) else { return PreparingFigures::default() };
        // Directed rows are sorted as arcs if these fit in memory.
        let sorted = !has_rows || Bytes::of::<u64>(report.arcs) <= Bytes(shares.buckets());
        let form = match (report.arcs_added, sorted, limits.machine.gpus) {
            (0, ..) if has_rows => InputForm::SymmetricRows,
            (_, false, _) => InputForm::DirectedRows,
            (_, true, 0) => InputForm::Arcs,
            (_, true, _) => InputForm::ArcsOnGpu,
        };
        let (ids, arcs, edges) = (ids(graph).many(), report.arcs, graph.edges());
        let known = GraphToPrepare { form, ids, arcs, edges, row_bytes: Some(graph.stored_bytes()) };
        let estimate = limits.machine.preparing(&known, &shares, device);
        PreparingFigures { passes: estimate.passes, scratch_bytes: estimate.scratch, seconds: estimate.seconds() }
    }
}

/// The least host memory to prepare the graph, or to sort its names if that takes more.
pub(super) fn least_to_prepare(graph: &OrientedGraph, space: Workspace<'_>) -> Needs {
    let floor = |needs: &Needs| space.memory.floor(needs).bytes;
    // If arrays over all ids do not fit, a table of those that occur may.
    let [of_ids, of_table] =
        [ids(graph), IdCount::Ranked(graph.vertices().into())].map(|ids| needs(ids, graph.report().arcs, space));
    let of_graph = if floor(&of_table) < floor(&of_ids) { of_table } else { of_ids };
    let of_names = names::least(space);
    if graph.has_names() && floor(&of_names) > floor(&of_graph) { of_names } else { of_graph }
}

fn ids(graph: &OrientedGraph) -> IdCount {
    match graph.declared_lines() {
        Some(lines) => IdCount::Plain(lines + graph.first_declared_id()),
        None => IdCount::Ranked(graph.vertices().into()),
    }
}
