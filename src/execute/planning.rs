//! Makes the plan of a session's graph: with the job's partitioner, or in the mode that is estimated to be faster.

use std::sync::atomic::AtomicU64;

use trimill_counting::Footprint;

use super::chosen::ChosenBackends;
use super::session::{Purpose, Session};
use crate::count::method::CudaMethod;
use crate::job::{Mode, Partitioner};
use crate::plan::choose::estimate;
use crate::plan::{Plan, PlanLimits, Planner};
use trimill_graph::OrientedGraph;
use trimill_system::Result;

#[derive(Clone, Copy)]
pub(super) struct Planning<'a> {
    pub(super) session: &'a Session,
    pub(super) graph: &'a OrientedGraph,
    pub(super) method: &'a str,
    pub(super) footprint: Footprint,
    pub(super) limits: &'a PlanLimits,
    pub(super) builds: bool,
}

impl<'a> Planning<'a> {
    pub(super) fn new(
        session: &'a Session,
        graph: &'a OrientedGraph,
        chosen: &ChosenBackends,
        limits: &'a PlanLimits,
    ) -> Self {
        let backend = &chosen.backends[0];
        let builds = chosen.division.building.is_some();
        Self { session, graph, method: backend.method(), footprint: backend.footprint(), limits, builds }
    }

    pub(super) fn planner(&self) -> Planner<'_> {
        let Self { session, graph, footprint, limits, .. } = self;
        Planner { graph, footprint, limits, control: &session.control }
    }

    /// Seconds of counting by a plan, and of building its spills; `about` estimates the counting time for methods without an estimate of their own.
    pub(super) fn counting(&self, plan: &Plan, about: impl Fn() -> f64) -> f64 {
        let Self { graph, method, footprint, limits, .. } = self;
        let machine = &limits.machine;
        let method = match *method {
            "packed" => Some(CudaMethod::Packed),
            "lstc" => Some(CudaMethod::Lstc),
            _ => None,
        };
        let estimated = method.and_then(|method| {
            let choice = (method, *footprint);
            estimate(&graph.size(), &choice, &machine.rates, limits.device, limits.largest_row_block)
        });
        let building = if plan.cut.mode() == Mode::Spilled { self.planner().spilled_seconds(plan) } else { 0.0 };
        estimated.map_or_else(about, |of| plan.passes() * of.seconds / machine.gpus.max(1) as f64) + building
    }

    /// `child_peak` becomes the peak memory of a METIS child. Runs in the job's threads.
    pub(super) fn plan(&self, child_peak: &AtomicU64) -> Result<Plan> {
        let (job, planner) = (&self.session.job, self.planner());
        let parts = job.settings.partition.parts().asked();
        let plan = match (job.settings.partition.partitioner(), job.settings.mode()) {
            (Partitioner::Rank, _) => planner.ranges(parts),
            (Partitioner::Auto, None) if !self.builds => planner.ranges(parts),
            (Partitioner::Auto, None) => planner.auto(parts, || self.sets(&Partitioner::Contiguous, child_peak)),
            (Partitioner::Auto, Some(_)) => self.sets(&Partitioner::Contiguous, child_peak),
            (other, _) => self.sets(other, child_peak),
        };
        plan.map_err(|error| match self.session.purpose {
            // This machine may count by another one.
            Purpose::Plan if error.is_for_memory() => {
                let on = if self.limits.machine.gpus > 0 { "a GPU" } else { "the CPU" };
                error.while_doing(&format!("counting by method {} on {on}", self.method))
            }
            _ => error,
        })
    }
}
