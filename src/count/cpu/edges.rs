//! Counts the triangles on each arc on the CPU.
//!
//! For each local `a` and each successor `b` the common successors `c` are found as for a total, and each triangle adds 1 to the counters
//! of its three arcs. Arcs to hubs are counted hub by hub for a batch of locals (`hub_arcs`), whose rows are packed (`packed`); arcs to
//! heads behind the hubs, head by head where that pays off (`head_arcs`). The rows of all other successors probe a bitmap of `a`'s row.
//! For a web graph, most rows are packed into words in place ([`super::pack`]); then there are no hubs, and each arc is visited twice: with the
//! marked row of its tail, for two of the three counters, and with the marked row of its head, for the third (`packed_arcs`).
//!
//! Only the worker that counts `a` adds to the counters of arcs from `a` until the row is done (`own`). Any worker may add to the counter of `b ->
//! c`: to avoid moving cache lines between cores, additions are collected as masks by range of counters, and made in batches (`counters`).
//!
//! Memory: 4 bytes a resident arc and an arc of a row block; for each worker 12 bytes for 64 numbers, the words of the longest row with
//! their planes, its collected additions, the counters of a hub's arcs; two bits for each pair of hubs; 20 bytes for each arc of a batch.

mod above;
mod context;
mod counters;
mod head_arcs;
mod hub_arcs;
mod own;
mod packed;
mod packed_arcs;
#[cfg(test)]
mod tests;
mod worker;

use std::sync::Mutex;
use std::sync::atomic::AtomicU32;

use rayon::ThreadPool;
use trimill_counting::{CounterMemory, PartitionCount, PartitionCounter, PartitionExtent, Resident, RowBlockView};

use super::by_head::{self, HeadBuckets, OF_BUCKET};
use super::hubs::{self, Hubs};
use super::pack::{self, Unpacked};
use super::postponed::SortedArcs;
use super::worker::LocalsRun;
use super::{Cpu, RUNS_PER_THREAD, batches, end_of_hubs, free, pass_over, runs};
use crate::count::successors::SuccessorRows;
use above::HubsAbove;
use context::{Around, BatchedHeads, FoundByHead};
use counters::{Additions, HostEdgeCounters};
use hub_arcs::HubBatch;
use own::Own;
use packed::PackedRows;
use trimill_system::control::Progress;
use trimill_system::mapped::zeros;
use trimill_system::{Bytes, Error, Result, lock, parallel};
use worker::{EdgeWorker, HeadBatch, OF_PART, RunCount, count_run};

#[derive(Default)]
pub(super) struct CpuEdgeCounter {
    resident: Resident,
    numbered: u32,
    most_hubs: u32,
    longest: u32,
    cursors: Vec<u32>,
    workers: Vec<Mutex<EdgeWorker>>,
    hubs: Hubs,
    above: HubsAbove,
    batch: BatchRoom,
    counters: HostEdgeCounters,
    /// The number of arcs of the last row block, whose counts are in the counters.
    arcs: u64,
    populated: bool,
    triangles: u64,
    progress: Option<Progress>,
}

/// Buffers for a batch of locals whose arcs are counted by head.
#[derive(Debug, Default)]
struct BatchRoom {
    most: usize,
    arcs: Vec<u64>,
    packed: PackedRows,
    found: Vec<AtomicU32>,
}

impl BatchRoom {
    /// Gives all room to the arcs: packed rows need no other buffer.
    fn take_arcs_only(&mut self) {
        self.most = (batch_bytes(self.most).get() / by_head::bytes(1).get()) as usize;
    }

    fn allocate(&mut self, packed: bool) {
        if self.arcs.is_empty() {
            self.arcs = zeros(self.most);
        }
        if self.found.is_empty() && !packed {
            self.found = zeros(self.most);
        }
    }

    fn bytes(&self) -> Bytes {
        by_head::bytes(self.arcs.capacity())
            + self.packed.bytes()
            + Bytes::of::<AtomicU32>(self.found.capacity() as u64)
    }
}

pub(super) fn per_worker(numbered: u32) -> Bytes {
    Own::bytes_for(numbered) + Unpacked::BYTES + Additions::BYTES
}

pub(super) fn per_row(longest: u32) -> Bytes {
    Bytes(u64::from(longest) * Own::PER_ENTRY.get())
}

pub(super) fn per_worker_by_head(hubs: u32, longest: u32, batch: usize) -> Bytes {
    match batch {
        0 => Bytes::ZERO,
        _ => SortedArcs::bytes_for(OF_PART, OF_BUCKET) + Bytes::of::<u32>(longest.into()) + hub_arcs::per_worker(hubs),
    }
}

pub(super) const FIXED: Bytes = HostEdgeCounters::FIXED;

/// Bytes for a local: where its packed row begins and, while it is packed, its length.
pub(super) const PER_LOCAL: u64 = 8;

const LEAST_ROOM: u64 = 1 << 16;

/// As [`by_head::ENOUGH_ROOM`], but less, since each arc takes more memory: 4 to 64 million take about as long on GAP-kron 22.
const ENOUGH_ROOM: u64 = 1 << 23;

pub(super) fn batch_bytes(arcs: usize) -> Bytes {
    by_head::bytes(arcs) + Bytes((packed::PER_ARC.get() + 4) * arcs as u64)
}

pub(super) fn hub_bytes(hubs: u32) -> Bytes {
    hubs::bytes(hubs) + above::bytes(hubs)
}

/// How many of `all` arcs a batch has room for within `share`; 0 if too few, so that no arcs are counted by head.
pub(super) fn room(share: Bytes, all: u64) -> usize {
    let room = share.get() / batch_bytes(1).get();
    if room < LEAST_ROOM { 0 } else { room.min(by_head::MOST_ROOM).min(all) as usize }
}

impl CpuEdgeCounter {
    pub(super) fn new(size: PartitionExtent, workers: u64, cpu: &Cpu) -> Self {
        let PartitionExtent { locals, arcs, numbered, row_block_limit } = size;
        let most = by_head::room_taken(cpu.by_head, arcs, ENOUGH_ROOM);
        let counters = HostEdgeCounters::new(arcs, row_block_limit / 4);
        let worker = || Mutex::new(EdgeWorker::new(numbered, &counters));
        Self {
            numbered,
            most_hubs: cpu.hubs.min(numbered),
            longest: cpu.edges.unwrap_or_default(),
            cursors: zeros(locals as usize),
            workers: (0..workers).map(|_| worker()).collect(),
            batch: BatchRoom { most, ..BatchRoom::default() },
            counters,
            progress: cpu.progress.clone(),
            ..Self::default()
        }
    }

    fn bytes(&self) -> Bytes {
        let workers = self.workers.iter().map(|worker| lock(worker).bytes()).sum::<Bytes>();
        workers
            + Bytes::of::<u32>(self.cursors.capacity() as u64)
            + self.hubs.bytes()
            + self.above.bytes()
            + self.batch.bytes()
            + self.counters.bytes()
    }

    /// Packs the rows of the whole graph. Returns the heads, none of them a hub, whose arcs' counters are added to by head.
    fn pack(&mut self) -> [HeadBuckets; 2] {
        let Self { resident, batch: room, .. } = self;
        room.take_arcs_only();
        let heads = if room.most > 0 { HeadBuckets::of_packed(resident, room.most) } else { HeadBuckets::default() };
        pack::pack_rows(resident, 0..resident.numbers.len());
        [HeadBuckets::default(), heads]
    }

    /// Chooses the hubs, whose rows it turns into bits, and the other heads whose arcs are counted by head.
    fn choose_heads(&mut self, row_block: &RowBlockView<'_>) -> [HeadBuckets; 2] {
        let Self { resident, most_hubs, hubs, above, batch: room, .. } = self;
        let (resident, range) = (&*resident, &row_block.range);
        let successors = SuccessorRows::new(resident, row_block);
        let end_of_hubs = end_of_hubs(resident, &successors, *most_hubs, false);
        hubs.take(range.start..end_of_hubs, |b| successors.row(b));
        above.take(hubs);
        let mut heads = [HeadBuckets::default(), HeadBuckets::default()];
        if !hubs.range().is_empty() {
            heads[0] = HeadBuckets::all_below(end_of_hubs, resident, room.most);
        }
        if room.most > 0 {
            // A word costs the same however many of its numbers are marked; an arc that is counted by head costs more with each.
            let probes = |head| pack::steps(successors.row(head)) as usize;
            heads[1] = HeadBuckets::that_pay_off(resident, end_of_hubs..range.end, room.most, probes);
        }
        heads
    }

    fn count(&mut self, row_block: &RowBlockView<'_>, heads: &[HeadBuckets; 2], packed: bool) -> Result<()> {
        let Self { resident, numbered, most_hubs, longest, workers, hubs, above, batch: room, counters, .. } = self;
        let (resident, range, progress) = (&*resident, &row_block.range, self.progress.as_ref());
        let successors = SuccessorRows::new(resident, row_block);
        let heads = BatchedHeads { hubs: &heads[0], others: &heads[1], most_arcs: room.most as u64 };
        // The arcs count as done in proportion to the row block's share of the numbering.
        let share = |arcs: u64| arcs * u64::from(range.end - range.start) / u64::from((*numbered).max(1));
        let advance = |arcs: u64| progress.into_iter().for_each(|progress| progress.advance(share(arcs)));
        // Where rows are packed, an arc is visited by head and by tail, and a batch is so short that waiting for its last run matters.
        let (times, per_thread) = if packed { (2, 4 * RUNS_PER_THREAD) } else { (1, RUNS_PER_THREAD) };
        let around = Around { range, successors: &successors, hubs, above, counters, resident, packed };
        if !heads.are_none() {
            // All workers allocate, so that the memory taken does not depend on which of them run.
            parallel::each(&*workers, |worker| lock(worker).allocate(*most_hubs, *longest));
            room.allocate(packed);
            for batch in batches(resident, &mut self.cursors, per_thread, heads.most_arcs) {
                if batch.iter().any(|run| !heads.has_room_for(run, resident)) {
                    continue;
                }
                let counting = BatchCounting { heads: &heads, runs: &batch, workers, around: &around };
                self.triangles += counting.count(room, &|arcs| {
                    advance(arcs as u64 / times);
                    progress.map_or(Ok(()), Progress::check)
                })?;
            }
        }
        let counted = parallel::try_map(runs(resident, &mut self.cursors, per_thread), |run| {
            progress.map_or(Ok(()), Progress::check)?;
            let all = run.arcs(resident);
            let RunCount { triangles, by_head } = count_run(&mut free(workers), run, &heads, &around);
            advance(all - by_head / times);
            Ok(triangles)
        })?;
        self.triangles += counted.into_iter().sum::<u64>();
        parallel::each(&*workers, |worker| lock(worker).additions.flush(around.counters));
        Ok(())
    }
}

struct BatchCounting<'a> {
    heads: &'a BatchedHeads<'a>,
    runs: &'a [LocalsRun<'a>],
    workers: &'a [Mutex<EdgeWorker>],
    around: &'a Around<'a>,
}

impl BatchCounting<'_> {
    /// Counts the triangles on these arcs; `counted` is told how many arcs were counted, and its error ends the count.
    fn count(&self, room: &mut BatchRoom, counted: &(impl Fn(usize) -> Result<()> + Sync)) -> Result<u64> {
        let Self { heads, runs, workers, around } = *self;
        let resident = around.resident;
        let BatchRoom { arcs, packed, found, .. } = room;
        let first_local = runs.first().map_or(0, |run| run.first);
        let found = FoundByHead { found, first_arc: resident.offsets[first_local] };
        let mut count_parts = |heads: &HeadBuckets, batch: &HeadBatch<'_>| -> Result<u64> {
            let arcs = heads.of_batch(resident, runs, arcs);
            let triangles = parallel::try_map(heads.parts(&arcs, OF_PART), |part| {
                let triangles = free(workers).count_part(&part, batch, around);
                counted(part.arcs)?;
                Ok(triangles)
            })?;
            Ok(triangles.into_iter().sum())
        };
        let mut triangles = 0;
        if !heads.hubs.is_empty() {
            self.pack_rows(packed, found.first_arc);
            triangles += count_parts(heads.hubs, &HeadBatch::Hubs(HubBatch { packed, first_local, found: &found }))?;
        }
        if around.packed {
            return count_parts(heads.others, &HeadBatch::Packed);
        }
        if !heads.others.is_empty() {
            triangles += count_parts(heads.others, &HeadBatch::Others(&found))?;
        }
        parallel::each(runs, |run| free(workers).add_found(run, heads, &found, around));
        Ok(triangles)
    }

    /// Packs the part of each row below the end of the hubs.
    fn pack_rows(&self, packed: &mut PackedRows, first_arc: u64) {
        let resident = self.around.resident;
        let locals: Vec<_> = self.runs.iter().map(LocalsRun::locals).collect();
        let row = |run: usize, local: usize| {
            let (row, run) = (resident.row(local), &self.runs[run]);
            &row[self.heads.hubs.places(row, run.cursors[local - run.first] as usize)]
        };
        packed.take(&locals, row, |local| (resident.offsets[local] - first_arc) as u32);
    }
}

impl PartitionCounter for CpuEdgeCounter {
    fn resident(&mut self, run: Resident, _: &ThreadPool) -> Result<Option<Resident>> {
        Ok(self.resident.take_run(run))
    }

    fn row_block(&mut self, row_block: &RowBlockView<'_>, pool: &ThreadPool) -> Result<()> {
        parallel::within(pool, || {
            self.counters.clear_row_block(std::mem::replace(&mut self.arcs, row_block.size().arcs));
            if row_block.is_empty() {
                pass_over(&self.resident, &mut self.cursors, row_block.range.end);
                return Ok(());
            }
            let range = &row_block.range;
            let whole = self.resident.numbers.len() == self.numbered as usize && *range == (0..self.numbered);
            let packed = whole && pack::most_can_be_packed(&self.resident);
            let heads = if packed { self.pack() } else { self.choose_heads(row_block) };
            if !std::mem::replace(&mut self.populated, true) {
                self.counters.populate();
            }
            self.count(row_block, &heads, packed)
        })
    }

    fn row_block_edges(&mut self, into: &mut [u32], pool: &ThreadPool) -> Result<()> {
        if into.len() as u64 != self.arcs {
            return Err(Error::defect("counts of another row block"));
        }
        parallel::within(pool, || self.counters.read_row_block(into));
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
