//! The doubled graph of a directed one: its rows by definition, in memory and in a file, in one band and in many; and an input that has changed.

use std::collections::BTreeSet;
use std::path::Path;

use crate::common::{ids_by_rank, oriented, rows_of};
use proptest::prelude::*;
use trimill::testing::clean::Workspace;
use trimill::testing::directions::{DoubledGraph, RarerEdges};
use trimill::testing::graph::OrientedGraph;
use trimill::testing::input::arcs::ArcList;
use trimill::testing::memory::HostMemory;
use trimill::testing::prepare::Preparation;
use trimill::{Bytes, Control, Kind, Result};

/// The rows of the doubled graph: a number is twice a rank for its copy, and one more for the vertex.
fn doubled_rows(ids: &[u64], arcs: &BTreeSet<(u64, u64)>, mutual: bool) -> Vec<Vec<u32>> {
    let numbers = 0..2 * ids.len() as u32;
    let joined = |a: u32, b: u32| {
        let (u, v) = (ids[a as usize / 2], ids[b as usize / 2]);
        let (to, back) = (arcs.contains(&(u, v)), arcs.contains(&(v, u)));
        match (a % 2, b % 2) {
            (0, 0) => (to || back) && (to && back) == mutual,
            (1, 1) => false,
            _ => to || back,
        }
    };
    numbers.clone().map(|a| (0..a).filter(|&b| joined(a, b)).collect()).collect()
}

/// The graph stays in memory if it takes at most `memory` bytes there.
fn made(of: DoubledGraph<'_>, source: &ArcList, memory: Bytes, dir: &Path) -> Result<OrientedGraph> {
    let space = Workspace { graph: memory, ..Workspace::new(HostMemory::new(Bytes::mib(256), 2), dir) };
    let control = Control::silent();
    Preparation { device: None, source, origin: None, doubled: Some(of), space, control: &control }
        .prepare(None, &mut Vec::new())
}

fn arcs() -> impl Strategy<Value = Vec<(u64, u64)>> {
    prop::collection::vec((0..30u64, 0..30u64).prop_map(|(u, v)| (3 * u + 5, 3 * v + 5)), 1..300)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn doubled_graphs_have_the_rows_of_the_definition(list in arcs()) {
        let dir = tempfile::tempdir().unwrap();
        let graph = oriented(&list, dir.path(), Bytes::mib(1));
        let source = ArcList { arcs: list.clone(), declared: None };
        let simple: BTreeSet<_> = list.into_iter().filter(|(u, v)| u != v).collect();
        let edges = RarerEdges::of(&graph);
        let in_both = simple.iter().filter(|&&(u, v)| u < v && simple.contains(&(v, u))).count() as u64;
        prop_assert_eq!(edges.count, in_both.min(graph.edges() - in_both));
        let expected = doubled_rows(&ids_by_rank(&graph), &simple, edges.mutual);
        for (memory, band) in [(0, 1), (0, 400), (1 << 20, 1 << 20), (1 << 20, 0)] {
            let doubled = DoubledGraph { graph: &graph, edges, band: Bytes(band) };
            let made = made(doubled, &source, Bytes(memory), dir.path()).unwrap();
            prop_assert_eq!(rows_of(&made), expected.clone());
            let (most, size) = (DoubledGraph::at_most(&graph.size()), made.size());
            prop_assert!(size.vertices == most.vertices && size.edges <= most.edges && size.longest_row <= most.longest_row);
        }
    }
}

#[test]
fn an_input_that_has_changed_is_found_out() {
    let dir = tempfile::tempdir().unwrap();
    let arcs = vec![(1, 2), (2, 1), (2, 3), (3, 1), (3, 4)];
    let graph = oriented(&arcs, dir.path(), Bytes::mib(1));
    let edges = RarerEdges::of(&graph);
    assert_eq!(edges, RarerEdges { mutual: true, count: 1 });
    let others = [
        // One arc is missing, added, replaced, or reversed, or has an unknown vertex.
        vec![(1, 2), (2, 1), (2, 3), (3, 1)],
        vec![(1, 2), (2, 1), (2, 3), (3, 1), (3, 4), (4, 1)],
        vec![(1, 2), (2, 1), (2, 3), (3, 1), (4, 1)],
        vec![(1, 2), (2, 1), (2, 3), (3, 1), (3, 4), (4, 3)],
        vec![(1, 2), (2, 1), (2, 3), (3, 1), (3, 5)],
    ];
    let make = |arcs: &[(u64, u64)]| {
        let source = ArcList { arcs: arcs.to_vec(), declared: None };
        made(DoubledGraph { graph: &graph, edges, band: Bytes(0) }, &source, Bytes(0), dir.path())
    };
    assert!(make(&arcs).is_ok());
    for other in others {
        let error = make(&other).unwrap_err();
        assert_eq!(error.kind(), Kind::Data);
        assert!(error.to_string().starts_with("edges: changed while it was read"), "{other:?}: {error}");
    }
}
