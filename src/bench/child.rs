//! The child process of a comparison. Standard input: lines, each with a job's [`Tables`] as JSON. Standard output: for each a line, as printed by
//! `trimill count --json` or, for a failure, `trimill run --json`. It ends with its input, or after the current job when stopped or orphaned.

use std::io::{BufRead, Write};
use std::path::Path;

use rustix::process::{Signal, set_parent_process_death_signal};

use crate::job::Job;
use crate::job::file::Tables;
use crate::report::{Failure, RunResult, json};
use trimill_system::{Control, Error, Result};

/// Runs `count` on each job of `input` and writes results to `out`. Gets SIGTERM when the parent dies.
pub fn serve(
    input: &mut dyn BufRead,
    out: &mut dyn Write,
    control: &Control,
    count: &dyn Fn(Job) -> Result<RunResult>,
) -> Result<()> {
    // If that fails, a child whose parent was killed finishes its job.
    let _ = set_parent_process_death_signal(Some(Signal::TERM));
    for line in input.lines() {
        let line = line.map_err(|error| Error::read("standard input", error))?;
        let tables: Tables = serde_json::from_str(&line).map_err(|error| {
            Error::data("standard input", error.to_string()).expected("the tables of a job as JSON")
        })?;
        match Job::resolve(None, &tables, Path::new("")).and_then(count) {
            Ok(result) => json::write_line(out, &result)?,
            Err(error) => json::write_line(out, &Failure::new(None, &error))?,
        }
        control.check()?;
    }
    Ok(())
}
