//! A partition with shared frames: its locals' rows, then the frames of all.

use rayon::prelude::*;

use super::{Locals, Passing, SharedGraph};
use crate::bytes::Bytes;
use crate::control::Control;
use crate::error::Result;
use crate::partition::section::{Frame, FrameSize, FrameView, Resident, ResidentSize};
use crate::stream::source::{PartitionSource, read_run};

/// Heads that a row needs to start a triangle; shorter rows of locals are left out.
pub const FEWEST_HEADS: u32 = 2;

/// A partition as the counter takes it.
pub struct SharedPart<'s> {
    shared: &'s SharedGraph<'s>,
    locals: Locals,
    passing: Passing<'s>,
    /// How many locals were read.
    next: usize,
    control: Control,
}

impl<'s> SharedPart<'s> {
    /// The partition of `locals` (ids). Looks them up in the current thread pool.
    pub fn new(shared: &'s SharedGraph<'s>, locals: &[u32], control: &Control) -> Self {
        let locals = Locals::of(shared.graph, locals);
        // Their lengths were read in the graph.
        shared.graph.ease();
        Self { passing: Passing::new(shared.frames, &locals), shared, locals, next: 0, control: control.clone() }
    }
}

impl<'s> PartitionSource<'s> for SharedPart<'s> {
    fn numbered(&self) -> u32 {
        self.passing.numbered()
    }

    fn frames(&self) -> usize {
        self.passing.count()
    }

    fn frame_size(&self, i: usize) -> FrameSize {
        self.passing.size(i)
    }

    fn resident_size(&self) -> ResidentSize {
        self.locals.size(self.shared.graph)
    }

    fn read_resident(&mut self, limit: Option<Bytes>, into: &mut Resident) -> Result<bool> {
        match &self.locals {
            Locals::Range(ranks) => {
                let rest = ranks.start + self.next as u32..ranks.end;
                let read = read_run(self.shared.graph, rest.clone(), limit, into)?;
                self.next += read as usize;
                Ok(read < rest.len() as u32)
            }
            Locals::List(ranks) => {
                let rest = &ranks[self.next..];
                let rows = self.shared.run_of(rest, limit, into);
                self.shared.fill(into, &self.control)?;
                self.next += rows;
                Ok(rows < rest.len())
            }
        }
    }

    fn lent(&self, i: usize) -> Option<FrameView<'s>> {
        self.shared.lent(&self.passing, i)
    }

    fn read_frame(&mut self, i: usize, into: &mut Frame) -> Result<()> {
        self.shared.read(&self.passing, i, into)
    }
}

/// Rows that a thread copies at a time.
const ROWS: usize = 1024;

impl SharedGraph<'_> {
    /// Makes `into` the run of the first of these ranks, without their heads: about `limit` bytes, or one longer row. Returns how
    /// many there are.
    fn run_of(&self, ranks: &[u32], limit: Option<Bytes>, into: &mut Resident) -> usize {
        let most = limit.map_or(u64::MAX, |limit| (limit.get() / 4).max(1));
        let rows = ranks.len().min(usize::try_from(most).unwrap_or(usize::MAX));
        let Resident { numbers, offsets, heads } = into;
        offsets.clear();
        offsets.reserve_exact(rows + 1);
        offsets.push(0);
        let mut end = 0;
        for &rank in &ranks[..rows] {
            let length = self.frames.length(rank);
            if end + length > most && end > 0 {
                break;
            }
            end += length;
            offsets.push(end);
        }
        let rows = offsets.len() - 1;
        numbers.clear();
        numbers.extend_from_slice(&ranks[..rows]);
        heads.clear();
        heads.reserve_exact(end as usize);
        heads.resize(end as usize, 0);
        rows
    }

    /// Fills in the heads of rows whose numbers and offsets are there. Runs in the current thread pool.
    fn fill(&self, rows: &mut Resident, control: &Control) -> Result<()> {
        let Resident { numbers, offsets, heads } = rows;
        let mut pieces = Vec::with_capacity(numbers.len().div_ceil(ROWS));
        let mut rest = &mut heads[..];
        for (i, numbers) in numbers.chunks(ROWS).enumerate() {
            let (mine, after) = rest.split_at_mut((offsets[i * ROWS + numbers.len()] - offsets[i * ROWS]) as usize);
            pieces.push((numbers, mine));
            rest = after;
        }
        pieces.into_par_iter().with_max_len(1).try_for_each(|(numbers, mut out)| {
            control.check()?;
            for &number in numbers {
                let row = match self.in_memory() {
                    Some(all) => {
                        let arcs = self.frames.row(number);
                        &all[arcs.start as usize..arcs.end as usize]
                    }
                    None => self.graph.row(number),
                };
                let (mine, after) = std::mem::take(&mut out).split_at_mut(row.len());
                mine.copy_from_slice(row);
                out = after;
            }
            Ok(())
        })
    }
}
