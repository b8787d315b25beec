//! How the child may end: by signals, by a request to stop, without an assignment, with its parent.

use std::ffi::OsString;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use trimill_partitioners::RowsById;
use trimill_partitioners::metis::{MetisOptions, assign};
use trimill_system::child::Helper;
use trimill_system::{Control, Error, Kind};

use crate::CHILD;
use crate::graphs::{ring_of_cliques, scrambled};
use crate::tests::{HELPER, assert_empty, assert_refused, found, options};

/// What the system says of a process; `None` if it is gone.
fn status(process: Pid, field: &str) -> Option<String> {
    let path = Path::new("/proc").join(process.as_raw_pid().to_string()).join("status");
    std::fs::read_to_string(path).ok()?.lines().find_map(|line| Some(line.strip_prefix(field)?.trim().to_owned()))
}

fn children_of(parent: u32) -> Vec<Pid> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let processes = entries.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?));
    processes.filter(|&process| status(process, "PPid:") == Some(parent.to_string())).collect()
}

fn children() -> Vec<Pid> {
    children_of(std::process::id())
}

/// Whether METIS has begun in the process: then it has a handler of SIGTERM.
fn runs_metis(process: &Pid) -> bool {
    let caught = status(*process, "SigCgt:").and_then(|caught| u64::from_str_radix(&caught, 16).ok());
    caught.is_some_and(|caught| caught >> 14 & 1 == 1)
}

/// The error of a graph for which METIS takes long, whose child gets `signal` once METIS has begun.
fn killed(graph: &RowsById, dir: &TempDir, helper: &Helper, signal: Signal) -> Error {
    let sent = AtomicBool::new(false);
    let control = Control::silent().watched(move || {
        let child = children().first().copied().filter(runs_metis);
        if let Some(child) = child.filter(|_| !sent.swap(true, Ordering::Relaxed)) {
            kill_process(child, signal).unwrap();
        }
    });
    let options = MetisOptions { helper, control: &control, ..options(64, dir) };
    let error = assign(graph, &options).map(|found| found.cut).expect_err(&format!("{signal:?} had no effect"));
    assert!(children().is_empty(), "the child is still there");
    assert_empty(dir);
    error
}

pub(crate) fn a_child_killed_by_a_signal_is_an_error() {
    let (dir, graph) = (TempDir::new().unwrap(), scrambled(40_000, 8));
    let cases = [
        (Signal::KILL, "signal 9"),
        (Signal::TERM, "was ended by signal 15 (SIGTERM)"),
        (Signal::INT, "signal 2 (SIGINT)"),
        (Signal::HUP, "signal 1 (SIGHUP)"),
    ];
    for (signal, word) in cases {
        assert_refused(killed(&graph, &dir, &HELPER, signal), Kind::Resource, &[word, "partitioner contiguous"]);
    }
}

/// As in a background job of a shell, whose children inherit the ignored SIGINT.
pub(crate) fn a_child_heeds_signals_that_its_parent_ignores() {
    let (dir, graph) = (TempDir::new().unwrap(), scrambled(40_000, 8));
    let this = std::env::current_exe().unwrap().into_os_string();
    for (signal, word) in [(Signal::INT, "signal 2 (SIGINT)"), (Signal::QUIT, "signal 3 (SIGQUIT)")] {
        let script = r#"trap "" INT QUIT; exec "$@""#;
        let arguments = ["-c", script, "sh"].map(OsString::from).into_iter().chain([this.clone(), CHILD.into()]);
        let helper = Helper { program: "/bin/sh".into(), arguments: arguments.collect() };
        assert_refused(killed(&graph, &dir, &helper, signal), Kind::Resource, &[word]);
    }
}

/// SIGTERM comes at moments from before METIS begins until it is nearly done, including its initial partitioning.
pub(crate) fn sigterm_at_any_moment_is_an_error() {
    let (dir, graph) = (TempDir::new().unwrap(), scrambled(6000, 8));
    let expected = found(&graph, &options(64, &dir), &dir);
    let (mut ended, mut finished) = (0, 0);
    for delay in 0..40 {
        let polls = AtomicU32::new(0);
        let control = Control::silent().watched(move || {
            if let Some(&child) = children().first()
                && polls.fetch_add(1, Ordering::Relaxed) == 0
            {
                std::thread::sleep(Duration::from_millis(delay * 5));
                // The child may have ended by now, but it was not waited for, so its process id is still valid.
                kill_process(child, Signal::TERM).unwrap();
            }
        });
        let begun = Instant::now();
        let result = assign(&graph, &MetisOptions { control: &control, ..options(64, &dir) });
        assert!(children().is_empty() && begun.elapsed() < Duration::from_secs(20));
        assert_empty(&dir);
        match result {
            Err(error) => {
                ended += 1;
                assert_refused(error, Kind::Resource, &["METIS was ended by signal 15 (SIGTERM)"]);
            }
            Ok(assignment) => {
                finished += 1;
                assert_eq!(assignment.parts, expected.parts, "a wrong assignment after SIGTERM");
            }
        }
    }
    assert!(ended > 5, "{ended} ended, {finished} finished");
}

pub(crate) fn a_wish_to_stop_kills_the_child() {
    let (dir, graph) = (TempDir::new().unwrap(), scrambled(40_000, 8));
    let asked = AtomicU32::new(0);
    let control = Control::silent();
    let stop = control.clone();
    let watched = control.watched(move || {
        if children().first().is_some_and(runs_metis) && asked.fetch_add(1, Ordering::Relaxed) > 1 {
            stop.stop();
        }
    });
    let begun = Instant::now();
    let error = assign(&graph, &MetisOptions { control: &watched, ..options(64, &dir) }).unwrap_err();
    assert_refused(error, Kind::Interrupted, &["interrupted"]);
    assert!(begun.elapsed() < Duration::from_secs(10));
    assert!(children().is_empty());
    assert_empty(&dir);
    let error = assign(&graph, &MetisOptions { control: &control, ..options(64, &dir) }).unwrap_err();
    assert_refused(error, Kind::Interrupted, &[]);
    assert_empty(&dir);
}

pub(crate) fn children_that_give_no_assignment() {
    let (dir, graph) = (TempDir::new().unwrap(), ring_of_cliques(4, 5));
    let with = |helper: &str, args: &[&str]| {
        let program = if helper.is_empty() { std::env::current_exe().unwrap() } else { helper.into() };
        let helper = Helper { program, arguments: args.iter().map(OsString::from).collect() };
        let error = assign(&graph, &MetisOptions { helper: &helper, ..options(2, &dir) }).unwrap_err();
        assert_empty(&dir);
        error
    };
    assert_refused(with("/nonexistent/helper", &[]), Kind::Resource, &["/nonexistent/helper", "cannot be started"]);
    assert_refused(with("", &["broken-child"]), Kind::Resource, &["METIS left", "expected an assignment"]);
    let words = ["exit code 77", "it said: this child is unwell", "contiguous"];
    assert_refused(with("", &["shouting-child"]), Kind::Resource, &words);
    assert_refused(with("", &[CHILD, "1"]), Kind::Resource, &["exit code 1", "for the program itself"]);
}

/// The child is killed when its parent is killed: here the parent is a separate process, whose child is stopped while METIS runs.
pub(crate) fn the_child_dies_with_its_parent() {
    use std::process::{Command, Stdio};
    let dir = TempDir::new().unwrap();
    let mut parent = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_wish_to_stop_kills_the_child"])
        .env("TMPDIR", dir.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let until = Instant::now() + Duration::from_secs(20);
    let child = loop {
        if let Some(child) = children_of(parent.id()).into_iter().find(runs_metis) {
            break child;
        }
        assert!(Instant::now() < until && parent.try_wait().unwrap().is_none(), "no child was seen");
    };
    parent.kill().unwrap();
    parent.wait().unwrap();
    while status(child, "State:").is_some_and(|state| !state.starts_with('Z')) {
        assert!(Instant::now() < until, "the child outlived its parent");
        std::thread::sleep(Duration::from_millis(5));
    }
}
