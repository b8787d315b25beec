//! Parallel passes over the arcs of a graph, in runs. Most arcs end at vertices of the smallest ranks: to avoid contention for their counters, a run
//! has its own counters for the first [`HUBS`] ranks, and adds them to the shared ones once.

use std::ops::Range;

use crate::sums::{ByArc, Sums};
use trimill_graph::{Direction, OrientedGraph, RowRun};
use trimill_system::{Bytes, Control, Result, parallel};

pub(crate) const HUBS: u32 = 1 << 12;

pub(super) const LATER: usize = 64;

/// Arcs and rows of a run; a longer row is a run by itself.
const RUN: u64 = 1 << 16;

pub(crate) struct RunScratch {
    pub(crate) sums: Vec<u32>,
    /// Counters of the first [`HUBS`] ranks; zeros at the beginning of a run.
    pub(crate) hubs: Vec<u64>,
    /// At most [`LATER`] edges whose counters are prefetched: atomic additions stall until their cache line arrives, so misses would not overlap.
    pub(crate) later: Vec<(u32, u64)>,
}

impl RunScratch {
    /// Makes room for the sums of a run; their values are unspecified until they are read.
    pub(super) fn fit(&mut self, run: &EdgeRun<'_>) {
        self.sums.resize((run.arcs.end - run.arcs.start) as usize, 0);
    }

    pub(crate) fn read(&mut self, sums: &Sums<ByArc>, run: &EdgeRun<'_>) -> Result<()> {
        self.fit(run);
        sums.read(run.arcs.start, &mut self.sums)
    }
}

pub(crate) struct EdgeRun<'a> {
    block: RowRun<'a>,
    pub(crate) ranks: Range<u32>,
    pub(crate) arcs: Range<u64>,
}

impl EdgeRun<'_> {
    pub(crate) fn rows<'s>(&'s self, mut sums: &'s [u32]) -> impl Iterator<Item = (u32, &'s [u32], &'s [u32])> {
        self.ranks.clone().map(move |rank| {
            let row = self.block.row(rank);
            let (mine, after) = sums.split_at(row.len());
            sums = after;
            (rank, row, mine)
        })
    }
}

/// Bytes of a block of rows in a pass, if the pass and all else may take `memory`. Two blocks are in memory at a time.
pub(crate) fn pass_bytes(memory: Bytes) -> Bytes {
    Bytes((memory.get() / 8).clamp(1 << 20, 128 << 20))
}

/// Calls `visit` with all rows of the graph. Runs in the current thread pool.
pub(crate) fn in_runs(
    graph: &OrientedGraph,
    block: Bytes,
    control: &Control,
    visit: impl Fn(&EdgeRun<'_>, &mut RunScratch) -> Result<()> + Sync,
) -> Result<()> {
    let scratch = || RunScratch { sums: Vec::new(), hubs: vec![0; HUBS as usize], later: Vec::new() };
    let mut first = 0;
    graph.pass(block, Direction::Rising, control, |block| {
        let before = first;
        first += block.arcs(&block.ranks()).end;
        parallel::try_each_with(block.runs(RUN), scratch, |scratch, ranks| {
            let arcs = block.arcs(&ranks);
            scratch.hubs.fill(0);
            visit(&EdgeRun { block, arcs: before + arcs.start..before + arcs.end, ranks }, scratch)
        })
    })
}
