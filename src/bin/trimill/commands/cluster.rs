//! `trimill prepare`, `trimill merge` and `trimill cluster`

use super::checks::check_merged;
use super::count::{CountAnswer, report, write_tables};
use super::{CommandContext, CommandOutcome, job_of};
use crate::cli::{ClusterCommand, MergeCommand, PrepareCommand};
use crate::text::reports;
use std::path::Path;
use trimill::program::{ClusterTable, Job, execute, paths};
use trimill::{Error, Result};

pub(super) fn prepare(command: &PrepareCommand, context: &mut CommandContext<'_>) -> Result<CommandOutcome> {
    let job = job_of(&command.graph.tables())?;
    check_merged(job.settings.output.take_standard_output())?;
    paths::check(&[job.paths()])?;
    let prepared = execute::prepare(job, command.shards, context.metis(), &context.control)?;
    context.answer(&command.graph.answer, false, &prepared, reports::prepared)
}

pub(super) fn merge(command: &MergeCommand, context: &mut CommandContext<'_>) -> Result<CommandOutcome> {
    let how = Job::resolve(None, &command.tables(), Path::new(""))?;
    let ((result, output), written) = Error::answered(execute::merge(how, &context.control))?;
    let tables = write_tables(&result, output.as_deref());
    let merged = CountAnswer { result, written: Error::worst_of([written, tables]), earlier: None };
    report(merged, None, &command.answer, context)
}

pub(super) fn cluster(command: &ClusterCommand, context: &mut CommandContext<'_>) -> Result<CommandOutcome> {
    let (engine, tasks) = command.tasks();
    let cluster = ClusterTable { engine: Some(engine), ..tasks.cluster.clone() };
    let written = execute::cluster(&tasks.run, &cluster, context.program.as_deref(), tasks.force)?;
    context.report(tasks.json, &written, reports::cluster)
}
