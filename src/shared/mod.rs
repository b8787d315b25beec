//! Shared frames: slices of the oriented graph itself, in ranks, cut alike for every partition.
//!
//! Enters: the oriented graph, whose rows stand in rank order. Leaves: a [`SharedGraph`], its rows cut into [`Frames`], and for
//! each partition a [`SharedPart`], a source for the counter: the partition is only its locals' rows, unfiltered and in
//! ranks; then come the frames that it needs ([`passing`]).
//!
//! A triangle `a -> b, a -> c, b -> c` is counted where `a` is local, while the frame passes that has the row of `b`:
//! each triangle once, because each vertex is local once and each row is in one frame. Nothing is induced, pruned or
//! spilled. Rank ranges read about half of the rows that other partitions read. A local whose row has fewer
//! than two heads starts no triangle; unless it is in a rank range, its row is not resident.
//!
//! Where the host's budget has room for all rows they are read into memory once, and frames are lent to the counter where
//! they lie; otherwise each frame is read from the graph file when its turn comes. Memory: `4 n` bytes of offsets, and `4 m` of
//! heads or two frames.

pub mod frames;
pub mod part;
pub mod passing;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use crate::bytes::Bytes;
use crate::control::Control;
use crate::error::Result;
use crate::graph::OrientedGraph;
use crate::mapped::zeros;
use crate::partition::section::{Frame, FrameView};
pub use frames::Frames;
pub use part::SharedPart;
pub use passing::{Locals, Passing};

/// The rows of an oriented graph, cut into frames.
pub struct SharedGraph<'g> {
    graph: &'g OrientedGraph,
    frames: &'g Frames,
    rows: Rows<'g>,
}

/// Where the rows lie.
enum Rows<'g> {
    /// In memory, where the graph has them.
    Lent(&'g [u32]),
    /// In memory, read from its file.
    Memory(Vec<u32>),
    /// In its file.
    File,
}

impl<'g> SharedGraph<'g> {
    /// The rows of `graph`, read into memory where they are not there and `in_memory` wants it. Runs in the current thread pool.
    ///
    /// # Errors
    /// A file that cannot be read ([`crate::error::Kind::Data`]); a stop.
    pub fn new(graph: &'g OrientedGraph, frames: &'g Frames, in_memory: bool, control: &Control) -> Result<Self> {
        control.check()?;
        // What planning looked at is read no more.
        graph.release();
        let rows = match graph.path() {
            None => Rows::Lent(graph.heads()),
            Some(_) if in_memory => {
                let mut rows = zeros(graph.edges() as usize);
                graph.read_successors(0, &mut rows)?;
                Rows::Memory(rows)
            }
            Some(_) => Rows::File,
        };
        Ok(Self { graph, frames, rows })
    }

    /// How the rows are cut.
    pub fn frames(&self) -> &'g Frames {
        self.frames
    }

    /// All rows, where they lie in memory.
    fn in_memory(&self) -> Option<&[u32]> {
        match &self.rows {
            Rows::Lent(rows) => Some(rows),
            Rows::Memory(rows) => Some(rows),
            Rows::File => None,
        }
    }

    /// The arrays that frames are lent from, where rows lie in memory: a backend may lock their pages. They stay where
    /// they are as long as this value lives.
    pub fn memory(&self) -> Option<[&[u32]; 2]> {
        self.in_memory().map(|rows| [self.frames.all_offsets(), rows])
    }

    /// Bytes that are read from disk for each partition's frames.
    pub fn disk(&self) -> Bytes {
        if self.in_memory().is_some() { Bytes::ZERO } else { Bytes::of::<u32>(self.graph.edges()) }
    }

    /// Frame `i` of `passing`, where rows lie in memory.
    fn lent<'s>(&'s self, passing: &Passing<'s>, i: usize) -> Option<FrameView<'s>> {
        let rows = self.in_memory()?;
        let arcs = passing.arcs(i);
        Some(FrameView {
            range: passing.range(i),
            offsets: passing.offsets(i),
            heads: &rows[arcs.start as usize..arcs.end as usize],
            stays: true,
        })
    }

    /// Reads frame `i` of `passing`.
    fn read(&self, passing: &Passing<'_>, i: usize, into: &mut Frame) -> Result<()> {
        let (arcs, starts) = (passing.arcs(i), passing.offsets(i));
        let (offsets, heads) = into.reset(passing.range(i), starts.len() as u64 - 1, arcs.end - arcs.start)?;
        offsets.copy_from_slice(starts);
        self.graph.read_successors(arcs.start, heads)
    }
}
