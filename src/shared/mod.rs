//! Shared frames: slices of the oriented graph itself, in global numbers, the same for every partition.
//!
//! Enters: the oriented graph, whose rows stand in the order of ids. Leaves: a [`SharedGraph`], its rows gathered once in
//! the order of numbers and cut into [`Frames`], and for each partition a [`SharedPart`], a source for the counter:
//! the partition is only its locals' rows, unfiltered and in global numbers; then all frames pass.
//!
//! A triangle `a -> b, a -> c, b -> c` is counted where `a` is local, while the frame passes that has the row of `b`:
//! each triangle once, because each vertex is local once and each row is in one frame. Nothing is induced, pruned or
//! spilled; `P * m` arcs pass the device instead. A local whose row has fewer than two heads starts no triangle, and no
//! resident row is needed as a head's row, so such locals are left out.
//!
//! Rows lie in memory where the host's budget has room for them, and frames are then lent to the counter where they
//! lie; otherwise in a temporary file ([`mod@file`]), from which they are read a frame at a time. Memory: `4 n` bytes of
//! offsets, and `4 m` of heads or two frames.

pub mod dealt;
pub mod file;
pub mod frames;
pub mod gather;
pub mod part;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::path::Path;

use crate::bytes::Bytes;
use crate::control::Control;
use crate::error::Result;
use crate::graph::OrientedGraph;
use crate::partition::section::{Frame, FrameView};
pub use dealt::{Dealt, Window};
use file::RowFile;
pub use frames::Frames;
use gather::{Piece, gather};
pub use part::SharedPart;

/// Where the rows in the order of numbers lie.
#[derive(Debug, Clone, Copy)]
pub enum Place<'a> {
    /// In memory.
    Memory,
    /// In a temporary file of this directory, gathered so many bytes at a time.
    File {
        /// The directory.
        dir: &'a Path,
        /// Bytes of rows that are in memory at a time while the file is made.
        batch: Bytes,
    },
}

/// The rows of an oriented graph in the order of numbers, cut into frames.
pub struct SharedGraph<'g> {
    graph: &'g OrientedGraph,
    frames: &'g Frames,
    store: Store,
    /// Bytes of mapped rows of the graph that may be resident while they are gathered.
    window: Bytes,
}

enum Store {
    Memory(Vec<u32>),
    File(RowFile),
}

impl<'g> SharedGraph<'g> {
    /// Gathers the rows of `graph` into `place`; of the graph's own rows at most `window` bytes are resident at a time.
    /// Runs in the current thread pool.
    ///
    /// # Errors
    /// A directory that cannot be written ([`crate::error::Kind::Resource`]), a stop.
    pub fn new(
        graph: &'g OrientedGraph,
        frames: &'g Frames,
        place: Place<'_>,
        window: Bytes,
        control: &Control,
    ) -> Result<Self> {
        let store = match place {
            Place::Memory => {
                let mut heads = vec![0; graph.edges() as usize];
                let pieces = pieces(graph, frames, 0..frames.count(), &mut heads);
                gather(graph, pieces, window, control)?;
                Store::Memory(heads)
            }
            Place::File { dir, batch } => Store::File(write(graph, frames, dir, batch, window, control)?),
        };
        graph.release();
        Ok(Self { graph, frames, store, window })
    }

    /// How the rows are cut.
    pub fn frames(&self) -> &'g Frames {
        self.frames
    }

    /// The arrays that frames are lent from, where rows lie in memory: a backend may lock their pages. They stay where
    /// they are as long as this value lives.
    pub fn memory(&self) -> Option<[&[u32]; 2]> {
        match &self.store {
            Store::Memory(heads) => Some([self.frames.all_offsets(), heads]),
            Store::File(_) => None,
        }
    }

    /// Bytes on disk.
    pub fn disk(&self) -> Bytes {
        match &self.store {
            Store::Memory(_) => Bytes::ZERO,
            Store::File(_) => Bytes::of::<u32>(self.graph.edges()),
        }
    }

    /// Frame `i`, where rows lie in memory.
    fn lent(&self, i: usize) -> Option<FrameView<'_>> {
        let Store::Memory(heads) = &self.store else { return None };
        let arcs = self.frames.arcs(i);
        Some(FrameView {
            range: self.frames.range(i),
            offsets: self.frames.offsets(i),
            heads: &heads[arcs.start as usize..arcs.end as usize],
            stays: true,
        })
    }

    /// Reads frame `i`. What the disk gives back damaged is gathered from the graph again.
    fn read(&self, i: usize, into: &mut Frame, control: &Control) -> Result<()> {
        let (arcs, starts) = (self.frames.arcs(i), self.frames.offsets(i));
        let (offsets, heads) = into.reset(self.frames.range(i), starts.len() as u64 - 1, arcs.end - arcs.start)?;
        offsets.copy_from_slice(starts);
        match &self.store {
            Store::Memory(all) => heads.copy_from_slice(&all[arcs.start as usize..arcs.end as usize]),
            Store::File(file) => {
                if !file.read(i, arcs.start, heads)? {
                    tracing::warn!("{}: frame {i} came back damaged; it is made again", file.place().display());
                    gather(self.graph, pieces(self.graph, self.frames, i..i + 1, heads), self.window, control)?;
                    self.graph.release();
                }
            }
        }
        Ok(())
    }
}

/// The pieces of some consecutive frames, whose rows are to be written to `out`.
fn pieces<'a>(
    graph: &'a OrientedGraph,
    frames: &'a Frames,
    which: std::ops::Range<usize>,
    out: &'a mut [u32],
) -> Vec<Piece<'a, u32>> {
    let mut pieces = Vec::new();
    let mut rest = out;
    for i in which {
        let range = frames.range(i);
        let ids = &graph.numbering().id_of[range.start as usize..range.end as usize];
        rest = Piece::cut(ids, frames.offsets(i), rest, &mut pieces);
    }
    pieces
}

/// Gathers the rows into a temporary file of `dir`, as many frames at a time as `batch` holds, but at least one.
fn write(
    graph: &OrientedGraph,
    frames: &Frames,
    dir: &Path,
    batch: Bytes,
    window: Bytes,
    control: &Control,
) -> Result<RowFile> {
    let mut file = RowFile::create(dir)?;
    let mut heads = Vec::new();
    let mut next = 0;
    while next < frames.count() {
        let first = frames.arcs(next).start;
        let fits = |&i: &usize| Bytes::of::<u32>(frames.arcs(i).end - first) <= batch;
        let end = (next + 1..frames.count()).take_while(fits).last().map_or(next + 1, |last| last + 1);
        heads.resize((frames.arcs(end - 1).end - first) as usize, 0);
        gather(graph, pieces(graph, frames, next..end, &mut heads), window, control)?;
        for i in next..end {
            control.check()?;
            let arcs = frames.arcs(i);
            file.write(arcs.start, &heads[(arcs.start - first) as usize..(arcs.end - first) as usize])?;
        }
        next = end;
    }
    Ok(file)
}
