//! Where oriented rows go: into a graph file, or into arrays in memory.

use std::path::Path;

use rayon::prelude::*;

use super::ranked::RankedArcs;
use super::{Oriented, complete, write_per_vertex};
use crate::bytes::Bytes;
use crate::clean::InputIds;
use crate::control::{Control, Task};
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

/// Makes the graph of all `arcs`, whose vertices are the ids `compact` of an input with plain ids; degrees and ranks are found by
/// id. A file notes that it was made of `source`.
///
/// # Errors
/// [`crate::error::Kind::Resource`] when a bucket or the file cannot be written; a stop.
pub(super) fn make(
    arcs: RankedArcs,
    place: Place<'_>,
    layout: Layout,
    (compact, degrees, rank_of): (&[u32], &[u32], &[u32]),
    source: String,
    task: &Task,
    control: &Control,
) -> Result<Made> {
    match place {
        Place::Memory(most, _) if layout.sections_bytes() <= most => {
            let (mut offsets, mut heads) = (zeros(compact.len() + 1), zeros(layout.edges as usize));
            arcs.fill(&mut offsets, &mut heads, task, control)?;
            let degrees = compact.par_iter().map(|&id| degrees[id as usize]).collect();
            let ids = match layout.has_ids {
                true => compact.par_iter().map(|&id| u64::from(id)).collect(),
                false => Vec::new(),
            };
            let numbering = Numbering::of(compact.par_iter().map(|&id| rank_of[id as usize]).collect());
            let arrays = Arrays { offsets, heads, degrees, ids };
            Ok(Made::Memory(Box::new(OrientedGraph::in_memory(layout, arrays, numbering))))
        }
        Place::Memory(_, dir) | Place::File(dir) => {
            let writer = GraphWriter::create(dir, layout)?;
            write_per_vertex(&writer, compact, degrees, &InputIds::Plain)?;
            let bucket_bytes = Bytes(arcs.bytes_written());
            arcs.write_rows(&writer, task, control)?;
            complete(writer, source, bucket_bytes).map(Made::File)
        }
    }
}
