//! Cleaning, orienting, inducing, pruning and counting against plain readings of their definitions.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::{BTreeMap, BTreeSet};

use common::{oriented, simple, triangles};
use proptest::prelude::*;
use trimill::bytes::Bytes;
use trimill::control::Control;
use trimill::count::Backend;
use trimill::count::cpu::Cpu;
use trimill::graph::OrientedGraph;
use trimill::job::FrameKind;
use trimill::partition::assignment::Assignment;
use trimill::partition::prune::{Prune, prune};
use trimill::partition::section::{Resident, smallest_frame_limit};
use trimill::partition::sections::Sections;
use trimill::partition::sizes::{PartitionSize, sizes};
use trimill::plan::frames::Rates;
use trimill::plan::{Assign, BudgetFrom, Limits, plan};

const LEVELS: [Prune; 3] = [Prune::None, Prune::ZeroIndegree, Prune::Direct];

fn any_arcs() -> impl Strategy<Value = Vec<(u64, u64)>> {
    // Sparse ids, few of them, so that loops, duplicates, reverse arcs and triangles are common.
    (2u64..40, 1u64..5, 0u64..3).prop_flat_map(|(n, stretch, base)| {
        prop::collection::vec((0..n, 0..n), 0..300)
            .prop_map(move |arcs| arcs.into_iter().map(|(u, v)| (u * stretch + base, v * stretch + base)).collect())
    })
}

/// The oriented graph's definition, on original ids: degree, then id.
fn arcs_by_definition(edges: &BTreeSet<(u64, u64)>) -> BTreeSet<(u64, u64)> {
    let mut degree = BTreeMap::<u64, u64>::new();
    for &(u, v) in edges {
        *degree.entry(u).or_default() += 1;
        *degree.entry(v).or_default() += 1;
    }
    edges.iter().map(|&(u, v)| if (degree[&u], u) < (degree[&v], v) { (u, v) } else { (v, u) }).collect()
}

fn arcs_of(graph: &OrientedGraph) -> BTreeSet<(u64, u64)> {
    let id_of = &graph.numbering().id_of;
    (0..graph.vertices())
        .flat_map(|id| {
            let row = graph.row(graph.rank_of(id));
            assert!(row.is_sorted_by(|a, b| a < b));
            assert!(row.iter().all(|&head| head < graph.rank_of(id)));
            row.iter().map(move |&head| (graph.original_id(id), graph.original_id(id_of[head as usize])))
        })
        .collect()
}

/// Algorithms 1 and 2 of LSTC, and the `direct` level, read literally on sets.
fn sizes_by_definition(arcs: &BTreeSet<(u32, u32)>, locals: &BTreeSet<u32>, level: Prune) -> PartitionSize {
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
        Prune::Direct => {
            let pointed: BTreeSet<u32> = arcs.iter().filter(|(u, _)| locals.contains(u)).map(|&(_, v)| v).collect();
            kept_vertices.retain(|v| locals.contains(v) || pointed.contains(v));
            kept.retain(|(u, v)| locals.contains(u) || (pointed.contains(u) && pointed.contains(v)));
        }
    }
    PartitionSize {
        locals: locals.len() as u64,
        resident_arcs: arcs.iter().filter(|(u, _)| locals.contains(u)).count() as u64,
        proxies_induced: (vertices.len() - locals.len()) as u64,
        arcs_induced: induced.len() as u64,
        proxies_kept: (kept_vertices.len() - locals.len()) as u64,
        arcs_kept: kept.len() as u64,
    }
}

/// Builds one partition's sections, checks their invariants against the predicted size, and counts it.
fn build_and_count(graph: &OrientedGraph, locals: &[u32], level: Prune, limit: Bytes, size: &PartitionSize) -> u64 {
    let control = Control::silent();
    let pruned = prune(graph, locals, level, &control).unwrap();
    let sections = Sections::new(&pruned);
    let mut resident = Resident { offsets: vec![0], ..Resident::default() };
    sections
        .resident(&control, |chunk| {
            let base = resident.heads.len() as u64;
            resident.numbers.extend(&chunk.numbers);
            resident.offsets.extend(chunk.offsets[1..].iter().map(|o| o + base));
            resident.heads.extend(&chunk.heads);
            Ok(())
        })
        .unwrap();
    assert_eq!(resident.numbers.len() as u64, size.locals);
    assert_eq!(resident.heads.len() as u64, size.resident_arcs);
    assert_eq!(u64::from(sections.proxies()), size.proxies_kept);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let mut cpu = Cpu::new(Bytes::mib(64), graph.vertices());
    assert_eq!(resident.size(), sections.resident_size());
    let mut counter = cpu.begin(resident.size(), sections.numbered(), limit).unwrap();
    let (mut next, mut rows, mut arcs) = (0, 0, resident.heads.len() as u64);
    counter.resident(resident, &pool).unwrap();
    sections
        .frames(limit, &control, |frame| {
            assert_eq!(frame.range.start, next);
            next = frame.range.end;
            let frame = frame.view();
            rows += frame.size().rows;
            arcs += frame.size().arcs;
            for i in 0..frame.offsets.len() - 1 {
                assert!(frame.row(i).is_sorted_by(|a, b| a < b));
            }
            counter.frame(&frame, &pool)
        })
        .unwrap();
    assert_eq!((next, rows, arcs), (sections.numbered(), size.proxies_kept, size.arcs_kept));
    counter.finish().unwrap().triangles
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn cleaning_and_orienting_follow_the_definition(arcs in any_arcs(), memory in prop::sample::select(vec![0u64, 1 << 30]), huge in any::<bool>()) {
        // With huge ids the second way of renaming is taken.
        let arcs: Vec<(u64, u64)> = if huge { arcs.iter().map(|&(u, v)| (u << 40, v << 40)).collect() } else { arcs };
        let dir = tempfile::tempdir().unwrap();
        let graph = oriented(&arcs, dir.path(), Bytes(memory));
        let edges = simple(&arcs);
        prop_assert_eq!(graph.edges() as usize, edges.len());
        prop_assert_eq!(arcs_of(&graph), arcs_by_definition(&edges));
        let report = graph.report();
        let distinct: BTreeSet<_> = arcs.iter().filter(|(u, v)| u != v).collect();
        prop_assert_eq!(report.arcs as usize, arcs.len());
        prop_assert_eq!(report.loops_removed as usize, arcs.iter().filter(|(u, v)| u == v).count());
        prop_assert_eq!(report.duplicates_removed, report.arcs - report.loops_removed - distinct.len() as u64);
        prop_assert_eq!(report.arcs_without_reverse as usize, distinct.iter().filter(|(u, v)| !distinct.contains(&&(*v, *u))).count());
        prop_assert_eq!(2 * graph.edges(), report.arcs - report.loops_removed - report.duplicates_removed + report.arcs_added);
        let ids: BTreeSet<u64> = arcs.iter().flat_map(|&(u, v)| [u, v]).collect();
        prop_assert_eq!(report.vertices_declared as usize, ids.len());
        for id in ids {
            let with_edge = edges.iter().any(|&(u, v)| u == id || v == id);
            prop_assert_eq!(graph.vertex_of(id).map(|v| graph.original_id(v)), with_edge.then_some(id));
        }
        let wedges: u128 = graph.degrees().iter().map(|&d| u128::from(d) * (u128::from(d) - 1) / 2).sum();
        prop_assert_eq!(graph.wedges(), wedges);
        drop(graph);
        prop_assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn every_partition_has_the_size_of_its_definition_and_the_sum_is_exact(
        arcs in any_arcs(), parts in 1u32..9, salt in any::<u64>(), rows_a_frame in 1u64..20,
    ) {
        let dir = tempfile::tempdir().unwrap();
        let graph = oriented(&arcs, dir.path(), Bytes::mib(64));
        let n = graph.vertices();
        let part_of: Vec<u32> = (0..n).map(|id| (trimill::clean::ids::mix(u64::from(id) ^ salt) % u64::from(parts)) as u32).collect();
        let assignment = Assignment::new(part_of.clone(), parts);
        let number_of = &graph.numbering().number_of;
        let arcs_by_number: BTreeSet<(u32, u32)> =
            (0..n).flat_map(|rank| graph.row(rank).iter().map(move |&head| (rank, head))).collect();
        let longest = (0..n).map(|id| graph.out_degree(id)).max().unwrap_or(0);
        let limit = Bytes(smallest_frame_limit(longest).get() + rows_a_frame * 16);
        for level in LEVELS {
            let sizes = sizes(&graph, &assignment, level, &Control::silent()).unwrap();
            prop_assert_eq!(sizes.len(), parts as usize);
            let mut total = 0;
            for part in 0..parts {
                let locals: BTreeSet<u32> = assignment.locals(part).iter().map(|&id| number_of[id as usize]).collect();
                prop_assert_eq!(sizes[part as usize], sizes_by_definition(&arcs_by_number, &locals, level), "level {}", level);
                total += build_and_count(&graph, assignment.locals(part), level, limit, &sizes[part as usize]);
            }
            prop_assert_eq!(total, triangles(&simple(&arcs)), "level {}", level);
        }
    }
}

#[test]
fn more_than_64_partitions_are_sized_in_groups() {
    let arcs: Vec<(u64, u64)> =
        (0..4000u64).map(|i| (trimill::clean::ids::mix(i) % 300, trimill::clean::ids::mix(i + 9999) % 300)).collect();
    let dir = tempfile::tempdir().unwrap();
    let graph = oriented(&arcs, dir.path(), Bytes::mib(64));
    let part_of = (0..graph.vertices()).map(|id| id % 150).collect();
    let assignment = Assignment::new(part_of, 150);
    let number_of = &graph.numbering().number_of;
    let by_number: BTreeSet<(u32, u32)> =
        (0..graph.vertices()).flat_map(|rank| graph.row(rank).iter().map(move |&head| (rank, head))).collect();
    for level in LEVELS {
        let sizes = sizes(&graph, &assignment, level, &Control::silent()).unwrap();
        for part in [0, 63, 64, 127, 128, 149] {
            let locals = assignment.locals(part).iter().map(|&id| number_of[id as usize]).collect();
            assert_eq!(sizes[part as usize], sizes_by_definition(&by_number, &locals, level), "part {part}, {level}");
        }
    }
}

/// The vertices that level `zero-indegree` keeps, by one look at each vertex in falling order of numbers.
fn kept_by_one_sweep(graph: &OrientedGraph, locals: &[u32]) -> Vec<u32> {
    let number_of = &graph.numbering().number_of;
    let n = graph.vertices() as usize;
    let mut local = vec![false; n];
    locals.iter().for_each(|&id| local[number_of[id as usize] as usize] = true);
    let mut present = local.clone();
    for id in 0..graph.vertices() {
        let number = number_of[id as usize] as usize;
        for &head in graph.row(number as u32) {
            present[number] |= local[head as usize];
            present[head as usize] |= local[number];
        }
    }
    let mut pointed = vec![false; n];
    let mut kept = Vec::new();
    for number in (0..n).rev() {
        if present[number] && (local[number] || pointed[number]) {
            kept.push(number as u32);
            graph.row(number as u32).iter().for_each(|&head| pointed[head as usize] = true);
        }
    }
    kept.reverse();
    kept
}

#[test]
fn what_is_left_without_zero_indegrees_is_found_along_long_and_broad_ways() {
    let mix = trimill::clean::ids::mix;
    let n = 30_000u64;
    // A rim where each vertex points at the next two, and a hub that all point at: all are neighbours of the hub.
    let rim = (1..n).flat_map(|i| [(i, 0), (i, i + 1), (i, i + 2)]).filter(|&(_, v)| v <= n).collect();
    // Ids in no order, and falling degrees from the beginning to the end.
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
        let assignment = Assignment::new(part_of, parts.max(2));
        let control = Control::silent();
        let sizes = sizes(&graph, &assignment, Prune::ZeroIndegree, &control).unwrap();
        for part in 0..assignment.parts() {
            let kept = kept_by_one_sweep(&graph, assignment.locals(part));
            let pruned = prune(&graph, assignment.locals(part), Prune::ZeroIndegree, &control).unwrap();
            assert!(pruned.kept.iter(0..vertices).eq(kept.iter().copied()), "part {part} of {parts}");
            let size = &sizes[part as usize];
            assert_eq!(size.locals + size.proxies_kept, kept.len() as u64, "part {part} of {parts}");
        }
        if parts == 1 {
            // Nothing leads back on the rim; its last vertices have smaller degrees, but lie in the local one's way.
            let past = u64::from(vertices - 1 - vertices / 3);
            assert!(past.abs_diff(sizes[0].proxies_kept) <= 3, "{} of {past}", sizes[0].proxies_kept);
        }
    }
}

/// Contiguous runs of equal numbers of vertices.
struct Runs<'g>(&'g OrientedGraph);

impl Assign for Runs<'_> {
    fn assign(&self, parts: u32) -> trimill::error::Result<Assignment> {
        let n = u64::from(self.0.vertices());
        Ok(Assignment::new((0..n).map(|id| (id * u64::from(parts) / n) as u32).collect(), parts))
    }
    fn is_cheap(&self) -> bool {
        true
    }
    fn parts(&self) -> Option<u32> {
        None
    }
}

#[test]
fn a_plan_keeps_to_the_device_and_to_what_the_host_can_pass_on() {
    let mix = trimill::clean::ids::mix;
    let arcs: Vec<(u64, u64)> = (0..40_000u64).map(|i| (mix(i) % 3000, mix(i + 77_777) % 3000)).collect();
    let dir = tempfile::tempdir().unwrap();
    let graph = oriented(&arcs, dir.path(), Bytes::mib(64));
    let terms = Cpu::new(Bytes::ZERO, graph.vertices()).terms();
    let whole = terms.resident(u64::from(graph.vertices()), graph.edges());
    for (device, frame, one) in [
        (whole.get() * 2, whole.get() * 2, true),
        (whole.get() * 2, whole.get() / 50, true),
        (whole.get() / 2, whole.get() / 50, false),
        (whole.get() / 4, whole.get(), false),
    ] {
        let limits = Limits {
            device: Bytes(device),
            device_from: BudgetFrom::Device,
            largest_frame: Bytes(frame),
            frame: None,
            prune: Prune::Direct,
            parts: 1,
            frames: FrameKind::Own,
            shared: Bytes::ZERO,
            rates: Rates::new(1, 0),
            whole: None,
            spills_whole: true,
        };
        let plan = plan(&graph, &Runs(&graph), &terms, limits, &Control::silent()).unwrap();
        assert_eq!(plan.assignment.parts() == 1, one);
        for prediction in &plan.predictions {
            assert!(prediction.peak <= limits.device, "{} of {}", prediction.peak, limits.device);
            assert!(one || prediction.largest_frame <= limits.largest_frame, "{}", prediction.largest_frame);
        }
        // Fewer could not hold all rows.
        let least = whole.get().div_ceil(device);
        assert!(u64::from(plan.assignment.parts()) >= least);
    }
}
