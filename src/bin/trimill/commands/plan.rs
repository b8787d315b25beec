//! `trimill plan`

use super::{Context, Outcome, job_of};
use crate::cli::PlanCommand;
use trimill::program::Engine;
use trimill::program::{plan, rates, views};
use trimill::{Kind, Result};

pub(super) fn run(engine: &dyn Engine, command: &PlanCommand, context: &mut Context<'_>) -> Result<Outcome> {
    let job = job_of(&command.tables())?;
    job.report.as_deref().map_or(Ok(()), views::check_report)?;
    let report = engine.plan(&job, &context.control)?;
    let short = context.terminal;
    context.report(command.json, &report, |report| plan::table(report, short))?;
    if let Some(file) = &job.report {
        views::write_report(file, &[views::of_plan(&job, &report, rates(&job))?])?;
    }
    Ok((!report.fits).then_some(Kind::Resource))
}
