//! The fuzz targets on their corpus, and on a few mutations of it: what `scripts/fuzz` found stays found.
//!
//! `fuzz/corpus/TARGET/` holds small inputs: named ones were written by hand (`found-*` broke a property once), those named
//! by a hash were kept by the fuzzer because each reaches something that no other one does.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

#[path = "../fuzz/targets/mod.rs"]
mod targets;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rayon::prelude::*;
use targets::{Place, TARGETS, Target};
use trimill::bytes::Bytes;
use trimill::control::Control;
use trimill::graph::file::{Place as GraphPlace, open};
use trimill::graph::{Direction, RowBlock};

/// So many inputs that break a property are looked for.
const MOST_FOUND: usize = 20;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Mutated inputs of a target.
const MUTATIONS: usize = 600;

fn corpus(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.into_iter().map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
}

/// Runs one input and says which it was when it fails.
fn run(place: &Place, target: &Target, bytes: &[u8], name: &str) {
    if catch_unwind(AssertUnwindSafe(|| place.run(target, bytes))).is_err() {
        panic!("{}: {name}: b\"{}\"", target.name, bytes.escape_ascii());
    }
}

#[test]
fn every_target_has_a_corpus_and_holds_on_it() {
    let mut folders: Vec<String> = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    folders.sort();
    assert_eq!(folders, TARGETS.each_ref().map(|target| target.name));
    TARGETS.par_iter().for_each(|target| {
        let place = Place::new();
        run(&place, target, &[], "nothing");
        for (path, bytes) in corpus(target.name) {
            run(&place, target, &bytes, &path.display().to_string());
        }
    });
}

/// Where the format of graph files changes, its seeds do, or nothing behind the footer is reached any more.
#[test]
fn graph_files_written_by_hand_are_graphs() {
    let dir = tempfile::tempdir().unwrap();
    for (name, edges) in [("k4", 6), ("none", 0), ("sparse-ids", 5), ("two-blocks", 5)] {
        let bytes = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/graph-file").join(name));
        let path = dir.path().join(name);
        std::fs::write(&path, targets::graph_file::sealed(&bytes.unwrap())).unwrap();
        let graph = open(GraphPlace::Cached(path)).unwrap();
        assert_eq!((graph.edges(), graph.first_arc(graph.vertices()).unwrap()), (edges, edges), "{name}");
        let degrees: u32 = graph.out_degrees().unwrap().iter().sum();
        let mut passed = 0;
        let mut all = |block: RowBlock<'_>| {
            passed += block.successors().len() as u64;
            Ok(())
        };
        graph.pass(Bytes(1), Direction::Rising, &Control::silent(), &mut all).unwrap();
        assert_eq!((u64::from(degrees), passed), (edges, edges), "{name}");
        assert_eq!(graph.order().unwrap().len() as u64, u64::from(graph.vertices()));
        assert!(graph.ids().is_ok(), "{name}");
    }
}

#[test]
fn every_target_holds_on_mutations_of_its_corpus() {
    TARGETS.par_iter().for_each(|target| {
        let place = Place::new();
        let corpus = corpus(target.name);
        let mut dice = Dice(0x9e37_79b9_7f4a_7c15 ^ target.name.len() as u64);
        for _ in 0..MUTATIONS {
            let (_, other) = &corpus[dice.below(corpus.len())];
            let (path, bytes) = &corpus[dice.below(corpus.len())];
            let mut bytes = bytes.clone();
            for _ in 0..=dice.below(4) {
                mutate(&mut bytes, other, &mut dice);
            }
            run(&place, target, &bytes, &format!("mutated {}", path.display()));
        }
    });
}

/// The bytes of this target are choices, so random ones reach what mutations of a few inputs do not. `TRIMILL_FUZZ_SECONDS`
/// makes it go on for as long. What breaks the property is collected, since one cause hides others.
#[test]
fn dialects_hold_on_random_choices() {
    let target = TARGETS.iter().find(|target| target.name == "dialects").unwrap();
    let seconds = std::env::var("TRIMILL_FUZZ_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
    let end = seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let seeds: Vec<u64> = (1..=rayon::current_num_threads() as u64).collect();
    let (runs, found) = (AtomicU64::new(0), Mutex::new(Vec::new()));
    seeds.par_iter().with_max_len(1).for_each(|&seed| {
        let place = Place::new();
        let mut dice = Dice(0x9e37_79b9_7f4a_7c15u64.wrapping_mul(seed));
        let mut done = 0;
        while end.map_or(done < 4 * MUTATIONS, |end| Instant::now() < end) && lock(&found).len() < MOST_FOUND {
            let bytes: Vec<u8> = (0..128).map(|_| dice.below(256) as u8).collect();
            if let Err(why) = catch_unwind(AssertUnwindSafe(|| place.run(target, &bytes))) {
                let why = why.downcast_ref::<String>().cloned().unwrap_or_default();
                lock(&found).push(format!("{why}: b\"{}\"", bytes.escape_ascii()));
            }
            done += 1;
        }
        runs.fetch_add(done as u64, Ordering::Relaxed);
    });
    println!("{} runs", runs.into_inner());
    assert!(lock(&found).is_empty(), "{}", lock(&found).join("\n"));
}

/// Numbers that are the same in every run (xorshift64*, Vigna 2016).
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % end.max(1)
    }
}

/// Changes `bytes` a little; `other` is an input of the same kind.
fn mutate(bytes: &mut Vec<u8>, other: &[u8], dice: &mut Dice) {
    const WORDS: [&[u8]; 9] =
        [b"0", b"4294967295", b"18446744073709551615", b"-1", b"\n", b"%", b"\0", &[0xff; 8], &[0, 0, 0, 0x80]];
    let at = dice.below(bytes.len() + 1);
    let end = at + dice.below(bytes.len() + 1 - at).min(16);
    match dice.below(6) {
        0 if at < bytes.len() => bytes[at] ^= 1 << dice.below(8),
        1 if at < bytes.len() => bytes[at] = dice.below(256) as u8,
        2 => drop(bytes.drain(at..end)),
        3 => bytes.truncate(at),
        4 => drop(bytes.splice(at..end, WORDS[dice.below(WORDS.len())].iter().copied())),
        _ => {
            let from = dice.below(other.len() + 1);
            let to = from + dice.below(other.len() + 1 - from).min(64);
            drop(bytes.splice(at..end, other[from..to].iter().copied()));
        }
    }
}
