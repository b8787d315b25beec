//! Builds partitions from the same passes over the graph.
//!
//! Enters: the graph, some partitions. Leaves: their spills. After their marks ([`kept`]) one pass in rank order: for each
//! partition the rows of a file block are filtered, locals' and proxies' apart, and coded at once; then each partition's rows are
//! appended to its spill in rank order, and a row block of proxies' rows ends where the next row would not fit ([`Cuts`]). Each
//! pair of a partition and a file block is a task of its own, so all threads have work however many partitions there are, and
//! while tasks run what the ones before found is written. The bytes of a spill do not depend on the batch or the threads.
//!
//! Cost: two readings of the rows for all partitions together (three at level `zero-indegree`). Memory: the row blocks,
//! [`Kept::bytes`] and [`BUFFERS`] for each partition, and for each thread twice [`HELD`] and an encoder.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rayon::prelude::*;

use super::build::{Builder, Built};
use super::room::Taken;
use crate::bytes::Bytes;
use crate::control::Control;
use crate::error::Result;
use crate::graph::{Direction, RowRun};
use crate::lock;
use crate::partition::batch::{Kept, kept};
use crate::partition::cuts::Cuts;
use crate::partition::locals::Locals;
use crate::spill::{CodedRows, CodedSlice, Encoders, Mark, SpillWriter};

/// What a partition takes while it is one of many, apart from its sets: blocks of its spill that are not full yet.
pub const BUFFERS: Bytes = Bytes::mib(3);

/// Bytes of rows for each thread that were filtered and are to be written, while as many are being filtered.
pub const HELD: u64 = 1 << 20;

/// Builds batches of partitions.
pub struct BatchBuilder<'a> {
    builder: Builder<'a>,
    /// Bytes of a block of rows.
    block: Bytes,
    encoders: Encoders,
    /// Memory that was used, one for each thread twice.
    idle: Mutex<Vec<Found>>,
}

impl<'a> BatchBuilder<'a> {
    /// For the partitions of `builder`, in passes of blocks of at most so many bytes.
    pub fn new(builder: Builder<'a>, block: Bytes) -> Self {
        Self { builder, block, encoders: Encoders::default(), idle: Mutex::default() }
    }

    /// Builds `parts` together; runs in the current thread pool. The first of them carries the time of all.
    ///
    /// # Errors
    /// When rows cannot be read or a spill cannot be written; when stopped.
    pub fn build(&self, parts: &[u32], control: &Control) -> Result<Vec<Built>> {
        let Builder { graph, locals, prune, .. } = self.builder;
        let (kept, [mut inducing, mut pruning]) = kept(graph, locals, parts, prune, (self.block, control))?;
        let start = Instant::now();
        let begin = |kept: &Kept| {
            let (writer, held) = self.builder.begin(kept, &self.encoders)?;
            Ok(Growing { writer, held, cuts: Cuts::new(self.builder.plan.row_block_limit) })
        };
        let mut growing = kept.par_iter().map(begin).collect::<Result<Vec<_>>>()?;
        let mut found = Vec::new();
        graph.pass(self.block, Direction::Rising, control, |block| {
            let blocks: Vec<Range<u32>> = block.file_blocks().collect();
            let tasks = Tasks { all: blocks.len() * kept.len(), next: AtomicUsize::new(0), held: AtomicU64::new(0) };
            while tasks.next.load(Ordering::Relaxed) < tasks.all {
                control.check()?;
                let filter = |task: usize, rows: &mut Rows| {
                    filter(&kept[task % kept.len()], block, blocks[task / kept.len()].clone(), locals, rows);
                };
                let before = std::mem::take(&mut found);
                let (now, written) = rayon::join(|| tasks.some(&self.idle, filter), || self.add(&mut growing, before));
                written?;
                found = now;
            }
            Ok(())
        })?;
        self.add(&mut growing, found)?;
        lock(&self.idle).clear();
        let finish = |(growing, kept): (Growing, Kept)| growing.finish(&kept);
        let finished = growing.into_par_iter().zip(kept).map(finish).collect::<Result<Vec<_>>>()?;
        let mut spilling = start.elapsed();
        let times = finished.into_iter().map(|built| Built {
            inducing: std::mem::replace(&mut inducing, Duration::ZERO),
            pruning: std::mem::replace(&mut pruning, Duration::ZERO),
            spilling: std::mem::replace(&mut spilling, Duration::ZERO),
            ..built
        });
        Ok(times.collect())
    }

    /// Gives each partition what was found of it, in the order in which it was.
    fn add(&self, growing: &mut [Growing], found: Vec<Found>) -> Result<()> {
        let mut pieces: Vec<(usize, [CodedSlice<'_>; 2])> = found.iter().flat_map(Found::pieces).collect();
        pieces.sort_unstable_by_key(|&(task, _)| task);
        let mut of: Vec<Vec<[CodedSlice<'_>; 2]>> = growing.iter().map(|_| Vec::new()).collect();
        pieces.into_iter().for_each(|(task, rows)| of[task % growing.len()].push(rows));
        let add = |(growing, rows): (&mut Growing, Vec<_>)| rows.into_iter().try_for_each(|rows| growing.add(rows));
        growing.par_iter_mut().zip(of).try_for_each(add)?;
        lock(&self.idle).extend(found.into_iter().map(Found::emptied));
        Ok(())
    }
}

/// Pairs of a file block and a partition, in this order.
struct Tasks {
    all: usize,
    next: AtomicUsize,
    /// Bytes that the last ones found.
    held: AtomicU64,
}

impl Tasks {
    /// Runs the next tasks on all threads, until what they found takes [`HELD`] for each thread; what each thread found.
    fn some(&self, idle: &Mutex<Vec<Found>>, task: impl Fn(usize, &mut Rows) + Sync) -> Vec<Found> {
        let threads = rayon::current_num_threads();
        let most = HELD * threads as u64;
        self.held.store(0, Ordering::Relaxed);
        let work = |_| {
            let mut found = lock(idle).pop().unwrap_or_default();
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
        (0..threads).into_par_iter().with_max_len(1).map(work).collect()
    }
}

/// Rows of a partition: those of its locals, and those of its proxies.
type Rows = [CodedRows; 2];

/// What the tasks of a thread found.
#[derive(Default)]
struct Found {
    rows: Rows,
    /// The tasks, each with where its rows end.
    ends: Vec<(usize, [Mark; 2])>,
}

impl Found {
    fn bytes(&self) -> u64 {
        self.rows.iter().map(CodedRows::bytes).sum()
    }

    /// The tasks, each with its rows.
    fn pieces(&self) -> impl Iterator<Item = (usize, [CodedSlice<'_>; 2])> {
        let mut from = [Mark::default(); 2];
        self.ends.iter().map(move |&(task, to)| {
            let rows = [0, 1].map(|kind| self.rows[kind].between(from[kind], to[kind]));
            from = to;
            (task, rows)
        })
    }

    /// Without rows, in the same memory.
    fn emptied(mut self) -> Self {
        self.rows.iter_mut().for_each(CodedRows::clear);
        self.ends.clear();
        self
    }
}

/// Filters the rows of `ranks` for one partition, and codes what is kept, in local numbers; with the processor's own count of bits
/// where it has one.
#[multiversion::multiversion(targets("x86_64+avx2+bmi1+bmi2+lzcnt+popcnt", "x86_64+popcnt"))]
fn filter(kept: &Kept, block: RowRun<'_>, ranks: Range<u32>, locals: &Locals, [own, passing]: &mut Rows) {
    let place = |successor| kept.kept.rank(successor);
    let (mut own, mut passing) = (own.coder(), passing.coder());
    for (rank, number) in kept.kept.iter(ranks.clone()).zip(kept.kept.rank(ranks.start)..) {
        let row = block.row(rank);
        match locals.part(rank) == kept.part {
            true => own.push(number, row, |_| true, place),
            false => passing.push(number, row, |successor| kept.keeps(successor), place),
        }
    }
}

/// A spill that grows with every block.
struct Growing {
    writer: SpillWriter,
    held: Option<Taken>,
    cuts: Cuts,
}

impl Growing {
    /// Adds rows that come after those before.
    fn add(&mut self, [own, passing]: [CodedSlice<'_>; 2]) -> Result<()> {
        self.writer.resident_rows(own)?;
        let (mut rest, mut taken) = (passing, 0);
        for (i, (&place, &length)) in passing.numbers.iter().zip(passing.lengths).enumerate() {
            self.cuts.row(place, length);
            for row_block in self.cuts.ended() {
                let (before, after) = rest.split_at(i - taken);
                self.writer.row_block_rows(before)?;
                self.writer.end_row_block(row_block.range.end)?;
                (rest, taken) = (after, i);
            }
        }
        self.writer.row_block_rows(rest)
    }

    fn finish(mut self, kept: &Kept) -> Result<Built> {
        for row_block in self.cuts.finish(kept.kept.count()) {
            self.writer.end_row_block(row_block.range.end)?;
        }
        let spill = self.writer.finish()?;
        if let Some(held) = &mut self.held {
            held.resize(Bytes(spill.bytes));
        }
        let [inducing, pruning, spilling] = [Duration::ZERO; 3];
        Ok(Built { part: kept.part, spill, held: self.held, inducing, pruning, spilling })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
