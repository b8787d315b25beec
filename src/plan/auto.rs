//! Chooses the mode, in place or spilled, that is estimated to be faster.
//!
//! Rank ranges are planned first, since that takes no pass over the graph; runs of consecutive ids, whose partitions are spilled
//! with the rows of their proxies, only where they could be faster ([`estimate::partition_at_least`]). A graph that fits as one
//! partition is never split.

use super::estimate::{self, Estimates};
use super::{Plan, Planner};
use trimill_system::error::Result;

impl Planner<'_> {
    /// Plans rank ranges, `parts` of them where it is given; or returns the plan of `by_id` where that is estimated to be faster.
    pub fn auto(&self, parts: Option<u32>, by_id: impl FnOnce() -> Result<Plan>) -> Result<Plan> {
        let ranges = self.ranges(parts)?;
        if ranges.parts() == 1 {
            return Ok(ranges);
        }
        let (graph, machine) = (self.graph, &self.limits.machine);
        let least = Estimates {
            in_place: estimate::graph(machine, graph, &ranges.predictions, &ranges.sizes),
            spilled: estimate::partition_at_least(machine, graph.vertices(), graph.edges()),
            sized: false,
        };
        if least.in_place <= least.spilled {
            return Ok(Plan { estimates: Some(least), ..ranges });
        }
        let runs = by_id()?;
        let partition = estimate::partition_sized(machine, graph.edges(), &runs.sizes, &runs.predictions);
        let estimates = Some(Estimates { spilled: partition, sized: true, ..least });
        Ok(Plan { estimates, ..if partition < least.in_place { runs } else { ranges } })
    }
}
