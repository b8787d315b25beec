//! A partition with shared frames: its locals' rows, then the frames of all.

use rayon::prelude::*;

use super::gather::{Piece, gather};
use super::{SharedGraph, Store};
use crate::bytes::Bytes;
use crate::control::Control;
use crate::error::Result;
use crate::graph::OrientedGraph;
use crate::partition::section::{Frame, FrameSize, FrameView, Resident, ResidentSize};
use crate::stream::source::PartitionSource;

/// Heads that a row needs to start a triangle; shorter rows of locals are left out.
pub const FEWEST_HEADS: u32 = 2;

/// A partition as the counter takes it.
pub struct SharedPart<'s> {
    shared: &'s SharedGraph<'s>,
    /// The numbers of the locals that start triangles, ascending.
    numbers: Vec<u32>,
    /// How many of them were read.
    next: usize,
    control: Control,
}

impl<'s> SharedPart<'s> {
    /// The partition of `locals` (ids). Lists them in the current thread pool: 4 bytes each.
    pub fn new(shared: &'s SharedGraph<'s>, locals: &[u32], control: &Control) -> Self {
        let numbers = starting(shared.graph, locals);
        // Their lengths were read in the graph.
        shared.graph.ease();
        Self { shared, numbers, next: 0, control: control.clone() }
    }
}

/// The numbers of those `locals` (ids) that start triangles, ascending.
pub fn starting(graph: &OrientedGraph, locals: &[u32]) -> Vec<u32> {
    let starts = |id: &&u32| graph.out_degree(**id) >= FEWEST_HEADS;
    let number_of = &graph.numbering().number_of;
    let mut numbers: Vec<u32> = locals.par_iter().filter(starts).map(|&id| number_of[id as usize]).collect();
    numbers.par_sort_unstable();
    numbers
}

impl<'s> PartitionSource<'s> for SharedPart<'s> {
    fn numbered(&self) -> u32 {
        self.shared.graph.vertices()
    }

    fn frames(&self) -> usize {
        self.shared.frames.count()
    }

    fn frame_size(&self, i: usize) -> FrameSize {
        self.shared.frames.size(i)
    }

    fn resident_size(&self) -> ResidentSize {
        let arcs = self.numbers.par_iter().map(|&number| self.shared.frames.length(number)).sum();
        ResidentSize { locals: self.numbers.len() as u64, arcs }
    }

    fn read_resident(&mut self, limit: Option<Bytes>, into: &mut Resident) -> Result<bool> {
        // A run of numbers has rows all over the graph: where they come from there, few long runs read less.
        let least = if self.shared.memory().is_some() { Bytes::ZERO } else { self.shared.window };
        let most = limit.map_or(u64::MAX, |limit| (limit.max(least).get() / 4).max(1));
        let rest = &self.numbers[self.next..];
        let rows = rest.len().min(usize::try_from(most).unwrap_or(usize::MAX));
        into.offsets.clear();
        into.offsets.reserve_exact(rows + 1);
        into.offsets.push(0);
        let mut end = 0;
        for &number in &rest[..rows] {
            let length = self.shared.frames.length(number);
            if end + length > most && end > 0 {
                break;
            }
            end += length;
            into.offsets.push(end);
        }
        let run = &rest[..into.offsets.len() - 1];
        self.next += run.len();
        into.numbers.clear();
        into.numbers.extend_from_slice(run);
        into.heads.clear();
        into.heads.reserve_exact(end as usize);
        into.heads.resize(end as usize, 0);
        self.shared.fill(into, &self.control)?;
        Ok(self.next < self.numbers.len())
    }

    fn lent(&self, i: usize) -> Option<FrameView<'s>> {
        self.shared.lent(i)
    }

    fn read_frame(&mut self, i: usize, into: &mut Frame) -> Result<()> {
        self.shared.read(i, into, &self.control)
    }
}

impl SharedGraph<'_> {
    /// Fills in the heads of rows whose numbers and offsets are there. Taken from the gathered rows where these are in memory,
    /// else from the graph: neighbouring ids lie together there. Runs in the current thread pool.
    fn fill(&self, rows: &mut Resident, control: &Control) -> Result<()> {
        let Resident { numbers, offsets, heads } = rows;
        let mut pieces = Vec::new();
        match &self.store {
            Store::Memory(all) => {
                Piece::cut(numbers, offsets, heads, &mut pieces);
                pieces.into_par_iter().with_max_len(1).try_for_each(|mut piece| {
                    control.check()?;
                    piece.fill(|number| Some(self.row(all, number)));
                    Ok(())
                })
            }
            Store::File(_) => {
                let id_of = &self.graph.numbering().id_of;
                let ids: Vec<u32> = numbers.par_iter().map(|&number| id_of[number as usize]).collect();
                Piece::cut(&ids, offsets, heads, &mut pieces);
                gather(self.graph, pieces, self.window, control)?;
                self.graph.release();
                Ok(())
            }
        }
    }

    /// The row of `number` among `all`.
    fn row<'h>(&self, all: &'h [u32], number: u32) -> &'h [u32] {
        let arcs = self.frames.row(number);
        &all[arcs.start as usize..arcs.end as usize]
    }
}
