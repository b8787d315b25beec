//! What METIS must find, and how its child may end.

use std::ffi::OsString;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use trimill_partitioners::metis::{MetisAssignment, MetisOptions, assign};
use trimill_partitioners::{Error, Graph, Kind};

use crate::CHILD;
use crate::graphs::{Rows, ring_of_cliques, scrambled};

/// A test and its name.
type Test = (&'static str, fn());

pub(crate) const ALL: &[Test] = &[
    ("a_ring_of_cliques_is_cut_at_its_joints", a_ring_of_cliques_is_cut_at_its_joints),
    ("contraction_keeps_runs_together", contraction_keeps_runs_together),
    ("the_same_seed_gives_the_same_assignment", the_same_seed_gives_the_same_assignment),
    ("arcs_are_balanced", arcs_are_balanced),
    ("every_number_of_parts", every_number_of_parts),
    ("nothing_to_decide_needs_no_child", nothing_to_decide_needs_no_child),
    ("refused_early_with_the_numbers", refused_early_with_the_numbers),
    ("wrong_options", wrong_options),
    ("a_child_killed_by_a_signal_is_an_error", a_child_killed_by_a_signal_is_an_error),
    ("sigterm_at_any_moment_is_an_error", sigterm_at_any_moment_is_an_error),
    ("a_wish_to_stop_kills_the_child", a_wish_to_stop_kills_the_child),
    ("children_that_give_no_assignment", children_that_give_no_assignment),
    ("the_child_dies_with_its_parent", the_child_dies_with_its_parent),
];

/// Options for this binary as the helper, in a fresh directory that must be empty at the end.
fn options<'a>(parts: u32, dir: &TempDir) -> MetisOptions<'a> {
    MetisOptions {
        parts,
        seed: 1,
        contract: None,
        host_memory: 1 << 30,
        work_dir: dir.path().to_path_buf(),
        helper: std::env::current_exe().unwrap(),
        helper_args: vec![OsString::from(CHILD)],
        stopped: &|| false,
    }
}

fn assert_empty(dir: &TempDir) {
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "something was left behind");
}

#[track_caller]
fn found(graph: &Rows, options: &MetisOptions<'_>, dir: &TempDir) -> MetisAssignment {
    let assignment = assign(graph, options).unwrap();
    assert_eq!(assignment.parts.len(), graph.vertices() as usize);
    assert!(assignment.parts.iter().all(|&part| part < options.parts));
    assert_eq!(assignment.cut, graph.cut(&assignment.parts));
    assert_empty(dir);
    assignment
}

fn a_ring_of_cliques_is_cut_at_its_joints() {
    let (dir, graph) = (TempDir::new().unwrap(), ring_of_cliques(24, 20));
    for parts in [2, 3, 4, 8, 12] {
        let assignment = found(&graph, &options(parts, &dir), &dir);
        let whole = |clique: &[u32]| clique.iter().all(|&part| part == clique[0]);
        assert!(assignment.parts.chunks(20).all(whole), "{parts} parts split a clique");
        // The best is one joint a part. METIS is a heuristic, and may take a part of two pieces.
        let joints = u64::from(parts)..=2 * u64::from(parts);
        assert!(joints.contains(&assignment.cut), "{} joints for {parts} parts", assignment.cut);
        assert!(assignment.child_peak_bytes > 1 << 20 || cfg!(not(target_os = "linux")));
    }
}

fn contraction_keeps_runs_together() {
    let (dir, graph) = (TempDir::new().unwrap(), ring_of_cliques(24, 20));
    for run in [1, 4, 10, 20, 40] {
        let assignment = found(&graph, &MetisOptions { contract: Some(run), ..options(4, &dir) }, &dir);
        assert!((4..=8).contains(&assignment.cut), "runs of {run}: {} of 24 joints", assignment.cut);
        assert!(assignment.parts.chunks(run as usize).all(|run| run.iter().all(|&part| part == run[0])));
    }
    // A run that does not divide: the best cut is worse, but the promise about runs holds.
    let assignment = found(&graph, &MetisOptions { contract: Some(7), ..options(4, &dir) }, &dir);
    assert!(assignment.parts.chunks(7).all(|run| run.iter().all(|&part| part == run[0])));
}

fn the_same_seed_gives_the_same_assignment() {
    let (dir, graph) = (TempDir::new().unwrap(), scrambled(3000, 8));
    let with = |seed, threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| found(&graph, &MetisOptions { seed, ..options(8, &dir) }, &dir).parts)
    };
    let first = with(5, 1);
    assert_eq!(first, with(5, 1));
    assert_eq!(first, with(5, 3));
    assert_ne!(first, with(6, 1));
    assert_ne!(first, with(5 << 40, 1));
}

fn arcs_are_balanced() {
    let (dir, graph) = (TempDir::new().unwrap(), scrambled(5000, 8));
    let assignment = found(&graph, &options(5, &dir), &dir);
    let mut weights = [0_u64; 5];
    for (id, &part) in (0..).zip(&assignment.parts) {
        weights[part as usize] += u64::from(graph.out_degree(id)) + 1;
    }
    // METIS allows 3% over the ideal.
    let ideal = weights.iter().sum::<u64>() as f64 / 5.0;
    assert!(weights.iter().all(|&weight| weight as f64 <= 1.031 * ideal), "{weights:?}");
}

fn every_number_of_parts() {
    let dir = TempDir::new().unwrap();
    for graph in [ring_of_cliques(4, 3), Rows::new(9, &[(0, 8)]), Rows::new(5, &[(0, 1), (0, 2), (0, 3), (0, 4)])] {
        for parts in (1..=graph.vertices() + 1).chain([1000]) {
            found(&graph, &options(parts, &dir), &dir);
            found(&graph, &MetisOptions { contract: Some(2), ..options(parts, &dir) }, &dir);
        }
    }
    found(&scrambled(400, 3), &options(399, &dir), &dir);
}

fn nothing_to_decide_needs_no_child() {
    let dir = TempDir::new().unwrap();
    let no_helper = |parts, contract| MetisOptions {
        helper: dir.path().join("none"),
        work_dir: dir.path().join("none"),
        contract,
        ..options(parts, &dir)
    };
    let graph = ring_of_cliques(4, 5);
    assert_eq!(found(&graph, &no_helper(1, None), &dir).parts, [0; 20]);
    assert_eq!(found(&graph, &no_helper(20, None), &dir).parts, (0..20).collect::<Vec<_>>());
    assert_eq!(found(&graph, &no_helper(9, Some(5)), &dir).parts[..6], [0, 0, 0, 0, 0, 1]);
    assert_eq!(found(&graph, &no_helper(3, Some(u32::MAX)), &dir).parts, [0; 20]);
    assert_eq!(found(&Rows::new(6, &[]), &no_helper(3, None), &dir).parts, [0, 0, 1, 1, 2, 2]);
    assert!(found(&Rows::new(0, &[]), &no_helper(3, None), &dir).parts.is_empty());
    // All edges are within runs.
    let pairs = Rows::new(8, &[(0, 1), (2, 3), (4, 5), (6, 7)]);
    assert_eq!(found(&pairs, &no_helper(2, Some(2)), &dir).parts, [0, 0, 0, 0, 1, 1, 1, 1]);
}

/// A graph that only claims to be big.
struct Claim(u32, u64);

impl Graph for Claim {
    fn vertices(&self) -> u32 {
        self.0
    }
    fn edges(&self) -> u64 {
        self.1
    }
    fn out_degree(&self, _: u32) -> u32 {
        panic!("refused too late")
    }
    fn degree(&self, _: u32) -> u32 {
        panic!("refused too late")
    }
    fn heads_of(&self, _: u32, _: &mut dyn FnMut(u32)) {
        panic!("refused too late")
    }
}

#[track_caller]
fn assert_refused(error: Error, kind: Kind, words: &[&str]) {
    let message = error.to_string();
    assert_eq!(error.kind, kind, "{message}");
    words.iter().for_each(|word| assert!(message.contains(word), "'{word}' is not in: {message}"));
}

fn refused_early_with_the_numbers() {
    let dir = TempDir::new().unwrap();
    let rich = MetisOptions { host_memory: u64::MAX, ..options(4, &dir) };
    let error = assign(&Claim(1 << 20, 1 << 30), &rich).unwrap_err();
    assert_refused(
        error,
        Kind::Resource,
        &["2147483648 arcs", "at most 2147483647", "--metis-contract K", "contiguous"],
    );
    let error = assign(&Claim(u32::MAX - 1, 10), &rich).unwrap_err();
    assert_refused(error, Kind::Resource, &["4294967294 vertices", "2147483647"]);
    let error = assign(&Claim(1 << 20, 10_000_000), &options(4, &dir)).unwrap_err();
    let words = ["1500000000 bytes (1.40 GiB)", "20000000 arcs", "budget of 1073741824 bytes", "--host-memory"];
    assert_refused(error, Kind::Resource, &words);
    // 24 runs in a ring: 48 arcs, 3600 bytes.
    let graph = ring_of_cliques(24, 20);
    let tight = |host_memory| MetisOptions { contract: Some(20), host_memory, ..options(4, &dir) };
    assert_eq!(found(&graph, &tight(3600), &dir).cut, 4);
    let error = assign(&graph, &tight(3599)).unwrap_err();
    assert_refused(error, Kind::Resource, &["3600 bytes", "24 runs of 20 vertices with 48 arcs", "more than 20"]);
    assert_empty(&dir);
}

fn wrong_options() {
    let (dir, graph) = (TempDir::new().unwrap(), ring_of_cliques(3, 3));
    assert_refused(assign(&graph, &options(0, &dir)).unwrap_err(), Kind::Usage, &["0 parts", "1 to 1048576"]);
    assert_refused(assign(&graph, &options(1 << 21, &dir)).unwrap_err(), Kind::Usage, &["2097152 parts"]);
    let contract = MetisOptions { contract: Some(0), ..options(2, &dir) };
    assert_refused(assign(&graph, &contract).unwrap_err(), Kind::Usage, &["--metis-contract 1"]);
    let nowhere = MetisOptions { work_dir: dir.path().join("nowhere"), ..options(2, &dir) };
    assert_refused(assign(&graph, &nowhere).unwrap_err(), Kind::Resource, &["nowhere", "--work-dir"]);
}

/// The children of this process.
fn children() -> Vec<Pid> {
    let us = std::process::id().to_string();
    let parent = |status: &str| status.lines().find_map(|line| Some(line.strip_prefix("PPid:")?.trim().to_owned()));
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let id = entry.file_name().to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw);
        let status = std::fs::read_to_string(entry.path().join("status")).unwrap_or_default();
        if parent(&status).is_some_and(|parent| parent == us) {
            found.extend(id);
        }
    }
    found
}

/// Whether METIS has begun in the process: it catches SIGTERM then.
fn runs_metis(process: Pid) -> bool {
    let status =
        std::fs::read_to_string(Path::new("/proc").join(process.to_string()).join("status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigCgt:")?.trim(), 16).ok());
    caught.is_some_and(|caught| caught >> 14 & 1 == 1)
}

/// Assigns a graph that takes METIS long, and calls `with_child` at every poll.
fn watched(
    graph: &Rows,
    dir: &TempDir,
    with_child: impl Fn(Pid) -> bool + Sync,
) -> (Result<MetisAssignment, Error>, Duration) {
    let stopped = || children().first().is_some_and(|&child| with_child(child));
    let begun = Instant::now();
    let result = assign(graph, &MetisOptions { stopped: &stopped, ..options(64, dir) });
    assert!(children().is_empty(), "the child is still there");
    assert_empty(dir);
    (result, begun.elapsed())
}

fn a_child_killed_by_a_signal_is_an_error() {
    if cfg!(not(target_os = "linux")) {
        return;
    }
    let (dir, graph) = (TempDir::new().unwrap(), scrambled(40_000, 8));
    let cases = [
        (Signal::KILL, "signal 9"),
        (Signal::TERM, "signal 15 (SIGTERM)"),
        (Signal::INT, "signal 2 (SIGINT)"),
        (Signal::HUP, "signal 1 (SIGHUP)"),
        // METIS takes this one for a lack of memory, and says so from within or in the end.
        (Signal::ABORT, "it said:"),
    ];
    for (signal, word) in cases {
        let sent = AtomicBool::new(false);
        let (result, _) = watched(&graph, &dir, |child| {
            if runs_metis(child) && !sent.swap(true, Ordering::Relaxed) {
                kill_process(child, signal).unwrap();
            }
            false
        });
        assert!(sent.into_inner(), "METIS was too fast for signal {signal:?}");
        let error = result.map(|found| found.cut).expect_err(&format!("{signal:?} had no effect"));
        assert_refused(error, Kind::Child, &[word, "partitioner contiguous"]);
    }
}

/// From before METIS begins until it is nearly done, the initial partition included.
fn sigterm_at_any_moment_is_an_error() {
    if cfg!(not(target_os = "linux")) {
        return;
    }
    let (dir, graph) = (TempDir::new().unwrap(), scrambled(6000, 8));
    let expected = found(&graph, &options(64, &dir), &dir);
    let (mut ended, mut finished) = (0, 0);
    for delay in 0..40 {
        let polls = AtomicU32::new(0);
        let (result, took) = watched(&graph, &dir, |child| {
            if polls.fetch_add(1, Ordering::Relaxed) == 0 {
                std::thread::sleep(Duration::from_millis(delay * 5));
                // It may be done by now: it is not yet waited for, so the number is still its own.
                kill_process(child, Signal::TERM).unwrap();
            }
            false
        });
        assert!(took < Duration::from_secs(20));
        match result {
            Err(error) => {
                ended += 1;
                assert_refused(error, Kind::Child, &["SIGTERM"]);
            }
            Ok(assignment) => {
                finished += 1;
                assert_eq!(assignment.parts, expected.parts, "a wrong assignment after SIGTERM");
            }
        }
    }
    assert!(ended > 5, "{ended} ended, {finished} finished");
}

fn a_wish_to_stop_kills_the_child() {
    let (dir, graph) = (TempDir::new().unwrap(), scrambled(40_000, 8));
    let asked = AtomicU32::new(0);
    let stopped = || {
        let child_runs = cfg!(not(target_os = "linux")) || children().first().is_some_and(|&child| runs_metis(child));
        child_runs && asked.fetch_add(1, Ordering::Relaxed) > 1
    };
    let begun = Instant::now();
    let error = assign(&graph, &MetisOptions { stopped: &stopped, ..options(64, &dir) }).unwrap_err();
    assert_refused(error, Kind::Interrupted, &["interrupted"]);
    assert!(begun.elapsed() < Duration::from_secs(10));
    assert!(cfg!(not(target_os = "linux")) || children().is_empty());
    assert_empty(&dir);
    // And before anything has begun.
    let error = assign(&graph, &MetisOptions { stopped: &|| true, ..options(64, &dir) }).unwrap_err();
    assert_refused(error, Kind::Interrupted, &[]);
    assert_empty(&dir);
}

fn children_that_give_no_assignment() {
    let (dir, graph) = (TempDir::new().unwrap(), ring_of_cliques(4, 5));
    let with = |helper: &str, args: &[&str]| {
        let helper = if helper.is_empty() { std::env::current_exe().unwrap() } else { helper.into() };
        let helper_args = args.iter().map(OsString::from).collect();
        let error = assign(&graph, &MetisOptions { helper, helper_args, ..options(2, &dir) }).unwrap_err();
        assert_empty(&dir);
        error
    };
    assert_refused(with("/nonexistent/helper", &[]), Kind::Child, &["/nonexistent/helper", "cannot be started"]);
    assert_refused(with("", &["broken-child"]), Kind::Child, &["METIS left", "expected an assignment"]);
    let words = ["exit code 77", "it said: this child is unwell", "contiguous"];
    assert_refused(with("", &["shouting-child"]), Kind::Child, &words);
    assert_refused(with("", &[CHILD, "1"]), Kind::Child, &["exit code 1", "for the program itself"]);
}

/// A parent that is killed takes its child with it: the parent here is a process of its own, whose child is stopped in
/// the middle of METIS.
fn the_child_dies_with_its_parent() {
    use std::process::{Command, Stdio};
    if cfg!(not(target_os = "linux")) {
        return;
    }
    let dir = TempDir::new().unwrap();
    let mut parent = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_wish_to_stop_kills_the_child"])
        .env("TMPDIR", dir.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let id = parent.id();
    let list = Path::new("/proc").join(id.to_string()).join("task").join(id.to_string()).join("children");
    let until = Instant::now() + Duration::from_secs(20);
    let child = loop {
        let child = std::fs::read_to_string(&list).unwrap_or_default().split_whitespace().next().map(str::to_owned);
        if let Some(child) = child.and_then(|id| id.parse().ok()).and_then(Pid::from_raw)
            && runs_metis(child)
        {
            break child;
        }
        assert!(Instant::now() < until && parent.try_wait().unwrap().is_none(), "no child was seen");
    };
    parent.kill().unwrap();
    parent.wait().unwrap();
    let gone = || {
        let status = std::fs::read_to_string(Path::new("/proc").join(child.to_string()).join("status"));
        status.map_or(true, |status| status.contains("State:\tZ"))
    };
    while !gone() {
        assert!(Instant::now() < until, "the child outlived its parent");
        std::thread::sleep(Duration::from_millis(5));
    }
}
