//! Plans the partitions of an earlier start again, under the footprint and budgets of this one: returns the same partitions and what each takes now,
//! or an error with the budget that they need. Splits and joins nothing, since that would invalidate the results of counted partitions.

use std::time::{Duration, Instant};

use super::{GraphCut, Plan, Planner};
use crate::stream::row_blocks::RowBlocks;
use trimill_system::{Bytes, Error, Result};

impl Planner<'_> {
    /// Plans the recorded partitions, with row blocks of at most `row_block_limit`. Errors: `Kind::Resource`: one does not fit; bad rows; a stop.
    pub fn replan(&self, cut: GraphCut, row_block_limit: Bytes) -> Result<Plan> {
        let limits = self.limits;
        let start = Instant::now();
        let (row_blocks, (sizes, predictions)) = match &cut {
            GraphCut::Ranges(ranges) => {
                let blocks = RowBlocks::new(self.graph, row_block_limit)?;
                let found = self.predictions(ranges, &blocks)?;
                (blocks, found)
            }
            GraphCut::Sets(locals) => (RowBlocks::default(), self.sized(locals, row_block_limit)?),
        };
        let (parts_asked, times) = (cut.parts(), [Duration::ZERO, start.elapsed()]);
        let plan = Plan { cut, row_blocks, row_block_limit, sizes, predictions, times, parts_asked, estimates: None };
        let largest = plan.largest_peak();
        if largest > limits.device {
            // A quarter more than what is missing, since a method's tables may grow with the budget.
            let needed = Bytes(limits.device.get() + (largest - limits.device).get() * 5 / 4);
            return Err(Error::resource(format!("the largest partition of the recorded plan takes {largest}"))
                .expected(format!("at most {}", limits.device))
                .advice(format!("{}, or start anew in another --run-dir", limits.device_from.advice(needed))));
        }
        Ok(plan)
    }
}
