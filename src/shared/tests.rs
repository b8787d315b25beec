//! Shared rows against the graph's own, wherever they lie, and counts against brute force.

use std::collections::BTreeSet;
use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::clean::Workspace;
use crate::count::cpu::Cpu;
use crate::input::arcs::ArcList;
use crate::partition::assignment::Assignment;
use crate::partition::section::Resident;
use crate::prepare::prepare;
use crate::stream::ahead::Ahead;
use crate::stream::count_partition;
use crate::stream::source::PartitionSource;

fn graph(edges: &[(u64, u64)], dir: &Path) -> OrientedGraph {
    let source = ArcList { arcs: edges.to_vec(), declared: None };
    let space = Workspace { memory: Bytes::mib(64), dir, graph: Bytes::ZERO };
    prepare(&source, None, Bytes::ZERO, space, None, &Control::silent(), &mut Vec::new()).unwrap()
}

/// Triangles by looking every pair of neighbours up.
fn triangles(edges: &[(u64, u64)]) -> u64 {
    let edges: &BTreeSet<(u64, u64)> =
        &edges.iter().filter(|(u, v)| u != v).map(|&(u, v)| (u.min(v), u.max(v))).collect();
    let closed = |u, v| edges.range((v, 0)..(v + 1, 0)).filter(move |&&(_, w)| edges.contains(&(u, w))).count();
    edges.iter().map(|&(u, v)| closed(u, v) as u64).sum()
}

/// Skewed: small ids are met more often.
fn edges() -> impl Strategy<Value = Vec<(u64, u64)>> {
    (4u64..90).prop_flat_map(|n| prop::collection::vec((0..n, 0..n, 0..n).prop_map(|(u, v, w)| (u.min(w), v)), 1..600))
}

/// All rows of a source's frames in order; checks that frames tile the ranks, are as large as was said, and that only the last
/// ones may be without rows: those of a rank range, whose rows are resident.
fn rows(source: &mut SharedPart<'_>, locals: &[u32]) -> Vec<Vec<u32>> {
    let (mut rows, mut end, mut own) = (Vec::new(), 0, usize::MAX);
    for i in 0..source.frames() {
        let mut buffer = Frame::default();
        let view = match source.lent(i) {
            Some(view) => view,
            None => {
                source.read_frame(i, &mut buffer).unwrap();
                buffer.view()
            }
        };
        assert_eq!(view.size(), source.frame_size(i));
        assert_eq!(view.range.start, end);
        end = view.range.end;
        if view.holds_all() {
            rows.extend((0..view.range.len()).map(|place| view.row(place).to_vec()));
        } else {
            assert!(view.heads.is_empty() && view.range.end <= locals[locals.len() - 1] + 1);
            own = own.min(view.range.start as usize);
        }
    }
    assert_eq!(end, source.numbered());
    // Frames without rows come last and begin with the first local.
    assert!(own == usize::MAX || (own == locals[0] as usize && rows.len() == own));
    rows
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn rows_are_those_of_the_graph_and_counts_those_of_brute_force(
        edges in edges(),
        limit in 8u64..3000,
        in_memory in any::<bool>(),
        parts in 1u32..6,
        by_rank in any::<bool>(),
        seed in any::<u32>(),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let graph = graph(&edges, dir.path());
        let n = graph.vertices();
        let expected: Vec<Vec<u32>> = (0..n).map(|rank| graph.row(rank).to_vec()).collect();
        let frames = Frames::new(&graph, Bytes(limit));
        for size in frames.sizes() {
            prop_assert!(size.bytes() <= Bytes(limit) || size.range == 1);
        }
        let control = Control::silent();
        let shared = SharedGraph::new(&graph, &frames, in_memory, &control).unwrap();
        prop_assert_eq!((shared.memory().is_some(), shared.disk() == Bytes::ZERO), (in_memory, in_memory));
        let part_of = |id: u32| match by_rank {
            true => (u64::from(graph.rank_of(id)) * u64::from(parts) / u64::from(n)) as u32,
            false => id.wrapping_mul(seed | 1).rotate_left(7) % parts,
        };
        let assignment = Assignment::new((0..n).map(part_of).collect(), parts);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let mut cpu = Cpu::new(Bytes::mib(1), n);
        let mut found = 0;
        for part in 0..parts {
            let mut locals: Vec<u32> = assignment.locals(part).iter().map(|&id| graph.rank_of(id)).collect();
            locals.sort_unstable();
            let is_range = locals.last().is_some_and(|last| (last - locals[0]) as usize + 1 == locals.len());
            prop_assert!(is_range || !by_rank || locals.is_empty());
            let mut source = SharedPart::new(&shared, assignment.locals(part), &control);
            let passed = rows(&mut source, &locals);
            prop_assert_eq!(&passed[..], &expected[..passed.len()]);
            prop_assert!(!is_range || passed.len() == locals[0] as usize);
            let mut resident = Resident::default();
            let limit = (seed % 3 > 0).then_some(Bytes(u64::from(seed % 100)));
            let (mut run, mut more) = (Resident::default(), true);
            // Some of it, or all, was read before.
            let chunk = limit.unwrap_or(Bytes(64));
            let mut source = Ahead::new(source, chunk, Bytes(chunk.get() * u64::from(seed % 4))).unwrap();
            while more {
                more = source.read_resident(limit, &mut run).unwrap();
                resident.append(&run);
            }
            prop_assert_eq!(resident.size(), source.resident_size());
            let mut starting = locals;
            starting.retain(|&rank| is_range || expected[rank as usize].len() > 1);
            prop_assert_eq!(&resident.numbers, &starting);
            for (i, &number) in starting.iter().enumerate() {
                prop_assert_eq!(resident.row(i), &expected[number as usize][..]);
            }
            let mut source = SharedPart::new(&shared, assignment.locals(part), &control);
            found += count_partition(&mut source, &mut cpu, &pool, &control).unwrap().triangles;
        }
        prop_assert_eq!(found, triangles(&edges));
        prop_assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "only the graph has a name there");
    }
}

/// A clique, whose count has a closed form.
fn clique(n: u64, dir: &Path) -> OrientedGraph {
    let edges: Vec<_> = (0..n).flat_map(|u| (0..u).map(move |v| (u, v))).collect();
    graph(&edges, dir)
}

#[test]
fn a_stop_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let graph = clique(20, dir.path());
    let frames = Frames::new(&graph, Bytes(700));
    let stopped = Control::silent();
    stopped.stop();
    let error = SharedGraph::new(&graph, &frames, true, &stopped).map(drop).unwrap_err();
    assert_eq!(error.kind(), crate::error::Kind::Interrupted);
}

#[test]
fn frames_hold_as_much_as_they_may() {
    // A row of 10 takes 44 bytes, and a frame 4 more.
    for (limit, rows) in [(47, 1), (48, 1), (91, 1), (92, 2), (136, 3), (1 << 20, 100)] {
        let frames = Frames::of_lengths(&[10; 100], Bytes(limit));
        assert_eq!(frames.range(0), 0..rows, "{limit}");
        assert_eq!(frames.count(), 100usize.div_ceil(rows as usize));
        assert_eq!(frames.sizes().map(|size| size.arcs).sum::<u64>(), 1000);
    }
    let nothing = Frames::of_lengths(&[], Bytes(100));
    assert_eq!((nothing.count(), nothing.range(0)), (1, 0..0));
}
