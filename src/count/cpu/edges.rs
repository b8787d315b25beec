//! Counts the triangles on each arc on the CPU.
//!
//! For each local `a` and each successor `b` the common successors `c` are found as for a total: the rows of hubs are bits, other rows
//! probe a bitmap of `a`'s row.
//!
//! A triangle adds 1 to the counters of its arcs `a -> b` and `a -> c`, which only the worker that counts `a` adds to until the row
//! is done (module `own`), and to the counter of `b -> c`, which any worker may. If `b` is a hub, the arc `a -> b` waits, and what `a`'s row
//! and `b`'s have in common is added to `b`'s counters together with the rows of many other `a` (module `middle`). For other `b` the
//! additions are collected by ranges of counters, a mask for 64 of them, and made when there are many for a range (module `counters`): an
//! atomic addition each would move its cache line from core to core.
//!
//! Memory: 4 bytes a resident arc and an arc of two row blocks; for each worker 12 bytes for 64 numbers, the words of the longest row
//! with their planes, its collected additions, the arcs that wait and the planes of a block of hubs.

mod counters;
mod middle;
mod own;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
mod worker;

use std::collections::VecDeque;
use std::sync::Mutex;

use rayon::ThreadPool;
use trimill_counting::{CounterMemory, PartitionCount, PartitionCounter, PartitionExtent, Resident, RowBlockView};

use super::hubs::Hubs;
use super::postponed::Capacity;
use super::{end_of_hubs, free, pass_over, runs};
use crate::count::successors::SuccessorRows;
use counters::{Additions, HostEdgeCounters};
pub(super) use middle::{hubs_within, per_block, postponed};
use own::Own;
use trimill_system::control::Progress;
use trimill_system::mapped::zeros;
use trimill_system::{Bytes, Error, Result, lock, parallel};
use worker::{Around, EdgeWorker, count_run};

/// A partition that is being counted.
pub(super) struct CpuEdgeCounter {
    resident: Resident,
    numbered: u32,
    most_hubs: u32,
    cursors: Vec<u32>,
    workers: Vec<Mutex<EdgeWorker>>,
    hubs: Hubs,
    counters: HostEdgeCounters,
    /// The counts of row blocks before the last one that were not read.
    unread: VecDeque<Vec<u32>>,
    last: LastRowBlock,
    /// Whether the counters have their memory.
    populated: bool,
    triangles: u64,
    progress: Option<Progress>,
}

/// What the counters of a row block's arcs hold.
#[derive(Debug, Clone, Copy, Default)]
enum LastRowBlock {
    #[default]
    Zeros,
    /// Counts of so many arcs, which were not read.
    Unread(u64),
    Read(u64),
}

pub(super) fn per_worker(numbered: u32) -> Bytes {
    Own::bytes_for(numbered) + Additions::BYTES
}

pub(super) fn per_row(longest: u32) -> Bytes {
    Bytes(u64::from(longest) * Own::PER_ENTRY.get())
}

/// Bytes of the counters' bookkeeping.
pub(super) const FIXED: Bytes = HostEdgeCounters::FIXED;

impl CpuEdgeCounter {
    /// With `workers` workers, whose arcs to hubs have `room`.
    pub(super) fn new(
        size: PartitionExtent,
        workers: u64,
        most_hubs: u32,
        room: Capacity,
        progress: Option<Progress>,
    ) -> Self {
        let PartitionExtent { locals, arcs, numbered, row_block_limit } = size;
        let counters = HostEdgeCounters::new(arcs, row_block_limit / 4);
        let worker = || Mutex::new(EdgeWorker::new(numbered, room, &counters));
        Self {
            resident: Resident::default(),
            numbered,
            most_hubs: most_hubs.min(numbered),
            cursors: zeros(locals as usize),
            workers: (0..workers).map(|_| worker()).collect(),
            hubs: Hubs::new(),
            counters,
            unread: VecDeque::new(),
            last: LastRowBlock::Zeros,
            populated: false,
            triangles: 0,
            progress,
        }
    }

    /// Makes the counters of a row block zeros again; what was not read is kept apart.
    fn end_last(&mut self) {
        match std::mem::take(&mut self.last) {
            LastRowBlock::Zeros => {}
            LastRowBlock::Unread(arcs) => {
                let mut counts = zeros(arcs as usize);
                self.counters.read_row_block(&mut counts);
                self.unread.push_back(counts);
                self.counters.clear_row_block(arcs);
            }
            LastRowBlock::Read(arcs) => self.counters.clear_row_block(arcs),
        }
    }

    fn bytes(&self) -> Bytes {
        let workers = self.workers.iter().map(|worker| lock(worker).bytes()).sum::<Bytes>();
        let unread = self.unread.iter().map(|counts| counts.capacity() as u64).sum::<u64>();
        workers + Bytes::of::<u32>(self.cursors.capacity() as u64 + unread) + self.hubs.bytes() + self.counters.bytes()
    }

    /// Counts with the hubs' rows up to `end_of_hubs` as bits.
    fn count(&mut self, row_block: &RowBlockView<'_>, end_of_hubs: u32) -> Result<()> {
        let Self { resident, numbered, most_hubs, workers, hubs, counters, progress, .. } = self;
        let (resident, range, progress) = (&*resident, &row_block.range, progress.as_ref());
        let successors = SuccessorRows::new(resident, row_block);
        hubs.take(range.start..end_of_hubs, |b| successors.row(b));
        if !hubs.range().is_empty() {
            // All workers at once, so that the memory taken does not depend on which of them run.
            parallel::each(&*workers, |worker| lock(worker).middle.allocate(*most_hubs));
        }
        let around = Around { range, successors: &successors, hubs, counters, arcs: resident.successors.len() };
        let counted = parallel::try_map(runs(resident, &mut self.cursors), |run| {
            progress.map_or(Ok(()), Progress::check)?;
            let (first, end) = (run.first, run.first + run.cursors.len());
            let triangles = count_run(&mut free(workers), run, resident, &around);
            // Each row block has a share of the run's arcs.
            let arcs = resident.offsets[end] - resident.offsets[first];
            let share = arcs * u64::from(range.end - range.start) / u64::from((*numbered).max(1));
            progress.into_iter().for_each(|progress| progress.advance(share));
            Ok(triangles)
        })?;
        self.triangles += counted.into_iter().sum::<u64>();
        parallel::each(&*workers, |worker| lock(worker).add_rest(&around));
        self.last = LastRowBlock::Unread(row_block.size().arcs);
        Ok(())
    }
}

impl PartitionCounter for CpuEdgeCounter {
    fn resident(&mut self, run: Resident, _: &ThreadPool) -> Result<Option<Resident>> {
        Ok(self.resident.take_run(run))
    }

    fn row_block(&mut self, row_block: &RowBlockView<'_>, pool: &ThreadPool) -> Result<()> {
        parallel::within(pool, || {
            self.end_last();
            if row_block.is_empty() {
                pass_over(&self.resident, &mut self.cursors, row_block.range.end);
                self.unread.push_back(Vec::new());
                return Ok(());
            }
            let end = {
                let successors = SuccessorRows::new(&self.resident, row_block);
                end_of_hubs(&self.resident, &successors, self.most_hubs, false)
            };
            if !std::mem::replace(&mut self.populated, true) {
                self.counters.populate();
            }
            self.count(row_block, end)
        })
    }

    fn row_block_edges(&mut self, into: &mut [u32], pool: &ThreadPool) -> Result<()> {
        match (self.unread.pop_front(), self.last) {
            (Some(counts), _) if counts.len() == into.len() => into.copy_from_slice(&counts),
            (None, LastRowBlock::Unread(arcs)) if arcs == into.len() as u64 => {
                parallel::within(pool, || self.counters.read_row_block(into));
                self.last = LastRowBlock::Read(arcs);
            }
            _ => return Err(Error::defect("counts of another row block")),
        }
        Ok(())
    }

    fn resident_edges(&mut self, first: u64, into: &mut [u32], pool: &ThreadPool) -> Result<()> {
        parallel::within(pool, || self.counters.read(first, into));
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<PartitionCount> {
        Ok(PartitionCount { triangles: self.triangles, device: None })
    }

    fn memory(&self) -> CounterMemory {
        CounterMemory::BesidesSections(self.bytes())
    }
}
