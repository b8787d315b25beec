//! Graph stream or partition stream: which of the two is sooner done.
//!
//! Rank ranges are planned first, since that takes no reading of the graph; runs of neighbouring ids, whose partitions are
//! spilled with the rows of their proxies, only where they could win ([`estimate::partition_at_least`]). A graph that fits as one
//! partition is never split.

use super::estimate::{self, Estimates};
use super::{Limits, Plan};
use crate::control::Control;
use crate::count::Footprint;
use crate::error::Result;
use crate::graph::OrientedGraph;

/// Plans rank ranges, or as many as `parts`; or what `by_id` plans where that is estimated to be sooner done.
///
/// # Errors
/// As [`super::ranges::ranges`], and what `by_id` reports.
pub fn auto(
    graph: &OrientedGraph,
    parts: Option<u32>,
    footprint: &Footprint,
    limits: &Limits,
    control: &Control,
    by_id: impl FnOnce() -> Result<Plan>,
) -> Result<Plan> {
    let ranges = super::ranges::ranges(graph, parts, footprint, limits, control)?;
    if ranges.parts() == 1 {
        return Ok(ranges);
    }
    let machine = &limits.machine;
    let least = Estimates {
        graph: estimate::graph(machine, graph, &ranges.predictions, &ranges.sizes),
        partition: estimate::partition_at_least(machine, graph.vertices(), graph.edges()),
        sized: false,
    };
    if least.graph <= least.partition {
        return Ok(Plan { estimates: Some(least), ..ranges });
    }
    let runs = by_id()?;
    let partition = estimate::partition_sized(machine, graph.edges(), &runs.sizes, &runs.predictions);
    let estimates = Some(Estimates { partition, sized: true, ..least });
    Ok(Plan { estimates, ..if partition < least.graph { runs } else { ranges } })
}
