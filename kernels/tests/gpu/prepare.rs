//! Graphs whose arcs exceed a small arena: the same to the byte as in a large one. (`scripts/gpu-check` compares the latter with the CPU's.)

use std::sync::Arc;

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use trimill_kernels::prepare::needed;
use trimill_kernels::testing::gpu;
use trimill_kernels::testing::prepared::{Prepared, RunsInMemory, ids_of};

/// Some vertices have many arcs, and many arcs occur twice or in both directions.
fn arcs(seed: u64, many: usize, ids: u32) -> Vec<(u32, u32)> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut id = |power: i32| (f64::from(ids) * random.random::<f64>().powi(power)) as u32;
    (0..many).map(|i| if i % 3 == 0 { (id(4), id(4)) } else { (id(1), id(2)) }).filter(|(u, v)| u != v).collect()
}

#[test]
fn sorted_runs_make_the_same_graph() {
    let Some((mut gpu, _alone)) = gpu() else { return };
    for (seed, many, ids, rows) in [(1, 300_000, 9_000, 40), (2, 40_000, 2_000_000, 3_000), (3, 90_000, 400, 10)] {
        let arcs = arcs(seed, many, ids);
        let mut made = |arena: u64| {
            let store = Arc::new(RunsInMemory::default());
            gpu.reserve(arena).unwrap();
            let made = Prepared::on(&mut gpu, &arcs, rows, store.clone()).unwrap();
            (made, store.begun())
        };
        let (whole, none) = made(needed(arcs.len() as u64, ids_of(&arcs)));
        let (in_ranges, runs) = made(needed(arcs.len() as u64 / 5, ids_of(&arcs)));
        assert_eq!(none, 0);
        assert!(runs >= 2, "{runs} runs");
        assert!(in_ranges == whole, "{seed}");
    }
}
