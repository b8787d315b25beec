//! Both methods against brute force, on the test double.

use crate::GpuError;
use crate::testing::partitions::{Partition, arenas, bytes_of, cuts, device_bytes, give, methods_of, random};
use crate::testing::{Double, Pace, has_compiler};
use trimill_counting::COUNTER_BYTES;

use super::*;

/// `packed`, and `lstc` with tiles as by default, with shorter ones and without.
fn methods() -> Vec<Box<dyn CountingMethod>> {
    methods_of([(128, 128), (32, 64), (64, 0)])
}

#[test]
fn every_pace_of_the_device_gives_the_count_of_brute_force() {
    let Some(()) = has_compiler() else { return };
    // Of the last one, nothing is local.
    for (seed, share) in [(0, 0.5), (1, 0.5), (2, 0.0)] {
        let partition = random(seed, 200, 40, 2, share);
        let expected = partition.triangles();
        assert_eq!(expected > 100, share > 0.0, "seed {seed}: {expected}");
        let all_cuts = cuts(seed, 200);
        for (i, pace) in Pace::all(seed).into_iter().enumerate() {
            let turn = i + seed as usize;
            let cuts = &all_cuts[turn % all_cuts.len()];
            for method in methods_of([(64, 64)]) {
                let counted = partition.count_on_doubles(&*method, cuts, pace, turn);
                assert_eq!(counted, expected, "{method:?}, seed {seed}, {cuts:?}, {pace:?}");
            }
        }
    }
}

#[test]
fn cliques_have_their_closed_form() {
    let Some(()) = has_compiler() else { return };
    let cases = [(0, vec![]), (1, vec![0, 1]), (2, vec![]), (3, vec![1, 2]), (65, vec![21, 32]), (130, vec![])];
    for (i, (n, cuts)) in cases.into_iter().enumerate() {
        let partition = Partition::whole((0..n).map(|number| (0..number).collect()).collect());
        let n = u64::from(n);
        let expected = n * n.saturating_sub(1) * n.saturating_sub(2) / 6;
        for method in methods_of([(128, 128)]) {
            assert_eq!(partition.count_on_doubles(&*method, &cuts, Pace::Late, i), expected, "{method:?}, {n}");
        }
    }
}

#[test]
fn an_arena_that_is_too_small_refuses() {
    let Some(()) = has_compiler() else { return };
    let size = random(2, 200, 20, 1, 0.5).size(512);
    for method in methods_of([(128, 128)]) {
        let begin = |bytes| {
            let mut double = Double::new(bytes, Pace::Late).unwrap();
            let begun = method.begin(&mut double, size, Detail::Total);
            begun.map(|counter| bytes_of(&*counter))
        };
        let footprint = method.footprint();
        let sizes = arenas(&footprint, &size);
        assert!(begin(sizes[0]).is_ok_and(|used| used <= sizes[0]));
        assert!(begin(1 << 24).is_ok_and(|used| used <= sizes[sizes.len() - 1]), "no more is taken than is of use");
        for bytes in [sizes[0] - footprint.fixed.get(), 0] {
            assert!(matches!(begin(bytes), Err(GpuError::Budget { .. })), "{method:?}");
        }
    }
}

#[test]
fn sections_that_are_too_large_out_of_order_or_missing_are_refused() {
    let Some(()) = has_compiler() else { return };
    let partition = random(2, 200, 20, 1, 0.5);
    let row_blocks = partition.row_blocks(&[100]);
    let limit = device_bytes(&row_blocks[0]);
    let too_large = GpuError::RowBlockTooLarge { bytes: limit, limit: limit - 1 }.to_string();
    let runs = partition.runs(30);
    let most = runs.len();
    for (runs, limit, row_blocks, expected) in [
        (&runs[..], limit - 1, &row_blocks[..], &*too_large),
        (&runs, 1 << 16, &row_blocks[1..], "sections are inconsistent"),
        (&runs, 1 << 16, &row_blocks[..1], "sections are inconsistent"),
        (&runs[..most - 1], 1 << 16, &row_blocks, "sections are inconsistent"),
        (&[runs.clone(), runs.clone()].concat(), 1 << 16, &row_blocks, "sections are inconsistent"),
    ] {
        for method in methods_of([(128, 128)]) {
            let mut double = Double::new(1 << 20, Pace::Late).unwrap();
            let mut counter = method.begin(&mut double, partition.size(limit), Detail::Total).unwrap();
            let given = give(&mut *counter, runs.to_vec(), row_blocks);
            let refused = given.and_then(|()| counter.finish()).unwrap_err().to_string();
            assert!(refused.contains(expected), "{method:?}: {refused}");
        }
    }
}

#[test]
fn triangles_are_counted_at_each_of_their_corners_and_on_each_of_their_arcs() {
    let Some(()) = has_compiler() else { return };
    for (seed, share) in [(0, 0.5), (1, 1.0), (2, 0.8), (3, 0.0)] {
        let partition = random(seed, 300, 40, 2, share);
        let (at_vertices, on_arcs) = (partition.at_vertices(), (partition.on_arcs(), partition.triangles()));
        let (methods, all_cuts) = (methods(), cuts(seed, 300));
        for (i, pace) in Pace::all(seed).into_iter().enumerate() {
            let place = i + seed as usize;
            let (row_blocks, size) = partition.case(i, &all_cuts[place % all_cuts.len()]);
            let double = |footprint: Footprint| {
                let arenas = arenas(&footprint, &size);
                Double::new(arenas[i % arenas.len()], pace).unwrap()
            };
            for method in [&methods[0], &methods[1 + place % 3]] {
                let found = partition.in_passes([1024, 96][i % 2], |counters| {
                    let mut double = double(method.footprint()).with_counters(COUNTER_BYTES * counters.held());
                    let (found, counted) = partition.count_at_vertices(&mut double, &**method, &row_blocks, counters);
                    assert_eq!(counted, on_arcs.1);
                    found
                });
                assert_eq!(found, at_vertices, "{method:?}, seed {seed}, {pace:?}");
                let mut double = double(method.footprint_with_edges());
                let found = partition.count_on_arcs(&mut double, &**method, &row_blocks);
                assert_eq!(found, on_arcs, "{method:?}, seed {seed}, {pace:?}");
            }
        }
    }
}
