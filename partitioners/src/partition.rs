//! Partitions: which vertices are local, how large each is, what it keeps.

pub mod assignment;
pub mod cuts;
pub mod kept;
mod lists;
mod masks;
pub mod prune;
pub mod ranks;
pub mod sizes;
pub mod totals;

use trimill_graph::{Direction, OrientedGraph, RowRun};
use trimill_system::{Bytes, Control, Result, parallel};

/// Passes over a graph's rows, in blocks of at most `block` bytes, until stopped.
#[derive(Clone, Copy)]
pub struct GraphPasses<'a> {
    pub graph: &'a OrientedGraph,
    pub block: Bytes,
    pub control: &'a Control,
}

impl GraphPasses<'_> {
    fn pass(&self, direction: Direction, each: impl FnMut(RowRun<'_>) -> Result<()> + Send) -> Result<()> {
        self.graph.pass(self.block, direction, self.control, each)
    }

    /// Calls `each` for every row on the threads of the current pool; blocks come in ascending order.
    fn each_row(&self, each: impl Fn(u32, &[u32]) + Sync) -> Result<()> {
        self.pass(Direction::Rising, |block| {
            parallel::try_each(block.runs(RUN), |run| {
                self.control.check()?;
                run.for_each(|rank| each(rank, block.row(rank)));
                Ok(())
            })
        })
    }
}

/// About how many arcs and rows a thread processes between two checks of the stop flag.
const RUN: u64 = 1 << 14;
