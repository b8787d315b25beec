//! Sizes of all partitions, by lists and by bits, and how many passes they take.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use std::ops::Range;

use crate::common::oriented;
use trimill::testing::partition::GraphPasses;
use trimill::testing::partition::assignment::Assignment;
use trimill::testing::partition::prune::Prune;
use trimill::testing::partition::sizes::{groups, sized, sizes};
use trimill_system::Bytes;
use trimill_system::control::{Control, Observer, Unit};
use trimill_system::hash::mix;

#[derive(Default)]
struct Passes(AtomicU64);

impl Observer for Passes {
    fn begin(&self, _: &str, total: Option<u64>, _: Unit) -> u64 {
        total.unwrap()
    }
    fn advance(&self, _: u64, arcs: u64) {
        self.0.fetch_add(arcs, Relaxed);
    }
    fn end(&self, total: u64) {
        assert!(self.0.load(Relaxed) <= total);
    }
}

#[test]
fn lists_and_bits_give_the_same_sizes() {
    let n = 3000;
    let ring = (0..n).map(|u| (u, (u + 1) % n));
    // Most vertices have few arcs, a few have many; there are some triangles.
    let more = (0..n).map(|i| (mix(i) % n, mix(i + n) % n * (mix(i + 2 * n) % n) / n));
    let chords = (0..n).step_by(3).map(|u| (u, (u + 2) % n));
    let arcs: Vec<_> = ring.chain(more).chain(chords).collect();
    let dir = tempfile::tempdir().unwrap();
    let graph = oriented(&arcs, dir.path(), Bytes::mib(64));
    for parts in [200u64, 777, 3000] {
        let assigned = |rank: u64| if parts == n { rank } else { mix(rank ^ parts) % parts };
        let locals =
            Assignment::new((0..u64::from(graph.vertices())).map(|rank| assigned(rank) as u32).collect(), parts as u32);
        for level in [Prune::None, Prune::ZeroIndegree, Prune::Direct] {
            let size = |groups: Vec<Range<u32>>| {
                let passes = GraphPasses { graph: &graph, block: Bytes(4096), control: &Control::silent() };
                sized(passes, &locals, level, groups).unwrap()
            };
            let parts = parts as u32;
            let bits = size((0..parts).step_by(64).map(|first| first..parts.min(first + 64)).collect());
            assert_eq!(size(vec![0..100, 100..parts]), bits, "{parts} {level}");
            assert_eq!(size(groups(&graph, &locals)), bits, "{parts} {level}");
        }
    }
}

#[test]
fn the_passes_do_not_grow_with_the_number_of_partitions() {
    let n = 20_000;
    let arcs: Vec<_> = (0..n).map(|u| (u, (u + 1) % n)).collect();
    let dir = tempfile::tempdir().unwrap();
    let graph = oriented(&arcs, dir.path(), Bytes::mib(64));
    for parts in [2500u32, 10_000, 20_000] {
        let locals = Assignment::new((0..n as u32).map(|rank| rank % parts).collect(), parts);
        let passes = Arc::new(Passes::default());
        let control = Control::new(Arc::default(), Arc::<Passes>::clone(&passes));
        let block = Bytes::mib(1);
        sizes(GraphPasses { graph: &graph, block, control: &control }, &locals, Prune::Direct).unwrap();
        // A vertex with two neighbours takes three units, and a partition ten, of three units for each vertex.
        let passes = passes.0.load(Relaxed) / graph.edges();
        assert!(passes <= 3 * (3 * n + 10 * u64::from(parts)).div_ceil(3 * n - 100), "{passes} for {parts} partitions");
    }
}
