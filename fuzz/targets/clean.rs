//! Cleaning and orienting: pairs of ids of 1 to 8 bytes, as the first byte says, against a set of edges.

use std::collections::BTreeSet;

use trimill::bytes::Bytes;
use trimill::clean::Workspace;
use trimill::control::Control;
use trimill::graph::OrientedGraph;
use trimill::input::arcs::ArcList;
use trimill::prepare::prepare;

use super::{Place, first};

pub(super) fn check(place: &Place, bytes: &[u8]) {
    let ([width], bytes) = first(bytes);
    let width = usize::from(width) % 8 + 1;
    // Readers deliver no larger id.
    let id = |bytes: &[u8]| u64::from_le_bytes(first(bytes).0).min(u64::MAX - 1);
    let arcs: Vec<(u64, u64)> =
        bytes.chunks_exact(2 * width).map(|pair| (id(&pair[..width]), id(&pair[width..]))).collect();
    is_cleaned(place, arcs);
}

/// The oriented graph of `arcs` must hold their edges, once each, in the ids of the input.
pub(super) fn is_cleaned(place: &Place, arcs: Vec<(u64, u64)>) {
    let wanted: BTreeSet<_> = arcs.iter().filter(|(u, v)| u != v).map(|&(u, v)| (u.min(v), u.max(v))).collect();
    let count = arcs.len() as u64;
    let source = ArcList { arcs, declared: None };
    let space = Workspace { memory: Bytes::mib(1), dir: place.dir(), graph: Bytes::ZERO };
    let graph = prepare(&source, None, Bytes::ZERO, space, None, &Control::silent(), &mut Vec::new())
        .expect("any arcs are a graph");
    assert_eq!(edges(&graph), wanted);
    let report = graph.report();
    assert_eq!(report.arcs, count);
    assert_eq!(2 * graph.edges() + report.loops_removed + report.duplicates_removed, count + report.arcs_added);
    for id in 0..graph.vertices() {
        assert_eq!(graph.vertex_of(graph.original_id(id)), Some(id));
    }
}

/// All edges of a graph in the ids of its input.
pub(super) fn edges(graph: &OrientedGraph) -> BTreeSet<(u64, u64)> {
    let mut edges = BTreeSet::new();
    for id in 0..graph.vertices() {
        for &head in graph.row(graph.rank_of(id)) {
            let (u, v) = (graph.original_id(id), graph.original_id(graph.numbering().id_of[head as usize]));
            assert!(edges.insert((u.min(v), u.max(v))), "the edge {u} {v} twice");
        }
    }
    edges
}
