//! What a partition with shared frames will take: exactly, from the lengths of rows, and from a sample of the rows where
//! the method's tables depend on them.

use rayon::prelude::*;

use super::ahead::Global;
use super::predict::Prediction;
use crate::bytes::Bytes;
use crate::count::Terms;
use crate::graph::OrientedGraph;
use crate::partition::assignment::Assignment;
use crate::partition::section::ResidentSize;
use crate::partition::sizes::PartitionSize;
use crate::shared::{Frames, Locals, Passing};

/// What a partition will take.
pub struct Shared {
    /// Its size: what it keeps resident, and no proxies.
    pub size: PartitionSize,
    /// Its prediction.
    pub prediction: Prediction,
    /// The resident rows.
    pub resident: ResidentSize,
    /// Ranks that the counter meets.
    pub numbered: u32,
}

/// What all partitions of `assignment` will take, for which slices of the graph pass. `O(n)`; where `tables` that depend on rows
/// are to be found, a sample of those, and 4 bytes a vertex.
pub fn predictions(
    graph: &OrientedGraph,
    assignment: &Assignment,
    frames: &Frames,
    terms: &Terms,
    tables: bool,
) -> Vec<Shared> {
    let by_rows = terms.by_rows.filter(|_| tables);
    (0..assignment.parts())
        .into_par_iter()
        .map(|part| {
            let ids = assignment.locals(part);
            let locals = Locals::of(graph, ids);
            let (rows, passing) = (locals.size(graph), Passing::new(frames, &locals));
            let numbered = passing.numbered();
            let overhead = match &by_rows {
                None => terms.overhead(numbered),
                Some(tables) => {
                    let ranges: Vec<_> = (0..passing.count()).map(|i| passing.range(i)).collect();
                    let global = Global { graph, numbered, numbers: &locals.ranks(), size: rows, frames: &ranges };
                    (tables.overhead)(tables, &global)
                }
            };
            let largest = passing.sizes().map(|size| size.bytes()).max().unwrap_or_default();
            let count = passing.count() as u64;
            let resident = terms.resident(rows.locals, rows.arcs);
            let size = PartitionSize {
                locals: ids.len() as u64,
                resident_arcs: rows.arcs,
                arcs_induced: rows.arcs,
                arcs_kept: rows.arcs,
                ..PartitionSize::default()
            };
            let prediction = Prediction {
                resident,
                frames: count,
                largest_frame: largest,
                spill: Bytes::ZERO,
                stream: rows.bytes() + passing.sizes().map(|size| size.bytes()).sum::<Bytes>(),
                peak: resident + overhead + Bytes(largest.get() * (terms.slots)(count)),
            };
            Shared { size, prediction, resident: rows, numbered }
        })
        .collect()
}

/// Whether the rows of shared frames are in memory, or fit `room` bytes of the host's memory.
pub fn fits(graph: &OrientedGraph, frames: &Frames, room: Bytes) -> bool {
    graph.path().is_none() || Bytes::of::<u32>(graph.edges()) + frames.table_bytes() <= room
}
