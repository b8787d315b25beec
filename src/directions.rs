//! The arcs between the neighbours of each vertex of a directed graph.
//!
//! Input: a graph, whose edges have no direction, and the input that it was made of. Output: at each vertex the number of arcs between its
//! neighbours, which are those by an arc of either direction: a triangle adds 1 or 2 at a corner, by the directions in which the opposite
//! edge is there. So it is the number of triangles at the vertex, which is known, and that of those whose opposite edge is there in both.
//!
//! The rows of the graph are decoded to memory; the input is read again, and each of its arcs marks its direction at the place of its edge
//! ([`arcs`]); then the triangles with such an edge are found on the cores ([`neighbours`]). Nobody else pays for directions: neither the graph
//! file nor cleaning has them.
//!
//! Cost: a pass over the input, with a search in a row for each arc; for vertices with an edge in both directions to smaller ranks a look at each
//! successor of each successor, for others only at those by such an edge. Memory ([`memory`]): 4.25 bytes an edge, some 40 a vertex, and 4 a vertex for each thread; a graph for which the host's
//! budget is too small is refused before anything is counted.

mod arcs;
mod neighbours;

use arcs::DirectedRows;
use neighbours::{HUBS, mutual_at_vertices};

use crate::sums::{ByRank, SumKey, Sums};
use trimill_graph::OrientedGraph;
use trimill_input::arcs::ArcSource;
use trimill_system::{Bytes, Control, Result, parallel};

/// Bytes for each vertex: where its row begins, its id and rank, what is counted there, twice, and whether its row has an edge in both directions.
const PER_VERTEX: u64 = 8 + 16 + 8 + 8 + 1;

/// Bytes of the host's memory that so many vertices and edges take on so many threads, apart from what reading the input takes.
pub(crate) fn memory(vertices: u32, edges: u64, threads: u64) -> Bytes {
    let vertices = u64::from(vertices);
    let of_thread = 4 * vertices + vertices / 8 + 8 + 8 * u64::from(HUBS);
    Bytes(PER_VERTEX * vertices + 4 * edges + edges / 4 + 8 + threads * of_thread)
}

/// The number of arcs between the neighbours of each vertex, by rank, of a graph with so many triangles `at` each. Runs in the current thread
/// pool. Errors: where `source` is not what the graph was made of; what reading it, or the graph, meets; when stopped.
pub(crate) fn arcs_between_neighbours(
    graph: &OrientedGraph,
    source: &dyn ArcSource,
    at: &Sums<ByRank>,
    control: &Control,
) -> Result<Sums<ByRank>> {
    let rows = DirectedRows::read(graph, source, control)?;
    let mutual = mutual_at_vertices(&rows, control)?;
    drop(rows);
    let sums = Sums::in_memory(graph.vertices().into());
    let blocks: Vec<_> = mutual.chunks(ByRank::BLOCK as usize).enumerate().collect();
    parallel::try_each(blocks, |(block, mutual)| {
        let mut arcs = vec![0; mutual.len()];
        at.read(block as u64 * ByRank::BLOCK, &mut arcs)?;
        for (arcs, mutual) in arcs.iter_mut().zip(mutual) {
            *arcs += mutual.load(std::sync::atomic::Ordering::Relaxed);
        }
        sums.put(block, arcs)
    })?;
    Ok(sums)
}
