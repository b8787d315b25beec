//! Every write of a job fails once, and at many of them the job is killed, panics or is interrupted; then it is started again.

use std::cell::Cell;
use std::process::Output;

use crate::common::flip;
use crate::common::packed::gz;

use super::restarts::killed_when;
use super::support::{COLLABORATION, LITTLE, MESH, Place, ROUTERS, at_every, data, error, verified, with_suffix};

/// A fault, the step between its places, the fewest times that it occurs, and a check of how the job ends.
type Case = (&'static str, usize, usize, fn(&Output, &str));

fn at_faults(known: (&str, u128), arguments: &[&str], cases: &[Case]) {
    for &(fault, step, least, ended) in cases {
        let (struck, _) = at_every(fault, step, Place::new, known, arguments, ended);
        assert!(struck >= least, "{fault}: {struck} times");
    }
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

/// A flipped bit in data that is read back is detected: the job ends, or makes the data again.
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
fn a_full_disk_or_a_kill_at_writes() {
    at_faults(ROUTERS, &USUAL, &[("write", 1, 61, disk_is_full), ("kill", 2, 31, is_killed)]);
}

/// All partitions are built at once unless there is too little memory: here two at a time.
#[test]
fn a_kill_at_writes_of_batches_to_folders_elsewhere() {
    let place = || Place::new().with("TRIMILL_BATCH", "2");
    let elsewhere = [&USUAL[..], &["--spill-dir", "tmp/spill", "--work-dir", "tmp/work"]].concat();
    let (struck, taken) = at_every("kill", 4, place, ROUTERS, &elsewhere, is_killed);
    assert!(struck > 10 && taken > 0, "{struck} writes, {taken} partitions from records");
}

#[test]
fn a_panic_or_a_signal_at_writes() {
    let cases: [Case; 2] = [("panic", 3, 21, a_thread_panicked), ("term", 3, 21, is_interrupted_or_done)];
    at_faults(ROUTERS, &USUAL, &cases);
}

#[test]
fn a_reading_that_fails() {
    let cases: [Case; 2] = [("read", 1, 16, is_done_or_names_the_disk), ("damage", 1, 11, is_right_or_refused)];
    at_faults(ROUTERS, &USUAL, &cases);
}

/// The plain text of a compressed file whose format is read more than once is kept on disk.
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
    at_every("damage", 1, Place::new, (path.to_str().unwrap(), MESH.1), &arguments, ended);
    assert!(refused.get() > 3, "{} readings of the copy", refused.get());
}

/// With little memory buckets are on disk, too, and most of the writes are theirs.
#[test]
fn the_same_where_buckets_are_on_disk() {
    let little = ["--no-cache", "--parts", "3", "--partitioner", "random", "--host-memory", LITTLE, "--threads", "2"];
    let cases: [Case; 6] = [
        ("write", 11, 5, disk_is_full),
        ("kill", 13, 5, is_killed),
        ("panic", 17, 5, a_thread_panicked),
        ("term", 19, 5, is_interrupted_or_done),
        ("read", 5, 5, is_done_or_names_the_disk),
        ("damage", 5, 5, is_right_or_refused),
    ];
    at_faults(ROUTERS, &little, &cases);
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
    at_faults(ROUTERS, &kept, &[("write", 2, 16, ended), ("kill", 2, 16, is_killed)]);
}

/// Triangles at each vertex or on each edge are counted, too: one file is written for each partition, and at the end the output file.
fn at_every_write_of_counts(flag: &str) {
    let vertices = ["--no-cache", "--parts", "4", "--partitioner", "contiguous", flag, "out.tsv"];
    let ranges = ["--no-cache", "--parts", "3", "--partitioner", "rank", flag, "out.tsv"];
    for (arguments, step) in [(vertices, 3), (ranges, 2)] {
        let cases: [Case; 5] = [
            ("write", step, 13, disk_is_full),
            ("kill", 2 * step, 7, is_killed),
            ("panic", 3 * step, 5, a_thread_panicked),
            ("read", 4, 3, is_done_or_names_the_disk),
            ("damage", 3, 1, is_right_or_refused),
        ];
        at_faults(ROUTERS, &arguments, &cases);
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

/// Partitions with intact counts are not counted again.
#[test]
fn partitions_whose_counts_are_damaged_or_missing_are_counted_again() {
    for (flag, suffix) in [("--per-vertex", "vertices"), ("--per-edge", "edges")] {
        let arguments = ["--no-cache", "--parts", "5", "--partitioner", "rank", flag, "out.tsv"];
        let counted = |place: &Place| with_suffix(&place.path("run"), suffix);
        let place = Place::new();
        let most = |place: &Place| counted(place).len() >= 4 && place.records().len() >= 4;
        killed_when(&place, COLLABORATION, &arguments, most);
        let kept = counted(&place);
        std::fs::remove_file(&kept[0]).unwrap();
        flip(&kept[1], 8 * (std::fs::metadata(&kept[1]).unwrap().len() / 2));
        let (result, said) = place.completes(COLLABORATION, &arguments);
        let file = format!("part-00001.{suffix}");
        assert!(said.contains(&file) && said.contains("partition 1 is counted again"), "{said}");
        assert_eq!([0_usize, 1, 2].map(|id| result.partitions[id].counted().resumed), [false, false, true], "{said}");
        assert!(place.read("out.tsv") == verified(COLLABORATION.0, flag), "{flag}");
    }
}

/// The jobs are in the in-place mode: with rank ranges, or with the whole graph as one partition.
#[test]
fn the_same_where_nothing_is_spilled() {
    let budgets = ["--host-memory", "72MiB", "--device-memory", "512KiB"];
    let ranges = [&["--no-cache", "--partitioner", "rank", "--parts", "4"], &budgets[..]].concat();
    for (known, arguments, least) in [(COLLABORATION, &ranges[..], 16), (ROUTERS, &["--no-cache"], 26)] {
        at_faults(known, arguments, &[("write", 1, least, disk_is_full), ("kill", 1, least, is_killed)]);
    }
}
