//! Counts against brute force, on a test double that runs the kernels on the host and delays commands as irregularly as a device might.

use std::time::Duration;

use crate::testing::partitions::{Partition, cuts, device_bytes, encoded, give, pool, random};
use crate::testing::{Double, Pace, has_compiler};

use super::*;
use crate::error::GpuError;
use trimill_counting::{COUNTER_BYTES, DeviceTimes, RowBlock};

/// Counts with row blocks of the proxies' rows and with row blocks of all rows, which must give the same.
fn count(partition: &Partition, cuts: &[u32], method: Lstc, pace: Pace, longest_grid: u64) -> MethodCount {
    let shared = count_with(partition, &partition.shared_row_blocks(cuts), method, pace, longest_grid);
    let own = count_with(partition, &partition.row_blocks(cuts), method, pace, longest_grid);
    assert_eq!(own.triangles, shared.triangles, "{cuts:?} {method:?} {pace:?}");
    let stored: Vec<RowBlock> =
        partition.shared_row_blocks(cuts).iter().map(|row_block| encoded(row_block, 7)).collect();
    assert_eq!(count_with(partition, &stored, method, pace, longest_grid).triangles, own.triangles, "stored");
    own
}

/// Counts in an arena of exactly the bytes that the footprint promises; checks the invariants of every run.
fn count_with(
    partition: &Partition,
    row_blocks: &[RowBlock],
    method: Lstc,
    pace: Pace,
    longest_grid: u64,
) -> MethodCount {
    let size = partition.size_with(row_blocks);
    let arena = FOOTPRINT.least(&size);
    let mut double = Double::new(arena, pace).unwrap().with_scratch(1 << 18);
    let mut counting = LstcCounter::begin(&mut double, method, size, longest_grid as u32).unwrap();
    let rows = if longest_grid == LONGEST_GRID { 1 << 20 } else { 33 };
    let stored = row_blocks.iter().any(|row_block| row_block.view().encoded.is_some());
    let runs = if stored { partition.encoded_runs(rows, 5) } else { partition.runs(rows) };
    give(&mut counting, runs, row_blocks).unwrap();
    let work = counting.work;
    let counted = counting.end().unwrap();
    assert!(counted.peak_bytes <= arena && arena - counted.peak_bytes < FOOTPRINT.fixed.get() + 4 * size.locals);
    if work > 0 {
        let kernels = row_blocks.iter().filter(|row_block| !row_block.range.is_empty()).count() as u64;
        // The test double reports one second between any two events: of a row block, of the resident section, and of the sum.
        let time = Duration::from_secs(kernels + 1);
        assert_eq!(counted.times, DeviceTimes { kernels: time, copies: time, preprocessing: Duration::ZERO });
    }
    assert_eq!(double.layout().used(), 0, "memory is given back");
    counted
}

#[test]
fn every_pace_of_the_device_gives_the_count_of_brute_force() {
    let Some(()) = has_compiler() else { return };
    for seed in 0..2 {
        let partition = random(seed, 300, 40, 2, 0.5);
        let expected = partition.triangles();
        assert!(expected > 100);
        let all_cuts = cuts(seed, 300);
        for (i, pace) in Pace::all(seed).into_iter().enumerate() {
            let cuts = &all_cuts[(i + seed as usize) % all_cuts.len()];
            let counted = count(&partition, cuts, Lstc::new(64, 64).unwrap(), pace, LONGEST_GRID);
            assert_eq!(counted.triangles, expected, "seed {seed}, {cuts:?}, {pace:?}");
        }
    }
}

#[test]
fn every_shape_gives_the_count_of_brute_force() {
    let Some(()) = has_compiler() else { return };
    // Rows far longer than a tile, and than the number of threads of most blocks.
    let partition = random(9, 600, 60, 2, 0.4);
    let expected = partition.triangles();
    let all_cuts = [vec![], vec![70, 500], vec![64, 320, 321, 322]];
    for (i, (threads, tile)) in [(32, 0), (96, 64), (128, 100), (1024, 64), (64, 1024)].into_iter().enumerate() {
        // The smallest shape with all cuts, the others with one.
        for cuts in all_cuts.iter().cycle().skip(i).take(if i == 0 { 3 } else { 1 }) {
            let method = Lstc::new(threads, tile).unwrap();
            let counted = count(&partition, cuts, method, Pace::Late, LONGEST_GRID);
            assert_eq!(counted.triangles, expected, "{method:?} {cuts:?}");
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
        let counted = count(&partition, cuts, Lstc::new(32, tile).unwrap(), Pace::Late, LONGEST_GRID);
        assert_eq!(counted.triangles, expected, "{mask:b} {cuts:?}");
    }
}

#[test]
fn all_local_needs_no_row_block_memory_and_a_clique_has_its_closed_form() {
    let Some(()) = has_compiler() else { return };
    let rows = (0..300).map(|number| (0..number).collect()).collect();
    let partition = Partition::new(rows, vec![true; 300]);
    for cuts in [vec![], vec![100, 200]] {
        assert!(partition.row_blocks(&cuts).iter().all(|row_block| device_bytes(row_block) == 0));
        let counted = count(&partition, &cuts, Lstc::default(), Pace::Late, LONGEST_GRID);
        assert_eq!(counted.triangles, 300 * 299 * 298 / 6);
    }
}

#[test]
fn more_vertices_than_a_grid_has_blocks_are_counted_by_several() {
    let Some(()) = has_compiler() else { return };
    let partition = random(3, 500, 30, 1, 0.7);
    for longest in [1, 7, 100] {
        let counted = count(&partition, &[250], Lstc::default(), Pace::Late, longest);
        assert_eq!(counted.triangles, partition.triangles());
    }
}

#[test]
fn nothing_local_and_nothing_at_all_count_zero() {
    let Some(()) = has_compiler() else { return };
    let proxies = random(1, 50, 10, 1, 0.0);
    let nothing = Partition::new(vec![], vec![]);
    for partition in [proxies, nothing] {
        let counted = count(&partition, &[], Lstc::default(), Pace::Late, LONGEST_GRID);
        assert_eq!((counted.triangles, counted.times.kernels), (0, Duration::ZERO));
    }
}

#[test]
fn an_arena_of_one_byte_less_than_is_needed_refuses() {
    let Some(()) = has_compiler() else { return };
    let partition = random(2, 200, 20, 1, 0.5);
    let begin = |bytes| {
        let mut double = Double::new(bytes, Pace::Late).unwrap();
        let began = LstcCounter::begin(&mut double, Lstc::default(), partition.size(512), 1000);
        began.map(|counting| counting.so_far.peak_bytes)
    };
    let needed = begin(1 << 20).unwrap();
    assert_eq!(begin(needed), Ok(needed));
    assert!(matches!(begin(needed - 1), Err(GpuError::Budget { .. })));
    assert!(matches!(begin(0), Err(GpuError::Budget { .. })));
}

fn is_inconsistent<T>(result: trimill_system::error::Result<T>) -> bool {
    result.is_err_and(|error| error.to_string().contains("sections are inconsistent"))
}

#[test]
fn row_blocks_too_large_out_of_order_or_missing_are_refused() {
    let Some(()) = has_compiler() else { return };
    let partition = random(2, 200, 20, 1, 0.5);
    let row_blocks = partition.row_blocks(&[100]);
    let limit = device_bytes(&row_blocks[0]);
    let with = |limit: u64, use_it: &dyn Fn(&mut dyn PartitionCounter)| {
        let mut double = Double::new(1 << 20, Pace::Late).unwrap();
        let mut counting = LstcCounter::begin(&mut double, Lstc::default(), partition.size(limit), 9).unwrap();
        partition.runs(99).into_iter().for_each(|run| drop(counting.resident(run, pool()).unwrap()));
        use_it(&mut counting);
    };
    with(limit - 1, &|counting| {
        let error = counting.row_block(&row_blocks[0].view(), pool()).unwrap_err().to_string();
        assert!(error.contains(&GpuError::RowBlockTooLarge { bytes: limit, limit: limit - 1 }.to_string()), "{error}");
    });
    with(1 << 16, &|counting| {
        assert!(is_inconsistent(counting.row_block(&row_blocks[1].view(), pool())));
    });
    with(1 << 16, &|counting| {
        counting.row_block(&row_blocks[0].view(), pool()).unwrap();
        assert!(is_inconsistent(counting.resident(partition.runs(200).remove(0), pool())));
    });
    let mut double = Double::new(1 << 20, Pace::Late).unwrap();
    let mut counting = LstcCounter::begin(&mut double, Lstc::default(), partition.size(limit), 9).unwrap();
    partition.runs(99).into_iter().for_each(|run| drop(counting.resident(run, pool()).unwrap()));
    counting.row_block(&row_blocks[0].view(), pool()).unwrap();
    assert!(matches!(counting.end(), Err(GpuError::Section(_))), "half of the row blocks");
    // A row block before all of the resident section is there.
    let mut double = Double::new(1 << 20, Pace::Late).unwrap();
    let mut counting = LstcCounter::begin(&mut double, Lstc::default(), partition.size(limit), 9).unwrap();
    counting.resident(partition.runs(3).remove(0), pool()).unwrap();
    let early = counting.row_block(&row_blocks[0].view(), pool());
    assert!(is_inconsistent(early));
}

#[test]
fn every_corner_of_a_triangle_is_counted_at_its_vertex() {
    let Some(()) = has_compiler() else { return };
    let methods = [Lstc::default(), Lstc::new(32, 64).unwrap(), Lstc::new(64, 0).unwrap()];
    for (seed, share) in [(0, 0.5), (1, 1.0), (2, 0.8)] {
        let partition = random(seed, 300, 40, 2, share);
        let (expected, total) = (partition.at_vertices(), partition.triangles());
        let all_cuts = cuts(seed, 300);
        for (i, pace) in Pace::all(seed).into_iter().enumerate() {
            let cuts = &all_cuts[(i + seed as usize) % all_cuts.len()];
            let (row_blocks, size) = partition.case(i, cuts);
            let method = methods[(i + seed as usize) % methods.len()];
            let found = partition.in_passes([1000, 100][i % 2], |counters| {
                let bytes = COUNTER_BYTES * counters.held();
                let mut double = Double::new(FOOTPRINT.least(&size), pace).unwrap().with_counters(bytes);
                let counting = LstcCounter::begin(&mut double, method, size, LONGEST_GRID as u32).unwrap();
                let mut counting = counting.with(Detail::Vertices(counters), &size).unwrap();
                give(&mut counting, partition.runs(133), &row_blocks).unwrap();
                let found = counting.vertices().unwrap().counts;
                assert_eq!(counting.end().unwrap().triangles, total);
                found
            });
            assert_eq!(found, expected, "seed {seed}, {cuts:?}, {pace:?}, {method:?}");
        }
    }
}

#[test]
fn triangles_are_counted_on_each_of_their_arcs() {
    let Some(()) = has_compiler() else { return };
    let methods = [Lstc::default(), Lstc::new(32, 64).unwrap(), Lstc::new(64, 0).unwrap()];
    for (seed, share) in [(0, 0.5), (1, 1.0), (2, 0.8), (3, 0.0)] {
        let partition = random(seed, 300, 40, 2, share);
        let expected = (partition.on_arcs(), partition.triangles());
        let all_cuts = cuts(seed, 300);
        for (i, pace) in Pace::all(seed).into_iter().enumerate() {
            let cuts = &all_cuts[(i + seed as usize) % all_cuts.len()];
            let (row_blocks, size) = partition.case(i, cuts);
            let method = methods[(i + seed as usize) % methods.len()];
            let mut double = Double::new(FOOTPRINT_WITH_EDGES.least(&size), pace).unwrap();
            let counting = LstcCounter::begin(&mut double, method, size, LONGEST_GRID as u32).unwrap();
            let counting = Box::new(counting.with(Detail::Edges, &size).unwrap());
            let found = partition.count_on_arcs(counting, partition.runs(133), &row_blocks);
            assert_eq!(found, expected, "seed {seed}, {cuts:?}, {pace:?}, {method:?}");
        }
    }
}
