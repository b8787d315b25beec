//! Counts the triangles on each arc on the CPU.
//!
//! For each local `a` and each successor `b` the common successors `c` are found as for a total: the rows of hubs are bits, other rows
//! probe a bitmap of `a`'s row. Of a common successor the places in both rows are wanted, too. They are the number of bits before
//! it: each word of `a`'s row, and of a hub's row, has the number of entries before the word.
//!
//! A triangle adds 1 to the counters of its arcs `a -> b` and `a -> c`, which only the worker that counts `a` adds to until the row
//! is done (module `own`), and to the counter of `b -> c`, which any worker may. These are collected by ranges of counters, a mask for
//! 64 of them, and added when there are many for a range (module `counters`): an atomic addition each would move its cache line from
//! core to core.
//!
//! Memory: 4 bytes a resident arc and an arc of two row blocks; for each worker 12 bytes for 64 numbers, the words of the longest row
//! with their planes, and its collected additions; a quarter of the hubs' bits.

mod counters;
mod hub_ranks;
mod own;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Mutex;

use rayon::ThreadPool;
use trimill_counting::{CounterMemory, PartitionCount, PartitionCounter, PartitionExtent, Resident, RowBlockView};

use super::hubs::Hubs;
use super::worker::{LocalsRun, before};
use super::{end_of_hubs, free, pass_over, runs};
use crate::count::successors::SuccessorRows;
use counters::{Additions, HostEdgeCounters};
use hub_ranks::HubRanks;
use own::Own;
use trimill_system::bytes::Bytes;
use trimill_system::control::Progress;
use trimill_system::error::{Error, Result};
use trimill_system::lock;
use trimill_system::parallel;

/// The longest row that is compared with each successor's row, instead of being marked in the bitmap.
const SHORT: usize = 16;

/// A partition that is being counted.
pub(super) struct CpuEdgeCounter {
    resident: Resident,
    numbered: u32,
    most_hubs: u32,
    cursors: Vec<u32>,
    workers: Vec<Mutex<EdgeWorker>>,
    hubs: Hubs,
    ranks: HubRanks,
    counters: HostEdgeCounters,
    /// The counts of row blocks that were not read.
    unread: VecDeque<Vec<u32>>,
    triangles: u64,
    progress: Option<Progress>,
}

/// The arrays of a worker.
#[derive(Debug)]
struct EdgeWorker {
    own: Own,
    additions: Additions,
}

/// Bytes of a worker's marks and of its additions.
pub(super) fn per_worker(numbered: u32) -> Bytes {
    Own::bytes_for(numbered) + Additions::BYTES
}

/// Bytes of a worker's arrays for a row of `longest` entries.
pub(super) fn per_row(longest: u32) -> Bytes {
    Bytes(u64::from(longest) * Own::PER_ENTRY.get())
}

pub(super) fn hub_bytes(hubs: u32) -> Bytes {
    HubRanks::bytes_for(hubs)
}

/// Bytes of the counters' bookkeeping.
pub(super) const FIXED: Bytes = HostEdgeCounters::FIXED;

impl CpuEdgeCounter {
    pub(super) fn new(size: PartitionExtent, workers: u64, most_hubs: u32, progress: Option<Progress>) -> Self {
        let PartitionExtent { locals, arcs, numbered, row_block_limit } = size;
        let counters = HostEdgeCounters::new(arcs, row_block_limit / 4);
        let worker = || Mutex::new(EdgeWorker::new(numbered, &counters));
        Self {
            resident: Resident::default(),
            numbered,
            most_hubs: most_hubs.min(numbered),
            cursors: trimill_system::mapped::zeros(locals as usize),
            workers: (0..workers).map(|_| worker()).collect(),
            hubs: Hubs::new(),
            ranks: HubRanks::default(),
            counters,
            unread: VecDeque::new(),
            triangles: 0,
            progress,
        }
    }

    fn bytes(&self) -> Bytes {
        let workers = self.workers.iter().map(|worker| lock(worker).bytes()).sum::<Bytes>();
        let unread = self.unread.iter().map(|counts| counts.capacity() as u64).sum::<u64>();
        workers
            + Bytes::of::<u32>(self.cursors.capacity() as u64 + unread)
            + self.hubs.bytes()
            + self.ranks.bytes()
            + self.counters.bytes()
    }

    /// Counts with the hubs' rows up to `end_of_hubs` as bits.
    fn count(&mut self, row_block: &RowBlockView<'_>, end_of_hubs: u32) -> Result<()> {
        let Self { resident, numbered, workers, hubs, ranks, counters, progress, .. } = self;
        let (resident, range, progress) = (&*resident, &row_block.range, progress.as_ref());
        let successors = SuccessorRows::new(resident, row_block);
        hubs.take(range.start..end_of_hubs, |b| successors.row(b));
        ranks.take(hubs);
        let around = Around { range, successors: &successors, hubs, ranks, counters, arcs: resident.successors.len() };
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
        parallel::each(&self.workers, |worker| lock(worker).additions.flush(&self.counters));
        self.unread.push_back(self.counters.take_row_block(row_block.size().arcs));
        Ok(())
    }
}

impl PartitionCounter for CpuEdgeCounter {
    fn resident(&mut self, run: Resident, _: &ThreadPool) -> Result<Option<Resident>> {
        Ok(self.resident.take_run(run))
    }

    fn row_block(&mut self, row_block: &RowBlockView<'_>, pool: &ThreadPool) -> Result<()> {
        parallel::within(pool, || {
            if row_block.is_empty() {
                pass_over(&self.resident, &mut self.cursors, row_block.range.end);
                self.unread.push_back(Vec::new());
                return Ok(());
            }
            let end = {
                let successors = SuccessorRows::new(&self.resident, row_block);
                end_of_hubs(&self.resident, &successors, self.most_hubs, false)
            };
            self.count(row_block, end)
        })
    }

    fn row_block_edges(&mut self, into: &mut [u32]) -> Result<()> {
        match self.unread.pop_front() {
            Some(counts) if counts.len() == into.len() => {
                into.copy_from_slice(&counts);
                Ok(())
            }
            _ => Err(Error::defect("counts of another row block")),
        }
    }

    fn resident_edges(&mut self, first: u64, into: &mut [u32]) -> Result<()> {
        self.counters.read(first, into);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<PartitionCount> {
        Ok(PartitionCount { triangles: self.triangles, device: None })
    }

    fn memory(&self) -> CounterMemory {
        CounterMemory::BesidesSections(self.bytes())
    }
}

impl EdgeWorker {
    fn new(numbered: u32, counters: &HostEdgeCounters) -> Self {
        Self { own: Own::new(numbered), additions: Additions::new(counters) }
    }

    fn bytes(&self) -> Bytes {
        self.own.bytes() + self.additions.bytes()
    }

    /// Counts the common successors of the marked row and of hub `b`, whose first arc has the counter `first`.
    #[inline(always)]
    fn with_hub(&mut self, b: u32, first: u64, around: &Around<'_>) -> u32 {
        let (bits, ranks) = (around.hubs.row(b), around.ranks.row(b));
        let Self { own, additions } = self;
        let mut found = 0;
        for i in 0..own.find_common(bits) {
            let (word, both) = own.add_common(i, bits);
            let (mut mask, mut left) = (0, both);
            while left != 0 {
                mask |= 1 << (bits[word] & ((left & left.wrapping_neg()) - 1)).count_ones();
                left &= left - 1;
            }
            additions.push(first + u64::from(ranks[word]), mask, around.counters);
            found += both.count_ones();
        }
        own.end_successor();
        found
    }

    /// Counts the entries of a successor's row that are marked; its first arc has the counter `first`.
    #[inline(always)]
    fn with_row(&mut self, successor_row: &[u32], first: u64, around: &Around<'_>) -> u32 {
        let Self { own, additions } = self;
        let (mut found, mut place) = (0, 0);
        while let Some(&c) = successor_row.get(place) {
            let word = (c / 64) as usize;
            let marked = own.marks(word);
            let (begin, mut mask, mut both) = (place, 0u64, 0u64);
            while let Some(&c) = successor_row.get(place).filter(|&&c| (c / 64) as usize == word) {
                let bit = marked >> (c % 64) & 1;
                mask |= bit << (place - begin);
                both |= bit << (c % 64);
                place += 1;
            }
            if both != 0 {
                own.add(word, both);
                additions.push(first + begin as u64, mask, around.counters);
                found += both.count_ones();
            }
        }
        own.end_successor();
        found
    }

    /// The same for a short row, which is not marked.
    #[inline(always)]
    fn with_short(&mut self, row: &[u32], successor_row: &[u32], first: u64, around: &Around<'_>) -> u32 {
        let mut entries = [u32::MAX; SHORT];
        entries[..row.len()].copy_from_slice(row);
        let mut found = 0;
        for (place, &c) in (first..).zip(successor_row) {
            let mut equal = 0u32;
            for (i, &entry) in entries.iter().enumerate() {
                equal |= u32::from(entry == c) << i;
            }
            if equal != 0 {
                self.own.add_to(equal.trailing_zeros() as usize, 1);
                self.additions.push(place, 1, around.counters);
                found += 1;
            }
        }
        found
    }
}

/// What all runs of a row block share.
struct Around<'a> {
    range: &'a Range<u32>,
    successors: &'a SuccessorRows<'a>,
    hubs: &'a Hubs,
    ranks: &'a HubRanks,
    counters: &'a HostEdgeCounters,
    /// Resident arcs: the counters of the row block's arcs come after theirs.
    arcs: usize,
}

/// Counts the triangles that start in the run and whose middle corner is in the row block, and advances the cursors. Compiled for several
/// instruction sets, as [`super::worker::count_run`].
#[multiversion::multiversion(targets("x86_64+avx2+bmi1+bmi2+lzcnt+popcnt", "x86_64+popcnt"))]
fn count_run(worker: &mut EdgeWorker, run: LocalsRun<'_>, resident: &Resident, around: &Around<'_>) -> u64 {
    let Around { range, successors, hubs, counters, arcs, .. } = *around;
    let mut count = 0;
    for (i, cursor) in run.cursors.iter_mut().enumerate() {
        let local = run.first + i;
        let row = successors.resident(local);
        let start = *cursor as usize;
        if row.get(start).is_none_or(|&next| next >= range.end) {
            continue;
        }
        let end = before(row, start, range.end);
        *cursor = end as u32;
        // The first entry has no entry before it that could close a triangle.
        let (row, start) = (&row[..end], start.max(1));
        if start >= end {
            continue;
        }
        worker.own.begin(end);
        let hubs_end = before(row, start, hubs.range().end).min(end);
        let marks = hubs_end > start || end > SHORT;
        if marks {
            worker.own.mark(row);
        }
        let mut of_row = 0;
        for (k, &b) in row.iter().enumerate().skip(start) {
            let (successor_row, first) = successors.row_at(b, arcs as u64);
            let found = if k < hubs_end {
                worker.with_hub(b, first, around)
            } else if marks {
                worker.with_row(successor_row, first, around)
            } else {
                worker.with_short(row, successor_row, first, around)
            };
            worker.own.add_to(k, found);
            of_row += u64::from(found);
        }
        let counts = worker.own.finish();
        if of_row > 0 {
            counters.add(resident.offsets[local], counts);
            count += of_row;
        }
    }
    count
}
