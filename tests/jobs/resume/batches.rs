//! Writes and reads fail, or the job is killed, while partitions are built in batches; then it is started again.

use std::process::Output;

use super::support::{COLLABORATION, Place, at_every, data, stderr};

/// Settings for five partitions.
const SETTINGS: [&str; 7] = ["--no-cache", "--parts", "5", "--threads", "2", "--partitioner", "random"];

fn at_some_writes(fault: &str, step: usize, many: &'static str, code: Option<i32>) -> usize {
    let place = || Place::new().with("TRIMILL_BATCH", many);
    let ended = |output: &Output, said: &str| assert_eq!(output.status.code(), code, "{said}");
    at_every(fault, step, place, COLLABORATION, &SETTINGS, ended).0
}

#[test]
fn a_full_disk_and_kills_at_writes_of_batches() {
    assert!(at_some_writes("write", 3, "5", Some(3)) > 15);
    assert!(at_some_writes("kill", 4, "2", None) > 10);
}

/// Rows that cannot be read end the job; a spill that cannot be read is rebuilt on its own.
#[test]
fn a_reading_of_rows_that_fails() {
    let place = Place::new().with("TRIMILL_BATCH", "3");
    let arguments = SETTINGS;
    let mut failed = 0;
    for at in 1..12 {
        let output = place.with_fault(&format!("read:{at}"), &data(COLLABORATION.0), &arguments);
        let said = stderr(&output);
        failed += usize::from(output.status.code() == Some(1) && said.contains("Input/output error"));
        if output.status.success() {
            break;
        }
    }
    assert!(failed > 0);
    place.completes(COLLABORATION, &arguments);
}
