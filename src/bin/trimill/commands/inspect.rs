//! `trimill inspect` and `trimill doctor`

use super::{CommandContext, CommandOutcome};
use crate::cli::{DoctorCommand, InspectCommand};
use trimill::Result;
use trimill::program::Engine;
use trimill::program::{DoctorReport, json_text};
use trimill::program::{DoctorRequest, InspectRequest};

pub(super) fn run(
    engine: &dyn Engine,
    command: &InspectCommand,
    context: &mut CommandContext<'_>,
) -> Result<CommandOutcome> {
    let request = InspectRequest { path: command.spill.clone(), verify: command.verify };
    let report = engine.inspect(&request, &context.control)?;
    context.report(command.json, &report, json_text::text)
}

pub(super) fn doctor(
    engine: &dyn Engine,
    command: &DoctorCommand,
    context: &mut CommandContext<'_>,
) -> Result<CommandOutcome> {
    let request = DoctorRequest {
        work_dir: command.work_dir.clone(),
        cache_dir: command.cache_dir.clone(),
        measure: command.measure,
    };
    let report = engine.doctor(&request, &context.control)?;
    context.report(command.json, &report, DoctorReport::table)
}
