//! Builds several partitions in the same passes over the graph.
//!
//! Input: the graph, some partitions. Output: their spills. [`kept`] finds which vertices each keeps. Then one pass in rank order filters
//! and encodes the rows of each file block for each partition, locals separately from proxies, and appends them to the spill; a row block
//! ends before a row that would not fit ([`RowBlockCuts`]). A task is a partition and a file block, so all threads have work; meanwhile the rows
//! of earlier tasks are written. The bytes do not depend on the batch or the threads. Cost: two readings of the rows in all (three at level
//! `zero-indegree`). Memory: the row blocks, [`Kept::bytes`] and [`BUFFERS`] per partition; per thread twice [`HELD`] and an encoder.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use super::{Builder, BuiltPartition};
use crate::partition::GraphPasses;
use crate::partition::assignment::Assignment;
use crate::partition::cuts::RowBlockCuts;
use crate::partition::kept::{Kept, kept};
use crate::spill::{CodedRows, CodedSlice, Encoders, RowMark, SpillWriter};
use trimill_graph::{Direction, RowRun};
use trimill_system::memory::TakenMemory;
use trimill_system::timeline::TrackKind;
use trimill_system::{Bytes, Control, Result, parallel};

/// Memory that each partition of a batch takes for unfilled blocks of its spill.
pub const BUFFERS: Bytes = Bytes::mib(3);

/// Bytes of filtered rows, per thread, that are queued for writing; meanwhile, the same amount is being filtered.
pub const HELD: u64 = 1 << 20;

impl Builder<'_> {
    /// Builds `parts` together, in the current thread pool; passes read blocks of at most `block` bytes. The first result has the times of the batch.
    pub fn build(&self, block: Bytes, parts: &[u32], control: &Control) -> Result<Vec<BuiltPartition>> {
        let Self { graph, locals, prune, .. } = *self;
        let start = Instant::now();
        let passes = GraphPasses { graph, block, control };
        let (kept, [inducing, pruning]) = kept(passes, locals, parts, prune)?;
        control.did_for(TrackKind::Building, ("induce", None), start, inducing);
        control.did_for(TrackKind::Building, ("prune", None), start + inducing, pruning);
        let (start, encoders) = (Instant::now(), Encoders::default());
        let begin = |kept: &Kept| {
            let (writer, held) = self.begin(kept, &encoders)?;
            Ok(Growing { writer, held, cuts: RowBlockCuts::new(self.row_block_limit) })
        };
        let mut growing = parallel::try_map(&kept, begin)?;
        // Two for each thread: one is written while the other is filled.
        let buffers = || (0..rayon::current_num_threads()).map(|_| FoundRows::default()).collect::<Vec<_>>();
        let (mut found, mut empty) = (buffers(), buffers());
        graph.pass(block, Direction::Rising, control, |rows| {
            let blocks: Vec<Range<u32>> = rows.file_blocks().collect();
            let tasks =
                BlockTasks { all: blocks.len() * kept.len(), next: AtomicUsize::new(0), held: AtomicU64::new(0) };
            while tasks.next.load(Ordering::Relaxed) < tasks.all {
                control.check()?;
                let filter = |task: usize, into: &mut RowsByRole| {
                    filter(&kept[task % kept.len()], rows, blocks[task / kept.len()].clone(), locals, into);
                };
                let (before, buffers) = (std::mem::take(&mut found), std::mem::take(&mut empty));
                let (now, written) = rayon::join(|| tasks.some(buffers, filter), || add(&mut growing, before));
                (found, empty) = (now, written?);
            }
            Ok(())
        })?;
        add(&mut growing, found)?;
        drop(empty);
        let finish = |(growing, kept): (Growing, Kept)| growing.finish(&kept);
        let mut finished = parallel::try_map(growing.into_iter().zip(kept), finish)?;
        let spilled = finished.iter().map(|built| Bytes(built.spill.bytes)).sum();
        control.did(TrackKind::Building, ("spill", None), start, Some(spilled));
        if let Some(first) = finished.first_mut() {
            (first.inducing, first.pruning, first.spilling) = (inducing, pruning, start.elapsed());
        }
        Ok(finished)
    }
}

/// Appends the rows that tasks found to their partitions, in task order; returns the emptied buffers.
fn add(growing: &mut [Growing], found: Vec<FoundRows>) -> Result<Vec<FoundRows>> {
    let mut chunks: Vec<(usize, [CodedSlice<'_>; 2])> = found.iter().flat_map(FoundRows::chunks).collect();
    chunks.sort_unstable_by_key(|&(task, _)| task);
    let mut of: Vec<Vec<[CodedSlice<'_>; 2]>> = growing.iter().map(|_| Vec::new()).collect();
    chunks.into_iter().for_each(|(task, rows)| of[task % growing.len()].push(rows));
    let add = |(growing, rows): (&mut Growing, Vec<_>)| rows.into_iter().try_for_each(|rows| growing.add(rows));
    parallel::try_each(growing.iter_mut().zip(of), add)?;
    Ok(found.into_iter().map(FoundRows::emptied).collect())
}

/// Tasks in order: pairs of a file block and a partition.
struct BlockTasks {
    all: usize,
    next: AtomicUsize,
    held: AtomicU64,
}

impl BlockTasks {
    /// Runs the next tasks on all threads until their rows take [`HELD`] per thread; returns these rows, in the buffers `empty`, one per thread.
    fn some(&self, empty: Vec<FoundRows>, task: impl Fn(usize, &mut RowsByRole) + Sync) -> Vec<FoundRows> {
        let most = HELD * empty.len() as u64;
        self.held.store(0, Ordering::Relaxed);
        let work = |mut found: FoundRows| {
            while self.held.load(Ordering::Relaxed) < most {
                let next = self.next.fetch_add(1, Ordering::Relaxed);
                if next >= self.all {
                    break;
                }
                let before = found.bytes();
                task(next, &mut found.rows);
                found.ends.push((next, [0, 1].map(|kind| found.rows[kind].mark())));
                self.held.fetch_add(found.bytes() - before, Ordering::Relaxed);
            }
            found
        };
        parallel::map(empty, work)
    }
}

type RowsByRole = [CodedRows; 2];

#[derive(Default)]
struct FoundRows {
    rows: RowsByRole,
    ends: Vec<(usize, [RowMark; 2])>,
}

impl FoundRows {
    fn bytes(&self) -> u64 {
        self.rows.iter().map(CodedRows::bytes).sum()
    }

    fn chunks(&self) -> impl Iterator<Item = (usize, [CodedSlice<'_>; 2])> {
        let mut from = [RowMark::default(); 2];
        self.ends.iter().map(move |&(task, to)| {
            let rows = [0, 1].map(|kind| self.rows[kind].between(from[kind], to[kind]));
            from = to;
            (task, rows)
        })
    }

    fn emptied(mut self) -> Self {
        self.rows.iter_mut().for_each(CodedRows::clear);
        self.ends.clear();
        self
    }
}

/// Filters the rows of `ranks` for one partition, and encodes what is kept, in local numbers.
#[multiversion::multiversion(targets("x86_64+avx2+bmi1+bmi2+lzcnt+popcnt", "x86_64+popcnt"))]
fn filter(
    kept: &Kept,
    block: RowRun<'_>,
    ranks: Range<u32>,
    locals: &Assignment,
    [resident, proxies]: &mut RowsByRole,
) {
    let place = |successor| kept.kept.rank(successor);
    let (mut resident, mut proxies) = (resident.coder(), proxies.coder());
    for (rank, number) in kept.kept.iter(ranks.clone()).zip(kept.kept.rank(ranks.start)..) {
        let row = block.row(rank);
        match locals.part(rank) == kept.part {
            true => resident.push(number, row, |_| true, place),
            false => proxies.push(number, row, |successor| kept.keeps(successor), place),
        }
    }
}

struct Growing {
    writer: SpillWriter,
    held: Option<TakenMemory>,
    cuts: RowBlockCuts,
}

impl Growing {
    fn add(&mut self, [resident, proxies]: [CodedSlice<'_>; 2]) -> Result<()> {
        self.writer.resident_rows(resident)?;
        let (mut rest, mut taken) = (proxies, 0);
        for (i, (&place, &length)) in proxies.numbers.iter().zip(proxies.lengths).enumerate() {
            self.cuts.row(place, length);
            for end in self.cuts.ended() {
                let (before, after) = rest.split_at(i - taken);
                self.writer.row_block_rows(before)?;
                self.writer.end_row_block(end)?;
                (rest, taken) = (after, i);
            }
        }
        self.writer.row_block_rows(rest)
    }

    fn finish(mut self, kept: &Kept) -> Result<BuiltPartition> {
        for end in self.cuts.finish(kept.kept.count()) {
            self.writer.end_row_block(end)?;
        }
        let spill = self.writer.finish()?;
        if let Some(held) = &mut self.held {
            held.resize(Bytes(spill.bytes));
        }
        Ok(BuiltPartition { _held: self.held, ..BuiltPartition::on_disk(kept.part, spill) })
    }
}
