//! The arcs between the neighbours of each vertex of a directed graph.
//!
//! Input: a graph, whose edges have no direction, and the input that it was made of. An arc of either direction makes two vertices neighbours, so
//! a triangle adds 1 or 2 at a corner, by the directions of the opposite edge. If it is known that all edges, or none, have both directions,
//! nothing else is needed. Otherwise the input is read again, and each arc marks its direction at the place of its edge ([`arcs`]), which gives
//! a graph in which the triangles at a vertex are the edges of the rarer kind between its neighbours ([`doubled`]). It is counted like any
//! other graph, on GPUs and out of core. Other jobs are not slowed down: neither the graph file nor cleaning has directions.
//!
//! Cost: a pass over the input, with a search in a row for each arc, and the doubled graph: 2 to 2.5 times the edges, counted at vertices. Memory
//! ([`PER_VERTEX`]): 24 bytes a vertex, and marked rows: with less than 4.25 bytes an edge, the input is read once for each band of ranks.

mod arcs;
mod doubled;

pub use doubled::DoubledGraph;

use crate::orient::BLOCK;
use trimill_graph::{GraphSize, OrientedGraph};
use trimill_system::{Bytes, Error, Result};

/// The most vertices of a graph that can be doubled: numbers have 32 bits.
const MOST_VERTICES: u32 = u32::MAX / 2 - 1;

/// Bytes a vertex: its rank and perhaps its id, by which arcs find it; the numbers of it and its copy in the order of a file.
pub const PER_VERTEX: u64 = 16 + 8;

const MOST_BANDS: u64 = 16;

const OF_THREAD: u64 = 6 << 20;

/// The least host memory for a band of rows of a graph of this size.
pub fn least_band(size: &GraphSize) -> Bytes {
    let of_blocks = band_bytes(BLOCK, BLOCK + u64::from(size.longest_row));
    Bytes(band_bytes(size.vertices.into(), size.edges).get() / MOST_BANDS) + of_blocks
}

/// Host memory of threads that mark rows and make those of the doubled graph, apart from reading the input.
pub fn of_threads(size: &GraphSize, threads: u64) -> Bytes {
    Bytes(threads * (OF_THREAD + 40 * u64::from(size.longest_row)))
}

pub fn check_size(vertices: u32) -> Result<()> {
    match vertices <= MOST_VERTICES {
        true => Ok(()),
        false => {
            Err(Error::resource(format!("coefficients by the directions of edges, of a graph of {vertices} vertices"))
                .expected(format!("at most {MOST_VERTICES} vertices")))
        }
    }
}

fn band_bytes(rows: u64, edges: u64) -> Bytes {
    Bytes(8 * (rows + 1) + 4 * edges + edges / 4 + 8)
}

/// The edges that are counted between neighbours; with the triangles, their number gives the number of arcs between neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RarerEdges {
    /// Whether these are the edges with arcs in both directions; otherwise those with an arc in one.
    pub mutual: bool,
    pub count: u64,
}

impl RarerEdges {
    pub fn of(graph: &OrientedGraph) -> Self {
        let in_one = graph.report().arcs_without_reverse;
        let in_both = graph.edges().saturating_sub(in_one);
        Self { mutual: in_both <= in_one, count: in_both.min(in_one) }
    }

    /// The arcs between the neighbours of a vertex that has `triangles` triangles, and `edges` edges of this kind between its neighbours.
    pub fn arcs(self, triangles: u64, edges: u64) -> u64 {
        if self.mutual { triangles + edges } else { 2 * triangles - edges }
    }
}
