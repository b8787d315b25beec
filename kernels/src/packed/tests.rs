//! Counts against brute force, on a test double that runs the kernels on the host and delays commands as irregularly as a device might.

mod details;

use super::*;
use crate::sections::RowBlockSlices;
use crate::testing::partitions::{Partition, cuts, encoded, give, pool, random, with_a_long_row};
use crate::testing::{Double, Pace, has_compiler};
use trimill_counting::{COUNTER_BYTES, CounterMemory, NumberRuns, RowBlock};

/// Arenas of the least, an intermediate and the preferred size.
fn arenas(size: &PartitionExtent) -> [u64; 3] {
    let (least, preferred) = (FOOTPRINT.least(size), preferred_bytes(size, false));
    [least, least + (preferred - least) / 8, preferred]
}

/// Counts with row blocks of the proxies' rows, of all rows, and of compact rows, in all arenas.
fn count(partition: &Partition, cuts: &[u32], pace: Pace, rows: usize) -> u64 {
    let stored = partition.shared_row_blocks(cuts).iter().map(|row_block| encoded(row_block, 3)).collect();
    let all = [partition.row_blocks(cuts), partition.shared_row_blocks(cuts), stored];
    let in_all = |row_blocks: &Vec<RowBlock>| {
        arenas(&partition.size_with(row_blocks)).map(|arena| count_with(partition, row_blocks, pace, rows, arena))
    };
    let counts: Vec<u64> = all.iter().flat_map(in_all).collect();
    assert!(counts.iter().all(|&count| count == counts[0]), "{counts:?} {cuts:?} {pace:?}");
    counts[0]
}

fn count_with(partition: &Partition, row_blocks: &[RowBlock], pace: Pace, rows: usize, arena: u64) -> u64 {
    let size = partition.size_with(row_blocks);
    let mut double = Double::new(arena, pace).unwrap().with_scratch(1 << 18);
    let mut counter = Box::new(PackedCounter::begin(&mut double, size, u64::MAX, Detail::Total).unwrap());
    let stored = row_blocks.iter().any(|row_block| row_block.view().encoded.is_some());
    let runs = if stored { partition.encoded_runs(rows, 1) } else { partition.runs(rows) };
    give(&mut *counter, runs, row_blocks).unwrap();
    assert!(matches!(counter.memory(), CounterMemory::All(Bytes(bytes)) if bytes <= arena + (1 << 18)));
    if let (Some(into), false) = (&counter.into, row_blocks.is_empty()) {
        assert_eq!(into.most(&(0..size.numbered)), size.arcs, "every arc leads somewhere");
    }
    let counted = counter.finish().unwrap();
    assert_eq!(double.layout().used(), 0, "memory is given back");
    counted.triangles
}

#[test]
fn every_pace_of_the_device_gives_the_count_of_brute_force() {
    let Some(()) = has_compiler() else { return };
    let partition = random(0, 300, 40, 2, 0.5);
    let expected = partition.triangles();
    assert!(expected > 100);
    let all_cuts = cuts(0, 300);
    for (i, pace) in Pace::all(0).into_iter().enumerate() {
        let cuts = &all_cuts[i % all_cuts.len()];
        assert_eq!(count(&partition, cuts, pace, 133), expected, "{cuts:?}, {pace:?}");
    }
}

#[test]
fn little_space_cuts_row_blocks_into_pieces_and_locals_into_batches() {
    let Some(()) = has_compiler() else { return };
    // Rows far longer than what fits half of the smallest work space, and many more locals than in a block.
    let mut partition = random(9, 6000, 30, 2, 0.6);
    let mut rows = std::mem::take(&mut partition.rows);
    rows.extend((6000..6004).map(|number| (0..number).collect()));
    let local = partition.local.iter().copied().chain([true, false, true, false]).collect();
    let partition = Partition::new(rows, local);
    let expected = partition.triangles();
    for cuts in [vec![], vec![70, 3000], vec![5999, 6001]] {
        let row_blocks = partition.row_blocks(&cuts);
        let size = partition.size_with(&row_blocks);
        let orders = |space| {
            let mut double = Double::new(preferred_bytes(&size, false), Pace::Late).unwrap();
            let mut counting = PackedCounter::begin(&mut double, size, space, Detail::Total).unwrap();
            let runs = partition.runs(1 << 20);
            // SAFETY: the test double reads the bytes during the call.
            runs.into_iter().for_each(|mut run| unsafe { counting.enqueue_resident(&mut run).unwrap() });
            let steps = counting.halves;
            for row_block in &row_blocks {
                let location = counting.received.location(&row_block.view(), pool());
                // SAFETY: as above.
                unsafe { counting.enqueue_row_block(&RowBlockSlices::new(&row_block.view(), &location)).unwrap() };
            }
            let batches = counting.batches;
            assert_eq!(counting.end().unwrap().triangles, expected, "{cuts:?}");
            (steps, batches)
        };
        let [tight, roomy] = [LEAST + size.row_block_limit, u64::MAX].map(orders);
        assert!(tight.0 > roomy.0 && tight.1 > 5 * roomy.1, "{tight:?} {roomy:?}");
        assert_eq!(roomy.1, row_blocks.len());
    }
}

#[test]
fn a_run_is_copied_before_the_one_after_the_next_is_taken() {
    let Some(()) = has_compiler() else { return };
    let partition = random(3, 400, 40, 2, 0.5);
    let mut double = Double::new(preferred_bytes(&partition.size(1 << 16), false), Pace::Late).unwrap();
    let mut counting = PackedCounter::begin(&mut double, partition.size(1 << 16), u64::MAX, Detail::Total).unwrap();
    let runs = partition.runs(60);
    assert!(runs.len() > 3);
    for (index, mut run) in runs.into_iter().enumerate() {
        // SAFETY: the test double reads the bytes during the call.
        unsafe { counting.enqueue_resident(&mut run).unwrap() };
        counting.run_before_is_copied().unwrap();
        if index > 0 {
            let event = COPIED[(index - 1) % COPIED.len()];
            assert!(counting.engine.has_reached(event), "run {} is still being copied", index - 1);
        }
    }
}

#[test]
fn a_refused_run_frees_the_one_before_only_when_that_is_copied() {
    let Some(()) = has_compiler() else { return };
    let partition = random(3, 400, 40, 2, 0.5);
    let mut double = Double::new(preferred_bytes(&partition.size(1 << 16), false), Pace::Late).unwrap();
    let mut counter = PackedCounter::begin(&mut double, partition.size(1 << 16), u64::MAX, Detail::Total).unwrap();
    assert!(counter.resident(partition.runs(60).remove(0), pool()).unwrap().is_none());
    assert!(!counter.engine.has_reached(COPIED[0]));
    // More rows than were announced.
    assert!(counter.resident(partition.runs(1 << 20).remove(0), pool()).is_err());
    assert!(counter.engine.has_reached(COPIED[0]));
}

#[test]
fn short_rows_are_counted_without_owners() {
    let Some(()) = has_compiler() else { return };
    // Rows of a few successors, which may be anywhere: hubs, and numbers after them; now and then one of a word or two for each run.
    let n = 66_000u32;
    let row = |number: u32| -> Vec<u32> {
        let mut row: Vec<u32> =
            (1..number % 29).map(|i| number - 1 - (i * i * (1 + number % 3)) % number.min(900)).collect();
        row.extend(number.is_multiple_of(11).then_some(number / 2));
        row.sort_unstable();
        row.dedup();
        row
    };
    let rows = (0..n).map(|number| if number > 64_000 { row(number) } else { vec![] }).collect();
    let local = (0..n).map(|number: u32| !number.is_multiple_of(5)).collect();
    let partition = Partition::new(rows, local);
    let expected = partition.triangles();
    assert!(expected > 5_000, "{expected}");
    for cuts in [vec![], vec![65_000, 65_900]] {
        let row_blocks = partition.row_blocks(&cuts);
        let preferred = preferred_bytes(&partition.size_with(&row_blocks), false);
        let least = FOOTPRINT.least(&partition.size_with(&row_blocks));
        for (arena, rows) in [(preferred, 1 << 20), (least + (preferred - least) / 8, 777)] {
            assert_eq!(count_with(&partition, &row_blocks, Pace::Late, rows, arena), expected, "{cuts:?}");
        }
    }
}

#[test]
fn a_thread_packs_short_rows_and_a_warp_the_others_among_them() {
    let Some(()) = has_compiler() else { return };
    // Few successors for each row, but for some rows; runs end anywhere, also within a row.
    let rows = (0..3000u32).map(|number| match number % 97 {
        0 => (0..number).filter(|successor| successor % 7 != 3).collect(),
        1 => (0..number.min(17)).collect(),
        _ => [number / 3, number / 2, number.saturating_sub(1)].into_iter().filter(|&to| to < number).collect(),
    });
    let rows: Vec<Vec<u32>> = rows
        .map(|mut row: Vec<u32>| {
            row.sort_unstable();
            row.dedup();
            row
        })
        .collect();
    let partition = Partition::new(rows, vec![true; 3000]);
    let expected = partition.triangles();
    assert!(expected > 10_000);
    let row_blocks = partition.row_blocks(&[]);
    let size = partition.size_with(&row_blocks);
    for (arena, rows) in [(preferred_bytes(&size, false), 1 << 20), (FOOTPRINT.least(&size), 211)] {
        assert_eq!(count_with(&partition, &row_blocks, Pace::Late, rows, arena), expected);
    }
}

#[test]
fn rows_on_both_sides_of_the_last_hub_are_counted() {
    let Some(()) = has_compiler() else { return };
    // Rows with successors on both sides of 65,536, in one row block and in row blocks that end there.
    let n = 65_600u32;
    let mut rows: Vec<Vec<u32>> = vec![vec![]; n as usize];
    for number in 65_500..n {
        rows[number as usize] = (65_480..number).filter(|successor| (successor ^ number) % 3 != 0).chain([]).collect();
    }
    let local = (0..n).map(|number| number > 65_000 && number % 7 != 0).collect();
    let partition = Partition::new(rows, local);
    let expected = partition.triangles();
    assert!(expected > 10_000);
    for cuts in [vec![], vec![65_535], vec![65_536], vec![65_537], vec![65_520, 65_536, 65_540]] {
        let row_blocks = partition.row_blocks(&cuts);
        let arena = preferred_bytes(&partition.size_with(&row_blocks), false);
        assert_eq!(count_with(&partition, &row_blocks, Pace::Late, 1 << 20, arena), expected, "{cuts:?}");
    }
}

/// The successors of a word, ascending, as the head of `packed.cu` defines them.
fn successors(word: u32, k: u32) -> Vec<u32> {
    let hubs = word < 1 << 29;
    let (bits, run) = if hubs { (16, word >> 17) } else { (1 << k, (word - (1 << 29)) >> (1 << k)) };
    (0..bits).filter(|bit| word >> bit & 1 == 1).map(|bit| (run << if hubs { 4 } else { k }) + bit).collect()
}

#[test]
fn words_say_what_was_packed() {
    let Some(()) = has_compiler() else { return };
    // Rows on both sides of 65,536, and the largest number that can be packed in words of each width.
    for (numbered, k) in [(917_504, 4), (117_440_512, 3), (939_524_096, 2), (1_879_048_192u32, 1)] {
        assert_eq!(bits_for(numbered), Some(k));
        assert_ne!(bits_for(numbered + 1), Some(k));
        let rows: [Vec<u32>; 4] = [
            (0..100).collect(),
            vec![15, 16, 65_535, 65_536, 65_543, 65_544, 917_501, numbered - 2],
            (65_000..67_000).step_by(3).collect(),
            vec![],
        ];
        let offsets: Vec<u64> = (0..=4).map(|end| rows[..end].iter().map(|row| row.len() as u64).sum()).collect();
        let size = PartitionExtent { locals: 4, arcs: offsets[4], numbered, row_block_limit: 0 };
        let mut double = Double::new(FOOTPRINT.least(&size), Pace::Late).unwrap();
        let mut counting = PackedCounter::begin(&mut double, size, u64::MAX, Detail::Total).unwrap();
        let numbers = NumberRuns::run(numbered - 4..numbered);
        let mut run = Resident { numbers, offsets, successors: rows.concat().into(), encoded: Vec::new() };
        // SAFETY: the test double reads the bytes during the call.
        unsafe { counting.enqueue_resident(&mut run).unwrap() };
        let (at, words) = (counting.all.rows, counting.all.words);
        let mut placed = [[0u32; 2]; 4];
        counting.engine.read(Stream::Compute, at, bytemuck::cast_slice_mut(&mut placed)).unwrap();
        for ([chunk, many], row) in placed.into_iter().zip(&rows) {
            let mut packed = vec![0u32; many as usize];
            let at = words + 16 * u64::from(chunk);
            counting.engine.read(Stream::Compute, at, bytemuck::cast_slice_mut(&mut packed)).unwrap();
            assert!(packed.is_sorted_by(|a, b| a < b));
            assert_eq!(packed.iter().flat_map(|&word| successors(word, k)).collect::<Vec<_>>(), *row, "{k}");
        }
    }
    assert_eq!(bits_for(1_879_048_193), None);
}

#[test]
fn cliques_have_their_closed_form_and_need_no_row_block_memory() {
    let Some(()) = has_compiler() else { return };
    for (n, cuts) in [(0, vec![]), (1, vec![0, 1]), (2, vec![]), (3, vec![1, 2]), (65, vec![21, 32]), (130, vec![])] {
        let partition = Partition::whole((0..n).map(|number| (0..number).collect()).collect());
        let n = u64::from(n);
        let expected = n * n.saturating_sub(1) * n.saturating_sub(2) / 6;
        assert_eq!(count(&partition, &cuts, Pace::Late, 100), expected, "{n}");
    }
}

#[test]
fn nothing_local_and_nothing_at_all_count_zero() {
    let Some(()) = has_compiler() else { return };
    for partition in [random(1, 50, 10, 1, 0.0), Partition::new(vec![], vec![])] {
        assert_eq!(count(&partition, &[], Pace::Late, 10), 0);
    }
}

#[test]
fn an_arena_that_is_too_small_refuses() {
    let Some(()) = has_compiler() else { return };
    let partition = random(2, 200, 20, 1, 0.5);
    let begin = |bytes| {
        let mut double = Double::new(bytes, Pace::Late).unwrap();
        PackedCounter::begin(&mut double, partition.size(512), u64::MAX, Detail::Total)
            .map(|counting| counting.so_far.peak_bytes)
    };
    let size = partition.size(512);
    let least = FOOTPRINT.least(&size);
    assert!(begin(least).is_ok_and(|used| used <= least));
    assert!(begin(1 << 24).is_ok_and(|used| used <= preferred_bytes(&size, false)), "no more is taken than is of use");
    assert!(matches!(begin(least - FOOTPRINT.fixed.get()), Err(GpuError::Budget { .. })));
    assert!(matches!(begin(0), Err(GpuError::Budget { .. })));
    let mut double = Double::new(1 << 20, Pace::Late).unwrap();
    let huge = PartitionExtent { numbered: 1_879_048_193, ..size };
    assert!(matches!(PackedCounter::begin(&mut double, huge, u64::MAX, Detail::Total), Err(GpuError::Section(_))));
}

#[test]
fn what_may_be_resident_can_be_numbered() {
    // Beside it two of the largest row blocks, of 256 MiB each.
    let row_blocks = LEAST_ROW_BLOCKS_WITH_EDGES * (256 << 20);
    for (footprint, edges) in [(FOOTPRINT, false), (FOOTPRINT_WITH_EDGES, true)] {
        // Rows of `arcs` arcs each, as many as may be resident.
        for arcs in [0, 1, 2, 7, 1000, 1 << 20] {
            let rows = footprint.most_resident.get() / footprint.resident(1, arcs).get();
            let words = padded(packed_bytes(rows, rows * arcs));
            assert!(words + LEAST + row_blocks <= REACH, "{arcs}");
            assert!(!edges || rows * arcs + row_blocks / 4 + ALIGNMENT <= MOST_COUNTERS, "{arcs}");
            // No more than a sixteenth of what could be numbered is left.
            let long = arcs >= 1000;
            assert!(!long || edges || words + REACH / 16 > REACH, "{arcs}");
            assert!(!long || !edges || rows * arcs + MOST_COUNTERS / 8 > MOST_COUNTERS, "{arcs}");
        }
    }
}
