//! Names and arcs against a map of the standard library, for any threads, budgets and sizes of runs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use proptest::prelude::*;

use super::*;
use trimill_input::arcs::ArcSource;
use trimill_input::{InputSettings, Source};
use trimill_system::memory::HostMemory;
use trimill_system::{parallel, threads};

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Numbers the arcs of a list in runs of at most `of_run` bytes, on `many` threads with `memory` bytes; returns the names and the arcs.
fn numbered(arcs: &[(String, String)], of_run: u64, many: usize, memory: u64) -> (Vec<String>, Vec<(u64, u64)>) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("names.csv");
    let lines: String = arcs.iter().map(|(tail, head)| format!("{},{}\n", quoted(tail), quoted(head))).collect();
    std::fs::write(&path, lines).unwrap();
    let control = Control::silent();
    let pool = threads::pool(std::num::NonZeroUsize::new(many)).unwrap();
    parallel::within(&pool, || {
        let reading =
            InputSettings { names: true, header: Some(trimill_input::Header::No), ..InputSettings::default() };
        let source = Source::open_as(&[path], reading, dir.path(), &control).unwrap();
        let space = Workspace::new(HostMemory::new(Bytes(memory), many), dir.path());
        let numbered = number_in_runs(&source, space, of_run, &control).unwrap();
        let sink = Mutex::<Vec<(u64, u64)>>::default();
        assert_eq!(numbered.scan(&sink, &control).unwrap(), arcs.len() as u64);
        let mut found = sink.into_inner().unwrap();
        found.sort_unstable();
        let mut reader = numbered.names().reader();
        let names = (0..numbered.names().count()).map(|id| String::from_utf8(reader.name(id).unwrap().into()).unwrap());
        (names.collect(), found)
    })
}

fn expected(arcs: &[(String, String)]) -> (Vec<String>, Vec<(u64, u64)>) {
    let names: BTreeSet<&String> = arcs.iter().flat_map(|(tail, head)| [tail, head]).collect();
    let numbers: BTreeMap<&String, u64> = names.iter().copied().zip(0..).collect();
    let mut numbered: Vec<(u64, u64)> = arcs.iter().map(|(tail, head)| (numbers[tail], numbers[head])).collect();
    numbered.sort_unstable();
    (names.into_iter().cloned().collect(), numbered)
}

#[test]
fn many_runs_that_wait_on_disk_give_the_same() {
    // More names than the fewest for several ranges; prefixes in common, and names that are prefixes of others.
    let name = |i: u64| format!("http://host-{}.example/{}", i % 97, "a/".repeat((i % 5) as usize) + &i.to_string());
    let mix = |i: u64| trimill_system::hash::mix(i + 1) % 60_000;
    let arcs: Vec<_> = (0..150_000).map(|i| (name(mix(2 * i)), name(mix(2 * i + 1)))).collect();
    let expected = expected(&arcs);
    for (of_run, threads, memory) in [(60_000, 1, 64 << 20), (300_000, 3, 64 << 20), (64 << 20, 2, 1 << 30)] {
        assert!(numbered(&arcs, of_run, threads, memory) == expected, "{of_run} {threads}");
    }
}

#[test]
fn less_memory_than_merging_takes_is_refused_with_what_is_enough() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("names.txt");
    let lines: String = (0..200_000u64).map(|i| format!("name-{} name-{}\n", i * 7919 % 200_003, i)).collect();
    std::fs::write(&path, lines).unwrap();
    let control = Control::silent();
    let reading = InputSettings { names: true, ..InputSettings::default() };
    let source = Source::open_as(&[path], reading, dir.path(), &control).unwrap();
    let pool = threads::pool(std::num::NonZeroUsize::new(2)).unwrap();
    // Runs are far shorter than usual with this budget, but in proportion to it.
    let run = |memory: u64| {
        let space = Workspace::new(HostMemory::new(Bytes(memory), 2), dir.path());
        let of_run = space.memory.usable().get() / 2000;
        parallel::within(&pool, || {
            number_in_runs(&source, space, of_run, &control).map(|made| [made.arcs, made.numbers.len() as u64])
        })
    };
    let error = run(24 << 20).unwrap_err();
    assert!(error.to_string().contains("to sort names") && error.to_string().contains("--host-memory"), "{error}");
    let wanted = error.bytes_wanted().unwrap();
    assert!(wanted > Bytes::mib(24), "{wanted}");
    // Memory is for one range at a time, so there are four ranges, not four for each thread.
    assert_eq!(run(wanted.get()).unwrap(), [200_000, 4]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_names_are_sorted_and_arcs_keep_their_ends(
        names in prop::collection::vec("[ -~äß名\t]{1,12}", 1..40),
        places in prop::collection::vec((0usize..1000, 0usize..1000), 1..300),
        of_run in 1_000u64..40_000,
        threads in 1usize..4,
    ) {
        let name = |i: usize| names[i % names.len()].clone();
        let arcs: Vec<_> = places.iter().map(|&(tail, head)| (name(tail), name(head))).collect();
        prop_assert_eq!(numbered(&arcs, of_run, threads, 64 << 20), expected(&arcs));
    }
}
