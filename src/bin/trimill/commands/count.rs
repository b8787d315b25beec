//! `trimill count`

use super::{Context, Outcome, checks, job_of};
use crate::cli::CountCommand;
use std::path::Path;
use trimill::Control;
use trimill::Result;
use trimill::RunResult;
use trimill::program::Engine;
use trimill::program::Job;
use trimill::program::with_resume_advice;
use trimill::program::{WORKER, guarded};
use trimill::program::{files, rates, result_table, views};

pub(super) fn run(engine: &dyn Engine, command: &CountCommand, context: &mut Context<'_>) -> Result<Outcome> {
    if let Some(shard) = command.shard {
        let mut how = Job::resolve(None, &command.tables(), Path::new(""))?;
        checks::check(&mut how, &command.tables())?;
        let report =
            guarded(WORKER, || engine.count_shard(&how, shard, &context.control)).and_then(|counted| counted)?;
        let short = context.terminal;
        return context.report(command.json, &report, |report| report.table(short));
    }
    let job = job_of(&command.tables())?;
    checks::check_output_is_free(&job)?;
    report(count(engine, &job, &context.control)?, command.json, context)
}

/// Prints a result, and what went wrong with its files.
pub(super) fn report(counted: Counted, as_json: bool, context: &mut Context<'_>) -> Result<Outcome> {
    let Counted { result, written } = counted;
    let short = context.terminal;
    let said = context.report(as_json, &result, |result| result_table::result(result, short));
    let unwritten = written.err().inspect(|error| context.tell("", error));
    said?;
    Ok(unwritten.map(|error| error.kind()))
}

/// A result, and whether its files could be written; it is printed in any case.
pub(super) struct Counted {
    pub(super) result: RunResult,
    pub(super) written: Result<()>,
}

/// Counts `job` and writes its output files; checks the output directory first.
pub(super) fn count(engine: &dyn Engine, job: &Job, control: &Control) -> Result<Counted> {
    if let Some(dir) = &job.output {
        files::prepare_result(dir)?;
    }
    // A thread that panics ends its job and not the batch; files of the job are removed or can be resumed.
    let result = guarded(WORKER, || engine.count(job, control))
        .map_err(|panic| with_resume_advice(panic, job.run_dir.as_deref()))??;
    let Counted { result, written } = Counted::new(result, job.output.as_deref());
    let viewed = guarded(WORKER, || write_views(job, &result)).and_then(|viewed| viewed);
    Ok(Counted { result, written: written.and(viewed) })
}

/// Writes the report and the trace of a count.
fn write_views(job: &Job, result: &RunResult) -> Result<()> {
    if let Some(file) = &job.report {
        views::write_report(file, &[views::of_count(job, result, rates(job))?])?;
    }
    job.trace.as_deref().map_or(Ok(()), |file| views::write_trace(file, job, result))
}

impl Counted {
    /// Writes the files of a result into `dir`, if there is one.
    pub(super) fn new(result: RunResult, dir: Option<&Path>) -> Self {
        let write = |dir| guarded(WORKER, || files::write(dir, &result)).and_then(|written| written);
        let written = dir.map_or(Ok(()), write);
        Self { result, written }
    }
}
