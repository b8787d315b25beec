//! What a partition with shared frames will take: exactly, from the lengths of rows alone.

use rayon::prelude::*;

use super::predict::Prediction;
use crate::bytes::Bytes;
use crate::count::Terms;
use crate::graph::OrientedGraph;
use crate::partition::assignment::Assignment;
use crate::partition::section::ResidentSize;
use crate::partition::sizes::PartitionSize;
use crate::shared::Frames;
use crate::shared::part::FEWEST_HEADS;

/// Sizes and predictions of all partitions of `assignment`, for each of which `frames` pass. `O(n)`.
pub fn predictions(
    graph: &OrientedGraph,
    assignment: &Assignment,
    frames: &Frames,
    terms: &Terms,
) -> (Vec<PartitionSize>, Vec<Prediction>) {
    let largest = frames.sizes().map(|size| size.bytes()).max().unwrap_or_default();
    let all = frames.sizes().map(|size| size.bytes()).sum::<Bytes>();
    let count = frames.count() as u64;
    let besides = terms.overhead(graph.vertices()) + Bytes(largest.get() * (terms.slots)(count));
    (0..assignment.parts())
        .into_par_iter()
        .map(|part| {
            let locals = assignment.locals(part);
            let lengths = locals.par_iter().map(|&id| graph.out_degree(id)).filter(|&length| length >= FEWEST_HEADS);
            let (rows, arcs) = lengths
                .fold(|| (0, 0), |(rows, arcs), length| (rows + 1, arcs + u64::from(length)))
                .reduce(|| (0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
            let resident = terms.resident(rows, arcs);
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
                peak: resident + besides,
            };
            (size, prediction)
        })
        .unzip()
}

/// Whether the rows of shared frames fit `room` bytes of the host's memory.
pub fn fits(graph: &OrientedGraph, frames: &Frames, room: Bytes) -> bool {
    Bytes::of::<u32>(graph.edges()) + frames.table_bytes() <= room
}
