use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use proptest::prelude::*;

use super::*;

fn verify(arcs: &[(u64, u64)]) -> VerifyReport {
    let verifier = Verifier::default();
    for batch in arcs.chunks(7) {
        verifier.arcs(batch).unwrap();
    }
    verifier.finish(&Control::silent()).unwrap()
}

#[test]
fn cleaning_is_counted_as_in_the_report_also_if_no_edge_is_left() {
    const FAR: u64 = u64::MAX;
    // A loop twice, an arc three times, one with its reverse, and a triangle among far ids.
    let arcs = [(5, 5), (1, 2), (5, 5), (1, 2), (2, 1), (1, 2), (FAR, 1), (2, FAR)];
    let found = verify(&arcs);
    assert_eq!((found.input.arcs, found.input.loops_removed, found.input.duplicates_removed), (8, 2, 2));
    assert_eq!((found.input.arcs_without_reverse, found.input.arcs_added), (2, 2));
    assert_eq!((found.vertices, found.edges, found.triangles, found.wedges), (3, 3, 1, 3));
    assert_eq!(verify(&[]), VerifyReport::default());
    let input = InputReport { arcs: 1, loops_removed: 1, ..InputReport::default() };
    assert_eq!(verify(&[(7, 7)]), VerifyReport { input, ..VerifyReport::default() });
}

/// The most that is held at a time, on one thread; what a reader holds is not counted.
fn peak(alone: &rayon::ThreadPool, arcs: &[(u64, u64)], written: bool, peels: bool) -> u64 {
    let measured = allocation_counter::measure(|| {
        alone.install(|| {
            let verifier = Verifier::for_arcs(arcs.len() as u64);
            arcs.chunks(1000).for_each(|batch| verifier.arcs(batch).unwrap());
            // Counting on edges takes more.
            let (.., vertices, mut edges) = verifier.finish_with_counts(true, &Control::silent()).unwrap();
            if peels {
                edges.peel(None, &Control::silent()).unwrap();
            }
            if written {
                vertices.clustering(&Control::silent()).unwrap();
            }
        });
    });
    measured.bytes_max
}

#[test]
fn no_graph_takes_more_than_is_said_of_its_arcs() {
    let n = 100_000;
    // Only allocations of this thread are measured.
    let alone = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build().unwrap();
    let pairs: Vec<_> = (0..n).map(|i| (2 * i, 2 * i + 1)).collect();
    let star: Vec<_> = (1..=n).map(|leaf| (0, leaf)).collect();
    let path: Vec<_> = (0..n).map(|i| (i, i + 1)).collect();
    let both: Vec<_> = path.iter().flat_map(|&(u, v)| [(u, v), (v, u)]).collect();
    let dense: Vec<_> = (0..200).flat_map(|u| (0..u).map(move |v| (u, v))).collect();
    for (name, arcs) in [("pairs", pairs), ("star", star), ("path", path), ("both", both), ("dense", dense)] {
        for (written, peels) in [(false, false), (true, false), (false, true), (true, true)] {
            let most = 4096 + arcs.len() as u64 * Verifier::bytes_per_arc(written, peels);
            let found = peak(&alone, &arcs, written, peels);
            assert!(found <= most, "{name}, {written}, {peels}: {found} bytes, at most {most}");
        }
    }
}

/// A control that counts its checks, and is stopped at check `stop_at`.
fn watched(stop_at: u64) -> (Control, Arc<AtomicU64>) {
    let (control, checks) = (Control::silent(), Arc::new(AtomicU64::new(0)));
    let (stopped, counted) = (control.clone(), Arc::clone(&checks));
    let control = control.watched(move || {
        if counted.fetch_add(1, Relaxed) + 1 == stop_at {
            stopped.stop();
        }
    });
    (control, checks)
}

/// Counts on `threads` threads, and is stopped at check `stop_at`; returns what was found, and the checks that were made.
fn stopped_at(stop_at: u64, threads: usize, arcs: &[(u64, u64)]) -> (Result<u128>, u64) {
    let (control, checks) = watched(stop_at);
    let found = parallel::on(threads, || {
        let verifier = Verifier::default();
        verifier.arcs(arcs).unwrap();
        verifier.finish_with_counts(true, &control).map(|(found, ..)| found.triangles)
    });
    (found, checks.load(Relaxed))
}

#[test]
fn it_stops_soon_wherever_it_is() {
    // Each vertex is in many triangles, so most of the work is at few vertices.
    let n = 300u64;
    let arcs: Vec<_> = (0..n).flat_map(|u| (0..u).map(move |v| (u, v))).collect();
    let (found, checks) = stopped_at(u64::MAX, 1, &arcs);
    assert_eq!(found.unwrap(), u128::from(n) * u128::from(n - 1) * u128::from(n - 2) / 6);
    assert!(checks >= arcs.len() as u64, "{checks} checks for {} edges", arcs.len());
    for threads in [1, 3] {
        for stop_at in [1, 2, 3, 7, checks / 2, checks - 3] {
            let (found, made) = stopped_at(stop_at, threads, &arcs);
            assert_eq!(found.unwrap_err().kind(), trimill_system::error::Kind::Interrupted);
            // Each thread ends at its next check.
            assert!(made <= stop_at + threads as u64, "{made} checks, stopped at {stop_at}");
        }
    }
}

#[test]
fn long_lists_are_sorted_and_merged_with_checks_on_the_way() {
    let (control, checks) = watched(u64::MAX);
    for len in [0, 1, STEPS - 1, STEPS, STEPS + 1, 5 * STEPS + 17] {
        let mut arcs: Vec<(u64, u64)> = (0..len as u64).map(|i| (i * 7919 % 5003, i * 104_729 % 65_537)).collect();
        let mut expected = arcs.clone();
        expected.sort_unstable();
        sort(&mut arcs, &control).unwrap();
        assert!(arcs == expected, "{len}");
    }
    let (even, thirds): (Vec<usize>, Vec<usize>) =
        ((0..8 * STEPS).step_by(2).collect(), (0..8 * STEPS).step_by(3).collect());
    let before = checks.load(Relaxed);
    assert_eq!(neighbourhoods::common(&even, &thirds, &control).unwrap(), (8 * STEPS as u64).div_ceil(6));
    assert!(checks.load(Relaxed) - before >= 5, "{}", checks.load(Relaxed));
}

proptest! {
    #[test]
    fn it_agrees_with_all_triples(arcs in prop::collection::vec((0u64..40, 0u64..40), 0..400)) {
        // Ids in three words of a row of bits.
        let arcs: Vec<_> = arcs.into_iter().map(|(u, v)| (4 * u, 4 * v)).collect();
        prop_assert_eq!(verify(&arcs).triangles, brute_force(&arcs));
    }
}
