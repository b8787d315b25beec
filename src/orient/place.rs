//! Where oriented rows go: into a graph file, or into arrays in memory.

use std::path::Path;

use rayon::prelude::*;

use super::rows::Oriented as Rows;
use super::{Oriented, write_per_vertex};
use crate::bytes::Bytes;
use crate::clean::InputIds;
use crate::error::Result;
use crate::graph::file::{GraphWriter, Layout};
use crate::graph::numbering::Numbering;
use crate::graph::{Arrays, OrientedGraph};
use crate::mapped::zeros;

/// Where the graph is to be.
#[derive(Debug, Clone, Copy)]
pub enum Place<'a> {
    /// In a file in this directory.
    File(&'a Path),
    /// In memory, if it takes at most so much of it, else in a file in this directory.
    Memory(Bytes, &'a Path),
}

/// The graph, where it is.
pub enum Made {
    /// A complete graph file.
    File(Oriented),
    /// In memory.
    Memory(Box<OrientedGraph>),
}

/// A graph that is being made; rows are put one after another.
pub(super) struct Target {
    /// The row that comes next.
    row: usize,
    /// Arcs so far.
    arcs: u64,
    to: To,
}

enum To {
    File(GraphWriter),
    Memory(Layout, Arrays),
}

impl Target {
    /// Begins a graph of `layout` with the vertices `compact`, whose degrees are found in `degrees`.
    pub(super) fn new(place: Place<'_>, layout: Layout, compact: &[u32], degrees: &[u32]) -> Result<Self> {
        let to = match place {
            Place::Memory(most, _) if layout.sections_bytes() <= most => {
                let degrees = compact.par_iter().map(|&id| degrees[id as usize]).collect();
                let ids = match layout.has_ids {
                    true => compact.par_iter().map(|&id| u64::from(id)).collect(),
                    false => Vec::new(),
                };
                let (offsets, heads) = (zeros(compact.len() + 1), zeros(layout.edges as usize));
                To::Memory(layout, Arrays { offsets, heads, degrees, ids })
            }
            Place::Memory(_, dir) | Place::File(dir) => {
                let writer = GraphWriter::create(dir, layout)?;
                write_per_vertex(&writer, compact, degrees, &InputIds::Plain)?;
                To::File(writer)
            }
        };
        Ok(Self { row: 0, arcs: 0, to })
    }

    /// Puts the next rows. There must be room for them.
    pub(super) fn put(&mut self, pieces: &[Rows]) -> Result<()> {
        let mut places = Vec::with_capacity(pieces.len());
        for piece in pieces {
            places.push((self.row, self.arcs));
            self.row += piece.ends.len();
            self.arcs += piece.heads.len() as u64;
        }
        match &mut self.to {
            To::File(writer) => pieces.par_iter().zip(&places).try_for_each(|(piece, &(row, arcs))| {
                let (heads_at, offsets_at) = (writer.layout().heads().start, writer.layout().offsets().start);
                writer.write(heads_at as u64 + 4 * arcs, bytemuck::cast_slice(&piece.heads))?;
                let offsets: Vec<u64> = piece.ends.iter().map(|&end| arcs + u64::from(end)).collect();
                writer.write(offsets_at as u64 + 8 * (row as u64 + 1), bytemuck::cast_slice(&offsets))
            }),
            To::Memory(_, arrays) => {
                let (row, arc) = places.first().map_or((0, 0), |&(row, arc)| (row, arc as usize));
                let (mut offsets, mut heads) = (&mut arrays.offsets[row + 1..], &mut arrays.heads[arc..]);
                let mut slices = Vec::with_capacity(pieces.len());
                for piece in pieces {
                    let (mine, rest) = offsets.split_at_mut(piece.ends.len());
                    let (my_heads, heads_left) = heads.split_at_mut(piece.heads.len());
                    slices.push((mine, my_heads));
                    (offsets, heads) = (rest, heads_left);
                }
                slices.into_par_iter().zip(pieces).zip(places).with_max_len(1).for_each(
                    |(((offsets, heads), piece), (_, arcs))| {
                        offsets.iter_mut().zip(&piece.ends).for_each(|(offset, &end)| *offset = arcs + u64::from(end));
                        heads.copy_from_slice(&piece.heads);
                    },
                );
                Ok(())
            }
        }
    }

    /// The graph, once all rows are put; `number_of` has the number of each of the vertices `compact`, and of other ids. A file
    /// notes that it was made of `source`.
    pub(super) fn finish(self, compact: &[u32], number_of: &[u32], source: String) -> Result<Made> {
        match self.to {
            To::File(writer) => {
                // The offset of the first row; all others were written as ends.
                writer.write(writer.layout().offsets().start as u64, &0u64.to_le_bytes())?;
                super::complete(writer, source, Bytes::ZERO).map(Made::File)
            }
            To::Memory(layout, arrays) => {
                let number_of: Vec<u32> = compact.par_iter().map(|&id| number_of[id as usize]).collect();
                let numbering = Numbering::of(number_of);
                Ok(Made::Memory(Box::new(OrientedGraph::in_memory(layout, arrays, numbering))))
            }
        }
    }
}
