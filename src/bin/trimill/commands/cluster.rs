//! `trimill prepare`, `trimill merge` and `trimill cluster`

use super::count::{Counted, report};
use super::{Context, Outcome, checks, job_of};
use crate::cli::{ClusterCommand, MergeCommand, PrepareCommand};
use std::path::Path;
use trimill::Result;
use trimill::program::Job;
use trimill::program::{ClusterReport, Engine, PreparedReport, files};
use trimill::program::{WORKER, guarded};

pub(super) fn prepare(engine: &dyn Engine, command: &PrepareCommand, context: &mut Context<'_>) -> Result<Outcome> {
    let job = job_of(&command.tables())?;
    checks::check_output_is_free(&job)?;
    let prepared = engine.prepare(&job, command.shards, &context.control)?;
    context.report(command.json, &prepared, PreparedReport::table)
}

pub(super) fn merge(engine: &dyn Engine, command: &MergeCommand, context: &mut Context<'_>) -> Result<Outcome> {
    let how = Job::resolve(None, &command.tables(), Path::new(""))?;
    let merged = guarded(WORKER, || engine.merge(&how, &context.control)).and_then(|merged| merged);
    let (result, output) = merged?;
    output.as_deref().map_or(Ok(()), files::prepare_result)?;
    report(Counted::new(result, output.as_deref()), command.json, context)
}

pub(super) fn cluster(engine: &dyn Engine, command: &ClusterCommand, context: &mut Context<'_>) -> Result<Outcome> {
    let written = engine.cluster(&command.request())?;
    context.report(command.json(), &written, ClusterReport::table)
}
