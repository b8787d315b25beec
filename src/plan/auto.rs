//! Rank ranges or runs of ids: which of the two is sooner done.
//!
//! Enters: both ways to assign, and the limits. Leaves: a plan by rank ranges, beside which the graph's own rows pass, or by runs
//! of neighbouring ids, whose partitions are spilled with the rows of their proxies. Ranges are planned first, since that takes
//! no reading of the graph; runs only where they could win ([`frames::own_at_least`]).

use super::frames::{self, Estimates};
use super::{Assign, Limits, Plan, plan};
use crate::control::Control;
use crate::count::Terms;
use crate::error::Result;
use crate::graph::OrientedGraph;
use crate::job::FrameKind;

/// Plans by rank ranges (`by_rank`) or by runs of ids (`by_id`). A graph that is one partition is a rank range.
///
/// # Errors
/// As [`plan`].
pub fn auto(
    graph: &OrientedGraph,
    [by_rank, by_id]: [&dyn Assign; 2],
    terms: &Terms,
    limits: Limits,
    control: &Control,
) -> Result<Plan> {
    let ranges = plan(graph, by_rank, terms, Limits { frames: FrameKind::Shared, ..limits }, control)?;
    let Some(in_memory) = ranges.shared.as_ref().map(|shared| shared.in_memory) else { return Ok(ranges) };
    let (n, m, rates) = (graph.vertices(), graph.edges(), &limits.rates);
    let shared = frames::shared(rates, m, &ranges.sizes, &ranges.predictions, in_memory);
    let least = Estimates { own: frames::own_at_least(rates, n, m), sized: false, shared, in_memory };
    if shared <= least.own {
        return Ok(Plan { estimates: Some(least), ..ranges });
    }
    let runs = plan(graph, by_id, terms, Limits { frames: FrameKind::Own, ..limits }, control)?;
    let own = frames::own_sized(rates, &runs.sizes, &runs.predictions);
    let estimates = Some(Estimates { own, sized: true, ..least });
    let mut faster = if own < shared { runs } else { ranges };
    faster.estimates = estimates;
    Ok(faster)
}
