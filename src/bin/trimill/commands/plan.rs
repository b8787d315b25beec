//! `trimill plan`

use super::{Context, Outcome, job_of};
use crate::cli::PlanCommand;
use trimill::program::Engine;
use trimill::program::plan;
use trimill::{Kind, Result};

pub(super) fn run(engine: &dyn Engine, command: &PlanCommand, context: &mut Context<'_>) -> Result<Outcome> {
    let report = engine.plan(&job_of(&command.tables())?, &context.control)?;
    let short = context.terminal;
    context.report(command.json, &report, |report| plan::table(report, short))?;
    Ok((!report.fits).then_some(Kind::Resource))
}
