//! Plans against reality: partitions are planned, built, spilled, streamed and counted.
//!
//! For rank ranges all figures are predicted exactly; for others sizes are exact, the rest are upper bounds (full row blocks, no compression).

mod devices;
pub(crate) mod draws;
mod graphs;

use std::collections::BTreeSet;

use crate::common::job::{input, job, known, program};
use rayon::prelude::*;
use trimill::testing::child::Helper;
use trimill::testing::count::cpu::Cpu;
use trimill::testing::execute;
use trimill::testing::job::Mode;
use trimill::testing::partition::prune::Prune;
use trimill::testing::partition::ranks::LocalsAndHeads;
use trimill::testing::partition::sizes::PartitionSize;
use trimill::testing::plan::cost::Machine;
use trimill::testing::plan::predict::PlannedPartition;
use trimill::testing::plan::sets::VertexInfo;
use trimill::testing::plan::{BudgetFrom, GraphCut, Plan, PlanLimits, Planner, floor, is_ample};
use trimill::testing::rates::Rates;
use trimill::{Bytes, Control, Result};
use trimill_counting::{CountBackend, Footprint, smallest_row_block_limit};
use trimill_generate::Family;

use devices::{Device, Holder};
use draws::{Draws, Partitioner};
use graphs::{Known, crawl, graph_of, graphs};

fn near(planned: u64, actual: u64) -> bool {
    planned.abs_diff(actual) * 20 <= actual
}

/// Limits for one device of a machine with two cores, of which tests set some.
fn limits() -> PlanLimits {
    PlanLimits {
        whole_graph_method: None,
        spills_one_part: true,
        device: Bytes::ZERO,
        device_from: BudgetFrom::Device,
        largest_row_block: Bytes::mib(256),
        row_block: None,
        prune: Prune::Direct,
        parts: 1,
        shards: 1,
        machine: Machine { rates: Rates::default(), cores: 2, gpus: 0, cached: true },
        host_block: Bytes::mib(1),
    }
}

fn check(case: u64, graphs: &[Known]) {
    let draws = &mut Draws(case << 32);
    let known = &graphs[case as usize % graphs.len()];
    let (graph, n) = (&known.graph, known.graph.vertices());
    let prune = [Prune::None, Prune::ZeroIndegree, Prune::Direct][draws.below(3)];
    let counts = [Device::Cpu, Device::Cpu, Device::Host, Device::Own][draws.below(4)];
    let whole = Cpu::new(Bytes::ZERO, n).footprint().resident(u64::from(n), graph.edges());
    let least = floor(&graph.size(), &counts.backend(Bytes::ZERO, n).footprint(), None);
    let least_row_block = smallest_row_block_limit(graph.size().longest_row);
    let device = draws.between(least, whole + whole);
    let mut backend = counts.backend(device.saturating_sub(least), n);
    let footprint = backend.footprint();
    let room = device.saturating_sub(footprint.overhead(n)).saturating_sub(least);
    let row_block =
        (draws.below(2) == 0).then(|| draws.between(least_row_block, least_row_block + Bytes(room.get() / 2)));
    let parts = (draws.below(3) == 0).then(|| 1 + draws.below(90) as u32);
    let way = draws.below(3);
    let limits = PlanLimits {
        device,
        largest_row_block: least_row_block + Bytes(device.get() / 20),
        row_block,
        prune,
        host_block: Bytes(1 << (10 + draws.below(12))),
        ..limits()
    };
    let told = format!(
        "case {case}: {counts:?}, {prune}, way {way}, parts {parts:?}, device {device}, row block {row_block:?}"
    );
    let planned = |plan: Result<Plan>| plan.unwrap_or_else(|error| panic!("{told}: {error}"));
    let control = Control::silent();
    let planner = Planner { graph, footprint: &footprint, limits: &limits, control: &control };
    let of_ranges = planned(planner.ranges(parts));
    check_ranges(known, &of_ranges, counts, backend.as_mut(), &format!("{told}, ranges"));
    let ample = parts.is_none() && row_block.is_none() && is_ample(&graph.size(), &footprint, device);
    if ample {
        assert_eq!(of_ranges.parts(), 1, "{told}");
        let more = Footprint { of_budget: Some(|size, budget| budget.min(9 * size.arcs + (1 << 30))), ..footprint };
        assert!(!is_ample(&graph.size(), &more, device), "{told}: the method prefers a GiB more");
    }
    // Cuts further, by heads, for shards.
    let shards = 2 + draws.below(40) as u32;
    let for_shards = planned(Planner { limits: &PlanLimits { shards, ..limits }, ..planner }.ranges(None));
    assert!(for_shards.parts() >= shards, "{told}: {} parts for {shards} shards", for_shards.parts());
    check_ranges(known, &for_shards, counts, backend.as_mut(), &format!("{told}, for {shards} shards"));
    let vertices = VertexInfo::of(graph).unwrap();
    let cut = Partitioner { vertices: &vertices, way, parts };
    let of_sets = planned(planner.assigned(&vertices, &cut).and_then(|cut| planner.sets(cut)));
    check_sets(known, &of_sets, prune, false, backend.as_mut(), &told);
    assert!(!ample || of_sets.parts() == 1, "{told}");
    let resident = footprint.resident(u64::from(n), graph.edges());
    for plan in [of_ranges, for_shards, of_sets] {
        assert!(plan.partitions.iter().all(|planned| planned.predicted.peak <= device), "{told}");
        assert!(plan.row_block_limit <= row_block.unwrap_or(limits.largest_row_block), "{told}");
        assert!(u64::from(plan.parts()) >= resident.get().div_ceil(device.get()), "{told}");
        // Parts that do not fit are split; parts are never joined.
        assert!(plan.parts() >= plan.parts_asked, "{told}: {} parts of {}", plan.parts(), plan.parts_asked);
        // Several devices begin with the largest partitions.
        let (order, streamed) = (plan.order(2), |&part: &u32| plan.partitions[part as usize].predicted.stream);
        assert!(order.iter().map(streamed).is_sorted_by(|a, b| a >= b), "{told}");
        assert!(order.into_iter().collect::<BTreeSet<_>>().into_iter().eq(plan.order(1)), "{told}");
        // Planning again from the recorded cut gives the same plan.
        let second = planned(planner.replan(plan.cut.clone(), plan.row_block_limit));
        assert_eq!((&second.cut, &second.partitions), (&plan.cut, &plan.partitions));
    }
}

/// For rank ranges all figures must be as predicted.
fn check_ranges(known: &Known, plan: &Plan, counts: Device, backend: &mut dyn CountBackend, told: &str) {
    let GraphCut::Ranges(ranges) = &plan.cut else { panic!("{told}: no ranges") };
    let chunk = backend.resident_chunk().map(|chunk| chunk.get());
    let mut triangles = 0;
    assert!(LocalsAndHeads::tile(ranges, known.graph.vertices()), "{told}: {ranges:?}");
    // Each of thousands of ranges would read thousands of blocks, so only some of them are tested.
    let step = plan.parts().div_ceil(100);
    for (part, (ranks, PlannedPartition { size, predicted })) in (0..).zip(ranges.iter().zip(&plan.partitions)) {
        let told = format!("{told}: part {part} of {}, {ranks:?}, {predicted:?}", plan.parts());
        let range = &ranks.locals;
        let arcs: usize = known.rows[range.start as usize..range.end as usize].iter().map(Vec::len).sum();
        assert_eq!(*size, PartitionSize::of_rows(range.len() as u64, arcs as u64), "{told}");
        let resident = backend.footprint().resident(size.locals, size.resident_arcs);
        assert_eq!((predicted.spill, predicted.resident), (Bytes::ZERO, resident), "{told}");
        if part % step != 0 {
            continue;
        }
        let counted = known.pass_range(plan, part, backend);
        // If the resident section comes in runs, each run has one offset more than rows.
        let more = match chunk {
            Some(_) => counted.streamed.get() - predicted.stream.get(),
            None => 0,
        };
        let runs = chunk.map_or(0, |chunk| size.resident_arcs.max(size.locals) * 4 / chunk + 1);
        assert!(more.is_multiple_of(8) && more / 8 <= 2 * runs, "{told}: {more} bytes in about {runs} runs");
        let found = [Bytes(counted.streamed.get() - more), Bytes(counted.row_blocks), counted.largest_row_block];
        assert_eq!(found, [predicted.stream, Bytes(predicted.row_blocks), predicted.largest_row_block], "{told}");
        match counts {
            Device::Own => assert_eq!(counted.peak, predicted.peak, "{told}"),
            Device::Cpu | Device::Host => assert!(counted.peak <= predicted.peak, "{told}: {:?}", counted.peak),
        }
        triangles += counted.triangles;
    }
    let all = counts == Device::Cpu && step == 1;
    assert!(!all || triangles == known.triangles, "{told}: {triangles} of {}", known.triangles);
}

/// For other partitions, sizes must be exact, and the other figures at most as predicted; if bounds `are_near`, not far
/// below them, except for compressed bytes.
fn check_sets(known: &Known, plan: &Plan, prune: Prune, are_near: bool, backend: &mut dyn CountBackend, told: &str) {
    let (mut planned, mut actual, mut triangles) = ([0; 2], [0; 2], 0);
    let footprint = backend.footprint();
    known.build_and_pass(plan, prune, backend, |part, spill, counted| {
        let PlannedPartition { size, predicted } = &plan.partitions[part as usize];
        let spill = spill.bytes;
        let told = format!("{told}: part {part} of {}, {predicted:?}, {counted:?}, spill {spill}", plan.parts());
        assert_eq!(predicted.resident, footprint.resident(size.locals, size.resident_arcs), "{told}");
        assert!(counted.peak <= predicted.peak, "{told}");
        assert!(counted.streamed <= predicted.stream, "{told}");
        assert!(counted.largest_row_block <= predicted.largest_row_block, "{told}");
        assert!(spill <= predicted.spill.get(), "{told}");
        assert!(counted.row_blocks <= 2 * predicted.row_blocks + 1, "{told}");
        if are_near {
            assert!(near(predicted.peak.get(), counted.peak.get()), "{told}");
            assert!(near(predicted.stream.get(), counted.streamed.get()), "{told}");
            assert!(predicted.row_blocks.abs_diff(counted.row_blocks) <= 1 + counted.row_blocks / 4, "{told}");
        }
        triangles += counted.triangles;
        planned = [planned[0] + predicted.stream.get(), planned[1] + predicted.row_blocks];
        actual = [actual[0] + counted.streamed.get(), actual[1] + counted.row_blocks];
    });
    // The bounds are near, since arcs and vertices are known, and roughly how they are cut.
    assert!(planned[0] <= 2 * actual[0], "{told}: stream {} planned, {} found", planned[0], actual[0]);
    let row_blocks = actual[1].div_ceil(2)..=2 * actual[1];
    assert!(row_blocks.contains(&planned[1]), "{told}: {planned:?} row blocks, {actual:?} found");
    assert!(backend.name() != "cpu" || triangles == known.triangles, "{told}: {triangles} of {}", known.triangles);
}

#[test]
fn random_plans_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    let graphs = graphs(dir.path());
    (0..48).into_par_iter().for_each(|case| check(case, &graphs));
}

/// In graphs of many file blocks, ranges and large row blocks consist of whole file blocks.
#[test]
fn ranges_of_many_file_blocks_are_kept_too() {
    let dir = tempfile::tempdir().unwrap();
    let known = Known::new(graph_of(&Family::RingLattice { vertices: 600_000, k: 4 }, dir.path()));
    let graph = &known.graph;
    assert!(graph.blocks() > 34, "{} blocks", graph.blocks());
    for (row_block, counts) in [(None, Device::Cpu), (Some(4 << 20), Device::Own), (Some(300_000), Device::Host)] {
        let mut backend = counts.backend(Bytes::mib(256), graph.vertices());
        let limits = PlanLimits {
            device: Bytes::mib(256),
            largest_row_block: Bytes::mib(8),
            row_block: row_block.map(Bytes),
            ..limits()
        };
        let (footprint, control) = (backend.footprint(), Control::silent());
        let planner = Planner { graph, footprint: &footprint, limits: &limits, control: &control };
        let plan = planner.ranges(Some(2)).unwrap();
        let GraphCut::Ranges(ranges) = &plan.cut else { panic!("{row_block:?}") };
        let [first, second] = &ranges[..] else { panic!("{ranges:?}") };
        let [first, second] = [&first.locals, &second.locals];
        assert!(graph.begins_block(second.start) && first.len().abs_diff(second.len()) < 60_000, "{ranges:?}");
        check_ranges(&known, &plan, counts, backend.as_mut(), &format!("{counts:?}, row blocks of {row_block:?}"));
    }
}

/// For larger graphs, of several file blocks, the bounds are near, except for compressed bytes.
#[test]
fn bounds_of_larger_graphs_are_near() {
    let dir = tempfile::tempdir().unwrap();
    let control = Control::silent();
    let kron = Known::new(graph_of(&Family::GapKron { scale: 15 }, dir.path()));
    let crawl = Known::new(crawl(60_000, dir.path()));
    for (known, way, parts, prune) in [
        (&kron, 0, 4, Prune::Direct),
        (&kron, 2, 3, Prune::ZeroIndegree),
        (&crawl, 1, 6, Prune::Direct),
        (&crawl, 0, 2, Prune::None),
    ] {
        let graph = &known.graph;
        let told = format!("{} edges, way {way}, {parts} parts, {prune}", graph.edges());
        let limit = Bytes(256 << 10);
        let limits = PlanLimits {
            device: Bytes::mib(1 << 10),
            largest_row_block: limit,
            row_block: Some(limit),
            prune,
            host_block: Bytes(64 << 10),
            ..limits()
        };
        let mut holder = Holder { own_memory: None };
        let vertices = VertexInfo::of(graph).unwrap();
        let cut = Partitioner { vertices: &vertices, way, parts: Some(parts) };
        let footprint = holder.footprint();
        let planner = Planner { graph, footprint: &footprint, limits: &limits, control: &control };
        let plan = planner.sets(planner.assigned(&vertices, &cut).unwrap()).unwrap();
        assert_eq!(plan.parts(), parts);
        check_sets(known, &plan, prune, true, &mut holder, &told);
    }
}

/// Whole jobs: `trimill count` behaves as `trimill plan` predicts.
#[test]
fn jobs_do_as_they_were_planned() {
    let program = program();
    let metis = Some(Helper::metis(program));
    for (name, triangles) in
        [("ca-HepTh.txt", 28_339), ("delaunay_n15.graph", 65_872), ("facebook_combined.txt", 1_612_010)]
    {
        let dir = tempfile::tempdir().unwrap();
        for settings in [
            "",
            "partition.partitioner = 'rank'\nmemory = { device = '300KiB', block = '16KiB' }",
            "partition = { partitioner = 'rank', parts = 7 }",
            "memory = { device = '400KiB', block = '12KiB' }",
            "memory = { device = '400KiB', block = '12KiB' }\npartition.prune = 'none'",
            "memory = { device = '400KiB', block = '12KiB' }\npartition.prune = 'zero-indegree'",
            "partition.partitioner = 'random'\nmemory.device = '500KiB'",
            "partition = { partitioner = 'contiguous', parts = 5, prune = 'none' }\nmemory.block = '20KiB'",
            "partition = { partitioner = 'contiguous-vertices', parts = 9, prune = 'zero-indegree' }",
            "partition = { partitioner = 'metis', parts = 4 }\nspill.to = 'memory'",
            "spill = { keep = true, dir = 'kept' }",
        ] {
            let told = format!("{name} {settings}");
            let text = input(name) + "cache.dir = 'cache'\ncount = { backend = 'cpu', threads = 2 }\n" + settings;
            let job = job(&text, dir.path()).unwrap();
            let plan = execute::plan::plan(job.clone(), None, metis.clone(), &Control::silent()).unwrap();
            let result = execute::count::count(job, None, metis.clone(), &Control::silent()).unwrap();
            assert_eq!(result.triangles, triangles, "{told}");
            assert_eq!((plan.mode, plan.parts, &plan.partitioner), (result.mode, result.parts, &result.partitioner));
            let exact = result.mode == Mode::InPlace;
            assert_eq!(plan.disk_bytes > Bytes::ZERO, !exact && !settings.contains("spill.to"), "{told}");
            assert_eq!(plan.partitions.len(), result.partitions.len(), "{told}");
            for (planned, found) in plan.partitions.iter().zip(&result.partitions) {
                assert_eq!(
                    (planned.id, planned.local_vertices, planned.proxies_kept, planned.arcs_induced, planned.arcs_kept),
                    (found.id, found.local_vertices, found.proxies_kept, found.arcs_induced, found.arcs_kept),
                    "{told}"
                );
                assert_eq!(planned.resident_bytes, found.resident_bytes, "{told}");
                assert_eq!(planned.peak_bytes_predicted, found.peak_bytes_predicted, "{told}");
                assert!(found.counted().peak_bytes <= planned.peak_bytes_predicted, "{told}: {found:?}");
                assert_eq!(planned.fits, Some(true), "{told}");
                if exact {
                    assert_eq!(known(planned), known(found), "{told}");
                } else {
                    assert!(found.largest_block_bytes <= planned.largest_block_bytes, "{told}: {found:?}");
                    assert!(found.stream_bytes <= planned.stream_bytes, "{told}: {found:?}");
                    assert!(found.spill_bytes <= planned.spill_bytes, "{told}: {found:?}");
                    assert!(Bytes::ZERO < found.spill_bytes, "{told}: {found:?}");
                    assert!(found.row_blocks <= 2 * planned.row_blocks + 1, "{told}: {found:?}");
                }
            }
        }
    }
}
