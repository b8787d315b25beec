//! A list of edges as the graph that a blow-up or a product is made of.

use std::ops::Range;

use trimill_generate::BaseGraph;

use super::job::arcs;
use super::simple;

pub(crate) struct Base {
    pub(crate) vertices: u64,
    pub(crate) edges: Vec<(u64, u64)>,
    pub(crate) triangles: Option<u128>,
}

impl Base {
    /// The routers of `tests/data/as20000102.txt`.
    pub(crate) fn routers() -> Self {
        let edges: Vec<_> = simple(&arcs("as20000102.txt")).into_iter().collect();
        let vertices = edges.iter().map(|edge| edge.1 + 1).max().unwrap_or(0);
        Self { vertices, edges, triangles: None }
    }
}

impl BaseGraph for Base {
    fn vertices(&self) -> u64 {
        self.vertices
    }
    fn edges(&self) -> u64 {
        self.edges.len() as u64
    }
    fn edges_of(&self, range: Range<u64>, each: &mut dyn FnMut(u64, u64)) {
        self.edges.iter().filter(|(u, _)| range.contains(u)).for_each(|&(u, v)| each(u, v));
    }
    fn triangles_known(&self) -> Option<u128> {
        self.triangles
    }
}
