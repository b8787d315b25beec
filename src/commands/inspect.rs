//! `trimill inspect` and `trimill doctor`: what is there.

use super::engine::Engine;
use super::{Context, Outcome};
use crate::cli::{DoctorCommand, InspectCommand};
use crate::error::Result;
use crate::report::{DoctorReport, generic};
use crate::request::InspectRequest;

pub(super) fn run(engine: &dyn Engine, command: &InspectCommand, context: &mut Context<'_>) -> Result<Outcome> {
    let request = InspectRequest { path: command.spill.clone(), verify: command.verify };
    let report = engine.inspect(&request, &context.control)?;
    context.report(command.json, &report, generic::text)
}

pub(super) fn doctor(engine: &dyn Engine, command: &DoctorCommand, context: &mut Context<'_>) -> Result<Outcome> {
    let report = engine.doctor(command.work_dir.as_deref(), command.cache_dir.as_deref())?;
    context.report(command.json, &report, DoctorReport::table)
}
