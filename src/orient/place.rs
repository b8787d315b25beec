//! Writes the oriented rows into a graph file or into memory.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use super::ranked::RankedArcs;
use super::{Oriented, Vertices, complete};
use crate::bytes::Bytes;
use crate::clean::InputIds;
use crate::control::{Control, Task};
use crate::error::Result;
use crate::graph::file::{GraphWriter, Layout};
use crate::graph::numbering::order;
use crate::graph::{BlockBytes, OrientedGraph};
use crate::lock;

/// Where the graph is to be written.
#[derive(Debug, Clone, Copy)]
pub enum Destination<'a> {
    /// In a file in this directory.
    File(&'a Path),
    /// In memory, if it takes at most so much of it, else in a file in this directory.
    Memory(Bytes, &'a Path),
}

/// The graph that was made.
pub enum Made {
    /// A complete graph file.
    File(Oriented),
    /// In memory.
    Memory(Box<OrientedGraph>),
}

/// Makes the graph of all `arcs`, whose vertices are ids of an input with plain ids, ranked by `rank_of`. A file records that it
/// was made from `source`.
///
/// # Errors
/// [`crate::error::Kind::Resource`] when a bucket or the file cannot be written; a stop.
pub(super) fn make(
    arcs: &RankedArcs,
    place: Destination<'_>,
    layout: Layout,
    (vertices, rank_of): (&Vertices, &[u32]),
    source: String,
    (task, control): (&Task, &Control),
) -> Result<Made> {
    let order = order(rank_of, &vertices.present);
    let ids = || vertices.ids(&InputIds::Plain);
    match place {
        Destination::Memory(most, _) if at_most(&layout) <= most => {
            let pieces = Mutex::new(Vec::new());
            let hold = |position, bytes| {
                lock(&pieces).push(BlockBytes { position, bytes });
                Ok(())
            };
            let rows = arcs.rows(hold, task, control)?;
            let mut pieces = pieces.into_inner().unwrap_or_else(PoisonError::into_inner);
            pieces.sort_unstable_by_key(|piece| piece.position);
            let ids = if layout.has_ids { ids().flatten().collect() } else { Vec::new() };
            let graph = OrientedGraph::in_memory(layout, rows, pieces, arcs.degrees().to_vec(), (order, ids))?;
            Ok(Made::Memory(Box::new(graph)))
        }
        Destination::Memory(_, dir) | Destination::File(dir) => {
            let mut writer = GraphWriter::create(dir, layout)?;
            writer.order(&order)?;
            drop(order);
            if writer.layout().has_ids {
                writer.ids(ids())?;
            }
            let bucket_bytes = Bytes(arcs.bytes_written());
            complete(writer, arcs, source, bucket_bytes, (task, control)).map(Made::File)
        }
    }
}

/// An upper bound of a graph's memory before its rows are known, which take less than 4 bytes an arc and a byte a row.
fn at_most(layout: &Layout) -> Bytes {
    let per_vertex = if layout.has_ids { 13 } else { 5 };
    Bytes(per_vertex * u64::from(layout.vertices)) + Bytes::of::<u32>(layout.edges)
}
