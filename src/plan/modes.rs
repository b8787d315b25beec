//! Chooses the mode, in place or spilled, that is estimated to be faster. One pass of counting takes the same time in both, so only further passes,
//! for counters of vertices that do not fit at once, are estimated. Rank ranges are planned first, without a pass over the graph; spilled partitions,
//! runs of consecutive ids, only if they could be faster. A graph that fits as one partition is never split. docs/results/modes-h200.md shows where
//! each mode is faster.

use serde::{Deserialize, Serialize};

use super::cost::PassingRows;
use super::predict::PlannedPartition;
use super::sample::SampledWork;
use super::{Plan, Planner};
use trimill_system::{Bytes, Result};

/// Seconds from the plan to the result, without the counting itself.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Estimates {
    /// By the in-place mode.
    pub in_place: f64,
    /// By the spilled mode; a lower bound where `sized` is not set.
    pub spilled: f64,
    /// Whether all partitions were sized for it, which is slow, so it is done only if the lower bound is not above `in_place`.
    pub sized: bool,
}

impl Planner<'_> {
    /// Plans rank ranges, `parts` of them if given; or returns the plan of `by_id` if that is estimated to be faster.
    pub fn auto(&self, parts: Option<u32>, by_id: impl FnOnce() -> Result<Plan>) -> Result<Plan> {
        let ranges = self.ranges(parts)?;
        if ranges.parts() == 1 {
            return Ok(ranges);
        }
        let Self { graph, limits, .. } = self;
        let arcs = graph.edges() as f64;
        let least = Estimates {
            in_place: self.in_place_seconds(&ranges),
            // A lower bound: every arc is resident in one of the partitions.
            spilled: limits.machine.spilling(arcs, arcs, arcs, graph.vertices().into()),
            sized: false,
        };
        if least.in_place <= least.spilled {
            return Ok(Plan { estimates: Some(least), ..ranges });
        }
        let runs = by_id()?;
        let spilled = self.spilled_seconds(&runs);
        let estimates = Some(Estimates { spilled, sized: true, ..least });
        Ok(Plan { estimates, ..if spilled < least.in_place { runs } else { ranges } })
    }

    fn in_place_seconds(&self, ranges: &Plan) -> f64 {
        let graph = self.graph;
        let streamed: Bytes = ranges.partitions.iter().map(|planned| planned.predicted.stream).sum();
        let passes = streamed.get() as f64 / graph.csr_bytes().get().max(1) as f64;
        let (arcs, bytes) = (passes * graph.edges() as f64, passes * graph.stored_bytes().get() as f64);
        self.limits.machine.streaming_graph(arcs, bytes, visits(ranges)) + self.counting_again(ranges)
    }

    /// Seconds in the spilled mode, whose partitions are sized.
    pub fn spilled_seconds(&self, sets: &Plan) -> f64 {
        let of = |weight: fn(&PlannedPartition) -> u64| sets.partitions.iter().map(weight).sum::<u64>() as f64;
        let kept = of(|planned| planned.size.arcs_kept);
        let streamed = of(|planned| planned.size.arcs_kept * planned.predicted.passes);
        let edges = self.graph.edges() as f64;
        let machine = &self.limits.machine;
        machine.spilling(edges, kept, streamed, visits(sets)) + machine.spills(sets.parts()) + self.counting_again(sets)
    }

    /// Seconds of counting beyond the first pass over each partition.
    fn counting_again(&self, plan: &Plan) -> f64 {
        let (again, size) = (plan.passes() - 1.0, self.graph.size());
        let work = SampledWork {
            near: again * size.edges as f64,
            near_probes: again * size.probes as f64,
            ..SampledWork::default()
        };
        let machine = &self.limits.machine;
        machine.counting(&work, PassingRows::default())
            / if machine.gpus > 0 { machine.gpus } else { machine.cores } as f64
    }
}

/// How often a local is looked up for a row block.
fn visits(plan: &Plan) -> f64 {
    let visits =
        |planned: &PlannedPartition| planned.size.locals * planned.predicted.row_blocks * planned.predicted.passes;
    plan.partitions.iter().map(visits).sum::<u64>() as f64
}
