//! The CPU backend, method `bitmap`. For each local `a` and each successor `b`, it counts the entries that `a`'s row before `b` has in common with
//! `b`'s row. One side of nearly every intersection is a bitmap, so nothing is merged and branches are predictable:
//!
//! - the rows of hubs (the first numbers, where most arcs of a skewed graph end) are bits, and intersected 64 numbers at a time (`hubs`);
//! - arcs to heads behind the hubs are sorted by head where that pays off: each head's row is marked in a bitmap once, and the tails' rows
//!   probe it (`by_head`);
//! - for other successors, `a`'s row is marked and `b`'s row probes it (`worker`); where there is only one row block, rows of close
//!   successors are packed into words first (`pack`);
//! - short rows are compared in registers (`short`).
//!
//! On a Kronecker graph of 16 million edges the hubs' arcs take 0.36 * 10^9 operations on words instead of 4.4 * 10^9 probes. Parallel over runs of
//! locals with about equal numbers of arcs (rayon). Memory: 16 bytes a local; for each worker a bitmap over the numbering and its postponed arcs;
//! the hubs' bits; 8 bytes for each arc of a batch that is sorted by head.

mod ahead;
mod bitmap;
mod by_head;
mod edges;
mod hubs;
mod locals;
mod pack;
mod postponed;
mod probe;
mod short;
#[cfg(test)]
mod tests;
mod vertices;
mod worker;

use std::sync::{Mutex, MutexGuard};

use rayon::ThreadPool;
use trimill_counting::{
    COUNTER_BYTES, CountBackend, CounterMemory, Detail, EDGE_COUNTER_BYTES, Footprint, PartitionCount,
    PartitionCounter, PartitionExtent, Resident, ResidentSize, RowBlockRoom, RowBlockView, VertexCounters,
    VertexCounts,
};

use super::successors::SuccessorRows;
use super::vertex_counters;
use bitmap::BitmapState;
use by_head::HeadBuckets;
use pack::{BitRows, Unpacked};
use postponed::Capacity;
use probe::before;
use trimill_system::control::Progress;
use trimill_system::mapped::zeros;
use trimill_system::{Bytes, Error, Result, first_where, lock, parallel};
use vertices::{HostVertexCounters, NearCounters, RowCounters};
use worker::{CpuWorker, DIRECT, LocalsRun};

/// The least number of runs for each thread, for load balancing.
const RUNS_PER_THREAD: u64 = 16;

/// Bounds of the number of arcs and locals in a run.
const SMALLEST_RUN: u64 = 1 << 13;
const LARGEST_RUN: u64 = 1 << 19;

#[derive(Debug, Clone)]
pub struct Cpu {
    workers: u64,
    hubs: u32,
    room: Capacity,
    /// How many arcs of a batch are sorted by head; 0: none.
    by_head: usize,
    /// Counters of vertices that are in memory at a time; 0: none.
    counters: u64,
    /// The longest row, if triangles are counted on arcs.
    edges: Option<u32>,
    progress: Option<Progress>,
}

impl Cpu {
    /// As many workers as the current thread pool has threads, if they fit. Tables take up to an eighth of `budget`: half for at least one worker,
    /// half for the hubs; the rest goes to arcs sorted by head.
    pub fn new(budget: Bytes, vertices: u32) -> Self {
        Self::with(budget, vertices, 0)
    }

    /// As [`Self::new`], with counters of the triangles at each vertex ([`vertex_counters`], at `most` those of a partition), whose memory is taken
    /// from `budget` first.
    pub fn with_vertices(budget: Bytes, vertices: u32, most: u64) -> Self {
        let counters = vertex_counters(vertices, most, budget);
        Self::with(budget.saturating_sub(Bytes(COUNTER_BYTES * counters)), vertices, counters)
    }

    /// As [`Self::new`], with counters of the triangles on each arc of a graph whose longest row has `longest` entries.
    pub fn with_edges(budget: Bytes, vertices: u32, longest: u32) -> Self {
        let (share, threads) = (budget.get() / 16, rayon::current_num_threads() as u64);
        let marks = (edges::per_worker(vertices) + edges::per_row(longest)).get();
        let tables = |most: u32| {
            let worker = marks + edges::per_worker_by_head(most, longest, 1).get();
            let workers = (share / worker).clamp(1, threads);
            let left = (2 * share).saturating_sub(workers * worker + edges::hub_bytes(most).get() + 8);
            (workers, edges::room(Bytes(left), u64::from(vertices) * u64::from(longest)))
        };
        let most = hubs::largest_count(Bytes(share), edges::hub_bytes).min(vertices);
        let (hubs, (workers, by_head)) = match tables(most) {
            // No hubs if there is no room for their arcs: partitions need the memory more.
            (_, 0) => (0, ((share / marks.max(1)).clamp(1, threads), 0)),
            fits => (most, fits),
        };
        Self { workers, hubs, room: Capacity::default(), by_head, counters: 0, edges: Some(longest), progress: None }
    }

    fn with(budget: Bytes, vertices: u32, counters: u64) -> Self {
        let share = budget.get() / 16;
        let threads = rayon::current_num_threads() as u64;
        let hubs = hubs::largest_count(Bytes(share), hubs::bytes).min(vertices);
        let near = if counters > 0 { NearCounters::bytes_for(hubs) } else { Bytes::ZERO };
        let table = if counters > 0 { per_worker_at_vertices } else { per_worker };
        let marks = table(vertices).get() + near.get();
        let share_of_worker = Bytes((share / threads).saturating_sub(marks));
        let room = Capacity::new(DIRECT..hubs, share_of_worker, counters > 0);
        let worker = marks + room.bytes().get();
        let workers = (share / worker.max(1)).clamp(1, threads);
        // The last offset of the resident section takes 8 bytes.
        let left = (2 * share).saturating_sub(workers * worker + hubs::bytes(hubs).get() + 8);
        let sorts = room.arcs > 0 && room.heads >= by_head::OF_BUCKET;
        let by_head = if !sorts { 0 } else { by_head::room(Bytes(left), vertices) };
        Self { workers, hubs, room, by_head, counters, edges: None, progress: None }
    }

    fn work(&self, numbered: u32, size: ResidentSize, vertices: Option<VertexCounters>) -> BitmapState {
        let most_hubs = self.hubs.min(numbered);
        let near = vertices.as_ref().map_or(0, |of| HostVertexCounters::near(of, most_hubs));
        let worker = || Mutex::new(CpuWorker::new(numbered, self.room, near));
        BitmapState {
            numbered,
            most_hubs,
            room_by_head: by_head::room_taken(self.by_head, size.arcs, by_head::ENOUGH_ROOM),
            cursors: zeros(size.locals as usize),
            workers: (0..workers_for(self.workers, size)).map(|_| worker()).collect(),
            counters: vertices.map(HostVertexCounters::new),
            progress: self.progress.clone(),
            ..BitmapState::default()
        }
    }

    /// Bytes of the counters of vertices: those shared by all workers, and each worker's own for the hubs.
    fn at_vertices(&self) -> Bytes {
        match self.counters {
            0 => Bytes::ZERO,
            counters => Bytes(COUNTER_BYTES * counters + self.workers * NearCounters::bytes_for(self.hubs).get()),
        }
    }
}

/// How many workers, at most `most`, have work if no run is shorter than [`SMALLEST_RUN`].
fn workers_for(most: u64, size: ResidentSize) -> u64 {
    most.min((size.arcs + size.locals).div_ceil(SMALLEST_RUN)).max(1)
}

/// Bytes of a worker besides those for hubs: a bitmap over the numbering, and an unpacked row.
fn per_worker(numbered: u32) -> Bytes {
    Bytes(u64::from(numbered).div_ceil(64) * 8) + Unpacked::BYTES
}

/// As [`per_worker`], and counters for a packed row.
fn per_worker_at_vertices(numbered: u32) -> Bytes {
    per_worker(numbered) + RowCounters::bytes_for(numbered, pack::MOST_WORDS)
}

impl CountBackend for Cpu {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn method(&self) -> &'static str {
        "bitmap"
    }

    fn footprint(&self) -> Footprint {
        let total = Footprint {
            per_resident_arc: 4,
            per_local: 4 + 8 + 4,
            table: if self.counters > 0 { per_worker_at_vertices } else { per_worker },
            workers: self.workers,
            row_blocks: RowBlockRoom::UpTo(2),
            largest_row_block: Bytes::mib(1024),
            // The offsets of the resident section are one more than its rows.
            fixed: hubs::bytes(self.hubs)
                + Bytes(self.room.bytes().get() * self.workers + 8)
                + by_head::bytes(self.by_head)
                + self.at_vertices(),
            counters: self.counters,
            ..Footprint::NOTHING
        };
        let Some(longest) = self.edges else { return total };
        let worker = edges::per_row(longest) + edges::per_worker_by_head(self.hubs, longest, self.by_head);
        Footprint {
            per_resident_arc: 4 + EDGE_COUNTER_BYTES,
            per_local: total.per_local + if self.by_head > 0 { edges::PER_LOCAL } else { 0 },
            table: edges::per_worker,
            // Two row blocks; and the counters of one, also as a copy while they are read.
            row_blocks: RowBlockRoom::Always(4),
            largest_row_block: Footprint::NOTHING.largest_row_block,
            fixed: edges::hub_bytes(self.hubs)
                + Bytes(worker.get() * self.workers + 8)
                + edges::batch_bytes(self.by_head)
                + edges::FIXED,
            ..total
        }
    }

    fn progress(&mut self) -> Option<&mut Option<Progress>> {
        Some(&mut self.progress)
    }

    fn begin<'a>(&'a mut self, size: PartitionExtent, detail: Detail) -> Result<Box<dyn PartitionCounter + 'a>> {
        let PartitionExtent { locals, arcs, numbered, .. } = size;
        let rows = ResidentSize { locals, arcs };
        let vertices = match detail {
            Detail::Total | Detail::Share(_) => None,
            Detail::Vertices(vertices) => Some(vertices),
            Detail::Edges => {
                return Ok(Box::new(edges::CpuEdgeCounter::new(size, workers_for(self.workers, rows), self)));
            }
        };
        Ok(Box::new(CpuCounter { resident: Resident::default(), work: self.work(numbered, rows, vertices) }))
    }
}

struct CpuCounter {
    resident: Resident,
    work: BitmapState,
}

impl PartitionCounter for CpuCounter {
    fn resident(&mut self, run: Resident, _: &ThreadPool) -> Result<Option<Resident>> {
        Ok(self.resident.take_run(run))
    }

    fn row_block(&mut self, row_block: &RowBlockView<'_>, pool: &ThreadPool) -> Result<()> {
        let Self { resident, work } = self;
        parallel::within(pool, || {
            let range = &row_block.range;
            if row_block.is_empty() {
                pass_over(resident, &mut work.cursors, range.end);
                return Ok(());
            }
            // A partition that is cut by heads has several row blocks, so it does not count as the whole graph.
            let whole = resident.numbers.len() == work.numbered as usize && *range == (0..work.numbered);
            let end_of_hubs = end_of_hubs(resident, &SuccessorRows::new(resident, row_block), work.most_hubs, whole);
            if whole {
                work.pack(resident, end_of_hubs);
            }
            let successors = SuccessorRows::new(resident, row_block);
            let heads = match work.room_by_head {
                0 => HeadBuckets::default(),
                _ if work.packed == BitRows::Most => HeadBuckets::default(),
                room => HeadBuckets::that_pay_off(resident, end_of_hubs..range.end, room, |head| {
                    pack::probes(successors.row(head))
                }),
            };
            work.count(resident, &successors, end_of_hubs, &heads)
        })
    }

    fn vertices(&mut self) -> Result<VertexCounts> {
        let numbers = std::mem::take(&mut self.resident.numbers);
        let counters = self.work.counters.take().ok_or_else(|| Error::defect("no counters of vertices"))?;
        Ok(VertexCounts { of: counters.of.clone(), counts: counters.finish(), locals: numbers })
    }

    fn finish(self: Box<Self>) -> Result<PartitionCount> {
        Ok(PartitionCount { triangles: self.work.triangles, device: None })
    }

    fn memory(&self) -> CounterMemory {
        CounterMemory::BesidesSections(self.work.bytes())
    }
}

/// The end, at most `most`, of the hubs in the row block's range whose bits pay off. In the `whole` graph, rows will be packed.
fn end_of_hubs(resident: &Resident, successors: &SuccessorRows<'_>, most: u32, whole: bool) -> u32 {
    let steps = if whole { steps(resident, most as usize) } else { Vec::new() };
    let length = |number| if whole { steps[number as usize] as usize } else { successors.row(number).len() };
    hubs::worthwhile(resident, length, successors.range(), most)
}

/// The cost of probing each of the first `most` rows of the whole graph ([`pack::steps`]).
fn steps(resident: &Resident, most: usize) -> Vec<u32> {
    const RUN: usize = 1 << 9;
    let steps =
        |first: usize| -> Vec<u32> { (first..most.min(first + RUN)).map(|i| pack::steps(resident.row(i))).collect() };
    parallel::map((0..most).step_by(RUN), steps).concat()
}

/// Locks a free worker; blocks if there is none, since there may be fewer workers than threads.
fn free<T>(workers: &[Mutex<T>]) -> MutexGuard<'_, T> {
    let mine = rayon::current_thread_index().unwrap_or(0) % workers.len();
    let all = (mine..workers.len()).chain(0..mine);
    all.map(|w| &workers[w]).find_map(|worker| worker.try_lock().ok()).unwrap_or_else(|| lock(&workers[mine]))
}

fn pass_over(resident: &Resident, cursors: &mut [u32], end: u32) {
    parallel::each(runs(resident, cursors, RUNS_PER_THREAD), |run| {
        for (local, cursor) in (run.first..).zip(run.cursors) {
            *cursor = before(resident.row(local), *cursor as usize, end) as u32;
        }
    });
}

/// Cuts the locals into runs of about equal numbers of arcs and locals together, at least `per_thread` for each thread.
fn runs<'a>(resident: &Resident, mut cursors: &'a mut [u32], per_thread: u64) -> Vec<LocalsRun<'a>> {
    let locals = cursors.len();
    let weight = |local: usize| resident.offsets[local] + local as u64;
    let threads = rayon::current_num_threads() as u64;
    let size = (weight(locals) / (threads * per_thread)).clamp(SMALLEST_RUN, LARGEST_RUN);
    let mut runs = Vec::new();
    let mut first = 0;
    while first < locals {
        let target = weight(first) + size;
        let end = first_where(first as u64 + 1..locals as u64, |local| weight(local as usize) >= target) as usize;
        let (mine, rest) = cursors.split_at_mut(end - first);
        runs.push(LocalsRun { first, cursors: mine });
        (first, cursors) = (end, rest);
    }
    runs
}

/// Consecutive [`runs`] in batches of up to `most` arcs; a run with more is a batch of its own.
fn batches<'a>(resident: &Resident, cursors: &'a mut [u32], per_thread: u64, most: u64) -> Vec<Vec<LocalsRun<'a>>> {
    let (mut batches, mut sum): (Vec<Vec<_>>, _) = (Vec::new(), 0);
    for run in runs(resident, cursors, per_thread) {
        let arcs = run.arcs(resident);
        match batches.last_mut() {
            Some(batch) if arcs <= most - sum.min(most) => {
                batch.push(run);
                sum += arcs;
            }
            _ => {
                batches.push(vec![run]);
                sum = arcs;
            }
        }
    }
    batches
}
