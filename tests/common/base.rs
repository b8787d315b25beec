//! A list of edges as the graph that a blow-up or a product is made of.

use trimill_generate::BaseGraph;

use super::job::arcs;
use super::simple;

/// The graph of `edges` from smaller to larger ids, sorted by the smaller.
pub(crate) fn base_of(vertices: u64, edges: &[(u64, u64)], triangles: Option<u128>) -> BaseGraph {
    let begins = (0..=vertices).map(|u| edges.partition_point(|edge| edge.0 < u) as u64).collect();
    BaseGraph { begins, neighbours: edges.iter().map(|edge| edge.1 as u32).collect(), triangles }
}

/// The routers of `tests/data/as20000102.txt`.
pub(crate) fn routers() -> BaseGraph {
    let edges: Vec<_> = simple(&arcs("as20000102.txt")).into_iter().collect();
    let vertices = edges.iter().map(|edge| edge.1 + 1).max().unwrap_or(0);
    base_of(vertices, &edges, None)
}
