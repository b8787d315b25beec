//! Partitions: which vertices are local, how large each is, what it keeps, and the sections that are spilled and streamed.

pub mod assignment;
pub mod batch;
pub mod bit_counter;
pub mod cuts;
mod lists;
pub mod locals;
mod masks;
pub mod numbers;
pub mod prune;
pub mod ranks;
pub mod section;
pub mod sizes;
pub mod words;

use crate::graph::RowRun;
use trimill_system::control::Control;
use trimill_system::error::Result;
use trimill_system::parallel;

/// Arcs and rows that a thread processes at a time, between two checks of the stop flag.
const RUN: u64 = 1 << 14;

/// Calls `each` for every row of a block, on the threads of the current pool.
fn in_rows(block: RowRun<'_>, control: &Control, each: impl Fn(u32, &[u32]) + Sync) -> Result<()> {
    parallel::try_each(block.runs(RUN), |run| {
        control.check()?;
        run.for_each(|rank| each(rank, block.row(rank)));
        Ok(())
    })
}
