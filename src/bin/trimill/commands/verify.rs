//! `trimill verify`

use super::{Context, Outcome, job_of};
use crate::cli::VerifyCommand;
use trimill::Result;
use trimill::program::Engine;
use trimill::program::VerifyReport;

pub(super) fn run(engine: &dyn Engine, command: &VerifyCommand, context: &mut Context<'_>) -> Result<Outcome> {
    let report = engine.verify(&job_of(&command.tables())?, &context.control)?;
    context.report(command.json, &report, VerifyReport::table)
}
