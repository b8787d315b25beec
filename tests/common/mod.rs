//! What several test programs share: small graphs and counts that owe nothing to the library.
#![allow(dead_code, clippy::unwrap_used)]

pub(crate) mod job;

use std::collections::BTreeSet;

use trimill::bytes::Bytes;
use trimill::clean::Workspace;
use trimill::control::Control;
use trimill::graph::OrientedGraph;
use trimill::input::arcs::ArcList;
use trimill::prepare::prepare;

/// The undirected simple graph of a list of arcs, as a set of pairs `(min, max)`.
pub(crate) fn simple(arcs: &[(u64, u64)]) -> BTreeSet<(u64, u64)> {
    arcs.iter().filter(|(u, v)| u != v).map(|&(u, v)| (u.min(v), u.max(v))).collect()
}

/// Its triangles, by looking at every pair of edges that share their smaller end.
pub(crate) fn triangles(edges: &BTreeSet<(u64, u64)>) -> u64 {
    edges
        .iter()
        .map(|&(u, v)| {
            edges.range((u, v + 1)..=(u, u64::MAX)).filter(|&&(_, w)| edges.contains(&(v, w))).count() as u64
        })
        .sum()
}

/// The oriented graph of a list of arcs; everything it needs lies in `dir`.
pub(crate) fn oriented(arcs: &[(u64, u64)], dir: &std::path::Path, memory: Bytes) -> OrientedGraph {
    let source = ArcList { arcs: arcs.to_vec(), declared: None };
    let space = Workspace { memory, dir, graph: Bytes::ZERO };
    prepare(&source, None, Bytes::ZERO, space, None, &Control::silent(), &mut Vec::new()).unwrap()
}
