//! `trimill inspect` and `trimill doctor`

use super::{CommandContext, CommandOutcome};
use crate::cli::{DoctorCommand, InspectCommand};
use trimill::Result;
use trimill::program::execute::{self, DoctorRequest};
use trimill::program::{DoctorReport, json_text};

pub(super) fn run(command: &InspectCommand, context: &mut CommandContext<'_>) -> Result<CommandOutcome> {
    let report = execute::inspect(&command.spill, command.verify, &context.control)?;
    context.report(command.json, &report, json_text::text)
}

pub(super) fn doctor(command: &DoctorCommand, context: &mut CommandContext<'_>) -> Result<CommandOutcome> {
    let request = DoctorRequest {
        work_dir: command.work_dir.clone(),
        cache_dir: command.cache_dir.clone(),
        measure: command.measure,
    };
    let report = execute::doctor(&request, &context.control)?;
    context.report(command.json, &report, DoctorReport::table)
}
