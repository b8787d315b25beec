//! Distinguishing inputs, and inputs that change.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use super::place::{CLIQUE, Place, TRIANGLE, counted, dated, result, said};
use crate::common::packed::tarred;
use crate::common::pairs32;
use crate::common::place::stopped_by;

fn name(bytes: &[u8]) -> &OsStr {
    OsStr::from_bytes(bytes)
}

#[test]
fn paths_that_are_no_text_are_told_apart_and_have_run_directories() {
    let place = Place::new();
    fs::create_dir(place.path(name(b"d\xe9"))).unwrap();
    fs::create_dir(place.path(name(b"d\xe8"))).unwrap();
    let inputs = [
        (&b"a\xe9.txt"[..], TRIANGLE, 1),
        (b"b\xe9.txt", CLIQUE, 4),
        (b"d\xe9/g", TRIANGLE, 1),
        (b"d\xe8/g", CLIQUE, 4),
    ];
    for (path, text, _) in inputs {
        place.write(name(path), text);
    }
    for cached in [false, true] {
        for (path, _, triangles) in inputs {
            assert_eq!(counted(&place.count(name(path), &[])), (triangles, cached), "{path:?}");
        }
    }
    assert_eq!(place.cached().len(), 4);
    assert_eq!(place.answer(&["cache", "list"]).to_string().matches("/a\u{fffd}.txt").count(), 1);
    let removed = place.command(&["cache", "remove"]).arg(name(b"a\xe9.txt")).output().unwrap();
    assert_eq!(removed.status.code(), Some(0), "{}", said(&removed));
    assert_eq!(place.cached().len(), 3);
    let both = [name(b"a\xe9.txt"), name(b"b\xe9.txt")];
    for (input, run, triangles) in [(both[0], "run-a", 1), (both[1], "run-b", 4), (both[0], "run-a", 1)] {
        assert_eq!(result(&place.count(input, &["--run-dir", run])).triangles, triangles);
    }
    let refused = place.count(both[1], &["--run-dir", "run-a"]);
    assert_eq!(refused.status.code(), Some(3), "{}", said(&refused));
}

#[test]
fn a_graph_whose_format_was_named_is_kept_apart_from_one_whose_format_was_found() {
    let place = Place::new();
    // Its format named, a dense matrix is read as a list of edges, and an archive without a suffix as raw numbers.
    place.write("dense", "0 1 1 1\n1 0 1 1\n1 1 0 1\n1 1 1 0\n");
    place.write("crawl", tarred(&[("g.bin", &pairs32(&[(0, 1), (1, 2), (2, 0)]))]));
    let named = ["--format", "text", "--run-dir", "run"];
    for _ in 0..2 {
        assert_eq!(result(&place.count("dense", &named)).edges, 1);
        place.refuses(&["count", "dense"], 1, &["a dense adjacency matrix"]);
        place.refuses(&["count", "dense", "--run-dir", "run"], 3, &["format: recorded text (named), now text"]);
        assert_eq!(result(&place.count("crawl", &[])).edges, 3);
        assert_ne!(result(&place.count("crawl", &["--format", "bin-u32"])).edges, 3);
    }
}

/// A ring with or without triangles in its middle, in files of equal length whose first and last megabyte are the same.
fn ring(with_triangles: bool) -> String {
    let n = 200_000;
    let edges = |range: std::ops::Range<u32>, step: u32| -> String {
        range.map(|i| format!("{i:06} {:06}\n", (i + step) % n)).collect()
    };
    // Each vertex is joined to the next one; in the middle also to the one after that.
    let again = edges(90_000..90_100, if with_triangles { 2 } else { 1 });
    edges(0..100_000, 1) + &again + &edges(100_000..n, 1)
}

#[test]
fn a_change_in_the_middle_that_size_and_time_hide_is_found() {
    let place = Place::new();
    let (plain, triangles) = (ring(false), ring(true));
    assert_eq!(plain.len(), triangles.len());
    let input = place.write("g.txt", &plain);
    dated(&input);
    let count = |arguments: &[&str]| counted(&place.count("g.txt", arguments));
    assert_eq!(count(&[]), (0, false));
    assert_eq!(count(&[]), (0, true));
    // Overwritten, with the old time of modification.
    place.write("g.txt", &triangles);
    dated(&input);
    assert_eq!(count(&[]), (100, false));
    // Replaced by a rename.
    dated(&place.write("beside", &plain));
    fs::rename(place.path("beside"), &input).unwrap();
    assert_eq!(count(&[]), (0, false));
    // The same contents: with other permissions, and replaced by a copy.
    fs::set_permissions(&input, fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(count(&[]), (0, true));
    dated(&place.write("beside", &plain));
    fs::rename(place.path("beside"), &input).unwrap();
    assert_eq!(count(&[]), (0, true));
    // The graph of a changed input replaces the one before, so the cache does not grow.
    assert_eq!(place.cached().len(), 1);
}

#[test]
fn a_run_directory_knows_its_input_by_its_contents() {
    let place = Place::new();
    let input = place.write("g.txt", ring(true));
    dated(&input);
    for cache in [&["--no-cache"][..], &[]] {
        let arguments = [&["--run-dir", "run", "--parts", "2"], cache].concat();
        let count = || place.count("g.txt", &arguments);
        assert_eq!(result(&count()).triangles, 100);
        fs::set_permissions(&input, fs::Permissions::from_mode(0o640)).unwrap();
        assert_eq!(result(&count()).triangles, 100, "other permissions are no other job");
        place.write("g.txt", ring(false));
        dated(&input);
        let output = count();
        assert_eq!(output.status.code(), Some(3), "{}", said(&output));
        let said = said(&output);
        assert!(said.contains("hash of the contents of") && said.contains("g.txt: recorded"), "{said}");
        place.write("g.txt", ring(true));
        dated(&input);
        assert_eq!(result(&count()).triangles, 100, "the old contents are back");
        fs::remove_dir_all(place.path("run")).unwrap();
    }
}

#[test]
fn an_unchanged_input_is_not_hashed_again() {
    let place = Place::new();
    let input = place.write("g.txt", CLIQUE);
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(counted(&place.count("g.txt", &[])), (4, false));
    let hashed = || {
        let output = place.count("g.txt", &["-vv"]);
        assert_eq!(counted(&output), (4, true));
        said(&output).contains("does not tell whether it is the same")
    };
    assert!(!hashed());
    fs::set_permissions(&input, fs::Permissions::from_mode(0o600)).unwrap();
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!((hashed(), hashed()), (true, false));
}

/// The program is stopped early in reading the input, and continues when the input has changed.
#[test]
fn an_input_that_changes_while_it_is_read_is_an_error_and_nothing_is_kept() {
    let text = ring(true);
    let metis = format!("{} {}\n{}", 4, 6, "2 3 4\n1 3 4\n1 2 4\n1 2 3\n");
    for (file, text) in [("g.txt", &text), ("g.graph", &metis)] {
        for more in [&[][..], &["--no-cache"], &["--run-dir", "run"]] {
            let place = Place::new();
            let input = place.write(file, text);
            let mut command = place.command(&["count", "--json", "--backend", "cpu", file]);
            let output = stopped_by("read-stop:2", command.args(more), || {
                std::thread::sleep(Duration::from_millis(50));
                let mut open = fs::File::options().append(true).open(&input).unwrap();
                open.write_all(b"\n").unwrap();
            });
            let told = said(&output);
            assert_eq!(output.status.code(), Some(1), "{file} {more:?}: {told}");
            assert!(told.contains("changed while it was read") && told.contains(file), "{file} {more:?}: {told}");
            // With --json a failure is an object on standard output, without an answer.
            assert!(!String::from_utf8_lossy(&output.stdout).contains("triangles") && place.cached().is_empty());
            assert!(!place.path("run/job.json").exists());
        }
    }
}
