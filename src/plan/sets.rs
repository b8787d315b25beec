//! Plans partitions of any sets of locals, for the spilled mode. The partitioner is asked for as few parts as fit; parts that do not fit are split.
//! Then passes over the graph size all partitions ([`trimill_partitioners::partition::sizes`]): resident rows and kept arcs exactly, the number of
//! row blocks approximately. Peaks, spills and streamed bytes are upper bounds, for full blocks and no compression.

use std::time::{Duration, Instant};

use super::predict::{PlannedPartition, predict};
use super::{Assign, Divided, GraphCut, Plan, PlanLimits, Planner};
use crate::job::{Partitioner, Parts};
use trimill_graph::OrientedGraph;
use trimill_partitioners::partition::GraphPasses;
use trimill_partitioners::partition::assignment::Assignment;
use trimill_partitioners::partition::sizes::{PartitionSize, sizes};
use trimill_partitioners::partition::totals::RowBlockTotals;
use trimill_system::mapped::zeros;
use trimill_system::{Bytes, Control, Result};

/// Data of vertices for partitioners: 8 bytes each.
pub struct VertexInfo {
    pub order: Vec<u32>,
    pub out_degrees: Vec<u32>,
}

impl VertexInfo {
    /// Reads `graph` once.
    pub fn of(graph: &OrientedGraph) -> Result<Self> {
        let (order, lengths) = (graph.order()?, graph.out_degrees()?);
        let mut out_degrees: Vec<u32> = zeros(order.len());
        order.iter().zip(lengths).for_each(|(&vertex, length)| out_degrees[vertex as usize] = length);
        Ok(Self { order, out_degrees })
    }
}

pub struct Assigned {
    /// None if the graph fits as one partition and is not to be spilled.
    locals: Option<Assignment>,
    /// The number of parts before parts that did not fit were split.
    parts_asked: u32,
    time: Duration,
}

impl Planner<'_> {
    /// Plans the graph as one partition, if it fits, is not to be spilled, and the partitioner need not be asked.
    pub fn as_one_part(&self, partitioner: &Partitioner, parts: Parts) -> Result<Option<Plan>> {
        let Divided { space, .. } = self.divided()?;
        let one = partitioner.is_cheap() && parts.asked().unwrap_or(self.least_parts()) <= 1;
        if self.limits.spills_one_part || !space.whole_fits() || !one {
            return Ok(None);
        }
        self.one_range().map(Some)
    }

    fn one_range(&self) -> Result<Plan> {
        let limits = &PlanLimits { parts: 1, shards: 1, ..*self.limits };
        Planner { limits, ..*self }.ranges(None)
    }

    /// The least number of parts, unless the partitioner is given one.
    fn least_parts(&self) -> u32 {
        if self.limits.whole_graph_method.is_some() { 1 } else { self.limits.parts.max(self.limits.shards) }
    }

    /// Asks a partitioner for its parts, and splits those that do not fit.
    pub fn assigned(&self, vertices: &VertexInfo, assign: &dyn Assign) -> Result<Assigned> {
        let Divided { space, most, .. } = self.divided()?;
        let (whole, whole_fits) = (space.whole, space.whole_fits());
        let least_parts = self.least_parts();
        let weight = |vertex: u32| self.footprint.resident(1, u64::from(vertices.out_degrees[vertex as usize])).get();
        let start = Instant::now();
        let assignment = match assign.parts() {
            Some(parts) => assign.assign(parts)?,
            None if whole_fits && least_parts <= 1 => assign.assign(1)?,
            None => {
                let parts = whole.get().div_ceil(most.get().max(1)).clamp(least_parts.max(1).into(), u32::MAX.into());
                fewest(assign, parts as u32, most, weight, self.control)?
            }
        };
        let parts_asked = assignment.parts();
        let bound = if assignment.parts() == 1 && whole_fits { whole } else { most };
        let assignment = assignment.split(bound.get(), weight);
        let one = assignment.parts() == 1 && whole_fits && !self.limits.spills_one_part;
        let locals = (!one).then(|| assignment.by_rank(&vertices.order));
        Ok(Assigned { locals, parts_asked, time: start.elapsed() })
    }

    /// Plans what a partitioner assigned. A graph that fits as one partition is a rank range, unless it is to be spilled.
    pub fn sets(&self, assigned: Assigned) -> Result<Plan> {
        let Assigned { locals, parts_asked, time } = assigned;
        let Some(locals) = locals else { return self.one_range() };
        self.plan_of(GraphCut::Sets(locals), self.divided()?.row_block_limit, time, parts_asked)
    }

    pub(crate) fn sized(&self, locals: &Assignment, row_block_limit: Bytes) -> Result<Vec<PlannedPartition>> {
        let Self { graph, footprint, limits, control } = *self;
        let sizes = sizes(GraphPasses { graph, block: limits.host_block, control }, locals, limits.prune)?;
        let predicted = |size: PartitionSize| {
            let totals = RowBlockTotals::bound(&size, row_block_limit);
            predict(size, size.numbered() as u32, footprint, &totals, limits.device)
        };
        Ok(sizes.into_iter().map(predicted).collect())
    }
}

/// The fewest parts, at least `parts`, whose resident rows fit `most`; asks a cheap partitioner until they do.
fn fewest(
    assign: &dyn Assign,
    mut parts: u32,
    most: Bytes,
    weight: impl Fn(u32) -> u64,
    control: &Control,
) -> Result<Assignment> {
    loop {
        control.check()?;
        let assignment = assign.assign(parts)?;
        let mut weights = vec![0; assignment.parts() as usize];
        assignment.part_of().iter().zip(0..).for_each(|(&part, id)| weights[part as usize] += weight(id));
        let heaviest = weights.into_iter().max().unwrap_or(0);
        if heaviest <= most.get() || !assign.is_cheap() {
            return Ok(assignment);
        }
        // Parts shrink about in proportion; above a few thousand, splitting the heavy ones is as good.
        let next = (u64::from(parts) * heaviest).div_ceil(most.get()).max(u64::from(parts) + 1);
        if next > 4096 {
            return Ok(assignment);
        }
        parts = next as u32;
    }
}
