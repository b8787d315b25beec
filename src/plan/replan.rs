//! The plan of known partitions: what each takes. Those of an earlier start are planned again under the footprint and budgets of this one, and may
//! not fit. None is split or joined, since that would invalidate the results of counted partitions.

use std::time::{Duration, Instant};

use super::{GraphCut, Plan, Planner};
use crate::stream::row_blocks::RowBlocks;
use trimill_system::{Bytes, Result};

impl Planner<'_> {
    /// Plans the recorded partitions, with row blocks of at most `row_block_limit`. Errors: bad rows; a stop.
    pub fn replan(&self, cut: GraphCut, row_block_limit: Bytes) -> Result<Plan> {
        let parts = cut.parts();
        self.plan_of(cut, row_block_limit, Duration::ZERO, parts)
    }

    pub(super) fn plan_of(
        &self,
        cut: GraphCut,
        row_block_limit: Bytes,
        assigning: Duration,
        parts_asked: u32,
    ) -> Result<Plan> {
        let start = Instant::now();
        let (row_blocks, partitions) = match &cut {
            GraphCut::Ranges(ranges) => {
                let blocks = RowBlocks::new(self.graph, row_block_limit)?;
                let found = self.predicted(ranges, &blocks)?;
                (blocks, found)
            }
            GraphCut::Sets(locals) => (RowBlocks::default(), self.sized(locals, row_block_limit)?),
        };
        let times = [assigning, start.elapsed()];
        Ok(Plan { cut, row_blocks, row_block_limit, partitions, times, parts_asked, estimates: None })
    }
}
