//! A partition's rows before it is built, for methods whose tables depend on them.
//!
//! Either the rows of the graph as they stand, in global numbers (shared frames), or those of a partition in outline (own
//! frames, and the graph as one partition). Rows are read one by one: a method looks at a sample of them.

use std::ops::Range;

use crate::bytes::Bytes;
use crate::count::{ByRows, RowsAhead};
use crate::graph::OrientedGraph;
use crate::partition::outline::Outline;
use crate::partition::section::ResidentSize;

/// Rows of the graph in global numbers.
pub(super) struct Global<'a> {
    pub(super) graph: &'a OrientedGraph,
    /// Ranks that the counter meets.
    pub(super) numbered: u32,
    /// Those that are resident, ascending.
    pub(super) numbers: &'a [u32],
    pub(super) size: ResidentSize,
    pub(super) frames: &'a [Range<u32>],
}

impl RowsAhead for Global<'_> {
    fn size(&self) -> ResidentSize {
        self.size
    }

    fn numbered(&self) -> u32 {
        self.numbered
    }

    fn frames(&self) -> &[Range<u32>] {
        self.frames
    }

    fn rows(&self, locals: Range<usize>, each: &mut dyn FnMut(&[u32])) {
        self.numbers[locals].iter().for_each(|&number| each(self.graph.row(number)));
    }

    fn length(&self, number: u32) -> u32 {
        self.graph.out_degree(number)
    }
}

/// What a method takes besides sections where the graph is one partition.
pub(super) fn overhead_of_whole(graph: &OrientedGraph, tables: &ByRows) -> Bytes {
    let numbers: Vec<u32> = (0..graph.vertices()).collect();
    let size = ResidentSize { locals: u64::from(graph.vertices()), arcs: graph.edges() };
    let (numbered, all) = (graph.vertices(), 0..graph.vertices());
    let global = Global { graph, numbered, numbers: &numbers, size, frames: std::slice::from_ref(&all) };
    (tables.overhead)(tables, &global)
}

/// A partition in outline.
pub(super) struct Outlined<'a, 's, 'p, 'g> {
    pub(super) outline: &'a Outline<'s, 'p, 'g>,
    pub(super) size: ResidentSize,
    pub(super) frames: Vec<Range<u32>>,
    /// The lengths of the first numbers' rows.
    pub(super) lengths: Vec<u32>,
}

impl RowsAhead for Outlined<'_, '_, '_, '_> {
    fn size(&self) -> ResidentSize {
        self.size
    }

    fn numbered(&self) -> u32 {
        self.frames.last().map_or(0, |last| last.end)
    }

    fn frames(&self) -> &[Range<u32>] {
        &self.frames
    }

    fn rows(&self, locals: Range<usize>, each: &mut dyn FnMut(&[u32])) {
        let rows = self.outline.resident(locals);
        (0..rows.numbers.len()).for_each(|i| each(rows.row(i)));
    }

    fn length(&self, number: u32) -> u32 {
        self.lengths[number as usize]
    }
}
