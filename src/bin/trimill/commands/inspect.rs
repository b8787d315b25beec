//! `trimill inspect` and `trimill doctor`

use super::{CommandContext, CommandOutcome};
use crate::cli::{DoctorCommand, InspectCommand};
use crate::text::{reports, value};
use trimill::Result;
use trimill::program::execute::{self, DoctorRequest};

pub(super) fn run(command: &InspectCommand, context: &mut CommandContext<'_>) -> Result<CommandOutcome> {
    let report = execute::inspect(&command.spill, command.verify, &context.control)?;
    context.report(command.json, &report, value::text)
}

pub(super) fn doctor(command: &DoctorCommand, context: &mut CommandContext<'_>) -> Result<CommandOutcome> {
    let request = DoctorRequest {
        work_dir: command.work_dir.clone(),
        cache_dir: command.cache_dir.clone(),
        measure: command.measure,
    };
    let report = execute::doctor(&request, &context.control)?;
    context.report(command.json, &report, reports::doctor)
}
