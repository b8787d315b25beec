//! Builds partitions from the same passes over the graph.
//!
//! Enters: the graph, some partitions. Leaves: their spills. After their marks ([`kept`]) two passes in rank order: the first
//! writes the rows of locals and measures those of proxies, which tells where frames end and so how long their blocks are; the
//! second writes the frames. Partitions run in parallel, and so do the rows of each: a block's rows are filtered in runs, a few
//! at a time, and handed to the spill's writer in their order. The bytes of a spill do not depend on the batch or the threads.
//!
//! Cost: three readings of the rows for all partitions together (four at level `zero-indegree`). Memory: the blocks,
//! [`Kept::bytes`] and [`BUFFERS`] for each partition, an encoder a thread.

use std::ops::Range;
use std::time::{Duration, Instant};

use rayon::prelude::*;

use super::build::{Builder, Built};
use super::room::Taken;
use crate::bytes::Bytes;
use crate::control::Control;
use crate::error::Result;
use crate::graph::{Direction, RowBlock};
use crate::partition::batch::{Kept, kept};
use crate::partition::cuts::{Cut, Cuts};
use crate::partition::locals::Locals;
use crate::spill::{Encoders, SpillWriter};

/// What a partition takes while it is one of many, apart from its sets: rows that wait for a block, and those on their way there.
pub const BUFFERS: Bytes = Bytes::mib(4);

/// Arcs and rows that a thread filters at a time.
const RUN: u64 = 1 << 16;

/// Builds batches of partitions.
pub struct BatchBuilder<'a> {
    builder: Builder<'a>,
    /// Bytes of a block of rows.
    block: Bytes,
    encoders: Encoders,
}

impl<'a> BatchBuilder<'a> {
    /// For the partitions of `builder`, in passes of blocks of at most so many bytes.
    pub fn new(builder: Builder<'a>, block: Bytes) -> Self {
        Self { builder, block, encoders: Encoders::default() }
    }

    /// Builds `parts` together; runs in the current thread pool. The first of them carries the time of all.
    ///
    /// # Errors
    /// When rows cannot be read or a spill cannot be written; when stopped.
    pub fn build(&self, parts: &[u32], control: &Control) -> Result<Vec<Built>> {
        let Builder { graph, locals, prune, .. } = self.builder;
        let (kept, [mut inducing, mut pruning]) = kept(graph, locals, parts, prune, (self.block, control))?;
        let start = Instant::now();
        // Threads that no other partition keeps busy.
        let threads = rayon::current_num_threads().div_ceil(parts.len().max(1));
        let mut growing = kept.into_iter().map(|kept| self.begin(kept, threads)).collect::<Result<Vec<_>>>()?;
        graph.pass(self.block, Direction::Rising, control, |block| {
            growing.par_iter_mut().try_for_each(|part| part.resident(block, locals, control))
        })?;
        growing.par_iter_mut().try_for_each(Growing::begin_frames)?;
        graph.pass(self.block, Direction::Rising, control, |block| {
            growing.par_iter_mut().try_for_each(|part| part.frames(block, locals, control))
        })?;
        let finished = growing.into_par_iter().map(Growing::finish).collect::<Result<Vec<_>>>()?;
        let mut spilling = start.elapsed();
        let times = finished.into_iter().map(|built| Built {
            inducing: std::mem::replace(&mut inducing, Duration::ZERO),
            pruning: std::mem::replace(&mut pruning, Duration::ZERO),
            spilling: std::mem::replace(&mut spilling, Duration::ZERO),
            ..built
        });
        Ok(times.collect())
    }

    fn begin(&self, kept: Kept, threads: usize) -> Result<Growing> {
        let (writer, held) = self.builder.begin(kept.part, kept.kept.count())?;
        let cuts = Cuts::new(self.builder.plan.frame_limit);
        let writer = writer.one_of_many(&self.encoders, threads);
        Ok(Growing { kept, writer, held, cuts, frames: Vec::new(), frame: 0, rows: 0, threads })
    }
}

/// A spill that grows with every block.
struct Growing {
    kept: Kept,
    writer: SpillWriter,
    held: Option<Taken>,
    cuts: Cuts,
    /// The frames, once they are known; which is being written, and how many proxies' rows were.
    frames: Vec<Cut>,
    frame: usize,
    rows: usize,
    /// Runs of rows that are filtered at a time.
    threads: usize,
}

/// Some rows as they stand in a section.
#[derive(Default)]
struct Filtered {
    /// The local numbers of locals.
    numbers: Vec<u32>,
    offsets: Vec<u64>,
    heads: Vec<u32>,
    /// The local number of each proxy, and how long its row will be.
    proxies: Vec<(u32, u32)>,
}

impl Filtered {
    fn new() -> Self {
        Self { offsets: vec![0], ..Self::default() }
    }

    fn push(&mut self, row: impl Iterator<Item = u32>) {
        self.heads.extend(row);
        self.offsets.push(self.heads.len() as u64);
    }
}

impl Kept {
    /// The members in `run`, each with its local number and whether it is local.
    fn members(&self, run: Range<u32>, locals: &Locals) -> impl Iterator<Item = (u32, u32, bool)> {
        let places = self.kept.rank(run.start)..;
        let members = self.kept.iter(run).zip(places);
        members.map(|(rank, place)| (rank, place, locals.part(rank) == self.part))
    }

    /// The rows of locals, and the lengths of those of proxies.
    fn resident(&self, block: RowBlock<'_>, run: Range<u32>, locals: &Locals) -> Filtered {
        let mut filtered = Filtered::new();
        for (rank, place, is_local) in self.members(run, locals) {
            let row = block.row(rank);
            if is_local {
                filtered.numbers.push(place);
                filtered.push(row.iter().map(|&successor| self.kept.rank(successor)));
            } else {
                let length = row.iter().map(|&successor| u32::from(self.keeps(successor))).sum();
                filtered.proxies.push((place, length));
            }
        }
        filtered
    }

    /// The rows of proxies.
    fn passing(&self, block: RowBlock<'_>, run: Range<u32>, locals: &Locals) -> Filtered {
        let mut filtered = Filtered::new();
        for (rank, ..) in self.members(run, locals).filter(|&(.., is_local)| !is_local) {
            let row = block.row(rank).iter().filter(|&&successor| self.keeps(successor));
            filtered.push(row.map(|&successor| self.kept.rank(successor)));
        }
        filtered
    }
}

impl Growing {
    /// Filters the rows of a block, and hands them on in their order.
    fn filtered(
        &mut self,
        block: RowBlock<'_>,
        control: &Control,
        filter: impl Fn(&Kept, Range<u32>) -> Filtered + Sync,
        mut each: impl FnMut(&mut Self, &Filtered) -> Result<()>,
    ) -> Result<()> {
        for runs in block.runs(RUN).chunks(self.threads) {
            control.check()?;
            let kept = &self.kept;
            let filtered: Vec<_> = match runs {
                [run] => vec![filter(kept, run.clone())],
                _ => runs.par_iter().map(|run| filter(kept, run.clone())).collect(),
            };
            filtered.iter().try_for_each(|filtered| each(self, filtered))?;
        }
        Ok(())
    }

    /// Writes the rows of the locals in a block, and measures those of the proxies.
    fn resident(&mut self, block: RowBlock<'_>, locals: &Locals, control: &Control) -> Result<()> {
        let filter = |kept: &Kept, run| kept.resident(block, run, locals);
        self.filtered(block, control, filter, |growing, filtered| {
            filtered.proxies.iter().for_each(|&(place, length)| growing.cuts.row(place, length));
            growing.writer.resident_rows(&filtered.numbers, &filtered.offsets, &filtered.heads)
        })
    }

    /// All rows are measured: the frames are known.
    fn begin_frames(&mut self) -> Result<()> {
        let cuts = std::mem::replace(&mut self.cuts, Cuts::new(Bytes::ZERO));
        self.frames = cuts.finish(self.kept.kept.count());
        self.begin_frame()
    }

    fn begin_frame(&mut self) -> Result<()> {
        let Cut { range, rows, arcs } = self.frames[self.frame].clone();
        self.writer.begin_frame(range, rows.len() as u64, arcs)
    }

    /// Writes the rows of the proxies in a block.
    fn frames(&mut self, block: RowBlock<'_>, locals: &Locals, control: &Control) -> Result<()> {
        let filter = |kept: &Kept, run| kept.passing(block, run, locals);
        self.filtered(block, control, filter, Self::hand_over)
    }

    /// Hands rows to the writer, each to its frame.
    fn hand_over(&mut self, Filtered { offsets, heads, .. }: &Filtered) -> Result<()> {
        let mut first = 0;
        while first + 1 < offsets.len() {
            let room = self.frames[self.frame].rows.end - self.rows;
            if room == 0 {
                self.next_frame()?;
                continue;
            }
            let end = (first + room).min(offsets.len() - 1);
            let base = offsets[first];
            let own: Vec<u64> = offsets[first..=end].iter().map(|offset| offset - base).collect();
            self.writer.frame_rows(&own, &heads[base as usize..offsets[end] as usize])?;
            self.rows += end - first;
            first = end;
        }
        Ok(())
    }

    fn next_frame(&mut self) -> Result<()> {
        self.writer.end_frame()?;
        self.frame += 1;
        self.begin_frame()
    }

    fn finish(mut self) -> Result<Built> {
        while self.frame + 1 < self.frames.len() {
            self.next_frame()?;
        }
        self.writer.end_frame()?;
        let spill = self.writer.finish()?;
        if let Some(held) = &mut self.held {
            held.settle(Bytes(spill.bytes));
        }
        let [inducing, pruning, spilling] = [Duration::ZERO; 3];
        Ok(Built { part: self.kept.part, spill, held: self.held, inducing, pruning, spilling })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
