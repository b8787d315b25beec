//! All tests that need a GPU, in one program, which can be built elsewhere and copied to a machine with a GPU. Without a GPU each
//! test says so and passes, or fails with `TRIMILL_REQUIRE_GPU=1`. `TRIMILL_TEST_PTX=1`: all kernels are loaded from PTX.
//!
//! Counts are compared with brute force over all pairs of successors, and with closed forms.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "gpu/details.rs"]
mod details;
#[path = "gpu/encoded.rs"]
mod encoded;
#[path = "gpu/hung.rs"]
mod hung;
#[path = "gpu/packed.rs"]
mod packed;
#[path = "gpu/prepare.rs"]
mod prepare;

use trimill_counting::{Detail, Footprint, Lent, RowBlock};
use trimill_kernels::testing::gpu;
use trimill_kernels::testing::partitions::{
    Partition, arenas, bytes_of, cuts, device_bytes, give, methods_of, pool, random,
};
use trimill_kernels::{CountingMethod, Gpu, GpuError, ImageForm, Lstc, Pinned};

/// 6 million vertices that each point at their three predecessors: 72 MB of successors. Every `nth` one is local. Returns its triangles, too.
fn predecessors(nth: u32) -> (Partition, u64) {
    let numbers = 0..6_000_000u32;
    let local = |v: &u32| v.is_multiple_of(nth);
    let rows: Vec<Vec<u32>> = numbers.clone().map(|v| (v.saturating_sub(3)..v).collect()).collect();
    let expected = numbers.clone().filter(local).map(|v| [0, 0, 1, 3][v.min(3) as usize]).sum::<u64>();
    (Partition::new(rows, numbers.map(|v| local(&v)).collect()), expected)
}

/// Page-locked memory for row blocks.
struct PageLocked(Pinned<u32>);

impl Lent for PageLocked {
    fn words(&self) -> &[u32] {
        &self.0
    }
    fn words_mut(&mut self) -> &mut [u32] {
        &mut self.0
    }
}

fn footprint() -> Footprint {
    CountingMethod::footprint(&Lstc::default())
}

/// Counts with row blocks of the proxies' rows and with row blocks of all rows, in all arenas. All must give the same.
fn count(gpu: &mut Gpu, method: &dyn CountingMethod, partition: &Partition, cuts: &[u32]) -> u64 {
    let mut counts = Vec::new();
    for row_blocks in [partition.row_blocks(cuts), partition.shared_row_blocks(cuts)] {
        for arena in arenas(&method.footprint(), &partition.size_with(&row_blocks)) {
            gpu.reserve(arena).unwrap();
            let counted = partition.count(gpu, method, Detail::Total, &row_blocks);
            let counted = counted.unwrap_or_else(|error| panic!("{error}"));
            let times = counted.device.unwrap();
            assert!(times.kernels.max(times.copies).as_secs() < 60, "{counted:?}");
            counts.push(counted.triangles);
        }
    }
    assert!(counts.iter().all(|&count| count == counts[0]), "{counts:?}: {method:?}, {cuts:?}");
    counts[0]
}

/// `packed`, and `lstc` in a few shapes, of which one is without tiles.
fn methods() -> Vec<Box<dyn CountingMethod>> {
    methods_of([(128, 128), (32, 64), (1024, 1024), (256, 0)])
}

/// `packed`, and `lstc` with tiles and blocks of all sizes and without tiles.
fn all_methods() -> Vec<Box<dyn CountingMethod>> {
    let tiles = [0, 64, 100, 128, 1024];
    methods_of(tiles.into_iter().flat_map(|tile| [32, 96, 128, 256, 1024].map(|threads| (threads, tile))))
}

#[test]
fn random_partitions_have_the_count_of_brute_force() {
    let Some((mut gpu, _alone)) = gpu() else { return };
    // Rows that `packed` takes by a thread, by some lanes or by a warp.
    for (seed, longest, local_share) in
        [(0, 50, 0.0), (1, 60, 1.0), (2, 60, 0.5), (3, 150, 0.1), (4, 20, 0.9), (5, 900, 0.7)]
    {
        let partition = random(seed, 3000, longest, 4, local_share);
        let expected = partition.triangles();
        for cuts in cuts(seed, 3000) {
            for method in all_methods() {
                let counted = count(&mut gpu, &*method, &partition, &cuts);
                assert_eq!(counted, expected, "local {local_share}, {method:?}, {} row blocks", cuts.len() + 1);
            }
        }
    }
}

#[test]
fn rows_of_none_one_and_two_successors_are_right() {
    let Some((mut gpu, _alone)) = gpu() else { return };
    // Triangles 3i, 3i + 1, 3i + 2, each joined to the one before by an edge: rows of 1, 1 and 2 successors; the first has none.
    let mut rows: Vec<Vec<u32>> = (0..30_000u32)
        .map(|number| match number % 3 {
            0 => number.checked_sub(1).into_iter().collect(),
            1 => vec![number - 1],
            _ => vec![number - 2, number - 1],
        })
        .collect();
    rows.extend((0..100).map(|_| vec![]));
    for every in [1, 2, 5] {
        let local: Vec<bool> = (0..rows.len()).map(|number| number % every == 0).collect();
        let partition = Partition::new(rows.clone(), local);
        let expected = (0..30_000).filter(|number| number % 3 == 2 && number % every == 0).count() as u64;
        assert_eq!(partition.triangles(), expected);
        for method in all_methods() {
            for cuts in [vec![], vec![10_000, 10_001, 20_000], vec![15_000]] {
                assert_eq!(count(&mut gpu, &*method, &partition, &cuts), expected, "{method:?} {cuts:?}");
            }
        }
    }
}

#[test]
fn hubs_with_rows_of_many_tiles_are_right() {
    let Some((mut gpu, _alone)) = gpu() else { return };
    // Hubs at the end with all the others as successors, so that rows are up to 64 tiles and 128 blocks' threads long.
    let mut partition = random(11, 4096, 12, 0, 0.5);
    let mut rows = std::mem::take(&mut partition.rows);
    let mut local = partition.local;
    for hub in 4096..4104 {
        rows.push((0..hub).filter(|successor| hub % 2 == 0 || successor % 3 != 0).collect());
        local.push(hub != 4100);
    }
    let partition = Partition::new(rows, local);
    let expected = partition.triangles();
    assert!(expected > 100_000);
    for method in all_methods() {
        for cuts in [vec![], vec![4096], vec![4000, 4095, 4097, 4103], (1..64).map(|i| i * 64 - 1).collect()] {
            assert_eq!(count(&mut gpu, &*method, &partition, &cuts), expected, "{method:?} {cuts:?}");
        }
    }
}

#[test]
fn cliques_have_their_closed_form() {
    let Some((mut gpu, _alone)) = gpu() else { return };
    for n in [0u64, 1, 2, 3, 16, 17, 64, 65, 1100, 2500] {
        let partition = Partition::whole((0..n as u32).map(|number| (0..number).collect()).collect());
        let expected = n * n.saturating_sub(1) * n.saturating_sub(2) / 6;
        for method in methods_of([(128, 128), (256, 1024), (64, 0)]) {
            assert_eq!(count(&mut gpu, &*method, &partition, &[]), expected, "{n} {method:?}");
        }
    }
}

#[test]
fn sections_of_many_staging_buffers_arrive_whole() {
    let Some((mut gpu, _alone)) = gpu() else { return };
    for nth in [1, 2] {
        let (partition, expected) = predecessors(nth);
        let n = partition.numbered();
        for cuts in [vec![], vec![n / 3, n / 2, n - 100]] {
            for method in methods_of([(128, 128)]) {
                assert_eq!(count(&mut gpu, &*method, &partition, &cuts), expected, "{method:?}");
            }
            let row_blocks = partition.row_blocks(&cuts);
            let size = partition.size_with(&row_blocks);
            let words = size.row_block_limit as usize / 4;
            if words == 0 {
                // All are local, so row blocks have no rows.
                continue;
            }
            // Now from the same page-locked memory for all row blocks: a late copy would copy the next row block.
            let mut locked = RowBlock::lent(Box::new(PageLocked(gpu.pinned::<u32>(words).unwrap())));
            let mut counter = Lstc::default().begin(&mut gpu, size, Detail::Total).unwrap();
            give(&mut *counter, partition.runs(size.locals as usize / 3 + 1), &[]).unwrap();
            for row_block in &row_blocks {
                let view = row_block.view();
                let (offsets, successors, _) =
                    locked.reset(view.range.clone(), view.size().rows, view.size().arcs).unwrap();
                offsets.copy_from_slice(view.offsets);
                successors.copy_from_slice(view.successors);
                counter.row_block(&locked.view(), pool()).unwrap();
            }
            assert_eq!(counter.finish().unwrap().triangles, expected);
        }
    }
}

#[test]
fn the_budget_is_kept_and_what_does_not_fit_is_refused() {
    let Some((mut gpu, _alone)) = gpu() else { return };
    let partition = random(4, 2000, 40, 2, 0.5);
    let row_blocks = partition.row_blocks(&[1000]);
    let size = partition.size_with(&row_blocks);
    let (limit, needed) = (size.row_block_limit, footprint().least(&size));
    let begin = |gpu: &mut Gpu, limit| {
        Lstc::default().begin(gpu, partition.size(limit), Detail::Total).map(|counter| bytes_of(&*counter))
    };
    // Budgets: none reserved, far too small, slightly too small.
    assert!(matches!(begin(&mut gpu, limit), Err(GpuError::Budget { capacity: 0, .. })));
    gpu.reserve(needed / 2).unwrap();
    assert!(matches!(begin(&mut gpu, limit), Err(GpuError::Budget { .. })));
    gpu.reserve(needed).unwrap();
    let used = begin(&mut gpu, limit).unwrap();
    assert!(used <= needed && needed - used < footprint().fixed.get() + 4 * size.locals);
    assert_eq!(begin(&mut gpu, limit).unwrap(), used, "memory is given back");
    gpu.reserve(used - 256).unwrap();
    assert!(matches!(begin(&mut gpu, limit), Err(GpuError::Budget { .. })));
    gpu.reserve(used).unwrap();
    assert_eq!(begin(&mut gpu, limit).unwrap(), used);
    // A row block that is larger than announced, after which the GPU still works.
    let mut counter = Lstc::default().begin(&mut gpu, partition.size(limit - 4), Detail::Total).unwrap();
    let large = row_blocks.iter().position(|row_block| device_bytes(row_block) == limit).unwrap();
    give(&mut *counter, partition.runs(350), &row_blocks[..large]).unwrap();
    let refused = counter.row_block(&row_blocks[large].view(), pool());
    let expected = GpuError::RowBlockTooLarge { bytes: limit, limit: limit - 4 }.to_string();
    assert!(refused.is_err_and(|error| error.to_string().contains(&expected)));
    drop(counter);
    assert_eq!(count(&mut gpu, &Lstc::default(), &partition, &[1000]), partition.triangles());
    // A reservation of more than the device has fails, and the device still works.
    let (_, total) = gpu.memory().unwrap();
    match gpu.reserve(2 * total) {
        Err(GpuError::DeviceMemory { asked, free, total: all }) => {
            assert!(asked == 2 * total && free <= all && all == total)
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(count(&mut gpu, &Lstc::default(), &partition, &[]), partition.triangles());
}

#[test]
fn the_arena_is_all_that_is_allocated() {
    let Some((mut gpu, _alone)) = gpu() else { return };
    let partition = random(6, 20_000, 60, 2, 0.5);
    let row_blocks = partition.row_blocks(&[5000, 10_000]);
    gpu.reserve(256 << 20).unwrap();
    let run = |gpu: &mut Gpu| {
        let mut counter = Lstc::default().begin(gpu, partition.size(16 << 20), Detail::Total).unwrap();
        give(&mut *counter, partition.runs(3500), &row_blocks).unwrap();
        counter.finish().unwrap().triangles
    };
    // In the first run the driver may allocate memory of its own.
    let first = run(&mut gpu);
    let (free, _) = gpu.memory().unwrap();
    for _ in 0..5 {
        assert_eq!(run(&mut gpu), first);
    }
    let (after, _) = gpu.memory().unwrap();
    // Other programs may have allocated memory.
    assert!(free.saturating_sub(after) < 64 << 20);
}

#[test]
fn a_gpu_that_is_not_there_is_named() {
    let Some((_gpu, _alone)) = gpu() else { return };
    let error = Gpu::open(4000, ImageForm::Best).unwrap_err();
    assert!(matches!(error, GpuError::NoSuchDevice { ordinal: 4000, .. }), "{error}");
}
