//! What is specific to this method: shapes, a list of locals, grids that are too long. `method/tests.rs` tests both methods.

use std::time::Duration;

use crate::testing::partitions::{Partition, bytes_of, give, random};
use crate::testing::{Double, Pace, has_compiler};

use super::*;

#[test]
fn every_shape_gives_the_count_of_brute_force() {
    let Some(()) = has_compiler() else { return };
    // Rows longer than most tiles, and than the number of threads of most blocks.
    let partition = random(9, 300, 60, 2, 0.4);
    let expected = partition.triangles();
    let all_cuts = [vec![], vec![70, 250], vec![64, 160, 161, 162]];
    for (i, (threads, tile)) in [(32, 0), (96, 64), (128, 100), (1024, 64), (64, 1024)].into_iter().enumerate() {
        // The smallest shape with all cuts, the others with one.
        for cuts in all_cuts.iter().cycle().skip(i).take(if i == 0 { 3 } else { 1 }) {
            let method = Lstc::new(threads, tile).unwrap();
            assert_eq!(partition.count_on_doubles(&method, cuts, Pace::Late, i), expected, "{method:?} {cuts:?}");
        }
    }
}

#[test]
fn short_rows_count_and_a_triangle_needs_only_two_successors() {
    let Some(()) = has_compiler() else { return };
    // A square with a diagonal, and a path: rows of 0, 1 and 2.
    let rows = vec![vec![], vec![0], vec![0, 1], vec![0, 1], vec![3], vec![4]];
    for mask in 0..64u32 {
        let local = (0..6).map(|i| mask >> i & 1 == 1).collect();
        let partition = Partition::new(rows.clone(), local);
        let expected = u64::from(mask >> 2 & 1) + u64::from(mask >> 3 & 1);
        assert_eq!(partition.triangles(), expected);
        let all_cuts = [vec![], vec![1], vec![2, 2, 3], vec![1, 2, 3, 4, 5]];
        let (cuts, tile) = (&all_cuts[mask as usize % 4], [0, 64][mask as usize / 8 % 2]);
        let counted = partition.count_on_doubles(&Lstc::new(32, tile).unwrap(), cuts, Pace::Late, mask as usize);
        assert_eq!(counted, expected, "{mask:b} {cuts:?}");
    }
}

#[test]
fn more_vertices_than_a_grid_has_blocks_are_counted_by_several() {
    let Some(()) = has_compiler() else { return };
    let partition = random(3, 500, 30, 1, 0.7);
    let row_blocks = partition.row_blocks(&[250, 250, 400]);
    let size = partition.size_with(&row_blocks);
    let arena = FOOTPRINT.least(&size);
    for longest in [1, 7, 100] {
        let mut double = Double::new(arena, Pace::Late).unwrap();
        let mut counting = LstcCounter::begin(&mut double, Lstc::default(), size, Detail::Total).unwrap();
        counting.longest_grid = longest;
        give(&mut counting, partition.runs(33), &row_blocks).unwrap();
        let taken = bytes_of(&counting);
        let counted = counting.end().unwrap();
        assert_eq!(counted.triangles, partition.triangles());
        assert!(arena - taken < FOOTPRINT.fixed.get() + 4 * size.locals, "not much less than promised");
        // The test double reports one second between any two events: of a row block with numbers, of the resident section, and of the sum.
        let time = Duration::from_secs(3 + 1);
        let times = DeviceTimes { kernels: time, copies: time, preprocessing: Duration::ZERO };
        assert_eq!(counted.device, Some(times));
    }
}
