//! Builds many partitions from the same passes over the graph.
//!
//! Enters: the graph, some partitions. Leaves: their spills, each byte for byte what [`Builder::build`] makes of it
//! alone. After their marks ([`kept`]) two passes in the order of numbers: the first writes the rows of locals and measures those
//! of proxies, which tells where frames end and so how long their blocks are; the second writes the frames. Partitions run in
//! parallel, each filters a block's rows for itself.
//!
//! Cost: three readings of the rows for all partitions together (four at level `zero-indegree`). Memory: the blocks,
//! [`Kept::bytes`] and [`BUFFERS`] for each partition, an encoder a thread.

use std::time::{Duration, Instant};

use rayon::prelude::*;

use super::build::{Builder, Built};
use super::room::Taken;
use crate::bytes::Bytes;
use crate::control::Control;
use crate::error::Result;
use crate::graph::pass::{Direction, RowBlock};
use crate::partition::batch::{Kept, Locals, kept};
use crate::partition::cuts::{Cut, Cuts};
use crate::partition::section::Resident;
use crate::spill::{Encoders, SpillWriter};

/// What a partition takes while it is one of many, apart from its sets: rows that wait for a block, and those on their way there.
pub const BUFFERS: Bytes = Bytes::mib(4);

/// Heads and rows that are handed to a writer together.
const HANDFUL: usize = 1 << 16;

/// Builds batches of partitions.
pub struct BatchBuilder<'a> {
    builder: Builder<'a>,
    /// Bytes of a block of rows.
    block: Bytes,
    locals: Locals<'a>,
    encoders: Encoders,
}

impl<'a> BatchBuilder<'a> {
    /// For the partitions of `builder`, in passes of blocks of at most so many bytes; lists their locals by number.
    pub fn new(builder: Builder<'a>, block: Bytes) -> Self {
        let locals = Locals::new(builder.graph, &builder.plan.assignment);
        Self { builder, block, locals, encoders: Encoders::default() }
    }

    /// Builds `parts` together; runs in the current thread pool. The first of them carries the time of all.
    ///
    /// # Errors
    /// When rows cannot be read or a spill cannot be written; when stopped.
    pub fn build(&self, parts: &[u32], control: &Control) -> Result<Vec<Built>> {
        let (kept, [mut inducing, mut pruning]) = kept(&self.locals, parts, self.builder.prune, self.block, control)?;
        let start = Instant::now();
        let mut growing = kept.into_iter().map(|kept| self.begin(kept)).collect::<Result<Vec<_>>>()?;
        let locals = &self.locals;
        let graph = self.builder.graph;
        graph.pass(self.block, Direction::Rising, control, |block| {
            control.check()?;
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

    fn begin(&self, kept: Kept) -> Result<Growing> {
        let (writer, held) = self.builder.begin(kept.part, kept.kept.count())?;
        let cuts = Cuts::new(self.builder.plan.frame_limit);
        let writer = writer.one_of_many(&self.encoders);
        Ok(Growing { kept, writer, held, cuts, frames: Vec::new(), frame: 0, rows: 0, handful: Resident::default() })
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
    /// Rows on their way to the writer.
    handful: Resident,
}

impl Growing {
    /// Writes the rows of the locals in a block, and measures those of the proxies.
    fn resident(&mut self, block: RowBlock<'_>, locals: &Locals<'_>, control: &Control) -> Result<()> {
        control.check()?;
        let Self { kept, writer, cuts, handful, .. } = self;
        let set = &kept.kept;
        for (place, number) in (set.rank(block.ranks().start)..).zip(set.iter(block.ranks())) {
            let row = block.row(number);
            if locals.part(number) != kept.part {
                cuts.row(place, row.iter().map(|&head| u32::from(kept.keeps_head(head))).sum());
                continue;
            }
            handful.numbers.push(place);
            handful.push(row.iter().map(|&head| set.rank(head)));
            if handful.heads.len() + handful.numbers.len() >= HANDFUL {
                writer.resident(handful)?;
                handful.clear();
            }
        }
        writer.resident(handful)?;
        handful.clear();
        Ok(())
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
    fn frames(&mut self, block: RowBlock<'_>, locals: &Locals<'_>, control: &Control) -> Result<()> {
        control.check()?;
        let (part, range) = (self.kept.part, block.ranks());
        let mut next = range.start;
        while let Some(number) = self.kept.kept.iter(next..range.end).find(|&number| locals.part(number) != part) {
            // All rows that the current frame takes of this block, by handfuls.
            while self.rows == self.frames[self.frame].rows.end {
                self.next_frame()?;
            }
            next = self.handful(block, number, locals);
            self.hand_over()?;
        }
        Ok(())
    }

    /// Takes rows of proxies from `first` on, as far as the block, the frame and a handful go. Returns where to go on.
    fn handful(&mut self, block: RowBlock<'_>, first: u32, locals: &Locals<'_>) -> u32 {
        let Self { kept, handful, frames, frame, rows, .. } = self;
        let end = frames[*frame].rows.end;
        let set = &kept.kept;
        for number in set.iter(first..block.ranks().end).filter(|&number| locals.part(number) != kept.part) {
            if *rows == end || handful.heads.len() + handful.offsets.len() >= HANDFUL {
                return number;
            }
            let row = block.row(number).iter().filter(|&&head| kept.keeps_head(head));
            handful.push(row.map(|&head| set.rank(head)));
            *rows += 1;
        }
        block.ranks().end
    }

    fn hand_over(&mut self) -> Result<()> {
        self.writer.frame_rows(&self.handful.offsets, &self.handful.heads)?;
        self.handful.clear();
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
