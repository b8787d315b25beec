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
mod planes;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Mutex;

use rayon::ThreadPool;
use trimill_counting::{CounterMemory, PartitionCount, PartitionCounter, PartitionExtent, Resident, RowBlockView};

use super::ahead::{AHEAD, is_scattered, prefetch, prefetch_row};
use super::hubs::Hubs;
use super::postponed::{Capacity, PostponedArc};
use super::probe::{before, may_intersect};
use super::short::NONE;
use super::worker::LocalsRun;
use super::{end_of_hubs, free, pass_over, runs};
use crate::count::successors::SuccessorRows;
use counters::{Additions, HostEdgeCounters};
use middle::MiddleCorners;
pub(super) use middle::{hubs_within, per_block, postponed};
use own::Own;
use trimill_system::control::Progress;
use trimill_system::mapped::zeros;
use trimill_system::{Bytes, Error, Result, lock, parallel};

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

#[derive(Debug)]
struct EdgeWorker {
    own: Own,
    middle: MiddleCorners,
    additions: Additions,
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

impl EdgeWorker {
    fn new(numbered: u32, room: Capacity, counters: &HostEdgeCounters) -> Self {
        let additions = Additions::new(counters);
        Self { own: Own::new(numbered), middle: MiddleCorners::new(room), additions }
    }

    fn bytes(&self) -> Bytes {
        self.own.bytes() + self.middle.bytes() + self.additions.bytes()
    }

    /// Counts the common successors of the marked row and of hub `b`; those of `b` are added later.
    #[inline(always)]
    fn with_hub(&mut self, b: u32, around: &Around<'_>) -> u32 {
        let bits = around.hubs.row(b);
        let Self { own, middle, .. } = self;
        let common = own.find_common(bits);
        if common == 0 {
            own.end_successor();
            return 0;
        }
        if middle.postponed.is_full() || !middle.postponed.has_room_for(common) {
            middle.add_all(around);
        }
        let (first, mut found) = (middle.postponed.next_word(), 0);
        for i in 0..common {
            let (place, both) = own.add_common(i, bits);
            middle.postponed.push_word(place, both);
            found += both.count_ones();
        }
        own.end_successor();
        middle.postponed.push(PostponedArc { first: first as u32, words: common as u16, head: b as u16 });
        found
    }

    /// Adds all that waits to the counters.
    fn add_rest(&mut self, around: &Around<'_>) {
        self.middle.add_all(around);
        self.additions.flush(around.counters);
    }

    /// Counts the entries of a successor's row that are marked.
    #[inline(always)]
    fn with_row(&mut self, successor: Successor<'_>, around: &Around<'_>) -> u32 {
        let Successor { row: successor_row, first, .. } = successor;
        let Self { own, additions, .. } = self;
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

    /// The same for a short row, which is not marked, of up to `WIDTH` entries.
    #[inline(always)]
    fn with_short<const WIDTH: usize>(&mut self, row: &[u32], successor: Successor<'_>, around: &Around<'_>) -> u32 {
        let mut entries = [NONE; WIDTH];
        entries[..row.len()].copy_from_slice(row);
        // Each entry of the successor's row is compared with all others at once; most rows have none in common.
        let mut found = [0; WIDTH];
        for &c in successor.row {
            for (found, &entry) in found.iter_mut().zip(&entries) {
                *found += u32::from(entry == c);
            }
        }
        let triangles = found.iter().sum();
        if triangles > 0 {
            for (i, &found) in found.iter().enumerate().filter(|(_, found)| **found > 0) {
                self.own.add_to(i, found);
            }
            for (place, _) in (successor.first..).zip(successor.row).filter(|(_, c)| entries.contains(c)) {
                self.additions.push(place, 1, around.counters);
            }
        }
        triangles
    }

    /// Counts the triangles whose middle corners are entries of `row` from `start` on, none of them hubs.
    #[inline(always)]
    fn with_others(&mut self, row: &[u32], start: usize, marked: bool, around: &Around<'_>) -> u64 {
        let Some((&first, &last)) = row.first().zip(row.last()) else { return 0 };
        let mut all = 0;
        for (begin, some) in (start..).step_by(AHEAD).zip(row[start..].chunks(AHEAD)) {
            let mut ahead = [Successor { place: 0, row: &[], first: 0 }; AHEAD];
            let mut many = 0;
            for (place, &b) in (begin..).zip(some) {
                // Reads both ends of every row before the first row is compared.
                let (row, first_arc) = around.successors.row_at(b, around.arcs as u64);
                ahead[many] = Successor { place, row, first: first_arc };
                if may_intersect(row, first, last) {
                    prefetch_row(row);
                    many += 1;
                }
            }
            for successor in &ahead[..many] {
                let found = match row.len() {
                    _ if marked => self.with_row(*successor, around),
                    ..=4 => self.with_short::<4>(row, *successor, around),
                    5..=8 => self.with_short::<8>(row, *successor, around),
                    _ => self.with_short::<SHORT>(row, *successor, around),
                };
                self.own.add_to(successor.place, found);
                all += u64::from(found);
            }
        }
        all
    }
}

/// A middle corner of triangles: its place in the row that is counted, its own row, and the counter of the first arc of that.
#[derive(Clone, Copy)]
struct Successor<'a> {
    place: usize,
    row: &'a [u32],
    first: u64,
}

/// What all runs of a row block share.
struct Around<'a> {
    range: &'a Range<u32>,
    successors: &'a SuccessorRows<'a>,
    hubs: &'a Hubs,
    counters: &'a HostEdgeCounters,
    /// Resident arcs: the counters of the row block's arcs come after theirs.
    arcs: usize,
}

/// Counts the triangles that start in the run and whose middle corner is in the row block, and advances the cursors. Compiled for several
/// instruction sets, as [`super::worker::count_run`].
#[multiversion::multiversion(targets("x86_64+avx2+bmi1+bmi2+lzcnt+popcnt", "x86_64+popcnt"))]
fn count_run(worker: &mut EdgeWorker, run: LocalsRun<'_>, resident: &Resident, around: &Around<'_>) -> u64 {
    let Around { range, successors, hubs, counters, .. } = *around;
    let mut count = 0;
    let locals = run.first..run.first + run.cursors.len();
    let others = hubs.range().end.max(range.start)..range.end;
    let prefetches = is_scattered(successors, &locals, &others);
    for (i, cursor) in run.cursors.iter_mut().enumerate() {
        let local = run.first + i;
        if prefetches {
            prefetch(successors, local, &locals, &others);
        }
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
        for (k, &b) in row.iter().enumerate().take(hubs_end).skip(start) {
            if k + 1 < hubs_end {
                worker.own.prefetch(hubs.row(row[k + 1]));
            }
            let found = worker.with_hub(b, around);
            worker.own.add_to(k, found);
            of_row += u64::from(found);
        }
        of_row += worker.with_others(row, start.max(hubs_end), marks, around);
        let counts = worker.own.finish();
        if of_row > 0 {
            counters.add(resident.offsets[local], counts);
            count += of_row;
        }
    }
    count
}
