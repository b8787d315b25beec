//! The work before a graph is counted in partitions: planning rank ranges; sizing, inducing and pruning at every level.
//!
//! `TRIMILL_BENCH_SCALE` (16) sets the binary logarithm of the number of vertices of a Kronecker graph,
//! `TRIMILL_BENCH_PARTS` (4) the number of random partitions. Rates are in edges of the graph a second, for all
//! partitions together.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

use std::path::Path;
use std::time::Duration;

use criterion::{Criterion, Throughput};
use trimill::testing::clean::Workspace;
use trimill::testing::count::cpu::Cpu;
use trimill::testing::graph::{Direction, OrientedGraph};
use trimill::testing::input::arcs::ArcList;
use trimill::testing::memory::HostMemory;
use trimill::testing::partition::GraphPasses;
use trimill::testing::partition::assignment::Assignment;
use trimill::testing::partition::kept::kept;
use trimill::testing::partition::locals::Locals;
use trimill::testing::partition::prune::Prune;
use trimill::testing::partition::sizes::{PartitionSize, sizes};
use trimill::testing::plan::cost::Machine;
use trimill::testing::plan::{BudgetFrom, PlanLimits, Planner};
use trimill::testing::prepare::prepare;
use trimill::{Bytes, Control};
use trimill_counting::CountBackend;
use trimill_generate::{Family, generate};

/// How much of the graph is read at a time.
const BLOCK: Bytes = Bytes::mib(16);

fn main() {
    let number = |name: &str, default| std::env::var(name).map_or(default, |value| value.parse().unwrap());
    let (scale, parts) = (number("TRIMILL_BENCH_SCALE", 16), number("TRIMILL_BENCH_PARTS", 4));
    let dir = tempfile::tempdir().unwrap();
    let graph = kronecker(scale, dir.path());
    let assignment = Assignment::new(trimill_partitioners::random(graph.vertices(), parts, 1), parts);
    let locals = Locals::of(&assignment, &graph.order().unwrap());
    let control = Control::silent();
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(2))
        .configure_from_args();
    let mut group = criterion.benchmark_group(format!("kron{scale} in {parts} parts"));
    group.throughput(Throughput::Elements(graph.edges()));
    group.bench_function("a pass", |bencher| {
        bencher.iter(|| {
            let mut arcs = 0;
            let each = |block: trimill::testing::graph::RowRun<'_>| {
                arcs += block.successors().len() as u64;
                Ok(())
            };
            graph.pass(BLOCK, Direction::Rising, &control, each).unwrap();
            assert_eq!(arcs, graph.edges());
        });
    });
    let (footprint, limits) = (Cpu::new(Bytes::ZERO, graph.vertices()).footprint(), limits());
    group.bench_function("a plan of rank ranges", |bencher| {
        let planner = Planner { graph: &graph, footprint: &footprint, limits: &limits, control: &control };
        bencher.iter(|| planner.ranges(Some(parts)).unwrap().predictions);
    });
    let all: Vec<u32> = (0..parts).collect();
    let passes = GraphPasses { graph: &graph, block: BLOCK, control: &control };
    for level in [Prune::None, Prune::ZeroIndegree, Prune::Direct] {
        let measured = sizes(passes, &locals, level).unwrap();
        let sum = |of: fn(&PartitionSize) -> u64| measured.iter().map(of).sum::<u64>();
        println!("{level}: {} arcs induced, {} kept", sum(|size| size.arcs_induced), sum(|size| size.arcs_kept));
        group.bench_function(format!("sizes, {level}"), |bencher| {
            bencher.iter(|| sizes(passes, &locals, level).unwrap());
        });
        group.bench_function(format!("induce and prune, {level}"), |bencher| {
            bencher.iter(|| {
                let (kept, _) = kept(passes, &locals, &all, level).unwrap();
                for (kept, size) in kept.iter().zip(&measured) {
                    assert_eq!(u64::from(kept.kept.count()), size.numbered());
                }
            });
        });
    }
    group.finish();
    criterion.final_summary();
}

/// Budgets in which everything fits.
fn limits() -> PlanLimits {
    PlanLimits {
        device: Bytes(8 << 30),
        device_from: BudgetFrom::Device,
        largest_row_block: Bytes::mib(256),
        row_block: None,
        prune: Prune::Direct,
        parts: 1,
        shards: 1,
        machine: Machine { rates: trimill::testing::rates::Rates::default(), cores: 1, gpus: 0, cached: true },
        whole: None,
        spills_whole: false,
        host_block: BLOCK,
    }
}

fn kronecker(scale: u32, dir: &Path) -> OrientedGraph {
    let path = dir.join("kron.bin");
    generate(&Family::GapKron { scale }, None, &path, &Control::silent()).unwrap();
    let id = |bytes: &[u8]| u64::from(u32::from_le_bytes(bytes.try_into().unwrap()));
    let arcs = std::fs::read(&path).unwrap().chunks_exact(8).map(|pair| (id(&pair[..4]), id(&pair[4..]))).collect();
    let source = ArcList { arcs, declared: None };
    let space = Workspace::new(HostMemory::new(Bytes(8 << 30), rayon::current_num_threads()), dir);
    prepare(&source, space, &Control::silent(), &mut Vec::new()).unwrap()
}
