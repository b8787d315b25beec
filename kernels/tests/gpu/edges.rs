//! Triangles on each arc, against brute force.

use trimill_kernels::testing::gpu;
use trimill_kernels::testing::partitions::{Partition, cuts, random, with_a_long_row};
use trimill_kernels::{ALIGNMENT, CountingMethod, Lstc, Packed};

use crate::methods;

#[test]
fn triangles_are_counted_on_each_of_their_arcs() {
    let Some((mut gpu, _alone)) = gpu() else { return };
    for (seed, share) in [(0, 0.5), (1, 1.0), (2, 0.9)] {
        let partition = random(seed, 9000, 90, 4, share);
        let expected = (partition.on_arcs(), partition.triangles());
        for (i, cuts) in cuts(seed, 9000).into_iter().enumerate() {
            let (row_blocks, size) = partition.case(i, &cuts);
            for method in methods() {
                let least = method.footprint_with_edges().least(&size).next_multiple_of(ALIGNMENT);
                for arena in [least, 8 * least] {
                    gpu.reserve(arena).unwrap();
                    let found = partition.count_on_arcs(&mut gpu, &*method, &row_blocks);
                    assert!(found == expected, "{method:?}, seed {seed}, {arena} bytes, {cuts:?}");
                }
            }
        }
    }
}

#[test]
fn edges_of_a_complete_graph_have_their_closed_form() {
    let Some((mut gpu, _alone)) = gpu() else { return };
    let n = 3000u32;
    let partition = Partition::whole((0..n).map(|number| (0..number).collect()).collect());
    for method in [&Packed as &dyn CountingMethod, &Lstc::default()] {
        let size = partition.size(0);
        gpu.reserve(method.footprint_with_edges().least(&size) + (64 << 20)).unwrap();
        let (found, triangles) = partition.count_on_arcs(&mut gpu, method, &partition.row_blocks(&[]));
        assert_eq!((found.len() as u64, triangles), (size.arcs, 4_495_501_000), "{method:?}");
        assert!(found.values().all(|&triangles| triangles == n - 2), "{method:?}");
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
