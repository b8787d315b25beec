//! Counts that are stopped by a signal.

use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::is_clean;
use crate::common::place::Place;

#[test]
fn an_interrupted_count_ends_with_130_and_leaves_nothing() {
    let place = Place::new();
    place.prints(&["generate", "gap-kron", "--scale", "15", "--output", "k.bin"]);
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
        let _ = kill_process(Pid::from_child(&child), Signal::INT);
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
