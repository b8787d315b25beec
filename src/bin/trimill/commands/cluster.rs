//! `trimill prepare`, `trimill merge` and `trimill cluster`

use super::count::{CountAnswer, report, write_tables};
use super::{CommandContext, CommandOutcome, job_of};
use crate::cli::{ClusterCommand, MergeCommand, PrepareCommand};
use std::path::Path;
use trimill::program::Job;
use trimill::program::{ClusterReport, Engine, Paths, PreparedReport, paths};
use trimill::program::{WORKER, guarded};
use trimill::{Error, Result};

pub(super) fn prepare(
    engine: &dyn Engine,
    command: &PrepareCommand,
    context: &mut CommandContext<'_>,
) -> Result<CommandOutcome> {
    let job = job_of(&command.tables())?;
    paths::check(&[Paths::of(&job)])?;
    let prepared = engine.prepare(&job, command.shards, &context.control)?;
    context.report(command.json, &prepared, PreparedReport::table)
}

pub(super) fn merge(
    engine: &dyn Engine,
    command: &MergeCommand,
    context: &mut CommandContext<'_>,
) -> Result<CommandOutcome> {
    let how = Job::resolve(None, &command.tables(), Path::new(""))?;
    let merged = guarded(WORKER, || engine.merge(&how, &context.control)).and_then(|merged| merged);
    let ((result, output), written) = Error::answered(merged)?;
    let tables = write_tables(&result, output.as_deref());
    report(CountAnswer { result, written: Error::worst_of([written, tables]) }, command.json, context)
}

pub(super) fn cluster(
    engine: &dyn Engine,
    command: &ClusterCommand,
    context: &mut CommandContext<'_>,
) -> Result<CommandOutcome> {
    let written = engine.cluster(&command.request())?;
    context.report(command.json(), &written, ClusterReport::table)
}
