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
use crate::shared::Frames;
use crate::shared::part::{FEWEST_HEADS, starting};

/// Sizes and predictions of all partitions of `assignment`, for each of which `frames` pass. `O(n)`; where `tables` that depend
/// on rows are to be foretold, a sample of those, and 4 bytes a vertex.
pub fn predictions(
    graph: &OrientedGraph,
    assignment: &Assignment,
    frames: &Frames,
    terms: &Terms,
    tables: bool,
) -> (Vec<PartitionSize>, Vec<Prediction>) {
    let largest = frames.sizes().map(|size| size.bytes()).max().unwrap_or_default();
    let all = frames.sizes().map(|size| size.bytes()).sum::<Bytes>();
    let count = frames.count() as u64;
    let slots = Bytes(largest.get() * (terms.slots)(count));
    let ranges: Vec<_> = (0..frames.count()).map(|i| frames.range(i)).collect();
    let by_rows = terms.by_rows.filter(|_| tables);
    (0..assignment.parts())
        .into_par_iter()
        .map(|part| {
            let locals = assignment.locals(part);
            let lengths = locals.par_iter().map(|&id| graph.out_degree(id)).filter(|&length| length >= FEWEST_HEADS);
            let (rows, arcs) = lengths
                .fold(|| (0, 0), |(rows, arcs), length| (rows + 1, arcs + u64::from(length)))
                .reduce(|| (0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
            let resident = terms.resident(rows, arcs);
            let overhead = match &by_rows {
                None => terms.overhead(graph.vertices()),
                Some(tables) => {
                    let numbers = &starting(graph, locals);
                    let size = ResidentSize { locals: rows, arcs };
                    (tables.overhead)(tables, &Global { graph, numbers, size, frames: &ranges })
                }
            };
            let size = PartitionSize {
                locals: locals.len() as u64,
                resident_arcs: arcs,
                arcs_induced: arcs,
                arcs_kept: arcs,
                ..PartitionSize::default()
            };
            let prediction = Prediction {
                resident,
                frames: count,
                largest_frame: largest,
                spill: Bytes::ZERO,
                stream: ResidentSize { locals: rows, arcs }.bytes() + all,
                peak: resident + overhead + slots,
            };
            (size, prediction)
        })
        .unzip()
}

/// Whether the rows of shared frames fit `room` bytes of the host's memory.
pub fn fits(graph: &OrientedGraph, frames: &Frames, room: Bytes) -> bool {
    Bytes::of::<u32>(graph.edges()) + frames.table_bytes() <= room
}
