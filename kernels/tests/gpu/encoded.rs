//! Rows in the form of the graph file, decoded on the device: both methods that take them count the same as from plain rows.

use trimill_counting::{Detail, RowBlock};
use trimill_kernels::testing::gpu;
use trimill_kernels::testing::partitions::{Partition, cuts, damage, encoded, give, pool, random};
use trimill_kernels::{CountingMethod, Lstc, Packed};

/// An arena with a scratch piece, large enough for all of these tests.
const ARENA: u64 = 128 << 20;

/// A partition in which the numbers from `first` on are local; the rows of the others come in row blocks.
fn range(seed: u64, vertices: u32, first: u32) -> Partition {
    let rows = random(seed, vertices, 70, 3, 0.0).rows;
    Partition::new(rows, (0..vertices).map(|number| number >= first).collect())
}

/// Row blocks with encoded rows; those of locals have no rows.
fn row_blocks(partition: &Partition, first: u32, cuts: &[u32], in_part: usize) -> Vec<RowBlock> {
    let mut cuts = cuts.to_vec();
    cuts.push(first);
    let mut row_blocks = partition.row_blocks(&cuts);
    for row_block in &mut row_blocks {
        if row_block.view().size().rows > 0 {
            *row_block = encoded(row_block, in_part);
        }
    }
    row_blocks
}

#[test]
fn encoded_rows_count_as_plain_ones_do() {
    let Some((mut gpu, _alone)) = gpu() else { return };
    for (seed, first, in_part) in [(1, 0, 5), (2, 1000, 64), (3, 2999, 700), (4, 400, 1)] {
        let partition = range(seed, 3000, first);
        let expected = partition.triangles();
        for cuts in cuts(seed, 3000) {
            let row_blocks = row_blocks(&partition, first, &cuts, in_part);
            let size = partition.size_with(&row_blocks);
            let runs = partition.encoded_runs(size.locals as usize / 3 + 1, in_part);
            gpu.reserve_for_encoded_rows(ARENA).unwrap();
            assert!(gpu.scratch_bytes() > 0);
            for method in [&Packed as &dyn CountingMethod, &Lstc::default()] {
                let mut counter = method.begin(&mut gpu, size, Detail::Total).unwrap();
                give(&mut *counter, runs.clone(), &row_blocks).unwrap();
                assert_eq!(counter.finish().unwrap().triangles, expected, "{method:?}, from {first}, {cuts:?}");
            }
        }
    }
}

#[test]
fn encoded_rows_that_are_none_are_refused() {
    let Some((mut gpu, _alone)) = gpu() else { return };
    let partition = range(7, 2000, 500);
    let row_blocks = row_blocks(&partition, 500, &[100], 40);
    let size = partition.size_with(&row_blocks);
    gpu.reserve_for_encoded_rows(ARENA).unwrap();
    for damaged in [0, 1, 5] {
        let mut counter = Lstc::default().begin(&mut gpu, size, Detail::Total).unwrap();
        for mut run in partition.encoded_runs(size.locals as usize / 3 + 1, 30) {
            damage(&mut run, damaged);
            counter.resident(run, pool()).unwrap();
        }
        row_blocks.iter().for_each(|row_block| counter.row_block(&row_block.view(), pool()).unwrap());
        let error = counter.finish().unwrap_err().to_string();
        assert!(error.contains("are not those of an oriented graph"), "{damaged}: {error}");
    }
}
