//! Spills from batches against those of partitions built alone, byte for byte.

use std::collections::BTreeMap;
use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::clean::Workspace;
use crate::count::Backend;
use crate::count::cpu::Cpu;
use crate::execute::room::Room;
use crate::graph::OrientedGraph;
use crate::input::arcs::ArcList;
use crate::partition::assignment::Assignment;
use crate::partition::prune::Prune;
use crate::partition::section::smallest_frame_limit;
use crate::partition::sizes::sizes;
use crate::plan::Plan;
use crate::plan::predict::{Layout, predict};
use crate::prepare::prepare;

const LEVELS: [Prune; 3] = [Prune::None, Prune::ZeroIndegree, Prune::Direct];

fn graph(arcs: Vec<(u64, u64)>, dir: &Path) -> OrientedGraph {
    let space = Workspace { memory: Bytes::mib(64), dir, graph: Bytes::ZERO };
    prepare(&ArcList { arcs, declared: None }, None, Bytes::ZERO, space, None, &Control::silent(), &mut Vec::new())
        .unwrap()
}

fn plan_of(graph: &OrientedGraph, assignment: Assignment, level: Prune, frame_limit: Bytes) -> Plan {
    let sizes = sizes(graph, &assignment, level, &Control::silent()).unwrap();
    let terms = Cpu::new(Bytes::ZERO, graph.vertices()).terms();
    // There is always room in memory for a spill of no bytes, which these tests would not find on disk.
    let layout = |size| Layout { spill: Bytes(4), ..Layout::rough(size, frame_limit) };
    let predictions = sizes.iter().map(|size| predict(size, &terms, &layout(size))).collect();
    let parts_asked = assignment.parts();
    let (times, shared, estimates) = (Default::default(), None, None);
    Plan { assignment, frame_limit, sizes, predictions, times, parts_asked, shared, estimates }
}

/// The bytes of all spills, by partition; some of them, so many at a time, in a batch, or each alone.
fn spills(plan: &Plan, graph: &OrientedGraph, level: Prune, together: Option<(Bytes, usize)>) -> Vec<Vec<u8>> {
    let (dir, control) = (tempfile::tempdir().unwrap(), Control::silent());
    let room = Room::new(Bytes::ZERO);
    let builder = Builder { graph, plan, prune: level, dir: dir.path(), room: &room, fingerprint: 7 };
    let parts: Vec<u32> = (0..plan.assignment.parts()).collect();
    let built = match together {
        None => parts.iter().map(|&part| builder.build(part, &control).unwrap()).collect::<Vec<_>>(),
        Some((block, many)) => {
            let batches = BatchBuilder::new(builder, block);
            parts.chunks(many).flat_map(|parts| batches.build(parts, &control).unwrap()).collect()
        }
    };
    let bytes = built.iter().map(|built| (built.part, std::fs::read(&built.spill.path).unwrap()));
    let bytes: BTreeMap<_, _> = bytes.collect();
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), parts.len());
    bytes.into_values().collect()
}

fn assert_same(graph: &OrientedGraph, assignment: &Assignment, limits: &[u64], block: Bytes, many: usize) {
    let longest = (0..graph.vertices()).map(|rank| graph.out_degree(rank)).max().unwrap();
    for level in LEVELS {
        for &limit in limits {
            let limit = smallest_frame_limit(longest).max(Bytes(limit));
            let plan = plan_of(graph, assignment.clone(), level, limit);
            let alone = spills(&plan, graph, level, None);
            let together = spills(&plan, graph, level, Some((block, many)));
            assert!(alone == together, "{level}, frames of {limit}, {many} at a time");
        }
    }
}

/// Ids next to each other in runs, skewed towards small ones, or neither.
fn any_graph() -> impl Strategy<Value = Vec<(u64, u64)>> {
    (2u64..2000, 0..3).prop_flat_map(|(n, kind)| {
        let arc = (0..n, 0..n, 0..n, 1u64..20).prop_map(move |(u, v, w, step)| match kind {
            0 => (u, v),
            1 => (u.min(v), w.min(v)),
            _ => (u, u + step),
        });
        prop::collection::vec(arc, 1..4000)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn batches_give_the_bytes_of_partitions_built_alone(
        mut arcs in any_graph(),
        parts in 1u32..12,
        kind in 0..3,
        seed in any::<u64>(),
        limit in 0u64..20_000,
        block in 64u64..50_000,
        many in 1usize..12,
    ) {
        arcs.push((0, 1));
        let dir = tempfile::tempdir().unwrap();
        let graph = graph(arcs, dir.path());
        let n = graph.vertices();
        let part_of = match kind {
            0 => trimill_partitioners::random(n, parts, seed),
            1 => (0..n).map(|id| (u64::from(id) * u64::from(parts) / u64::from(n)) as u32).collect(),
            // Few parts with a vertex, the others empty.
            _ => (0..n).map(|id| if id < 3 { id % parts } else { parts - 1 }).collect(),
        };
        assert_same(&graph, &Assignment::new(part_of, parts), &[limit, 1 << 20], Bytes(block), many);
    }
}

/// Sections of many blocks, rows that take a block, and resident sections that come in more than one chunk.
#[test]
fn blocks_end_where_they_end_alone() {
    let mut state = 1u64;
    let mut next = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let n = 20_000;
    let mut arcs: Vec<_> = (0..900_000).map(|_| (next(n).min(next(n)), next(n))).collect();
    // Hubs that point at each other.
    arcs.extend((0..1200).flat_map(|u| (0..u).map(move |v| (u, v))));
    let dir = tempfile::tempdir().unwrap();
    let graph = graph(arcs, dir.path());
    let parts = trimill_partitioners::random(graph.vertices(), 3, 5);
    assert_same(&graph, &Assignment::new(parts, 3), &[3 << 20], Bytes::mib(1), 3);
}
