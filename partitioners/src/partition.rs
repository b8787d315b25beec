//! Partitions: which vertices are local, how large each is, what it keeps, and the sections that are spilled and streamed.

pub mod assignment;
pub mod bit_counter;
pub mod cuts;
pub mod kept;
mod lists;
pub mod locals;
mod masks;
pub mod prune;
pub mod ranks;
pub mod sizes;
pub mod totals;

use trimill_graph::{Direction, OrientedGraph, RowRun};
use trimill_system::{Bytes, Control, Result, parallel};

/// Passes over the rows of a graph, in blocks of at most `block` bytes, until stopped.
#[derive(Clone, Copy)]
pub struct GraphPasses<'a> {
    pub graph: &'a OrientedGraph,
    pub block: Bytes,
    pub control: &'a Control,
}

impl GraphPasses<'_> {
    /// As [`OrientedGraph::pass`].
    fn pass(&self, direction: Direction, each: impl FnMut(RowRun<'_>) -> Result<()> + Send) -> Result<()> {
        self.graph.pass(self.block, direction, self.control, each)
    }

    /// Calls `each` for every row, in rising order of the blocks, on the threads of the current pool.
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

/// Arcs and rows that a thread processes at a time, between two checks of the stop flag.
const RUN: u64 = 1 << 14;
