//! Triangles at each vertex, against brute force.

use trimill_counting::{COUNTER_BYTES, VertexCounters};
use trimill_kernels::testing::gpu;
use trimill_kernels::testing::partitions::{Partition, cuts, random};
use trimill_kernels::{ALIGNMENT, CountingMethod, Lstc, Packed};

use crate::methods;

#[test]
fn every_corner_of_a_triangle_is_counted_at_its_vertex() {
    let Some((mut gpu, _alone)) = gpu() else { return };
    for (seed, share) in [(0, 0.5), (1, 1.0), (2, 0.9)] {
        let partition = random(seed, 9000, 90, 4, share);
        let (expected, total) = (partition.at_vertices(), partition.triangles());
        for (i, cuts) in cuts(seed, 9000).into_iter().enumerate() {
            let (row_blocks, size) = partition.case(i, &cuts);
            for method in methods() {
                // An arena of the least size, and a piece for the counters.
                let least = method.footprint().least(&size).next_multiple_of(ALIGNMENT);
                for held in [1 << 20, 4992] {
                    let piece = (COUNTER_BYTES * held).next_multiple_of(ALIGNMENT);
                    let found = partition.in_passes(held, |counters| {
                        gpu.reserve(least + piece).unwrap();
                        gpu.reserve_counters(piece);
                        let (found, counted) = partition.count_at_vertices(&mut gpu, &*method, &row_blocks, counters);
                        assert_eq!(counted, total);
                        found
                    });
                    assert!(
                        found == expected,
                        "{method:?}, seed {seed}, {held} counters, {} row blocks",
                        row_blocks.len()
                    );
                }
            }
        }
    }
}

#[test]
fn vertices_of_a_complete_graph_have_their_closed_form() {
    let Some((mut gpu, _alone)) = gpu() else { return };
    // A complete graph of 3,000 vertices: each has the pairs of the others.
    let n = 3000u32;
    let partition = Partition::whole((0..n).map(|number| (0..number).collect()).collect());
    let row_blocks = partition.row_blocks(&[]);
    for method in [&Packed as &dyn CountingMethod, &Lstc::default()] {
        let size = partition.size(0);
        gpu.reserve(method.footprint().least(&size) + (64 << 20)).unwrap();
        gpu.reserve_counters(1 << 20);
        let counters = VertexCounters { window: 0..u64::from(n), locals_at: 0 };
        let (found, counted) = partition.count_at_vertices(&mut gpu, method, &row_blocks, counters);
        assert!(found.iter().all(|&triangles| triangles == u64::from(n - 1) * u64::from(n - 2) / 2), "{method:?}");
        assert_eq!(counted, 4_495_501_000);
    }
}
