//! A partition with shared frames: its locals' rows, then the frames of all.

use rayon::prelude::*;

use super::gather::{Piece, gather};
use super::{SharedGraph, Store};
use crate::control::Control;
use crate::error::Result;
use crate::partition::section::{Frame, FrameSize, FrameView, Resident};
use crate::stream::source::PartitionSource;

/// Heads that a row needs to start a triangle; shorter rows of locals are left out.
pub const FEWEST_HEADS: u32 = 2;

/// A partition as the counter takes it.
pub struct SharedPart<'s> {
    shared: &'s SharedGraph<'s>,
    locals: &'s [u32],
    control: Control,
}

impl<'s> SharedPart<'s> {
    /// The partition of `locals` (ids).
    pub fn new(shared: &'s SharedGraph<'s>, locals: &'s [u32], control: &Control) -> Self {
        Self { shared, locals, control: control.clone() }
    }
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

    fn read_resident(&mut self, into: &mut Resident) -> Result<()> {
        self.shared.resident(self.locals, into, &self.control)
    }

    fn lent(&self, i: usize) -> Option<FrameView<'s>> {
        self.shared.lent(i)
    }

    fn read_frame(&mut self, i: usize, into: &mut Frame) -> Result<()> {
        self.shared.read(i, into, &self.control)
    }
}

impl SharedGraph<'_> {
    /// The rows of `locals` (ids) in the order of numbers, without those that start no triangle. Taken from the gathered
    /// rows where these are in memory, else from the graph: neighbouring ids lie together there. Runs in the
    /// current thread pool.
    fn resident(&self, locals: &[u32], into: &mut Resident, control: &Control) -> Result<()> {
        let graph = self.graph;
        let numbering = graph.numbering();
        let starts = |id: &&u32| graph.out_degree(**id) >= FEWEST_HEADS;
        let mut numbers: Vec<u32> =
            locals.par_iter().filter(starts).map(|&id| numbering.number_of[id as usize]).collect();
        numbers.par_sort_unstable();
        let lengths: Vec<u32> =
            numbers.par_iter().map(|&number| graph.out_degree(numbering.id_of[number as usize])).collect();
        let mut end = 0;
        let mut offsets = Vec::with_capacity(numbers.len() + 1);
        offsets.push(0);
        offsets.extend(lengths.iter().map(|&length| {
            end += u64::from(length);
            end
        }));
        drop(lengths);
        let mut heads = vec![0; end as usize];
        match &self.store {
            Store::Memory(all) => {
                let mut pieces = Vec::new();
                Piece::cut(&numbers, &offsets, &mut heads, &mut pieces);
                pieces.into_par_iter().with_max_len(1).try_for_each(|mut piece| {
                    control.check()?;
                    piece.fill(|number| Some(self.row(all, number)));
                    Ok::<_, crate::error::Error>(())
                })?;
            }
            Store::File(_) => {
                let ids: Vec<u32> = numbers.par_iter().map(|&number| numbering.id_of[number as usize]).collect();
                let mut pieces = Vec::new();
                Piece::cut(&ids, &offsets, &mut heads, &mut pieces);
                gather(graph, pieces, self.window, control)?;
                graph.release();
            }
        }
        *into = Resident { numbers, offsets, heads };
        Ok(())
    }

    /// The row of `number` among `all`.
    fn row<'h>(&self, all: &'h [u32], number: u32) -> &'h [u32] {
        let i = self.frames.frame_of(number);
        let (first, offsets) = (self.frames.arcs(i).start, self.frames.offsets(i));
        let place = (number - self.frames.range(i).start) as usize;
        &all[(first + u64::from(offsets[place])) as usize..(first + u64::from(offsets[place + 1])) as usize]
    }
}
