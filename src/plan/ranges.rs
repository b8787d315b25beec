//! Plans rank ranges, for the in-place mode: as few as fit the budget, or as many as were asked for, with about equal bytes of resident rows. They
//! follow from the index of the graph's file blocks and the lengths of some rows: no memory or time of `O(n)`. Predictions are exact.

use std::ops::Range;
use std::time::Instant;

use super::heads::{self, BLOCKS};
use super::predict::{PlannedPartition, predict};
use super::{Divided, GraphCut, Plan, Planner};
use crate::stream::ranges::RankRange;
use crate::stream::row_blocks::RowBlocks;
use trimill_partitioners::partition::ranks::LocalsAndHeads;
use trimill_partitioners::partition::sizes::PartitionSize;
use trimill_system::{Bytes, Result};

/// Ranges are even to within one part in `EVEN` of their mean weight.
const EVEN: u64 = 64;

impl Planner<'_> {
    /// Plans `parts` rank ranges, or as few as fit; more if `parts` do not fit.
    pub fn ranges(&self, parts: Option<u32>) -> Result<Plan> {
        let start = Instant::now();
        let Self { graph, limits, control, .. } = *self;
        let Divided { space, row_block_limit, most } = self.divided()?;
        let wanted = match limits.whole_graph_method {
            Some(_) => 1,
            None => parts.unwrap_or(limits.parts).max(1),
        };
        let ranges = if wanted == 1 && limits.shards == 1 && space.whole_fits() {
            vec![LocalsAndHeads::of(0..graph.vertices())]
        } else {
            // As many parts as were asked for are not cut by heads.
            let (least, shards) = match parts {
                Some(_) => (wanted, 1),
                None => (wanted.max(heads::ranges_for(limits.shards)), limits.shards),
            };
            heads::cut(graph, self.even(least, most)?, shards, &limits.machine, control)?
        };
        let parts_asked = if parts.is_some() { wanted.min(ranges.len() as u32) } else { ranges.len() as u32 };
        self.plan_of(GraphCut::Ranges(ranges), row_block_limit, start.elapsed(), parts_asked)
    }

    /// What `parts` even ranges would take, even if they do not fit.
    pub fn even_ranges(&self, parts: u32) -> Result<Vec<PlannedPartition>> {
        let row_block_limit = self.divided()?.row_block_limit;
        let ranges: Vec<_> = self.even(parts, Bytes(u64::MAX))?.into_iter().map(LocalsAndHeads::of).collect();
        self.predicted(&ranges, &RowBlocks::new(self.graph, row_block_limit)?)
    }

    pub(super) fn predicted(&self, ranges: &[LocalsAndHeads], blocks: &RowBlocks) -> Result<Vec<PlannedPartition>> {
        let Self { graph, footprint, .. } = *self;
        let predicted = |ranks: &LocalsAndHeads| {
            self.control.check()?;
            let arcs = graph.first_arc(ranks.locals.end)? - graph.first_arc(ranks.locals.start)?;
            let size = PartitionSize::of_rows(ranks.locals.len() as u64, arcs);
            let totals = RankRange::new(graph, blocks, ranks)?.totals();
            Ok(predict(size, ranks.locals.end, footprint, &totals, self.limits.device))
        };
        ranges.iter().map(predicted).collect()
    }

    /// About `wanted` even ranges, or as many as necessary for none to weigh more than `most`.
    fn even(&self, wanted: u32, most: Bytes) -> Result<Vec<Range<u32>>> {
        let all = self.footprint.resident(self.graph.vertices().into(), self.graph.edges());
        let fewest = self.cut(most.get(), false)?.len() as u64;
        let target = fewest.max(wanted.into());
        // With many file blocks, ranges consist of whole ones, which can be sent as stored.
        let whole_blocks = self.graph.blocks() as u64 >= BLOCKS * target;
        let mut ranges = self.cut(most.get(), whole_blocks)?;
        let target = (ranges.len() as u64).max(target);
        // Bisects for the least weight with which there are no more ranges than `target`.
        let (mut low, mut high) = ((all.get() / target).min(most.get()), most.get().min(all.get()));
        while high - low > (all.get() / target / EVEN).max(1) {
            let middle = low + (high - low) / 2;
            let tried = self.cut(middle, whole_blocks)?;
            if tried.len() as u64 > target {
                low = middle;
            } else {
                (high, ranges) = (middle, tried);
            }
        }
        Ok(ranges)
    }

    /// Ranges of weight up to `most`, or of a single row or, with `whole_blocks`, a single block.
    fn cut(&self, most: u64, whole_blocks: bool) -> Result<Vec<Range<u32>>> {
        let (mut ranges, mut first) = (Vec::new(), 0);
        while first < self.graph.vertices() || ranges.is_empty() {
            self.control.check()?;
            let fits = |rows, arcs| self.footprint.resident(rows, arcs).get() <= most;
            let end =
                if self.graph.vertices() == 0 { 0 } else { self.graph.last_fitting(first, whole_blocks, fits)? };
            ranges.push(first..end);
            first = end;
        }
        Ok(ranges)
    }
}
