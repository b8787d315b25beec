//! Counts that are stopped from outside: by a signal, or because the process of METIS is killed.

use std::fs;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::is_clean;
use crate::common::place::Place;

#[test]
fn an_interrupted_count_ends_with_130_and_leaves_nothing() {
    let place = Place::new();
    place.prints(&["generate", "gap-kron", "--scale", "16", "--output", "k.bin"]);
    let arguments = |partitioner| {
        ["count", "k.bin", "--no-cache", "--parts", "40", "--host-memory", "128MiB", "--partitioner", partitioner]
    };
    let start = Instant::now();
    assert_eq!(place.run(&arguments("random")).status.code(), Some(0));
    let whole = start.elapsed();
    // At many moments of the job, so that every stage is interrupted. The job may be faster this time, and be done before.
    let mut interrupted = 0;
    for (moment, partitioner) in (1..=8).zip(["random", "rank"].into_iter().cycle()) {
        let mut child =
            place.command(&arguments(partitioner)).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        sleep(whole * moment / 10);
        let _ = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        let asked = Instant::now();
        let code = child.wait().unwrap().code();
        // A signal before the handler is installed kills the process; nothing can be left behind at that point.
        assert!(matches!(code, Some(130 | 0) | None), "after {moment} tenths of {whole:?}: {code:?}");
        interrupted += u32::from(code == Some(130));
        assert!(asked.elapsed() < Duration::from_secs(30), "stops soon after it was asked to");
        is_clean(&place);
    }
    assert!(interrupted >= 2, "{interrupted} of 8");
}

#[test]
fn a_metis_child_that_is_killed_ends_the_job_and_leaves_nothing() {
    let place = Place::new();
    place.prints(&["generate", "gap-kron", "--scale", "17", "--output", "k.bin"]);
    let child = place
        .command(&["count", "k.bin", "--no-cache", "--parts", "8", "--partitioner", "metis"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let parent = child.id();
    let begun = Instant::now();
    let metis = loop {
        let children = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).unwrap_or_default();
        let all = fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten().flatten();
        let of_threads =
            all.map(|t| fs::read_to_string(t.path().join("children")).unwrap_or_default()).collect::<String>();
        if let Some(pid) = (children + " " + &of_threads).split_whitespace().next() {
            break pid.to_string();
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "METIS was started");
        sleep(Duration::from_millis(5));
    };
    sleep(Duration::from_millis(100));
    assert!(Command::new("kill").args(["-TERM", &metis]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{text}");
    assert!(text.contains("METIS"), "{text}");
    is_clean(&place);
}
