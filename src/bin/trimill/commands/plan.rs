//! `trimill plan`

use super::count::threads;
use super::{CommandContext, CommandOutcome, job_of};
use crate::cli::PlanCommand;
use crate::text::plan;
use trimill::program::{execute, paths, rates, views};
use trimill::{Kind, Result};

pub(super) fn run(command: &PlanCommand, context: &mut CommandContext<'_>) -> Result<CommandOutcome> {
    let job = job_of(&command.graph.tables())?;
    // Of what a count writes, a plan writes the report alone.
    paths::check(&[job.clone().without_counts().paths()])?;
    let report = execute::plan(job.clone(), None, context.metis(), &context.control)?;
    let shown = context.shown(&command.graph.answer);
    let threads = threads(job.counter.threads);
    context.report(command.graph.answer.json, &report, |report| plan::plan(report, threads, shown))?;
    let short = (!report.fits).then_some(Kind::Resource);
    let Some(file) = &job.output.report else { return Ok(short) };
    let written = job
        .page_of_plan(&report, rates(job.cache.dir.as_deref()))
        .and_then(|entry| views::write_report(file, &[entry]));
    Ok(short.max(written.err().map(|error| context.tell("", &error))))
}
