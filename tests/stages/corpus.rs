//! The fuzz targets on their corpus, and on a few mutations of it: a regression test of what `scripts/fuzz` found.
//!
//! `fuzz/corpus/TARGET.tar.zst` has small inputs: those with names were written by hand (`found-*` violated a property once), those
//! named by a hash were kept by the fuzzer because each covers code that no other one does.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::planner::draws::Draws;
use crate::targets::{Place, TARGETS, Target};
use rayon::prelude::*;
use trimill::testing::graph::file::open;

const MUTATIONS: usize = 300;

/// Runs one input; an error says which input failed and why. The message of a panic on a rayon thread may go to the output of another test.
fn run(place: &Place, target: &Target, bytes: &[u8], name: &str) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(|| place.run(target, bytes))).map_err(|why| {
        let literal = why.downcast_ref::<&str>().copied();
        let why = why.downcast_ref::<String>().map(String::as_str).or(literal).unwrap_or("a panic");
        format!("{}: {name}: {why}: b\"{}\"", target.name, bytes.escape_ascii())
    })
}

/// Fails with the errors of all targets.
fn all_hold(holds: impl Fn(&Target) -> Result<(), String> + Sync) {
    let wrong: Vec<String> = TARGETS.par_iter().filter_map(|target| holds(target).err()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// If the archive of a target is missing, the next test says so.
#[test]
fn every_file_of_the_corpus_is_the_archive_of_a_target() {
    let expected = TARGETS.each_ref().map(|target| crate::seeds::archive(target.name));
    let mut besides = crate::common::job::listing(&crate::seeds::folder());
    besides.retain(|name| !expected.contains(name));
    assert!(besides.is_empty(), "fuzz/corpus/: {besides:?} not expected: no target of fuzz/targets/mod.rs reads it");
}

#[test]
fn every_target_holds_on_its_corpus() {
    all_hold(|target| {
        let place = Place::new();
        run(&place, target, &[], "nothing")?;
        crate::seeds::of(target.name)?.iter().try_for_each(|(name, bytes)| run(&place, target, bytes, name))
    });
}

/// If the format of graph files changes, the seeds must change, too; otherwise no seed reaches the code that runs after the footer.
#[test]
fn graph_files_written_by_hand_are_graphs() {
    let dir = tempfile::tempdir().unwrap();
    let seeds = crate::seeds::of("graph-file").unwrap_or_else(|why| panic!("{why}"));
    for (name, edges) in [("k4", 6), ("none", 0), ("sparse-ids", 5), ("two-blocks", 5)] {
        let (_, bytes) = seeds.iter().find(|(seed, _)| seed == name).expect(name);
        let path = dir.path().join(name);
        std::fs::write(&path, crate::targets::graph_file::sealed(bytes)).unwrap();
        // What is read is compared by the target `graph-file`, on every graph that opens.
        let graph = open(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(graph.edges(), edges, "{name}");
        crate::common::read_all(&graph).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

#[test]
fn every_target_holds_on_mutations_of_its_corpus() {
    all_hold(|target| {
        let place = Place::new();
        let corpus = crate::seeds::of(target.name)?;
        let mut draws = Draws(target.name.len() as u64);
        for _ in 0..MUTATIONS {
            let (_, other) = &corpus[draws.below(corpus.len())];
            let (name, bytes) = &corpus[draws.below(corpus.len())];
            let mut bytes = bytes.clone();
            for _ in 0..=draws.below(4) {
                mutate(&mut bytes, other, &mut draws);
            }
            run(&place, target, &bytes, &format!("mutated {name}"))?;
        }
        Ok(())
    });
}

/// The bytes of this target are choices, so random bytes reach more than mutations of a few inputs.
#[test]
fn dialects_hold_on_random_choices() {
    let target = TARGETS.iter().find(|target| target.name == "dialects").unwrap();
    let found = (0..rayon::current_num_threads()).into_par_iter().with_max_len(1).filter_map(|thread| {
        let (place, mut draws) = (Place::new(), Draws((thread as u64) << 32));
        (0..4 * MUTATIONS).find_map(|_| {
            let bytes: Vec<u8> = (0..128).map(|_| draws.below(256) as u8).collect();
            run(&place, target, &bytes, "random choices").err()
        })
    });
    let wrong: Vec<String> = found.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Changes `bytes` a little; `other` is an input of the same kind.
fn mutate(bytes: &mut Vec<u8>, other: &[u8], draws: &mut Draws) {
    const WORDS: [&[u8]; 9] =
        [b"0", b"4294967295", b"18446744073709551615", b"-1", b"\n", b"%", b"\0", &[0xff; 8], &[0, 0, 0, 0x80]];
    let at = draws.below(bytes.len() + 1);
    let end = at + draws.below(bytes.len() + 1 - at).min(16);
    match draws.below(6) {
        0 if at < bytes.len() => bytes[at] ^= 1 << draws.below(8),
        1 if at < bytes.len() => bytes[at] = draws.below(256) as u8,
        2 => drop(bytes.drain(at..end)),
        3 => bytes.truncate(at),
        4 => drop(bytes.splice(at..end, WORDS[draws.below(WORDS.len())].iter().copied())),
        _ => {
            let from = draws.below(other.len() + 1);
            let to = from + draws.below(other.len() + 1 - from).min(64);
            drop(bytes.splice(at..end, other[from..to].iter().copied()));
        }
    }
}
