//! What is specific to this method: words, pieces and batches, runs that are copied while others are read. `method/tests.rs` tests both methods.

mod details;

use super::*;
use crate::sections::RowBlockSlices;
use crate::testing::partitions::{Partition, arenas, cuts, give, pool, random, with_a_long_row};
use crate::testing::{Double, Pace, has_compiler};
use trimill_counting::{COUNTER_BYTES, NumberRuns, RowBlock};

/// Counts in row blocks that end at each of some cuts, in arenas of the least size (0), a larger one (1) and the largest useful one (2).
fn agrees(partition: &Partition, all_cuts: &[Vec<u32>], which: &[usize]) {
    let expected = partition.triangles();
    assert!(expected > 5_000, "{expected}");
    for cuts in all_cuts {
        let row_blocks = partition.row_blocks(cuts);
        let arenas = arenas(&FOOTPRINT, &partition.size_with(&row_blocks));
        for &arena in which {
            let mut double = Double::new(arenas[arena], Pace::Late).unwrap();
            let counted = partition.count(&mut double, &Packed, Detail::Total, &row_blocks).unwrap();
            assert_eq!(counted.triangles, expected, "{cuts:?}, arena {arena}");
        }
    }
}

#[test]
fn every_arc_leads_somewhere() {
    let Some(()) = has_compiler() else { return };
    let partition = random(0, 300, 40, 2, 0.5);
    let (row_blocks, size) = partition.case(0, &[100]);
    for runs in [partition.runs(60), partition.encoded_runs(60, 1)] {
        let mut double = Double::new(FOOTPRINT.least(&size), Pace::Late).unwrap().with_scratch(1 << 18);
        let mut counting = PackedCounter::begin(&mut double, size, Detail::Total).unwrap();
        give(&mut counting, runs, &row_blocks).unwrap();
        assert_eq!(counting.into.as_ref().map(|into| into.most(&(0..size.numbered))), Some(size.arcs));
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
            let mut counting = PackedCounter::begin(&mut double, size, Detail::Total).unwrap();
            counting.space_bytes = counting.space_bytes.min(space);
            counting.piece_limit = counting.piece_limit.min(space / 2);
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

/// Panics if the test double has not reached an event; [`Pace::Late`] does so only when the host waits.
fn has_reached(engine: &mut dyn Engine, event: Event) {
    engine.time(Timed::Copy, event, event).unwrap();
}

#[test]
fn a_run_is_copied_before_the_one_after_the_next_is_taken() {
    let Some(()) = has_compiler() else { return };
    let partition = random(3, 400, 40, 2, 0.5);
    let mut double = Double::new(preferred_bytes(&partition.size(1 << 16), false), Pace::Late).unwrap();
    let mut counting = PackedCounter::begin(&mut double, partition.size(1 << 16), Detail::Total).unwrap();
    let runs = partition.runs(60);
    assert!(runs.len() > 3);
    for (index, mut run) in runs.into_iter().enumerate() {
        // SAFETY: the test double reads the bytes during the call.
        unsafe { counting.enqueue_resident(&mut run).unwrap() };
        counting.run_before_is_copied().unwrap();
        if index > 0 {
            has_reached(counting.engine, COPIED[(index - 1) % COPIED.len()]);
        }
    }
}

#[test]
fn a_refused_run_frees_the_one_before_only_when_that_is_copied() {
    let Some(()) = has_compiler() else { return };
    let partition = random(3, 400, 40, 2, 0.5);
    let mut double = Double::new(preferred_bytes(&partition.size(1 << 16), false), Pace::Late).unwrap();
    let mut counter = PackedCounter::begin(&mut double, partition.size(1 << 16), Detail::Total).unwrap();
    assert!(counter.resident(partition.runs(60).remove(0), pool()).unwrap().is_none());
    // More rows than were announced.
    assert!(counter.resident(partition.runs(1 << 20).remove(0), pool()).is_err());
    has_reached(counter.engine, COPIED[0]);
}

#[test]
fn short_rows_are_counted_without_owners() {
    let Some(()) = has_compiler() else { return };
    // Rows of a few successors, which may be anywhere: hubs, and numbers after them; now and then one of a word or two for each run.
    let n = 66_000u32;
    let row = |number: u32| -> Vec<u32> {
        let row = (1..number % 29).map(|i| number - 1 - (i * i * (1 + number % 3)) % number.min(900));
        row.chain(number.is_multiple_of(11).then_some(number / 2)).collect()
    };
    let rows = (0..n).map(|number| if number > 64_000 { row(number) } else { vec![] }).collect();
    let local = (0..n).map(|number: u32| !number.is_multiple_of(5)).collect();
    agrees(&Partition::new(rows, local), &[vec![], vec![65_000, 65_900]], &[1, 2]);
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
    agrees(&Partition::whole(rows.collect()), &[vec![]], &[0, 2]);
}

#[test]
fn rows_on_both_sides_of_the_last_hub_are_counted() {
    let Some(()) = has_compiler() else { return };
    // Rows with successors on both sides of 65,536, in one row block and in row blocks that end there.
    let n = 65_600u32;
    let row =
        |number: u32| (65_480..number).filter(|to| number >= 65_500 && !(to ^ number).is_multiple_of(3)).collect();
    let local = (0..n).map(|number| number > 65_000 && number % 7 != 0).collect();
    let all_cuts = [vec![], vec![65_535], vec![65_536], vec![65_537], vec![65_520, 65_536, 65_540]];
    agrees(&Partition::new((0..n).map(row).collect(), local), &all_cuts, &[2]);
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
        let mut counting = PackedCounter::begin(&mut double, size, Detail::Total).unwrap();
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
fn more_numbers_than_words_can_have_are_refused() {
    let Some(mut double) = Double::new(1 << 20, Pace::Late) else { return };
    let huge = PartitionExtent { numbered: 1_879_048_193, locals: 0, arcs: 0, row_block_limit: 512 };
    assert!(matches!(PackedCounter::begin(&mut double, huge, Detail::Total), Err(GpuError::TooLarge(_))));
}

#[test]
fn what_may_be_resident_can_be_numbered() {
    // Room for two of the largest row blocks, of 256 MiB each, is needed, too.
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
