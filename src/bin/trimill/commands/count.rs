//! `trimill count`, `truss`, `plan`, `partition` and `verify`: commands on one graph.

use super::{CommandContext, CommandOutcome, checks, job_for, job_of};
use crate::cli::{AnswerArgs, CountCommand, GraphJobArgs};
use crate::text::{self, reports, result};
use std::num::NonZeroUsize;
use std::path::Path;
use trimill::program::execute::{self, Helper};
use trimill::program::{EarlierResult, Job, Tables, WORKER, cores, files, guarded, paths, with_resume_advice};
use trimill::{Control, Error, Kind, Result, RunResult};

pub(super) fn run(command: &CountCommand, context: &mut CommandContext<'_>) -> Result<CommandOutcome> {
    if let Some(shard) = command.shard {
        let mut how = Job::resolve(None, &command.tables(), Path::new(""))?;
        checks::check(&mut how, &command.tables(), false)?;
        let report = execute::shard(how, shard, &context.control)?;
        return context.answer(&command.graph.answer, false, &report, reports::shard);
    }
    count_and_report(&command.tables(), &command.graph.answer, context)
}

pub(super) fn truss(graph: &GraphJobArgs, context: &mut CommandContext<'_>) -> Result<CommandOutcome> {
    let mut tables = graph.tables();
    tables.output.truss = Some(true);
    count_and_report(&tables, &graph.answer, context)
}

fn count_and_report(tables: &Tables, how: &AnswerArgs, context: &mut CommandContext<'_>) -> Result<CommandOutcome> {
    let job = job_of(tables)?;
    checks::check_kept(&job)?;
    paths::check(&[job.paths()])?;
    let above = job.settings.output.dir.iter().flat_map(|dir| dir.ancestors());
    let absent: Vec<&Path> = above.take_while(|dir| !dir.exists()).collect();
    let answer = count(&job, context.metis(), &context.control).inspect_err(|_| {
        for dir in absent {
            // Fails if anything was written there.
            let _ = std::fs::remove_dir(dir);
        }
    })?;
    report(answer, Some(&job), how, context)
}

pub(super) fn report(
    counted: CountAnswer,
    job: Option<&Job>,
    how: &AnswerArgs,
    context: &mut CommandContext<'_>,
) -> Result<CommandOutcome> {
    let CountAnswer { result, written, .. } = counted;
    let threads = job.map(|job| threads(job.settings.count.threads));
    let table = job.is_some_and(|job| job.settings.output.take_standard_output());
    let said = context.answer(how, table, &result, |result, shown| result::result(result, threads, shown));
    let unwritten = context.tell_failed("", written);
    said.map(|_| unwritten)
}

pub(super) fn threads(asked: Option<NonZeroUsize>) -> usize {
    asked.map_or_else(cores, NonZeroUsize::get)
}

pub(super) struct CountAnswer {
    pub(super) result: RunResult,
    pub(super) written: Result<()>,
    pub(super) earlier: Option<EarlierResult>,
}

/// Counts `job` and writes its output files; first checks the output directory, and reads the result to compare with.
pub(super) fn count(job: &Job, metis: Option<Helper>, control: &Control) -> Result<CountAnswer> {
    let earlier = job.earlier()?;
    if let Some(dir) = &job.settings.output.dir {
        files::prepare_result(dir)?;
    }
    // A thread that panics ends its job and not the batch; files of the job are removed or can be resumed.
    let counted = guarded(WORKER, || execute::count(job.clone(), None, metis, control))
        .map_err(|panic| with_resume_advice(panic, job.settings.run.dir.as_deref()))?;
    let (result, written) = Error::answered(counted)?;
    let tables = write_tables(&result, job.settings.output.dir.as_deref());
    let views = guarded(WORKER, || job.write_views(&result, earlier.clone())).and_then(|viewed| viewed);
    Ok(CountAnswer { result, written: Error::worst_of([written, tables, views]), earlier })
}

pub(super) fn write_tables(result: &RunResult, dir: Option<&Path>) -> Result<()> {
    dir.map_or(Ok(()), |dir| guarded(WORKER, || files::write(dir, result))?)
}

pub(super) fn plan(graph: &GraphJobArgs, context: &mut CommandContext<'_>) -> Result<CommandOutcome> {
    let tables = graph.tables();
    // With the memory of a device, the plan is for a GPU that need not be here.
    let job = job_for(&tables, tables.memory.device.is_some())?;
    job.check_is_graph()?;
    paths::check(&[job.paths_of_plan()])?;
    let report = execute::plan(job.clone(), None, context.metis(), &context.control)?;
    let threads = threads(job.settings.count.threads);
    context.answer(&graph.answer, false, &report, |report, shown| text::plan::plan(report, threads, shown))?;
    let short = (!report.fits).then_some(Kind::Resource);
    Ok(short.max(context.tell_failed("", job.write_plan(&report))))
}

pub(super) fn partition(graph: &GraphJobArgs, context: &mut CommandContext<'_>) -> Result<CommandOutcome> {
    let mut tables = graph.tables();
    tables.spill.keep = Some(true);
    let job = job_of(&tables)?;
    job.check_is_graph()?;
    paths::check(&[job.paths()])?;
    job.settings.spill.dir.as_deref().map_or(Ok(()), files::prepare)?;
    let report = execute::partition(job, context.metis(), &context.control)?;
    context.answer(&graph.answer, false, &report, reports::partition)
}

pub(super) fn verify(graph: &GraphJobArgs, context: &mut CommandContext<'_>) -> Result<CommandOutcome> {
    let job = job_of(&graph.tables())?;
    job.check_is_graph()?;
    paths::check(&[job.paths()])?;
    let (report, written) = Error::answered(execute::verify(job.clone(), &context.control))?;
    let table = job.settings.output.take_standard_output();
    let said = context.answer(&graph.answer, table, &report, |report, _| reports::verify(report));
    let unwritten = context.tell_failed("", written);
    said.map(|_| unwritten)
}
