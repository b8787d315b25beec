//! `trimill count`

use super::engine::Engine;
use super::{Context, Outcome, check_flags, job_of};
use crate::cli::CountCommand;
use crate::control::Control;
use crate::error::Result;
use crate::job::Job;
use crate::report::{RunResult, files, tables};
use crate::run_dir::resumable;
use crate::threads::{WORKER, guarded};

pub(super) fn run(engine: &dyn Engine, command: &CountCommand, context: &mut Context<'_>) -> Result<Outcome> {
    check_flags(&command.job.settings)?;
    let job = job_of(&command.tables())?;
    let result = count(engine, &job, &context.control)?;
    let short = context.terminal;
    context.report(command.json, &result, |result| tables::result(result, short))
}

/// Counts `job` and writes its output files; the directory is tried before the work.
pub(super) fn count(engine: &dyn Engine, job: &Job, control: &Control) -> Result<RunResult> {
    if let Some(dir) = &job.output {
        files::prepare(dir)?;
    }
    // A thread that panics ends its job and not the batch; what the job left is gone or can be resumed.
    let result =
        guarded(WORKER, || engine.count(job, control)).map_err(|panic| resumable(panic, job.run_dir.as_deref()))??;
    if let Some(dir) = &job.output {
        files::write(dir, &result)?;
    }
    Ok(result)
}
