//! `trimill prepare`, `trimill merge` and `trimill cluster`

use super::count::{Counted, report, write_tables};
use super::{Context, Outcome, job_of};
use crate::cli::{ClusterCommand, MergeCommand, PrepareCommand};
use std::path::Path;
use trimill::program::Job;
use trimill::program::{ClusterReport, Engine, Paths, PreparedReport, paths};
use trimill::program::{WORKER, guarded};
use trimill::{Error, Result};

pub(super) fn prepare(engine: &dyn Engine, command: &PrepareCommand, context: &mut Context<'_>) -> Result<Outcome> {
    let job = job_of(&command.tables())?;
    paths::check(&[Paths::of(&job)])?;
    let prepared = engine.prepare(&job, command.shards, &context.control)?;
    context.report(command.json, &prepared, PreparedReport::table)
}

pub(super) fn merge(engine: &dyn Engine, command: &MergeCommand, context: &mut Context<'_>) -> Result<Outcome> {
    let how = Job::resolve(None, &command.tables(), Path::new(""))?;
    let merged = guarded(WORKER, || engine.merge(&how, &context.control)).and_then(|merged| merged);
    let ((result, output), written) = Error::answered(merged)?;
    let tables = write_tables(&result, output.as_deref());
    report(Counted { result, written: Error::worst_of([written, tables]) }, command.json, context)
}

pub(super) fn cluster(engine: &dyn Engine, command: &ClusterCommand, context: &mut Context<'_>) -> Result<Outcome> {
    let written = engine.cluster(&command.request())?;
    context.report(command.json(), &written, ClusterReport::table)
}
