//! `trimill run`: the jobs of a file, one after another.
//!
//! What is wrong with the file itself is refused before the first job. A job that fails is told of on standard error and
//! in the summary, and the next one starts; being stopped ends the batch. The outcome is the worst of all jobs.

use std::time::Instant;

use super::engine::Engine;
use super::{Context, Outcome, count};
use crate::bytes::Bytes;
use crate::cli::RunCommand;
use crate::error::{Error, Kind, Result};
use crate::job::{Batch, BatchJob, Job};
use crate::report::failure::{Failure, kind_name};
use crate::report::other::{SummaryLine, summary};
use crate::report::table::{Column, grid, or_dash};
use crate::report::{json, tables};

pub(super) fn run(engine: &dyn Engine, command: &RunCommand, context: &mut Context<'_>) -> Result<Outcome> {
    let batch = Batch::read(&command.file, &command.overrides()?, &command.only)?;
    if command.check {
        return check(&batch, command.json, context);
    }
    let mut lines = Vec::new();
    let mut worst = None;
    for BatchJob { name, job } in &batch.jobs {
        if worst == Some(Kind::Interrupted) || context.control.is_stopped() {
            worst = Some(Kind::Interrupted);
            lines.push(SummaryLine { job: name.clone(), counted: None, seconds: 0.0, outcome: "not started".into() });
            continue;
        }
        let begun = Instant::now();
        let result = job.check_files().and_then(|()| count::count(engine, job, &context.control));
        let (counted, outcome) = match &result {
            Ok(result) => (Some((result.triangles, result.edges, result.parts)), "done".into()),
            Err(error) if error.kind() == Kind::Interrupted => (None, "interrupted".into()),
            Err(error) => (None, format!("{}: {error}", kind_name(error.kind()))),
        };
        let line = SummaryLine { job: name.clone(), counted, seconds: begun.elapsed().as_secs_f64(), outcome };
        lines.push(line);
        match result {
            Ok(result) => {
                let short = context.terminal;
                context.report(command.json, &result, |result| format!("{}\n", tables::result(result, short)))?;
            }
            Err(error) => {
                worst = worst.max(Some(error.kind()));
                tell(name, &error, command.json, context)?;
            }
        }
    }
    let summary = summary(&lines);
    if command.json {
        // Nothing is lost when nobody reads it: the answers are on standard output.
        let _ = context.err.write_all(summary.as_bytes());
    } else {
        context.say(&summary)?;
    }
    Ok(worst)
}

fn tell(name: &str, error: &Error, as_json: bool, context: &mut Context<'_>) -> Result<()> {
    let _ = writeln!(context.err, "error: job '{name}': {error}");
    if as_json {
        json::write_line(context.out, &Failure::new(Some(name), error))?;
    }
    Ok(())
}

/// Prints what would run; asks for the files of every job.
fn check(batch: &Batch, as_json: bool, context: &mut Context<'_>) -> Result<Outcome> {
    let mut worst = None;
    for BatchJob { name, job } in &batch.jobs {
        if as_json {
            json::write_line(context.out, job)?;
        }
        if let Err(error) = job.check_files() {
            worst = worst.max(Some(error.kind()));
            let _ = writeln!(context.err, "error: job '{name}': {error}");
        }
    }
    if !as_json {
        const COLUMNS: [Column<Job>; 9] = [
            Column { head: "job", cell: Job::title },
            Column {
                head: "input",
                cell: |j| j.inputs.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join("\n"),
            },
            Column { head: "partitioner", cell: |j| j.partitioner.to_string() },
            Column { head: "parts", cell: |j| j.parts.to_string() },
            Column { head: "prune", cell: |j| j.prune.to_string() },
            Column { head: "device\nmemory", cell: |j| or_default(j.device_memory) },
            Column { head: "host\nmemory", cell: |j| or_default(j.host_memory) },
            Column { head: "backend", cell: |j| j.backend.to_string() },
            Column { head: "output", cell: |j| or_dash(j.output.as_ref(), |dir| dir.display().to_string()) },
        ];
        let jobs: Vec<&Job> = batch.jobs.iter().map(|job| &job.job).collect();
        context.say(&grid(&COLUMNS, jobs, None))?;
    }
    Ok(worst)
}

fn or_default(bytes: Option<Bytes>) -> String {
    bytes.map_or_else(|| "default".into(), |bytes| bytes.to_string())
}
