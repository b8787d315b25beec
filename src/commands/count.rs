//! `trimill count`

use std::time::Instant;

use super::engine::Engine;
use super::{Context, Outcome, check_flags, job_of};
use crate::cli::CountCommand;
use crate::control::Control;
use crate::error::Result;
use crate::job::Job;
use crate::report::{RunResult, files, tables};

pub(super) fn run(engine: &dyn Engine, command: &CountCommand, context: &mut Context<'_>) -> Result<Outcome> {
    check_flags(&command.job)?;
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
    let begun = Instant::now();
    let mut result = engine.count(job, control)?;
    result.seconds = begun.elapsed().as_secs_f64();
    if let Some(dir) = &job.output {
        files::write(dir, &result)?;
    }
    Ok(result)
}
