//! `trimill partition`

use super::{CommandContext, CommandOutcome, job_of};
use crate::cli::PartitionCommand;
use crate::text::reports;
use trimill::Result;
use trimill::program::report::PartitionReport;
use trimill::program::{execute, files, paths};

pub(super) fn run(command: &PartitionCommand, context: &mut CommandContext<'_>) -> Result<CommandOutcome> {
    let job = job_of(&command.tables())?;
    paths::check(&[job.paths()])?;
    job.spill.dir.as_deref().map_or(Ok(()), files::prepare)?;
    let report = execute::partition(job, context.metis(), &context.control)?;
    let shown = context.shown(&command.graph.answer);
    context.report(command.graph.answer.json, &report, |report: &PartitionReport| reports::partition(report, shown))
}
