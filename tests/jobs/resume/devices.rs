//! Lost devices, panicking threads, and failures of METIS's child, at every call.

use std::process::Output;

use super::support::{COLLABORATION, Known, Place, ROUTERS, STRIKES, answered, at_every, data, error, files, stderr};

const SPILLED: [&str; 6] = ["--no-cache", "--partitioner", "contiguous", "--parts", "4", "--threads=2"];
const RANGES: [&str; 6] = ["--no-cache", "--partitioner", "rank", "--parts", "3", "--threads=2"];
const WHOLE: [&str; 1] = ["--no-cache"];

fn at_every_call(fault: &str, step: usize, known: Known, arguments: &[&str], ended: impl Fn(&Output, &str)) -> usize {
    let (struck, resumed) = at_every(fault, step, Place::new, known, arguments, |output, said| {
        assert!(!answered(output));
        ended(output, said);
    });
    assert!(arguments.len() == 1 || resumed > 0, "{fault} never left anything to go on from");
    struck
}

fn device_is_lost(output: &Output, said: &str) {
    assert_eq!(output.status.code(), Some(3), "{said}");
    let error = error(said);
    assert!(error.starts_with("the CPU failed: ") && error.contains("the device was lost"), "{said}");
    assert!(error.contains("finished partitions are saved in run; start the same"), "{said}");
}

fn thread_panicked(who: &'static str) -> impl Fn(&Output, &str) {
    move |output, said| {
        assert_eq!(output.status.code(), Some(101), "{said}");
        let error = error(said);
        assert!(error.starts_with(who) && error.contains("failed: a fault of TRIMILL_FAULT"), "{said}");
        assert!(error.contains("report it") && error.contains("start the same job again"), "{said}");
    }
}

#[test]
fn a_device_that_is_lost_at_any_call() {
    assert!(at_every_call("device", 2, COLLABORATION, &SPILLED, device_is_lost) >= 6);
    assert!(at_every_call("device", 3, ROUTERS, &RANGES, device_is_lost) >= 3);
    assert!(at_every_call("device", 1, ROUTERS, &WHOLE, device_is_lost) >= 4);
}

#[test]
fn a_device_s_thread_that_panics_at_any_call() {
    let named = thread_panicked("the thread that counts on the CPU ");
    assert!(at_every_call("device-panic", 3, COLLABORATION, &SPILLED, &named) >= 4);
    assert!(at_every_call("device-panic", 3, ROUTERS, &RANGES, named) >= 3);
}

/// While counting, only the builder writes and only the reader reads: everything else is written and read before.
#[test]
fn threads_that_build_and_read_are_named() {
    // Enough row blocks that a separate thread reads them.
    let settings = [&SPILLED[..], &["--block-bytes", "1KiB"]].concat();
    const ENOUGH: usize = 3;
    let mut named = [0; 2];
    let builds = ("panic", "the thread that builds partitions");
    let reads = ("read-panic", "the thread that reads partitions");
    for (i, (fault, who)) in [builds, reads].into_iter().enumerate() {
        for at in (1..).step_by(2) {
            let place = Place::new();
            let output = place.with_fault(&format!("{fault}:{at}"), &data(ROUTERS.0), &settings);
            let said = stderr(&output);
            if !said.contains(STRIKES) {
                break;
            }
            assert_eq!(output.status.code(), Some(101), "{said}");
            if error(&said).starts_with(who) {
                named[i] += 1;
                assert!(said.contains("start the same job again to continue"), "{said}");
                place.completes(ROUTERS, &settings);
            }
            if named[i] == ENOUGH {
                break;
            }
        }
    }
    assert!(named[0] == ENOUGH && named[1] >= 2, "{named:?}");
}

#[test]
fn a_metis_child_that_fails_is_killed_or_answers_garbage_leaves_nothing() {
    let metis = ["--no-cache", "--partitioner", "metis", "--parts", "3"];
    for (fault, words) in [
        ("metis-fail:1", "METIS ended with exit code 3; it said:"),
        ("metis-fail:2", "METIS ended with exit code 3; it said:"),
        ("metis-kill:1", "METIS was killed (signal 9, SIGKILL)"),
        ("metis-kill:2", "METIS was killed (signal 9, SIGKILL)"),
        // Damages the first byte, one of the checksum, one of the assignment.
        ("metis-damage:0", "METIS left no assignment"),
        ("metis-damage:24", "METIS left an assignment with a wrong checksum"),
        ("metis-damage:77", "METIS left an assignment with a wrong checksum"),
    ] {
        let place = Place::new();
        let output = place.with_fault(fault, &data(ROUTERS.0), &metis);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(3), "{fault}: {said}");
        let error = error(&said);
        assert!(error.contains(words) && error.contains("use the partitioner contiguous"), "{fault}: {said}");
        assert!(place.records().is_empty() && files(&place.path("run/work")).is_empty(), "{fault}");
        place.completes(ROUTERS, &metis);
    }
}
