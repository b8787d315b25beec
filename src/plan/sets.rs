//! Plans partitions of any sets of locals, for the partition stream.
//!
//! The partitioner is asked for as few parts as fit; parts that do not fit are split. Then all partitions are sized exactly, in
//! passes over the graph ([`crate::partition::sizes`]). From that, resident rows and what is kept are known exactly, and the number
//! of row blocks approximately; peaks, spills and streamed bytes are upper bounds, which assume full blocks and no compression.

use std::time::{Duration, Instant};

use rayon::prelude::*;

use super::predict::{Prediction, RowBlockTotals, predict};
use super::ranges::ranges;
use super::{Assign, Divided, GraphCut, Plan, PlanLimits, divided, refuse_parts};
use crate::count::Footprint;
use crate::graph::OrientedGraph;
use crate::partition::assignment::Assignment;
use crate::partition::locals::Locals;
use crate::partition::sizes::{PartitionSize, sizes};
use trimill_system::bytes::Bytes;
use trimill_system::control::Control;
use trimill_system::error::Result;
use trimill_system::mapped::zeros;

/// What partitioners need to know of vertices: 8 bytes each.
pub struct VertexInfo {
    /// The vertex of each rank.
    pub order: Vec<u32>,
    /// How many successors each vertex has.
    pub out_degrees: Vec<u32>,
}

impl VertexInfo {
    /// Reads `graph` once.
    ///
    /// # Errors
    /// When rows cannot be read.
    pub fn of(graph: &OrientedGraph) -> Result<Self> {
        let (order, lengths) = (graph.order()?, graph.out_degrees()?);
        let mut out_degrees: Vec<u32> = zeros(order.len());
        order.iter().zip(lengths).for_each(|(&vertex, length)| out_degrees[vertex as usize] = length);
        Ok(Self { order, out_degrees })
    }
}

/// Plans the graph as one partition, if it fits, is not to be spilled, and the partitioner need not be asked.
///
/// # Errors
/// As [`sets`].
pub fn whole(
    graph: &OrientedGraph,
    assign: &dyn Assign,
    footprint: &Footprint,
    limits: &PlanLimits,
    control: &Control,
) -> Result<Option<Plan>> {
    let Divided { space, .. } = divided(graph, footprint, limits)?;
    let least_parts = if limits.whole.is_some() { 1 } else { limits.parts.max(limits.shards) };
    let one = assign.is_cheap() && assign.parts().unwrap_or(least_parts) <= 1;
    if limits.spills_whole || !space.whole_fits() || !one {
        return Ok(None);
    }
    ranges(graph, None, footprint, &PlanLimits { parts: 1, shards: 1, ..*limits }, control).map(Some)
}

/// The parts of a partitioner.
pub struct Assigned {
    /// The parts; none where the graph fits as one partition and is not to be spilled.
    locals: Option<Locals>,
    /// The number of parts before those that did not fit were split.
    parts_asked: u32,
    time: Duration,
}

/// Asks a partitioner for its parts, and splits those that do not fit.
///
/// # Errors
/// [`trimill_system::error::Kind::Resource`] when the budget or the row block is below the floor, which the message names; what the
/// partitioner reports.
pub fn assigned(
    graph: &OrientedGraph,
    vertices: &VertexInfo,
    assign: &dyn Assign,
    footprint: &Footprint,
    limits: &PlanLimits,
    control: &Control,
) -> Result<Assigned> {
    let Divided { space, most, .. } = divided(graph, footprint, limits)?;
    refuse_parts(limits, assign.parts())?;
    let (whole, whole_fits) = (space.whole, space.whole_fits());
    let least_parts = if limits.whole.is_some() { 1 } else { limits.parts.max(limits.shards) };
    let weight = |vertex: u32| footprint.resident(1, u64::from(vertices.out_degrees[vertex as usize])).get();
    let start = Instant::now();
    let assignment = match assign.parts() {
        Some(parts) => assign.assign(parts)?,
        None if whole_fits && least_parts <= 1 => assign.assign(1)?,
        None => fewest(assign, (whole, most), least_parts, &weight, control)?,
    };
    let parts_asked = assignment.parts();
    let bound = if assignment.parts() == 1 && whole_fits { whole } else { most };
    let assignment = assignment.split(bound.get(), weight);
    let one = assignment.parts() == 1 && whole_fits && !limits.spills_whole;
    let locals = (!one).then(|| Locals::of(&assignment, &vertices.order));
    Ok(Assigned { locals, parts_asked, time: start.elapsed() })
}

/// Plans what a partitioner assigned. A graph that fits as one partition is a rank range, unless it is to be spilled.
///
/// # Errors
/// As [`assigned`].
pub fn sets(
    graph: &OrientedGraph,
    Assigned { locals, parts_asked, time }: Assigned,
    footprint: &Footprint,
    limits: &PlanLimits,
    control: &Control,
) -> Result<Plan> {
    let Some(locals) = locals else {
        return ranges(graph, None, footprint, &PlanLimits { parts: 1, shards: 1, ..*limits }, control);
    };
    let row_block_limit = divided(graph, footprint, limits)?.row_block_limit;
    let start = Instant::now();
    let (sizes, predictions) = sized(graph, &locals, footprint, (limits, row_block_limit), control)?;
    Ok(Plan {
        cut: GraphCut::Sets(locals),
        row_block_limit,
        sizes,
        predictions,
        times: [time, start.elapsed()],
        parts_asked,
        estimates: None,
    })
}

/// The sizes of all partitions, and what each takes at most with row blocks of at most `row_block_limit`.
///
/// # Errors
/// When rows cannot be read, or when stopped.
pub(crate) fn sized(
    graph: &OrientedGraph,
    locals: &Locals,
    footprint: &Footprint,
    (limits, row_block_limit): (&PlanLimits, Bytes),
    control: &Control,
) -> Result<(Vec<PartitionSize>, Vec<Prediction>)> {
    let sizes = sizes(graph, locals, limits.prune, limits.host_block, control)?;
    let predicted = |size| predict(size, footprint, &RowBlockTotals::bound(size, row_block_limit), limits.device);
    let predictions = sizes.iter().map(predicted).collect();
    Ok((sizes, predictions))
}

/// The fewest parts whose resident sections fit `most`; asks a cheap partitioner until they do.
fn fewest(
    assign: &dyn Assign,
    (whole, most): (Bytes, Bytes),
    least: u32,
    weight: &(impl Fn(u32) -> u64 + Sync),
    control: &Control,
) -> Result<Assignment> {
    let mut parts = whole.get().div_ceil(most.get().max(1)).clamp(u64::from(least.max(1)), u64::from(u32::MAX)) as u32;
    loop {
        control.check()?;
        let assignment = assign.assign(parts)?;
        let weigh = |part| assignment.locals(part).par_iter().map(|&id| weight(id)).sum::<u64>();
        let heaviest = (0..assignment.parts()).into_par_iter().map(weigh).max().unwrap_or(0);
        if heaviest <= most.get() || !assign.is_cheap() {
            return Ok(assignment);
        }
        // Parts shrink about in proportion; past a few thousand, splitting the heavy ones is as good.
        let next = (u64::from(parts) * heaviest).div_ceil(most.get()).max(u64::from(parts) + 1);
        if next > 4096 {
            return Ok(assignment);
        }
        parts = next as u32;
    }
}
