//! `trimill verify`

use super::engine::Engine;
use super::{Context, Outcome, job_of};
use crate::cli::VerifyCommand;
use crate::error::Result;
use crate::report::VerifyReport;

pub(super) fn run(engine: &dyn Engine, command: &VerifyCommand, context: &mut Context<'_>) -> Result<Outcome> {
    let report = engine.verify(&job_of(&command.tables())?, &context.control)?;
    context.report(command.json, &report, VerifyReport::table)
}
