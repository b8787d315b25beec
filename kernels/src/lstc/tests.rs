//! The host's side against brute force, on a double of a device that runs the kernel's arithmetic on the host and carries
//! orders out as unevenly as a device might.

pub(crate) mod emulation;

use crate::packed::Run;
use crate::testing::common::{OwnedRowBlock, Partition, cuts, random};
use crate::testing::double::{Double, Pace};

use super::*;
use crate::error::Error;

/// Counts with row blocks of the proxies' rows and with row blocks of all rows, which must give the same.
fn count(partition: &Partition, cuts: &[u32], shape: Shape, pace: Pace, longest_grid: u32) -> Counted {
    let shared = count_with(partition, &partition.shared_row_blocks(cuts), shape, pace, longest_grid);
    let own = count_with(partition, &partition.row_blocks(cuts), shape, pace, longest_grid);
    assert_eq!(own.triangles, shared.triangles, "{cuts:?} {shape:?} {pace:?}");
    let stored: Vec<OwnedRowBlock> =
        partition.shared_row_blocks(cuts).iter().map(|row_block| row_block.as_stored(7)).collect();
    assert_eq!(count_with(partition, &stored, shape, pace, longest_grid).triangles, own.triangles, "stored");
    own
}

/// Counts on a double whose arena is as large as was promised to suffice; checks what must hold of every run.
fn count_with(
    partition: &Partition,
    row_blocks: &[OwnedRowBlock],
    shape: Shape,
    pace: Pace,
    longest_grid: u32,
) -> Counted {
    let limit = row_blocks.iter().map(|row_block| row_block.bytes()).max().unwrap_or(0);
    let size = partition.size(limit);
    let arena = device_bytes(size.locals, size.arcs, limit);
    let mut double = Double::new(arena, pace);
    let mut counting = Counting::begin(&mut double, shape, size, longest_grid).unwrap();
    let rows = if longest_grid == LONGEST_GRID { 1 << 20 } else { 33 };
    match row_blocks.iter().any(|row_block| row_block.stored.is_some()) {
        true => partition.stored_runs(rows, 5).iter().for_each(|run| counting.resident(&run.slices()).unwrap()),
        false => partition.resident_runs(rows).for_each(|run| counting.resident(&run).unwrap()),
    }
    let work = counting.work;
    for row_block in row_blocks {
        counting.row_block(&row_block.slices()).unwrap();
    }
    let counted = counting.finish().unwrap();
    assert!(counted.peak_bytes <= arena && arena - counted.peak_bytes < TERMS.fixed + 4 * size.locals);
    if work > 0 {
        let kernels = row_blocks.iter().filter(|row_block| !row_block.range.is_empty()).count() as f64;
        // The double's clock counts one second for whatever lies between two marks.
        assert_eq!((counted.copy_seconds, counted.kernel_seconds, counted.sum_seconds), (kernels + 1.0, kernels, 1.0));
    }
    assert_eq!(double.layout().used(), 0, "memory is given back");
    counted
}

#[test]
fn every_pace_of_the_device_gives_the_count_of_brute_force() {
    for seed in 0..4 {
        let partition = random(seed, 400, 40, 2, 0.5);
        let expected = partition.triangles();
        assert!(expected > 100);
        for cuts in cuts(seed, 400) {
            for pace in Pace::all(seed) {
                let counted = count(&partition, &cuts, Shape::new(64, 64).unwrap(), pace, LONGEST_GRID);
                assert_eq!(counted.triangles, expected, "seed {seed}, {cuts:?}, {pace:?}");
            }
        }
    }
}

#[test]
fn every_shape_gives_the_count_of_brute_force() {
    // Rows far longer than a tile and than a block has threads.
    let partition = random(9, 1300, 60, 2, 0.4);
    let expected = partition.triangles();
    for tile in [0, 64, 100, 128, 1024] {
        for threads in [32, 96, 128, 1024] {
            for cuts in [vec![], vec![70, 900], vec![64, 640, 641, 642]] {
                let shape = Shape::new(threads, tile).unwrap();
                let counted = count(&partition, &cuts, shape, Pace::Late, LONGEST_GRID);
                assert_eq!(counted.triangles, expected, "{shape:?} {cuts:?}");
            }
        }
    }
}

#[test]
fn short_rows_count_and_a_triangle_needs_only_two_successors() {
    // A square with a diagonal, and a path: rows of 0, 1 and 2.
    let rows = vec![vec![], vec![0], vec![0, 1], vec![0, 1], vec![3], vec![4]];
    for mask in 0..64u32 {
        let local = (0..6).map(|i| mask >> i & 1 == 1).collect();
        let partition = Partition::new(rows.clone(), local);
        let expected = u64::from(mask >> 2 & 1) + u64::from(mask >> 3 & 1);
        assert_eq!(partition.triangles(), expected);
        for cuts in [vec![], vec![1], vec![2, 2, 3], vec![1, 2, 3, 4, 5]] {
            for tile in [0, 64] {
                let counted = count(&partition, &cuts, Shape::new(32, tile).unwrap(), Pace::Late, LONGEST_GRID);
                assert_eq!(counted.triangles, expected, "{mask:b} {cuts:?}");
            }
        }
    }
}

#[test]
fn all_local_needs_no_row_block_memory_and_a_clique_has_its_closed_form() {
    let rows = (0..300).map(|number| (0..number).collect()).collect();
    let partition = Partition::new(rows, vec![true; 300]);
    for cuts in [vec![], vec![100, 200]] {
        assert!(partition.row_blocks(&cuts).iter().all(|row_block| row_block.bytes() == 0));
        let counted = count(&partition, &cuts, Shape::default(), Pace::Late, LONGEST_GRID);
        assert_eq!(counted.triangles, 300 * 299 * 298 / 6);
    }
}

#[test]
fn more_vertices_than_a_grid_has_blocks_are_counted_by_several() {
    let partition = random(3, 500, 30, 1, 0.7);
    for longest in [1, 7, 100] {
        let counted = count(&partition, &[250], Shape::default(), Pace::Late, longest);
        assert_eq!(counted.triangles, partition.triangles());
    }
}

#[test]
fn nothing_local_and_nothing_at_all_count_zero() {
    let proxies = random(1, 50, 10, 1, 0.0);
    let nothing = Partition::new(vec![], vec![]);
    for partition in [proxies, nothing] {
        let counted = count(&partition, &[], Shape::default(), Pace::Late, LONGEST_GRID);
        assert_eq!((counted.triangles, counted.kernel_seconds), (0, 0.0));
    }
}

#[test]
fn an_arena_of_one_byte_less_than_is_needed_refuses() {
    let partition = random(2, 200, 20, 1, 0.5);
    let begin = |bytes| {
        let mut double = Double::new(bytes, Pace::Late);
        let began = Counting::begin(&mut double, Shape::default(), partition.size(512), LONGEST_GRID);
        began.map(|counting| counting.peak)
    };
    let needed = begin(1 << 20).unwrap();
    assert_eq!(begin(needed), Ok(needed));
    assert!(matches!(begin(needed - 1), Err(Error::Budget { .. })));
    assert!(matches!(begin(0), Err(Error::Budget { .. })));
}

#[test]
fn row_blocks_too_large_out_of_order_or_missing_are_refused() {
    let partition = random(2, 200, 20, 1, 0.5);
    let row_blocks = partition.row_blocks(&[100]);
    let limit = row_blocks[0].bytes();
    let with = |limit: u64, use_it: &dyn Fn(Counting<'_, Double>)| {
        let mut double = Double::new(1 << 20, Pace::Late);
        let mut counting = Counting::begin(&mut double, Shape::default(), partition.size(limit), 9).unwrap();
        partition.resident_runs(99).for_each(|run| counting.resident(&run).unwrap());
        use_it(counting);
    };
    with(limit - 1, &|mut counting| {
        let error = counting.row_block(&row_blocks[0].slices()).unwrap_err();
        assert_eq!(error, Error::RowBlockTooLarge { bytes: limit, limit: limit - 1 });
    });
    with(1 << 16, &|mut counting| {
        assert!(matches!(counting.row_block(&row_blocks[1].slices()), Err(Error::Section(_))));
    });
    with(1 << 16, &|mut counting| {
        counting.row_block(&row_blocks[0].slices()).unwrap();
        assert!(matches!(counting.resident(&partition.resident_runs(200).next().unwrap()), Err(Error::Section(_))));
        assert!(matches!(counting.finish(), Err(Error::Section(_))));
    });
    // A row block before all of the resident section is there.
    let mut double = Double::new(1 << 20, Pace::Late);
    let mut counting = Counting::begin(&mut double, Shape::default(), partition.size(limit), 9).unwrap();
    counting.resident(&partition.resident_runs(3).next().unwrap()).unwrap();
    assert!(matches!(counting.row_block(&row_blocks[0].slices()), Err(Error::Section(_))));
}

#[test]
fn counters_and_gpus_go_from_thread_to_thread() {
    fn send<T: Send>() {}
    send::<Gpu>();
    send::<Counter<'static>>();
    send::<crate::Pinned<u32>>();
}
