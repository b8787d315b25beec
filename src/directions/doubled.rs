//! The doubled graph: the triangles at a vertex are the edges of one kind between its neighbours. Each vertex has a copy. A vertex is joined to the
//! copies of its neighbours, and two copies are joined if an edge of that kind joins their vertices. So the other corners of a triangle with a vertex
//! are copies of neighbours, and each edge of that kind between neighbours makes one. (Triangles of three copies are counted, too, at the copies.)
//!
//! The copy of the vertex with rank `r` has the number `2 r`, the vertex itself `2 r + 1`, so rows come in order, without sorting:
//!
//! ```text
//! row of r     s, t, ...                 edges of the kind: t
//! row 2 r      2 s + 1, 2 t, 2 t + 1 ... the neighbours before it; the copies of those by an edge of that kind
//! row 2 r + 1  2 s, 2 t, ...             the copies of the neighbours before it
//! ```
//!
//! These numbers do not follow the degrees, which only makes rows up to twice as long as the graph's.

use std::ops::Range;

use super::arcs::{MarkedRows, Marking, RankFinder, other_arcs};
use super::{MOST_VERTICES, RarerEdges, band_bytes};
use crate::orient::joined::{BlocksInOrder, BucketBlocks};
use crate::orient::{BLOCK, Destination, MadeGraph, VertexSections, Write, make};
use trimill_graph::file::Layout;
use trimill_graph::writing::RowsWritten;
use trimill_graph::{CleanReport, GraphSize, OrientedGraph};
use trimill_input::arcs::ArcSource;
use trimill_system::{Bytes, Control, Result};

#[derive(Clone, Copy)]
pub struct DoubledGraph<'a> {
    pub graph: &'a OrientedGraph,
    pub edges: RarerEdges,
    /// The most bytes of a band of rows, for each of which the input is read once; a band may take a little more.
    pub band: Bytes,
}

impl DoubledGraph<'_> {
    /// An upper bound of a doubled graph's size: the rarer kind has at most half of the edges.
    pub fn at_most(of: &GraphSize) -> GraphSize {
        GraphSize {
            vertices: 2 * of.vertices.min(MOST_VERTICES),
            edges: 2 * of.edges + of.edges / 2,
            longest_row: of.longest_row.saturating_mul(2),
            probes: of.probes.saturating_mul(3),
        }
    }

    /// The most bytes of the doubled graph, in a file or in memory.
    pub fn bytes_at_most(of: &GraphSize) -> Bytes {
        let GraphSize { vertices, edges, .. } = Self::at_most(of);
        Layout { vertices, edges, ..Layout::default() }.sections_at_most()
    }

    /// Makes the doubled graph from the graph's `source`. `finish` is called when all of `source` was read, and returns its identity, which the graph
    /// file records. Runs in the current thread pool. Errors: `source` has changed; errors of reading it, or the graph; when stopped.
    pub(crate) fn make(
        self,
        source: &dyn ArcSource,
        place: Destination<'_>,
        finish: &mut dyn FnMut() -> Result<String>,
        control: &Control,
    ) -> Result<MadeGraph> {
        let Self { graph, edges, .. } = self;
        let (vertices, arcs) = (2 * graph.vertices(), 2 * graph.edges() + edges.count);
        let report = CleanReport { vertices_declared: vertices.into(), arcs, ..CleanReport::default() };
        let declared_lines = Some(vertices.into());
        let layout = Layout { vertices, edges: arcs, declared_lines, report, ..Layout::default() };
        let sections = VertexSections { degrees: &[], order: (0..vertices).rev().collect(), ids: None };
        make(place, layout, sections, finish, |write| self.write(source, write, control))
    }

    fn write(self, source: &dyn ArcSource, write: &Write<'_>, control: &Control) -> Result<RowsWritten> {
        let Self { graph, edges, band } = self;
        let ranks = RankFinder::of(graph)?;
        let (blocks, mut next, mut first, mut marked) = (BlocksInOrder::default(), 0, 0, [0; 2]);
        while first < graph.vertices() {
            let end = graph.last_fitting(first, false, |rows, arcs| band_bytes(rows, arcs) <= band)?;
            let rows = MarkedRows::read(graph, first..end)?;
            let (both, input) = (source.facts().symmetric, source.name());
            source.scan(&Marking { rows: &rows, ranks: &ranks, both, input }, control)?;
            let of_band = rows.marked();
            (marked[0], marked[1]) = (marked[0] + of_band[0], marked[1] + of_band[1]);
            let ranges = file_blocks(&rows);
            let make = |bucket: usize| Ok(made(&rows, ranges[bucket - next].clone(), edges.mutual));
            blocks.add_all(next..next + ranges.len(), make, write)?;
            next += ranges.len();
            first = end;
        }
        let of_kind = if edges.mutual { marked[1] } else { marked[0] - marked[1] };
        if marked[0] != graph.edges() || of_kind != edges.count {
            return Err(other_arcs(source.name()));
        }
        Ok(RowsWritten { probes: graph.size().probes.saturating_mul(2), ..blocks.finish() })
    }
}

/// The ranks whose doubled rows are in one file block.
fn file_blocks(rows: &MarkedRows) -> Vec<Range<u32>> {
    let (mut blocks, mut weight, mut begin) = (Vec::new(), 0, rows.ranks.start);
    for rank in rows.ranks.clone() {
        let of_rank = 2 + 3 * rows.places(rank).len() as u64;
        if weight + of_rank > BLOCK && rank > begin {
            blocks.push(begin..rank);
            (weight, begin) = (0, rank);
        }
        weight += of_rank;
    }
    blocks.push(begin..rows.ranks.end);
    blocks
}

/// The file block of the doubled rows of some ranks. Copies are joined by edges in both directions if `mutual`, else by the other edges.
fn made(rows: &MarkedRows, ranks: Range<u32>, mutual: bool) -> BucketBlocks {
    let (mut lengths, mut distances) = (Vec::with_capacity(2 * ranks.len()), Vec::new());
    for rank in ranks.clone() {
        let places = rows.places(rank);
        let (before, mut after) = (distances.len(), 0);
        for (head, both) in rows.heads(places.clone()) {
            if both == mutual {
                distances.push(2 * head - after);
                after = 2 * head + 1;
            }
            distances.push(2 * head + 1 - after);
            after = 2 * head + 2;
        }
        let of_copy = (distances.len() - before) as u32;
        lengths.extend([of_copy, places.len() as u32]);
        let mut after = 0;
        for (head, _) in rows.heads(places) {
            distances.push(2 * head - after);
            after = 2 * head + 1;
        }
    }
    let mut made = BucketBlocks::default();
    made.add(2 * u64::from(ranks.start), &lengths, &distances);
    made
}
