//! Triangles at each vertex, against brute force.

use trimill_counting::{COUNTER_BYTES, Detail, EdgeShare, RowBlock, VertexCounters};
use trimill_kernels::testing::gpu;
use trimill_kernels::testing::partitions::{Partition, cuts, give, random};
use trimill_kernels::{ALIGNMENT, CountingMethod, Gpu, Lstc, Packed};

use crate::methods;

/// Counts with `held` counters at a time, in an arena of the least size and a piece for the counters; also checks the totals.
fn at_vertices(
    gpu: &mut Gpu,
    method: &dyn CountingMethod,
    partition: &Partition,
    row_blocks: &[RowBlock],
    (held, total): (u64, u64),
) -> Vec<u64> {
    let size = partition.size_with(row_blocks);
    let piece = (COUNTER_BYTES * held).next_multiple_of(ALIGNMENT);
    partition.in_passes(held, |counters| {
        gpu.reserve(method.footprint().least(&size).next_multiple_of(ALIGNMENT) + piece).unwrap();
        gpu.reserve_counters(piece);
        let mut counter = method.begin(gpu, size, EdgeShare::ALL, Detail::Vertices(counters)).unwrap();
        give(&mut *counter, partition.runs(size.locals as usize / 3 + 1), row_blocks).unwrap();
        let found = counter.vertices().unwrap().counts;
        assert_eq!(counter.finish().unwrap().triangles, total);
        found
    })
}

#[test]
fn every_corner_of_a_triangle_is_counted_at_its_vertex() {
    let Some((mut gpu, _alone)) = gpu() else { return };
    for (seed, share) in [(0, 0.5), (1, 1.0), (2, 0.9)] {
        let partition = random(seed, 9000, 90, 4, share);
        let (expected, total) = (partition.at_vertices(), partition.triangles());
        for (i, cuts) in cuts(seed, 9000).into_iter().enumerate() {
            let (row_blocks, _) = partition.case(i, &cuts);
            for method in methods() {
                for held in [1 << 20, 4992] {
                    let found = at_vertices(&mut gpu, &*method, &partition, &row_blocks, (held, total));
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
        let mut counter = method.begin(&mut gpu, size, EdgeShare::ALL, Detail::Vertices(counters)).unwrap();
        give(&mut *counter, partition.runs(1 << 20), &row_blocks).unwrap();
        let found = counter.vertices().unwrap().counts;
        assert!(found.iter().all(|&triangles| triangles == u64::from(n - 1) * u64::from(n - 2) / 2), "{method:?}");
        assert_eq!(counter.finish().unwrap().triangles, 4_495_501_000);
    }
}
