//! Kept spills: `trimill count DIR` counts them without the graph, or says why it cannot.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// Graphs of tests/data with their published edges, triangles and wedges: tests/data/README.md names the sources.
const KNOWN: [(&str, u64, u64, u64); 3] = [
    ("wiki-Vote.txt", 100_762, 608_389, 14_545_580),
    ("ca-HepTh.txt", 25_973, 28_339, 299_356),
    ("cnr-2000.graph", 2_738_969, 20_977_629, 7_861_227_192),
];

fn data(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name).display().to_string()
}

fn run(dir: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_trimill"))
        .args(arguments)
        .current_dir(dir)
        .env("XDG_CACHE_HOME", dir.join("cache"))
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn answer(dir: &Path, arguments: &[&str]) -> Value {
    let output = run(dir, &[arguments, &["--json", "--quiet"]].concat());
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The program ends with `code`, prints no answer, and says all of `parts`.
fn refuses(dir: &Path, code: i32, arguments: &[&str], parts: &[&str]) {
    let output = run(dir, arguments);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {text}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
    for part in parts {
        assert!(text.contains(part), "{arguments:?} does not say '{part}': {text}");
    }
}

fn partitioned(dir: &Path) -> PathBuf {
    let report = answer(dir, &["partition", &data("wiki-Vote.txt"), "--parts", "8", "--spill-dir", "spills"]);
    assert_eq!(report["parts"], 8);
    dir.join("spills")
}

fn spills_of(dir: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let mut spills: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|e| e == "spill")).collect();
    spills.sort();
    spills
}

#[test]
fn spills_of_every_partitioner_give_the_known_count_without_the_graph() {
    let dir = tempfile::tempdir().unwrap();
    for (graph, edges, triangles, wedges) in KNOWN {
        for (i, settings) in [
            &["--partitioner", "random", "--parts", "5", "--prune", "zero-indegree"][..],
            &["--partitioner", "contiguous", "--parts", "7", "--block-bytes", "64KiB"],
            &["--partitioner", "contiguous-vertices", "--parts", "3", "--prune", "none"],
            &["--parts", "1"],
        ]
        .into_iter()
        .enumerate()
        {
            let spills = format!("{graph}-{i}");
            let input = data(graph);
            let first = [&["partition", &input, "--spill-dir", &spills, "--no-cache"], settings].concat();
            let report = answer(dir.path(), &first);
            let result = answer(dir.path(), &["count", &spills]);
            assert_eq!(result["triangles"], triangles, "{spills}");
            assert_eq!(result["edges"], edges, "{spills}");
            assert_eq!((&result["vertices"], &result["parts"]), (&report["vertices"], &report["parts"]), "{spills}");
            assert_eq!(result["partitioner"], report["partitioner"], "{spills}");
            assert_eq!(result["wedges"], wedges, "{spills}");
            let summed: u64 =
                result["partitions"].as_array().unwrap().iter().map(|p| p["triangles"].as_u64().unwrap()).sum();
            assert_eq!(summed, triangles, "{spills}");
        }
    }
}

#[test]
fn a_damaged_or_missing_spill_is_named_and_no_count_is_given() {
    let dir = tempfile::tempdir().unwrap();
    let spills = partitioned(dir.path());
    let files = spills_of(&spills);
    let name = |i: usize| files[i].file_name().unwrap().to_str().unwrap().to_owned();

    let whole = fs::read(&files[3]).unwrap();
    for at in [100, whole.len() / 4 * 3, whole.len() - 1] {
        let mut changed = whole.clone();
        changed[at] ^= 16;
        fs::write(&files[3], &changed).unwrap();
        refuses(dir.path(), 1, &["count", "spills"], &[&name(3)]);
    }
    fs::write(&files[3], &whole[..whole.len() - 9]).unwrap();
    refuses(dir.path(), 1, &["count", "spills"], &[&name(3)]);
    // Another partition of the same job under the name of this one.
    fs::copy(&files[2], &files[3]).unwrap();
    refuses(dir.path(), 1, &["count", "spills"], &[&name(3)]);
    fs::remove_file(&files[3]).unwrap();
    refuses(dir.path(), 1, &["count", "spills"], &[&name(3)]);
    fs::write(&files[3], &whole).unwrap();
    assert_eq!(answer(dir.path(), &["count", "spills"])["triangles"], 608_389);
}

#[test]
fn what_was_fixed_by_partitioning_cannot_be_named_again() {
    let dir = tempfile::tempdir().unwrap();
    partitioned(dir.path());
    for settled in [
        &["--partitioner", "random"][..],
        &["--parts", "3"],
        &["--prune", "none"],
        &["--block-bytes", "1MiB"],
        &["--format", "text"],
        &["--header", "no"],
        &["--run-dir", "run"],
        &["--keep-spill", "--spill-dir", "other"],
    ] {
        refuses(dir.path(), 2, &[&["count", "spills"], settled].concat(), &["spills", "fixed by 'trimill partition'"]);
    }
    refuses(dir.path(), 2, &["count", "spills", "--method", "polak", "--backend", "cpu"], &["polak"]);
    assert!(!dir.path().join("run").exists());
}

#[test]
fn a_partition_beyond_the_budget_is_named_with_what_it_takes() {
    let dir = tempfile::tempdir().unwrap();
    partitioned(dir.path());
    let parts = ["part-", "bytes", "--device-memory"];
    refuses(dir.path(), 3, &["count", "spills", "--device-memory", "10000"], &parts);
}
