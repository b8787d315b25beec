//! Every write of a job fails once, and at many of them the job is killed, panics or is interrupted; then it is started again.

use std::cell::Cell;
use std::process::Output;

use crate::common::flip;
use crate::common::packed::gz;

use super::restarts::killed_when;
use super::support::{COLLABORATION, LITTLE, MESH, Place, ROUTERS, at_every, data, error, files, verified};

fn at_every_write(
    fault: &str,
    step: usize,
    known: (&str, u128),
    arguments: &[&str],
    ended: impl Fn(&Output, &str),
) -> usize {
    at_every(fault, step, Place::new, known, arguments, ended).0
}

/// Standard output is one object: the failure, or the answer if only its files could not be written.
fn answers_or_fails(output: &Output, error: &str) {
    let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let kind = &said["error"]["kind"];
    if kind == "resource" || kind == "defect" {
        assert_eq!(said["error"]["message"], error);
    } else {
        let counted = [COLLABORATION, ROUTERS].map(|(_, triangles)| said["triangles"] == triangles as u64);
        assert!(counted.contains(&true), "{error}");
    }
}

fn disk_is_full(output: &Output, said: &str) {
    assert_eq!(output.status.code(), Some(3), "{said}");
    let error = error(said);
    answers_or_fails(output, error);
    assert!(error.contains("No space left on device"), "{said}");
    // The error names the file or its directory, and says what to do.
    assert!(["run", "out", "spills", "cache", "work"].iter().any(|place| error.contains(place)), "{said}");
    assert!(error.contains("free some space") || error.contains("name a directory"), "{said}");
}

fn is_killed(output: &Output, said: &str) {
    assert_eq!(output.status.code(), None, "{said}");
    assert!(output.stdout.is_empty());
}

fn a_thread_panicked(output: &Output, said: &str) {
    assert_eq!(output.status.code(), Some(101), "{said}");
    let error = error(said);
    assert!(error.contains("failed: a fault of TRIMILL_FAULT") && error.contains("thread"), "{said}");
    answers_or_fails(output, error);
}

/// If only the result is left to be printed, the job may be done before it notices the signal.
fn is_interrupted_or_done(output: &Output, said: &str) {
    match output.status.code() {
        Some(0) => assert!(!output.stdout.is_empty(), "{said}"),
        code => {
            assert_eq!(code, Some(130), "{said}");
            assert!(said.contains("interrupted"), "{said}");
        }
    }
}

/// A spill that cannot be read is rebuilt; other failures to read end the job.
fn is_done_or_names_the_disk(output: &Output, said: &str) {
    match output.status.code() {
        Some(0) => assert!(said.contains("is built again"), "{said}"),
        code => {
            assert_eq!(code, Some(1), "{said}");
            assert!(error(said).contains("Input/output error"), "{said}");
        }
    }
}

/// A bit that changed on the disk, or on the way from it, is noticed: the job ends, or does again what it had done.
fn is_right_or_refused(output: &Output, said: &str) {
    let code = output.status.code();
    assert!(matches!(code, Some(0 | 1 | 3)), "{said}");
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let counted = [COLLABORATION, ROUTERS].iter().any(|(_, triangles)| answer["triangles"] == *triangles as u64);
    if code != Some(0) {
        assert!(said.lines().last().unwrap().starts_with("error: "), "{said}");
    }
    // An error and a count: only its files could not be written.
    assert!(counted || (code != Some(0) && answer["error"]["message"].is_string()), "{said}");
}

const USUAL: [&str; 9] =
    ["--no-cache", "--partitioner", "contiguous", "--parts", "5", "--threads", "2", "--output", "out"];

#[test]
fn a_full_disk_at_any_write() {
    let struck = at_every_write("write", 1, ROUTERS, &USUAL, disk_is_full);
    assert!(struck > 60, "{struck} writes");
}

#[test]
fn a_kill_at_writes() {
    let struck = at_every_write("kill", 2, ROUTERS, &USUAL, is_killed);
    assert!(struck > 30, "{struck} writes");
}

/// All partitions are built at once unless there is too little memory: here two at a time.
#[test]
fn a_kill_at_writes_of_batches() {
    let place = || Place::new().with("TRIMILL_BATCH", "2");
    let (struck, _) = at_every("kill", 4, place, ROUTERS, &USUAL, is_killed);
    assert!(struck > 10, "{struck} writes");
}

#[test]
fn a_panic_at_writes() {
    let struck = at_every_write("panic", 3, ROUTERS, &USUAL, a_thread_panicked);
    assert!(struck > 20, "{struck} writes");
}

#[test]
fn a_signal_at_writes() {
    let struck = at_every_write("term", 3, ROUTERS, &USUAL, is_interrupted_or_done);
    assert!(struck > 20, "{struck} writes");
}

#[test]
fn a_reading_that_fails() {
    let struck = at_every_write("read", 1, ROUTERS, &USUAL, is_done_or_names_the_disk);
    assert!(struck > 15, "{struck} readings");
    let struck = at_every_write("damage", 1, ROUTERS, &USUAL, is_right_or_refused);
    assert!(struck > 10, "{struck} readings");
}

/// The plain text of a compressed file in such a format waits on disk.
#[test]
fn a_copy_of_the_input_that_changes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mesh.graph.gz");
    std::fs::write(&path, gz(std::fs::read(data(MESH.0)).unwrap())).unwrap();
    // No other temporary file of this job is on disk: later readings are those of the graph and the records.
    let arguments = ["--no-cache", "--partitioner", "rank"];
    let refused = Cell::new(0);
    let ended = |output: &Output, said: &str| {
        if said.contains("a temporary file in it does not hold what was written to it") {
            assert_eq!(output.status.code(), Some(3), "{said}");
            refused.set(refused.get() + 1);
        } else {
            assert_ne!(output.status.code(), Some(0), "{said}");
        }
    };
    at_every_write("damage", 1, (path.to_str().unwrap(), MESH.1), &arguments, ended);
    assert!(refused.get() > 3, "{} readings of the copy", refused.get());
}

/// With little memory buckets are on disk, too, and most of the writes are theirs.
#[test]
fn the_same_where_buckets_are_on_disk() {
    let little = ["--no-cache", "--parts", "3", "--partitioner", "random", "--host-memory", LITTLE, "--threads", "2"];
    for (fault, first, ended) in [
        ("write", 11, disk_is_full as fn(&Output, &str)),
        ("kill", 13, is_killed),
        ("panic", 17, a_thread_panicked),
        ("term", 19, is_interrupted_or_done),
        ("read", 5, is_done_or_names_the_disk),
        ("damage", 5, is_right_or_refused),
    ] {
        let struck = at_every_write(fault, first, ROUTERS, &little, ended);
        assert!(struck >= 5, "{fault}: {struck} times");
    }
}

/// METIS and its files, spills that are kept, folders elsewhere, the cache.
#[test]
fn the_same_with_metis_kept_spills_and_the_cache() {
    let kept =
        ["--partitioner", "metis", "--parts", "3", "--keep-spill", "--spill-dir", "spills", "--work-dir", "tmp/work"];
    // The default cache is optional: if only its disk is full, the job continues without it.
    let ended = |output: &Output, said: &str| match output.status.code() {
        Some(0) => assert!(said.contains("cache") && said.contains("goes on without the cache"), "{said}"),
        _ => disk_is_full(output, said),
    };
    let struck = at_every_write("write", 2, ROUTERS, &kept, ended);
    assert!(struck > 15, "{struck} writes");
    let struck = at_every_write("kill", 2, ROUTERS, &kept, is_killed);
    assert!(struck > 15, "{struck} writes");
}

/// The triangles at each vertex or on each edge are counted, too: a file for each partition, and in the end the one that was asked for.
fn at_every_write_of_counts(flag: &str) {
    let vertices = ["--no-cache", "--parts", "4", "--partitioner", "contiguous", flag, "out.tsv"];
    let ranges = ["--no-cache", "--parts", "3", "--partitioner", "rank", flag, "out.tsv"];
    for (arguments, step) in [(vertices, 3), (ranges, 2)] {
        for (fault, step, least, ended) in [
            ("write", step, 12, disk_is_full as fn(&Output, &str)),
            ("kill", 2 * step, 6, is_killed),
            ("panic", 3 * step, 4, a_thread_panicked),
        ] {
            let struck = at_every_write(fault, step, ROUTERS, &arguments, ended);
            assert!(struck > least, "{fault}: {struck} writes");
        }
        at_every_write("read", 4, ROUTERS, &arguments, is_done_or_names_the_disk);
        at_every_write("damage", 3, ROUTERS, &arguments, is_right_or_refused);
    }
}

#[test]
fn the_same_with_counts_at_vertices() {
    at_every_write_of_counts("--per-vertex");
}

#[test]
fn the_same_with_counts_on_edges() {
    at_every_write_of_counts("--per-edge");
}

#[test]
fn damaged_counts_are_counted_again() {
    are_counted_again("--per-vertex", "vertices");
    are_counted_again("--per-edge", "edges");
}

/// A partition whose kept counts are damaged or missing is counted again; the others are not.
fn are_counted_again(flag: &str, suffix: &str) {
    let arguments = ["--no-cache", "--parts", "5", "--partitioner", "rank", flag, "out.tsv"];
    let counted = |place: &Place| {
        files(&place.path("run")).into_iter().filter(|path| path.extension().is_some_and(|found| found == suffix))
    };
    let place = Place::new();
    let most = |place: &Place| counted(place).count() >= 4 && place.records().len() >= 4;
    killed_when(&place, &data(COLLABORATION.0), &arguments, most);
    let kept: Vec<_> = counted(&place).collect();
    std::fs::remove_file(&kept[0]).unwrap();
    flip(&kept[1], 8 * (std::fs::metadata(&kept[1]).unwrap().len() / 2));
    let (result, said) = place.completes(COLLABORATION, &arguments);
    assert!(said.contains(&format!("part-00001.{suffix}")) && said.contains("partition 1 is counted again"), "{said}");
    let resumed: Vec<u32> =
        result.partitions.iter().filter(|part| part.counted().resumed).map(|part| part.id).collect();
    assert!(!resumed.contains(&0) && !resumed.contains(&1) && resumed.contains(&2), "{resumed:?}");
    let found = place.read("out.tsv");
    assert!(found == verified(COLLABORATION.0, flag));
}

/// In the in-place mode, by rank ranges or with one partition that is the whole graph.
#[test]
fn the_same_where_nothing_is_spilled() {
    let budgets = ["--host-memory", "72MiB", "--device-memory", "512KiB"];
    let ranges = [&["--no-cache", "--partitioner", "rank", "--parts", "4"], &budgets[..]].concat();
    for (known, arguments, least) in [(COLLABORATION, &ranges[..], 15), (ROUTERS, &["--no-cache"], 25)] {
        for (fault, ended) in [("write", disk_is_full as fn(&Output, &str)), ("kill", is_killed)] {
            let struck = at_every_write(fault, 1, known, arguments, ended);
            assert!(struck > least, "{fault}: {struck} writes");
        }
    }
}
