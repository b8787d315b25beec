//! The fuzz targets on their corpus, and on a few mutations of it: a regression test of what `scripts/fuzz` found.
//!
//! `fuzz/corpus/TARGET.tar.zst` has small inputs: those with names were written by hand (`found-*` violated a property once), those
//! named by a hash were kept by the fuzzer because each covers code that no other one does.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::targets::{Place, TARGETS, Target};
use rayon::prelude::*;
use trimill::testing::graph::file::open;
use trimill::testing::graph::{Direction, RowRun};
use trimill::{Bytes, Control};

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

#[test]
fn every_target_has_an_archive_and_nothing_else_is_there() {
    let found: Vec<String> = std::fs::read_dir(crate::seeds::folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let expected = TARGETS.each_ref().map(|target| crate::seeds::archive(target.name));
    let lacks: Vec<_> = expected.iter().filter(|name| !found.contains(name)).collect();
    let besides: Vec<_> = found.iter().filter(|name| !expected.contains(name)).collect();
    assert!(
        lacks.is_empty() && besides.is_empty(),
        "fuzz/corpus/: {lacks:?} missing, {besides:?} not expected; there must be one archive for each target of \
         fuzz/targets/mod.rs and nothing else: 'scripts/fuzz-seeds add TARGET FILE...' takes seeds into one"
    );
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
        let graph = open(&path).unwrap();
        assert_eq!((graph.edges(), graph.first_arc(graph.vertices()).unwrap()), (edges, edges), "{name}");
        let degrees: u32 = graph.out_degrees().unwrap().iter().sum();
        let mut passed = 0;
        let mut all = |block: RowRun<'_>| {
            passed += block.arcs(&block.ranks()).end;
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
    all_hold(|target| {
        let place = Place::new();
        let corpus = crate::seeds::of(target.name)?;
        let mut dice = Dice(0x9e37_79b9_7f4a_7c15 ^ target.name.len() as u64);
        for _ in 0..MUTATIONS {
            let (_, other) = &corpus[dice.below(corpus.len())];
            let (name, bytes) = &corpus[dice.below(corpus.len())];
            let mut bytes = bytes.clone();
            for _ in 0..=dice.below(4) {
                mutate(&mut bytes, other, &mut dice);
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
        let (place, mut dice) = (Place::new(), Dice(0x9e37_79b9_7f4a_7c15u64.wrapping_mul(thread as u64 + 1)));
        (0..4 * MUTATIONS).find_map(|_| {
            let bytes: Vec<u8> = (0..128).map(|_| dice.below(256) as u8).collect();
            run(&place, target, &bytes, "random choices").err()
        })
    });
    let wrong: Vec<String> = found.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Reproducible random numbers (xorshift64*, Vigna 2016).
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
