//! Triangles at each vertex and on each arc, against brute force and closed forms.

use trimill_counting::{COUNTER_BYTES, Footprint, VertexCounters};
use trimill_kernels::testing::gpu;
use trimill_kernels::testing::partitions::{Partition, cuts, random, with_a_long_row};
use trimill_kernels::{ALIGNMENT, CountingMethod, Lstc, Packed};

use crate::methods;

#[test]
fn triangles_are_counted_at_each_of_their_corners_and_on_each_of_their_arcs() {
    let Some((mut gpu, _alone)) = gpu() else { return };
    for (seed, share) in [(0, 0.5), (1, 1.0), (2, 0.9)] {
        let partition = random(seed, 9000, 90, 4, share);
        let (at_vertices, on_arcs) = (partition.at_vertices(), (partition.on_arcs(), partition.triangles()));
        for (i, cuts) in cuts(seed, 9000).into_iter().enumerate() {
            let (row_blocks, size) = partition.case(i, &cuts);
            let least = |footprint: Footprint| footprint.least(&size).next_multiple_of(ALIGNMENT);
            for method in methods() {
                // An arena of the least size, and a piece for the counters of vertices.
                let arena = least(method.footprint());
                for held in [1 << 20, 4992] {
                    let piece = (COUNTER_BYTES * held).next_multiple_of(ALIGNMENT);
                    let found = partition.in_passes(held, |counters| {
                        gpu.reserve(arena + piece).unwrap();
                        gpu.reserve_counters(piece);
                        let (found, counted) = partition.count_at_vertices(&mut gpu, &*method, &row_blocks, counters);
                        assert_eq!(counted, on_arcs.1);
                        found
                    });
                    assert!(found == at_vertices, "{method:?}, seed {seed}, {held} counters, {cuts:?}");
                }
                let arena = least(method.footprint_with_edges());
                for arena in [arena, 8 * arena] {
                    gpu.reserve(arena).unwrap();
                    let found = partition.count_on_arcs(&mut gpu, &*method, &row_blocks);
                    assert!(found == on_arcs, "{method:?}, seed {seed}, {arena} bytes, {cuts:?}");
                }
            }
        }
    }
}

#[test]
fn a_complete_graph_has_its_closed_forms() {
    let Some((mut gpu, _alone)) = gpu() else { return };
    // Each vertex has the pairs of the others, each edge the other vertices.
    let n = 3000u32;
    let partition = Partition::whole((0..n).map(|number| (0..number).collect()).collect());
    let (row_blocks, size) = partition.case(0, &[]);
    for method in [&Packed as &dyn CountingMethod, &Lstc::default()] {
        gpu.reserve(method.footprint_with_edges().least(&size) + (64 << 20)).unwrap();
        let (found, triangles) = partition.count_on_arcs(&mut gpu, method, &row_blocks);
        assert_eq!((found.len() as u64, triangles), (size.arcs, 4_495_501_000), "{method:?}");
        assert!(found.values().all(|&triangles| triangles == n - 2), "{method:?}");
        gpu.reserve_counters(1 << 20);
        let counters = VertexCounters { window: 0..u64::from(n), locals_at: 0 };
        let (found, triangles) = partition.count_at_vertices(&mut gpu, method, &row_blocks, counters);
        assert!(found.iter().all(|&triangles| triangles == u64::from(n - 1) * u64::from(n - 2) / 2), "{method:?}");
        assert_eq!(triangles, 4_495_501_000);
    }
}

#[test]
fn a_row_may_have_more_than_65536_arcs() {
    let Some((mut gpu, _alone)) = gpu() else { return };
    let (partition, expected) = with_a_long_row();
    for method in methods() {
        gpu.reserve(method.footprint_with_edges().least(&partition.size(0)) + (64 << 20)).unwrap();
        let found = partition.count_on_arcs(&mut gpu, &*method, &partition.row_blocks(&[]));
        assert!(found == (expected.clone(), 3), "{method:?}");
    }
}
