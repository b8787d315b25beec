//! Cleaning, orienting, inducing and pruning against literal implementations of their definitions.

use std::collections::BTreeSet;

use crate::common::{degrees_by_rank, oriented, rows_of, simple};
use crate::graph_format::decoded::expected;
use crate::targets::graph_file::are_read_alike;
use proptest::prelude::*;
use trimill::testing::clean::Workspace;
use trimill::testing::input::arcs::ArcList;
use trimill::testing::memory::HostMemory;
use trimill::testing::partition::GraphPasses;
use trimill::testing::partition::assignment::Assignment;
use trimill::testing::partition::kept::{Kept, kept};
use trimill::testing::partition::prune::Prune;
use trimill::testing::partition::sizes::{PartitionSize, sizes};
use trimill::testing::prepare::prepare;
use trimill::{Bytes, Control};

const LEVELS: [Prune; 3] = [Prune::None, Prune::ZeroIndegree, Prune::Direct];

/// Block sizes for passes over the graph: one block, and as many blocks as possible.
const BLOCKS: [Bytes; 2] = [Bytes::mib(64), Bytes(1)];

fn any_arcs() -> impl Strategy<Value = Vec<(u64, u64)>> {
    // Few and sparse ids, so that loops, duplicates, reverse arcs and triangles are common.
    (2u64..40, 1u64..5, 0u64..3).prop_flat_map(|(n, stretch, base)| {
        prop::collection::vec((0..n, 0..n), 0..300)
            .prop_map(move |arcs| arcs.into_iter().map(|(u, v)| (u * stretch + base, v * stretch + base)).collect())
    })
}

fn by_rank(rows: &[Vec<u32>]) -> BTreeSet<(u32, u32)> {
    let arcs = (0..).zip(rows).flat_map(|(rank, row)| {
        assert!(row.is_sorted_by(|a, b| a < b) && row.last().is_none_or(|&last| last < rank), "row {rank}: {row:?}");
        row.iter().map(move |&successor| (rank, successor))
    });
    arcs.collect()
}

struct Defined {
    size: PartitionSize,
    /// Locals and kept proxies.
    vertices: BTreeSet<u32>,
    arcs: BTreeSet<(u32, u32)>,
}

/// Algorithms 1 and 2 of LSTC, and the `direct` level, literally on sets.
fn by_definition(arcs: &BTreeSet<(u32, u32)>, locals: &BTreeSet<u32>, level: Prune) -> Defined {
    let mut vertices = locals.clone();
    for &(u, v) in arcs {
        if locals.contains(&u) || locals.contains(&v) {
            vertices.extend([u, v]);
        }
    }
    let induced: BTreeSet<_> =
        arcs.iter().copied().filter(|(u, v)| vertices.contains(u) && vertices.contains(v)).collect();
    let (mut kept_vertices, mut kept) = (vertices.clone(), induced.clone());
    match level {
        Prune::None => {}
        Prune::ZeroIndegree => loop {
            let gone: Vec<u32> = kept_vertices
                .iter()
                .copied()
                .filter(|h| !locals.contains(h) && !kept.iter().any(|(_, v)| v == h))
                .collect();
            if gone.is_empty() {
                break;
            }
            for h in gone {
                kept_vertices.remove(&h);
                kept.retain(|&(u, _)| u != h);
            }
        },
        _ => {
            let pointed: BTreeSet<u32> = arcs.iter().filter(|(u, _)| locals.contains(u)).map(|&(_, v)| v).collect();
            kept_vertices.retain(|v| locals.contains(v) || pointed.contains(v));
            kept.retain(|(u, v)| locals.contains(u) || (pointed.contains(u) && pointed.contains(v)));
        }
    }
    let size = PartitionSize {
        locals: locals.len() as u64,
        resident_arcs: arcs.iter().filter(|(u, _)| locals.contains(u)).count() as u64,
        proxies_induced: (vertices.len() - locals.len()) as u64,
        arcs_induced: induced.len() as u64,
        proxies_kept: (kept_vertices.len() - locals.len()) as u64,
        arcs_kept: kept.len() as u64,
    };
    Defined { size, vertices: kept_vertices, arcs: kept }
}

fn locals_of(locals: &Assignment, part: u32) -> BTreeSet<u32> {
    (0..).zip(locals.part_of()).filter(|&(_, &its)| its == part).map(|(rank, _)| rank).collect()
}

fn is_as_defined(kept: &Kept, rows: &[Vec<u32>], locals: &BTreeSet<u32>, defined: &Defined) {
    let all = 0..rows.len() as u32;
    assert!(kept.kept.iter(all.clone()).eq(defined.vertices.iter().copied()), "vertices of partition {}", kept.part);
    let arcs = kept.kept.iter(all).flat_map(|rank| {
        let row = rows[rank as usize].iter();
        row.filter(move |&&successor| locals.contains(&rank) || kept.keeps(successor))
            .map(move |&successor| (rank, successor))
    });
    assert_eq!(arcs.collect::<BTreeSet<_>>(), defined.arcs, "arcs of partition {}", kept.part);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn cleaning_and_orienting_follow_the_definition(arcs in any_arcs(), memory in prop::sample::select(vec![0u64, 1 << 30]), huge in any::<bool>()) {
        // Huge ids are renumbered by another method.
        let arcs: Vec<(u64, u64)> = if huge { arcs.iter().map(|&(u, v)| (u << 40, v << 40)).collect() } else { arcs };
        let dir = tempfile::tempdir().unwrap();
        let graph = oriented(&arcs, dir.path(), Bytes(memory));
        let edges = simple(&arcs);
        let (expected, rows) = (expected(&edges), rows_of(&graph));
        prop_assert_eq!(graph.edges() as usize, edges.len());
        prop_assert_eq!(&rows, &expected.rows);
        prop_assert_eq!(graph.order().unwrap(), expected.order);
        prop_assert_eq!(degrees_by_rank(&graph), &expected.degrees[..]);
        let size = graph.size();
        prop_assert_eq!((u64::from(size.longest_row), size.probes), (expected.longest_row, expected.probes));
        let wedges: u128 = expected.degrees.iter().map(|&d| u128::from(d) * (u128::from(d) - 1) / 2).sum();
        prop_assert_eq!(graph.wedges(), wedges);
        let report = graph.report();
        let distinct: BTreeSet<_> = arcs.iter().filter(|(u, v)| u != v).collect();
        prop_assert_eq!(report.arcs as usize, arcs.len());
        prop_assert_eq!(report.loops_removed as usize, arcs.iter().filter(|(u, v)| u == v).count());
        prop_assert_eq!(report.duplicates_removed, report.arcs - report.loops_removed - distinct.len() as u64);
        prop_assert_eq!(report.arcs_without_reverse as usize, distinct.iter().filter(|(u, v)| !distinct.contains(&&(*v, *u))).count());
        prop_assert_eq!(2 * graph.edges(), report.arcs - report.loops_removed - report.duplicates_removed + report.arcs_added);
        let ids: BTreeSet<u64> = arcs.iter().flat_map(|&(u, v)| [u, v]).collect();
        prop_assert_eq!(report.vertices_declared as usize, ids.len());
        let names = graph.ids().unwrap();
        for &id in &ids {
            let with_edge = edges.iter().any(|&(u, v)| u == id || v == id);
            prop_assert_eq!(names.vertex_of(id).map(|vertex| names.original(vertex)), with_edge.then_some(id));
        }
        prop_assert!((0..graph.vertices()).map(|vertex| names.original(vertex)).eq(expected.ids));
        if !edges.is_empty() {
            let space = Workspace::new(HostMemory::new(Bytes::mib(256), 2), dir.path());
            let (source, space) = (ArcList { arcs: arcs.clone(), declared: None }, Workspace { graph: Bytes::mib(8), ..space });
            let in_memory = prepare(&source, space, &Control::silent(), &mut Vec::new()).unwrap();
            [&graph, &in_memory].into_iter().for_each(|graph| are_read_alike(graph, &rows));
        }
        drop(graph);
        prop_assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn every_partition_has_the_size_of_its_definition(
        arcs in any_arcs(), parts in 1u32..9, salt in any::<u64>(),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let graph = oriented(&arcs, dir.path(), Bytes::mib(64));
        let (control, block) = (Control::silent(), BLOCKS[(salt % 2) as usize]);
        let part_of = (0..graph.vertices()).map(|vertex| part(vertex, salt, parts)).collect();
        let locals = Assignment::new(part_of, parts).by_rank(&graph.order().unwrap());
        let rows = rows_of(&graph);
        let arcs_by_rank = by_rank(&rows);
        let all: Vec<u32> = (0..parts).collect();
        let passes = GraphPasses { graph: &graph, block, control: &control };
        for level in LEVELS {
            let sizes = sizes(passes, &locals, level).unwrap();
            prop_assert_eq!(sizes.len(), parts as usize);
            let (kept, _) = kept(passes, &locals, &all, level).unwrap();
            for (part, kept) in (0..parts).zip(&kept) {
                let own = locals_of(&locals, part);
                let defined = by_definition(&arcs_by_rank, &own, level);
                prop_assert_eq!(sizes[part as usize], defined.size, "level {}", level);
                prop_assert_eq!((kept.part, locals.count(part)), (part, defined.size.locals));
                is_as_defined(kept, &rows, &own, &defined);
            }
        }
    }
}

fn part(vertex: u32, salt: u64, parts: u32) -> u32 {
    (trimill_system::hash::mix(u64::from(vertex) ^ salt) % u64::from(parts)) as u32
}

/// The ranks that a level of pruning keeps, by one pass in descending order.
fn kept_by_one_sweep(rows: &[Vec<u32>], locals: &BTreeSet<u32>, level: Prune) -> Vec<u32> {
    let n = rows.len();
    let mut local = vec![false; n];
    locals.iter().for_each(|&rank| local[rank as usize] = true);
    let mut present = local.clone();
    for (rank, row) in rows.iter().enumerate() {
        for &successor in row {
            present[rank] |= local[successor as usize];
            present[successor as usize] |= local[rank];
        }
    }
    let mut pointed = vec![false; n];
    let mut kept = Vec::new();
    for rank in (0..n).rev() {
        if present[rank] && (local[rank] || pointed[rank]) {
            kept.push(rank as u32);
            // Level `direct` follows the arcs of locals alone.
            if local[rank] || level == Prune::ZeroIndegree {
                rows[rank].iter().for_each(|&successor| pointed[successor as usize] = true);
            }
        }
    }
    kept.reverse();
    kept
}

#[test]
fn pruning_is_right_on_long_chains_and_dense_graphs() {
    let mix = trimill_system::hash::mix;
    let n = 30_000u64;
    // A rim where each vertex points at the next two, and a hub that all point at: all are neighbours of the hub.
    let rim = (1..n).flat_map(|i| [(i, 0), (i, i + 1), (i, i + 2)]).filter(|&(_, v)| v <= n).collect();
    // Random ids, with degrees that decrease from the first to the last.
    let tangle: Vec<(u64, u64)> = (0..6 * n).map(|i| (mix(i) % n, mix(i) % n * (mix(!i) % n) / n)).collect();
    for (arcs, parts, salt) in [(rim, 1, 0), (tangle.clone(), 3, 1), (tangle, 70, 2)] {
        let arcs: Vec<(u64, u64)> = arcs;
        let dir = tempfile::tempdir().unwrap();
        let graph = oriented(&arcs, dir.path(), Bytes::mib(64));
        let vertices = graph.vertices();
        let part_of: Vec<u32> = if parts == 1 {
            // The hub and one vertex of the rim are local in part 0.
            (0..vertices).map(|id| u32::from(id != 0 && id != vertices / 3)).collect()
        } else {
            (0..vertices).map(|id| (mix(u64::from(id) << 8 | salt) % u64::from(parts)) as u32).collect()
        };
        let locals = Assignment::new(part_of, parts.max(2)).by_rank(&graph.order().unwrap());
        let (rows, control) = (rows_of(&graph), Control::silent());
        let all: Vec<u32> = (0..locals.parts()).collect();
        for level in [Prune::ZeroIndegree, Prune::Direct] {
            let [sizes, others] = BLOCKS.map(|block| {
                let passes = GraphPasses { graph: &graph, block, control: &control };
                let (kept, _) = kept(passes, &locals, &all, level).unwrap();
                let sizes = sizes(passes, &locals, level).unwrap();
                for (part, (found, size)) in (0..).zip(kept.iter().zip(&sizes)) {
                    let expected = kept_by_one_sweep(&rows, &locals_of(&locals, part), level);
                    let told = format!("part {part} of {parts}, {level}, {block}");
                    assert!(found.kept.iter(0..vertices).eq(expected.iter().copied()), "{told}");
                    assert_eq!(size.numbered(), expected.len() as u64, "{told}");
                }
                sizes
            });
            assert_eq!(sizes, others);
            if parts == 1 && level == Prune::ZeroIndegree {
                // All vertices of the rim after the local one are kept, except a few at the end with smaller degrees.
                let past = u64::from(vertices - 1 - vertices / 3);
                assert!(past.abs_diff(sizes[0].proxies_kept) <= 3, "{} of {past}", sizes[0].proxies_kept);
            }
        }
    }
}
