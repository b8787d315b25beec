//! Passes over the rows of a graph, against its edges.

use proptest::prelude::*;

use trimill::testing::clean::Workspace;
use trimill::testing::graph::{Direction, RowRun};
use trimill::testing::prepare::prepare;
use trimill::{Bytes, Control};
use trimill_input::arcs::ArcList;
use trimill_system::memory::HostMemory;

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// A pass returns every edge once, as a pair of ranks, for rows in memory or in a file and any limit of a block.
    #[test]
    fn a_pass_shows_every_edge_once(
        edges in prop::collection::btree_set((0u64..60, 0u64..60), 1..300),
        limit in 0u64..500,
        in_file in any::<bool>(),
        falling in any::<bool>(),
    ) {
        let edges: std::collections::BTreeSet<_> =
            edges.into_iter().filter(|(u, v)| u != v).map(|(u, v)| (u.min(v), u.max(v))).collect();
        prop_assume!(!edges.is_empty());
        let dir = tempfile::tempdir().unwrap();
        let source = ArcList { arcs: edges.iter().copied().collect(), declared: None };
        let graph = if in_file { Bytes::ZERO } else { Bytes::mib(8) };
        let space = Workspace { graph, ..Workspace::new(HostMemory::new(Bytes::mib(256), 2), dir.path()) };
        let control = Control::silent();
        let graph = prepare(&source, space, &control, &mut Vec::new()).unwrap();
        let direction = if falling { Direction::Falling } else { Direction::Rising };
        let (order, ids) = (graph.order().unwrap(), graph.ids().unwrap());
        let id = |rank: u32| ids.original(order[rank as usize]);
        let degree = |id: u64| edges.iter().filter(|&&(u, v)| u == id || v == id).count();
        let (mut found, mut ranks) = (std::collections::BTreeSet::new(), Vec::new());
        graph
            .pass(Bytes(limit), direction, &control, |block| {
                let mut mine: Vec<u32> = block.ranks().collect();
                assert_tiled(&block);
                if falling {
                    mine.reverse();
                }
                for &rank in &mine {
                    let row = block.row(rank);
                    assert!(row.is_sorted_by(|a, b| a < b) && row.iter().all(|&successor| successor < rank));
                    let arcs = graph.first_arc(rank)?..graph.first_arc(rank + 1)?;
                    let (mut begins, mut alone) = ([0u32; 2], vec![0; (arcs.end - arcs.start) as usize]);
                    graph.read(rank..rank + 1, &mut begins, &mut alone)?;
                    assert_eq!((row, begins), (&alone[..], [0, row.len() as u32]));
                    for &successor in row {
                        assert!((degree(id(successor)), id(successor)) > (degree(id(rank)), id(rank)));
                        found.insert((id(rank).min(id(successor)), id(rank).max(id(successor))));
                    }
                }
                ranks.extend(mine);
                Ok(())
            })
            .unwrap();
        prop_assert_eq!(found, edges);
        if falling {
            ranks.reverse();
        }
        prop_assert_eq!(ranks, (0..graph.vertices()).collect::<Vec<_>>());
        let lengths = graph.out_degrees().unwrap();
        let ends = (0..=graph.vertices()).map(|rank| graph.first_arc(rank).unwrap());
        let sums = std::iter::once(0).chain(lengths.iter().scan(0, |sum, &length| { *sum += u64::from(length); Some(*sum) }));
        prop_assert!(ends.eq(sums));
        prop_assert_eq!(graph.size().longest_row, lengths.iter().copied().max().unwrap());
    }

    /// The result is that of a sum over the lengths.
    #[test]
    fn the_last_row_that_fits_is_found(n in 2u64..400, from in 0u32..400, rows in 0u64..300, arcs in 0u64..5000) {
        let dir = tempfile::tempdir().unwrap();
        let edges = (0..n).flat_map(|u| (0..u).filter(move |v| (u * 7 + v * v) % 5 < 2).map(move |v| (u, v)));
        let source = ArcList { arcs: edges.chain([(0, 1)]).collect(), declared: None };
        let space = Workspace::new(HostMemory::new(Bytes::mib(256), 2), dir.path());
        let graph = prepare(&source, space, &Control::silent(), &mut Vec::new()).unwrap();
        let from = from % graph.vertices();
        let to = graph.last_fitting(from, |r, a| r <= rows && a <= arcs).unwrap();
        let lengths = graph.out_degrees().unwrap();
        let sum = |to: u32| lengths[from as usize..to as usize].iter().map(|&length| u64::from(length)).sum::<u64>();
        let fits = |to: u32| u64::from(to - from) <= rows && sum(to) <= arcs;
        let expected = (from + 1..=graph.vertices()).take_while(|&to| fits(to)).last().unwrap_or(from + 1);
        prop_assert_eq!(to, expected);
    }
}

fn assert_tiled(block: &RowRun<'_>) {
    assert!(block.file_blocks().flatten().eq(block.ranks()));
    for arcs in [1, 7, 1 << 20] {
        let runs = block.runs(arcs);
        assert!(runs.iter().all(|run| !run.is_empty()));
        assert!(runs.into_iter().flatten().eq(block.ranks()));
    }
}
