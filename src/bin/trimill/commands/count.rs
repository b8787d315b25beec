//! `trimill count`

use super::{Context, Outcome, checks, job_of};
use crate::cli::CountCommand;
use trimill::control::Control;
use trimill::engine::Engine;
use trimill::error::Result;
use trimill::job::Job;
use trimill::report::{RunResult, files, result_table};
use trimill::run_dir::resumable;
use trimill::threads::{WORKER, guarded};

pub(super) fn run(engine: &dyn Engine, command: &CountCommand, context: &mut Context<'_>) -> Result<Outcome> {
    let job = job_of(&command.tables())?;
    checks::free_output(&job)?;
    let Counted { result, written } = count(engine, &job, &context.control)?;
    let short = context.terminal;
    let said = context.report(command.json, &result, |result| result_table::result(result, short));
    let unwritten = written.err().inspect(|error| context.tell("", error));
    said?;
    Ok(unwritten.map(|error| error.kind()))
}

/// A result, which is the answer whatever became of its files.
pub(super) struct Counted {
    pub(super) result: RunResult,
    pub(super) written: Result<()>,
}

/// Counts `job` and writes its output files; the directory is tried before the work.
pub(super) fn count(engine: &dyn Engine, job: &Job, control: &Control) -> Result<Counted> {
    if let Some(dir) = &job.output {
        files::prepare_result(dir)?;
    }
    // A thread that panics ends its job and not the batch; what the job left is gone or can be resumed.
    let result =
        guarded(WORKER, || engine.count(job, control)).map_err(|panic| resumable(panic, job.run_dir.as_deref()))??;
    let write = |dir| guarded(WORKER, || files::write(dir, &result)).and_then(|written| written);
    let written = job.output.as_deref().map_or(Ok(()), write);
    Ok(Counted { result, written })
}
