//! What happens to a graph in partitions before anything is counted: sizing, inducing and pruning at every level.
//!
//! `TRIMILL_BENCH_SCALE` (16) sets the binary logarithm of the number of vertices of a Kronecker graph,
//! `TRIMILL_BENCH_PARTS` (4) the number of random partitions. Rates are in edges of the graph a second, for all
//! partitions together.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

use std::path::Path;
use std::time::Duration;

use criterion::{Criterion, Throughput};
use trimill::bytes::Bytes;
use trimill::clean::Workspace;
use trimill::control::Control;
use trimill::generate::{Family, generate};
use trimill::graph::OrientedGraph;
use trimill::input::arcs::ArcList;
use trimill::partition::assignment::Assignment;
use trimill::partition::prune::{Prune, prune};
use trimill::partition::sizes::{PartitionSize, sizes, sizes_and_look};
use trimill::plan::sample::{Sampler, Share};
use trimill::prepare::prepare;

fn main() {
    let number = |name: &str, default| std::env::var(name).map_or(default, |value| value.parse().unwrap());
    let (scale, parts) = (number("TRIMILL_BENCH_SCALE", 16), number("TRIMILL_BENCH_PARTS", 4));
    let dir = tempfile::tempdir().unwrap();
    let graph = kronecker(scale, dir.path());
    let assignment = Assignment::new(trimill_partitioners::random(graph.vertices(), parts, 1), parts);
    let control = Control::silent();
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(2))
        .configure_from_args();
    let mut group = criterion.benchmark_group(format!("kron{scale} in {parts} parts"));
    group.throughput(Throughput::Elements(graph.edges()));
    for level in [Prune::None, Prune::ZeroIndegree, Prune::Direct] {
        let measured = sizes(&graph, &assignment, level, &control).unwrap();
        let sum = |of: fn(&PartitionSize) -> u64| measured.iter().map(of).sum::<u64>();
        println!("{level}: {} arcs induced, {} kept", sum(|size| size.arcs_induced), sum(|size| size.arcs_kept));
        group.bench_function(format!("sizes, {level}"), |bencher| {
            bencher.iter(|| sizes(&graph, &assignment, level, &control).unwrap());
        });
        group.bench_function(format!("sizes and a sample, {level}"), |bencher| {
            bencher.iter(|| {
                let mut sampler = Sampler::new(parts, Bytes::mib(256), Share::default(), None, &control);
                let sizes = sizes_and_look(&graph, &assignment, level, Some(&mut sampler), &control).unwrap();
                sampler.layouts(&sizes)
            });
        });
        group.bench_function(format!("induce and prune, {level}"), |bencher| {
            bencher.iter(|| {
                for (part, size) in (0..parts).zip(&measured) {
                    let pruned = prune(&graph, assignment.locals(part), level, &control).unwrap();
                    assert_eq!(u64::from(pruned.kept.count()), size.locals + size.proxies_kept);
                }
            });
        });
    }
    group.finish();
    criterion.final_summary();
}

fn kronecker(scale: u32, dir: &Path) -> OrientedGraph {
    let path = dir.join("kron.bin");
    generate(&Family::GapKron { scale }, None, &path, &Control::silent()).unwrap();
    let id = |bytes: &[u8]| u64::from(u32::from_le_bytes(bytes.try_into().unwrap()));
    let arcs = std::fs::read(&path).unwrap().chunks_exact(8).map(|pair| (id(&pair[..4]), id(&pair[4..]))).collect();
    let source = ArcList { arcs, declared: None };
    let space = Workspace { memory: Bytes(8 << 30), dir, graph: Bytes::ZERO };
    prepare(&source, None, Bytes::ZERO, space, None, &Control::silent(), &mut Vec::new()).unwrap()
}
