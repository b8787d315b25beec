use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::prepare::graph_of;
use crate::sums::{ByRank, CountedKeys};
use crate::table::columns::CountRows;
use trimill_system::threads;

fn arcs(graph: &OrientedGraph) -> Vec<(u64, u64)> {
    let (order, ids, mut arcs) = (graph.order().unwrap(), graph.ids().unwrap(), Vec::new());
    let id = |rank: u32| ids.original(order[rank as usize]);
    graph
        .pass(Bytes::mib(1), trimill_graph::Direction::Rising, &Control::silent(), |block| {
            for rank in block.ranks() {
                arcs.extend(block.row(rank).iter().map(|&head| (id(rank).min(id(head)), id(rank).max(id(head)))));
            }
            Ok(())
        })
        .unwrap();
    arcs
}

fn rows(graph: &OrientedGraph, sums: &Sums<ByArc>, room: Option<u64>) -> (Vec<(u64, u64, u32)>, usize) {
    let control = Control::silent();
    let of = EdgesOfGraph { graph, sums, truss: None, memory: Bytes::mib(64), control: &control };
    let (mut rows, mut windows) = (Vec::new(), 0);
    let mut write = |some: &EdgeRows<'_>| {
        windows += 1;
        rows.extend(some.range(0..some.count()).map(|row| (row.u, row.v, row.triangles)));
        Ok(())
    };
    match room {
        None => of.in_order(&mut write).unwrap(),
        Some(room) => {
            // Windows smaller than any in practice.
            let lists = LargerEnds::new(&of, Bytes(1)).unwrap();
            let mut write = |some: &EdgeRows<'_>| {
                let bytes = 8 * (some.starts.len() + some.count()) as u64;
                assert!(bytes <= room || some.starts.len() == 2, "{bytes} bytes of {room}");
                write(some)
            };
            lists.each_window(&graph.ids().unwrap(), room, &mut write).unwrap();
        }
    }
    (rows, windows)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn every_edge_comes_once_in_order_with_its_own_count(
        edges in prop::collection::btree_set((0u64..90, 0u64..90), 1..500),
        far in any::<bool>(),
        room in 0u64..3000,
    ) {
        let id = |id: u64| if far && id.is_multiple_of(3) { id << 40 } else { id };
        let edges: Vec<_> = edges.into_iter().filter(|(u, v)| u != v).map(|(u, v)| (id(u), id(v))).collect();
        prop_assume!(!edges.is_empty());
        let graph = graph_of(edges);
        let arcs = arcs(&graph);
        let count = |&(u, v): &(u64, u64)| (u.wrapping_mul(31) ^ v) as u32;
        let sums = Sums::<ByArc>::in_memory(graph.edges());
        sums.add(CountedKeys::From(0), &arcs.iter().map(count).collect::<Vec<_>>()).unwrap();
        let expected: BTreeMap<_, _> = arcs.iter().map(|edge| (*edge, count(edge))).collect();
        let expected: Vec<_> = expected.into_iter().map(|((u, v), count)| (u, v, count)).collect();
        for room in [None, Some(room)] {
            let (found, windows) = rows(&graph, &sums, room);
            prop_assert_eq!(&found, &expected);
            prop_assert!(windows == 1 || room.is_some());
        }
    }
}

#[test]
fn long_lists_and_many_vertices_are_in_order() {
    let n = 3 * u64::from(HUBS) * 2;
    let ring = (0..n).map(|u| (u, (u + 1) % n));
    let spokes = (1..n - 1).flat_map(|v| [(0, v), (n, v)]).filter(|&(u, v)| u + 1 != v);
    let edges: Vec<_> = ring.chain(spokes).collect();
    let graph = graph_of(edges.clone());
    assert!(n as usize > SHORT && graph.edges() == edges.len() as u64);
    let (arcs, dir) = (arcs(&graph), tempfile::tempdir().unwrap());
    let counts: Vec<u32> = arcs.iter().map(|&(u, v)| (7 * u + v) as u32).collect();
    let sums = Sums::<ByArc>::in_file(graph.edges(), dir.path()).unwrap();
    sums.add(CountedKeys::From(0), &counts).unwrap();
    let mut expected: Vec<_> = arcs.iter().zip(counts).map(|(&(u, v), count)| (u, v, count)).collect();
    expected.sort_unstable();
    for room in [None, Some(1 << 16)] {
        let (found, windows) = rows(&graph, &sums, room);
        assert!(found == expected);
        assert!(room.is_none() || windows > 5, "{windows}");
    }
}

#[test]
fn lists_of_all_lengths_are_sorted() {
    let lengths = [0, 5, SHORT, 20_000, 0, 0, 150_000, 1, 3, 70_000, 0];
    let mut starts = vec![0];
    starts.extend(lengths.iter().scan(0, |end, &length| {
        *end += length as u64;
        Some(*end)
    }));
    let mixed = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut edges: Vec<u64> = (0..starts[lengths.len()]).map(mixed).collect();
    parallel::on(1, || sort(&starts, &mut edges));
    for list in starts.windows(2) {
        let mut expected: Vec<u64> = (list[0]..list[1]).map(mixed).collect();
        expected.sort_unstable();
        assert!(edges[list[0] as usize..list[1] as usize] == expected, "{list:?}");
    }
}

#[test]
fn sums_that_are_no_counts_of_triangles_are_refused() {
    let graph = graph_of(vec![(0, 1), (1, 2), (2, 0)]);
    let (sums, totals) = (Sums::<ByArc>::in_memory(3), Sums::<ByRank>::in_memory(3));
    sums.add(CountedKeys::From(0), &[1, 1, 2]).unwrap();
    let pool = threads::pool(None).unwrap();
    let edges =
        EdgesOfGraph { graph: &graph, sums: &sums, truss: None, memory: Bytes::mib(1), control: &Control::silent() };
    let error = edges.at_vertices(&totals, &pool).unwrap_err();
    assert!(error.to_string().contains("odd"), "{error}");
}

#[test]
fn the_smallest_windows_are_some_sixteen() {
    for (vertices, edges, degree) in [
        (2, 1, 1),
        (1_000_000, 900_000, 7),
        (3_000_000, 3_000_000, 2_999_999),
        (60_000_000, 2_000_000_000, 50_000_000),
        (u32::MAX - 1, 100_000_000_000, u32::MAX - 2),
    ] {
        let memory = least_window(vertices, edges, degree);
        let room = memory.get() - 2 * pass_bytes(memory).get();
        assert!((8 * (edges + u64::from(vertices))).div_ceil(room) <= 17, "{vertices} {edges}: {memory}");
        // The list of a hub, with two offsets, is a window.
        assert!(8 * (u64::from(degree) + 2) <= room, "{degree}: {memory}");
    }
}
