//! Cleaning and orienting, compared with a set of edges. The bytes are pairs of ids of 1 to 8 bytes, as the first byte says.

use std::collections::BTreeSet;

use trimill::testing::bytes::Bytes;
use trimill::testing::clean::Workspace;
use trimill::testing::control::Control;
use trimill::testing::error::Result;
use trimill::testing::graph::{Direction, OrientedGraph};
use trimill::testing::input::arcs::ArcList;
use trimill::testing::memory::HostMemory;
use trimill::testing::prepare::prepare;

use super::{Place, first};

pub(super) fn check(place: &Place, bytes: &[u8]) {
    let ([width], bytes) = first(bytes);
    let width = usize::from(width) % 8 + 1;
    // Readers never deliver a larger id.
    let id = |bytes: &[u8]| u64::from_le_bytes(first(bytes).0).min(u64::MAX - 1);
    let arcs: Vec<(u64, u64)> =
        bytes.chunks_exact(2 * width).map(|pair| (id(&pair[..width]), id(&pair[width..]))).collect();
    is_cleaned(place, arcs);
}

/// The oriented graph of `arcs` must have each of their edges once, with the ids of the input.
pub(super) fn is_cleaned(place: &Place, arcs: Vec<(u64, u64)>) {
    let wanted: BTreeSet<_> = arcs.iter().filter(|(u, v)| u != v).map(|&(u, v)| (u.min(v), u.max(v))).collect();
    let count = arcs.len() as u64;
    let source = ArcList { arcs, declared: None };
    let space =
        Workspace { buckets: Some(Bytes::mib(1)), ..Workspace::new(HostMemory::new(Bytes::mib(256), 2), place.dir()) };
    let graph = prepare(&source, space, &Control::silent(), &mut Vec::new()).expect("any arcs are a graph");
    assert_eq!(edges(&graph).expect("a graph that was just made"), wanted);
    let report = graph.report();
    assert_eq!(report.arcs, count);
    assert_eq!(2 * graph.edges() + report.loops_removed + report.duplicates_removed, count + report.arcs_added);
    let ids = graph.ids().expect("ids that were just made");
    for vertex in 0..graph.vertices() {
        assert_eq!(ids.vertex_of(ids.original(vertex)), Some(vertex));
    }
}

pub(super) fn edges(graph: &OrientedGraph) -> Result<BTreeSet<(u64, u64)>> {
    let (order, ids, mut edges) = (graph.order()?, graph.ids()?, BTreeSet::new());
    let original = |rank: u32| ids.original(order[rank as usize]);
    graph.pass(Bytes::mib(1), Direction::Rising, &Control::silent(), |block| {
        for rank in block.ranks() {
            for &successor in block.row(rank) {
                let (u, v) = (original(rank), original(successor));
                assert!(edges.insert((u.min(v), u.max(v))), "the edge {u} {v} twice");
            }
        }
        Ok(())
    })?;
    Ok(edges)
}
