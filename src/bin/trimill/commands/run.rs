//! `trimill run`: the jobs of a file, one after another. Errors in the file itself are reported before the first job. A job that fails is
//! reported on standard error and in the summary, and the next one starts; a result whose files cannot be written is still printed; an
//! interruption ends the batch. The outcome is the worst of all jobs.

use crate::text::table::{TableColumn, grid, or_dash, thousands};
use crate::text::{reports, result};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Instant;

use super::count::{CountAnswer, threads};
use super::{CommandContext, CommandOutcome, checks, count};
use crate::cli::{AnswerArgs, JsonTo, RunCommand};
use trimill::program::report::ClusterJobReport;
use trimill::program::{
    BatchJob, Failure, Job, Override, PageEntry, Paths, ResultKind, WORKER, batch, execute, guarded, json, key_of,
    kind_name, paths, printable, shown, views,
};
use trimill::{Bytes, Error, Kind, Result, RunResult};

pub(super) fn run(command: &RunCommand, context: &mut CommandContext<'_>) -> Result<CommandOutcome> {
    let overrides = command.set.iter().map(|typed| Override::parse(typed)).collect::<Result<Vec<_>>>()?;
    let (mut jobs, mut faults) = (Vec::new(), Vec::new());
    for entry in batch::read(&command.file, &overrides, &command.only)? {
        match entry.and_then(checks::checked) {
            Ok(entry) => jobs.push(entry),
            Err(fault) => faults.push(with_keys(fault.at_if_unset(&command.file))),
        }
    }
    if !command.check {
        faults.truncate(1);
    }
    if let Some(last) = faults.pop() {
        // In the order of the jobs: the last is told as what ends the command. If JSON cannot be written, standard error has them.
        for fault in faults {
            let failure = Failure::new(None, &fault);
            let _ = JsonTo::new(command.answer.json, false).write(&failure, context.out, context.err);
            context.tell("", &fault);
        }
        return Err(last);
    }
    let report = command.report.as_deref();
    let mut files = Paths::default().reads("the job file", &command.file);
    if let Some(report) = report {
        files = files.writes("the report of all jobs", report, Some(views::check_report));
    }
    let files = jobs.iter().map(|entry| entry.job.paths()).chain([files]).collect::<Vec<_>>();
    paths::check(&files)
        .and_then(|()| check_scripts(&jobs, context.program.as_deref()))
        .map_err(|error| with_keys(error.at_if_unset(&command.file)))?;
    if command.check {
        return check(&jobs, command.answer.json, context);
    }
    // Of all jobs, before the first starts.
    for BatchJob { name, job, .. } in &mut jobs {
        job.check_machine().map_err(|error| with_keys(error.in_job(Some(name)).at_if_unset(&command.file)))?;
        // The report does not show jobs that a cluster counts.
        job.has_timeline |= report.is_some() && job.cluster().is_none();
    }
    let table = jobs.iter().any(|entry| entry.job.settings.output.take_standard_output());
    let mut done = JobsDone { answer: command.answer.clone(), reports: report.is_some(), table, ..JobsDone::default() };
    for BatchJob { name, job, .. } in &jobs {
        if done.worst == Some(Kind::Interrupted) || context.control.is_stopped() {
            done.worst = Some(Kind::Interrupted);
            done.lines.push(line(name, None, "not started".into()));
            continue;
        }
        match job.cluster() {
            Some(_) => done.prepare(name, job, context)?,
            None => done.count(name, job, context)?,
        }
    }
    let summary = printable(&summary(&done.lines)).into_owned();
    let mut beside = command.answer.json || table;
    if !beside && let Err(error) = context.say(&summary) {
        done.worst = done.worst.max(Some(context.tell("", &error)));
        beside = true;
    }
    if beside && !context.quiet {
        // A failure to write the summary is ignored: the results are on standard output.
        let _ = context.err.write_all(summary.as_bytes());
    }
    let written = report.map_or(Ok(()), |file| views::write_report(file, &done.entries));
    Ok(done.worst.max(context.tell_failed("", written)))
}

/// Appends the keys of the flags that an error names: `trimill run` has no such flags.
fn with_keys(error: Error) -> Error {
    let text = error.to_string();
    // Between backticks are commands, also of other programs.
    let named = text.split('`').step_by(2).flat_map(|part| part.match_indices("--").map(move |(at, _)| &part[at..]));
    let end = |c: char| !c.is_ascii_lowercase() && c != '-';
    let flags: BTreeSet<&str> = named.filter_map(|rest| rest.split(end).next()).collect();
    let keys = flags.into_iter().filter_map(|flag| Some((flag, key_of(flag)?)));
    let untold = keys.filter(|(_, key)| !text.contains(key.as_str()));
    untold.fold(error, |error, (flag, key)| error.also(&format!("in a job file {flag} is `{key}`")))
}

#[derive(Debug, Clone, PartialEq)]
struct SummaryLine {
    job: String,
    counted: Option<(u128, u64, u32)>,
    seconds: f64,
    outcome: String,
}

#[derive(Default)]
struct JobsDone {
    answer: AnswerArgs,
    reports: bool,
    /// Whether a job's table takes standard output.
    table: bool,
    entries: Vec<PageEntry>,
    lines: Vec<SummaryLine>,
    worst: CommandOutcome,
}

impl JobsDone {
    fn prepare(&mut self, name: &str, job: &Job, context: &mut CommandContext<'_>) -> Result<()> {
        let begun = Instant::now();
        let prepared = for_cluster(name, job, context)
            .map_err(with_keys)
            .and_then(|report| context.answer(&self.answer, self.table, &report, reports::cluster_job).map(|_| report));
        let outcome = match prepared {
            Ok(report) if report.prepared.merged => "merged".into(),
            Ok(report) => format!("prepared: {}", report.cluster.commands.first().map_or("", String::as_str)),
            Err(error) => self.failed(name, &error, context)?,
        };
        self.lines.push(line(name, Some(begun), outcome));
        Ok(())
    }

    fn count(&mut self, name: &str, job: &Job, context: &mut CommandContext<'_>) -> Result<()> {
        let begun = Instant::now();
        // Again: files may have appeared while earlier jobs were counted.
        let checked = job.check_files().and_then(|()| paths::check(&[job.paths()]));
        let result = checked.and_then(|()| count::count(job, context.metis(), &context.control));
        let result = result.map_err(with_keys);
        let mut line = line(name, Some(begun), "done".into());
        match result {
            Ok(CountAnswer { result, written, earlier }) => {
                line.counted = Some((result.triangles, result.edges, result.parts));
                if self.reports {
                    self.entries.push(job.page_of_count(&result, earlier)?);
                }
                let threads = Some(threads(job.settings.count.threads));
                let text = |result: &RunResult, shown| format!("{}\n", result::result(result, threads, shown));
                let said = context.answer(&self.answer, self.table, &result, text).map(drop);
                if let Err(error) = Error::worst_of([written, said]) {
                    let kind = context.tell(&of_job(name), &error);
                    self.worst = self.worst.max(Some(kind));
                    line.outcome = format!("counted; {}: {error}", kind_name(kind));
                }
            }
            Err(error) => line.outcome = self.failed(name, &error, context)?,
        }
        self.lines.push(line);
        Ok(())
    }

    fn failed(&mut self, name: &str, error: &Error, context: &mut CommandContext<'_>) -> Result<String> {
        self.worst = self.worst.max(Some(error.kind()));
        let failure = Failure::new(Some(name), error);
        self.entries.push(PageEntry::new(ResultKind::Failure, name.into(), &failure)?);
        context.tell(&of_job(name), error);
        let said = JsonTo::new(self.answer.json, self.table).write(&failure, context.out, context.err);
        self.worst = self.worst.max(context.tell_failed(&of_job(name), said));
        Ok(match error.kind() {
            Kind::Interrupted => "interrupted".into(),
            kind => format!("{}: {error}", kind_name(kind)),
        })
    }
}

fn line(name: &str, begun: Option<Instant>, outcome: String) -> SummaryLine {
    let seconds = begun.map_or(0.0, |begun| begun.elapsed().as_secs_f64());
    SummaryLine { job: name.into(), counted: None, seconds, outcome }
}

fn summary(lines: &[SummaryLine]) -> String {
    const COLUMNS: [TableColumn<SummaryLine>; 6] = [
        TableColumn { heading: "job", cell: |l| l.job.clone() },
        TableColumn { heading: "triangles", cell: |l| or_dash(l.counted, |(triangles, ..)| thousands(triangles)) },
        TableColumn { heading: "edges", cell: |l| or_dash(l.counted, |(_, edges, _)| thousands(edges)) },
        TableColumn { heading: "parts", cell: |l| or_dash(l.counted, |(.., parts)| thousands(parts)) },
        TableColumn { heading: "seconds", cell: |l| format!("{:.3}", l.seconds) },
        TableColumn { heading: "outcome", cell: |l| l.outcome.clone() },
    ];
    grid(&COLUMNS, lines)
}

fn of_job(name: &str) -> String {
    format!("job '{}': ", printable(name))
}

fn for_cluster(name: &str, job: &Job, context: &CommandContext<'_>) -> Result<ClusterJobReport> {
    let cluster = &job.settings.cluster;
    job.check_files()?;
    let prepare = || execute::prepare(job.clone(), cluster.shards, context.metis(), &context.control);
    let prepared = guarded(WORKER, prepare)??;
    let run = job.settings.run.dir.as_deref().unwrap_or(Path::new(""));
    let written = execute::cluster(run, cluster, context.program.as_deref(), job.settings.output.force())?;
    Ok(ClusterJobReport::new(name, prepared, written))
}

/// Refuses edited scripts of jobs that are already prepared, before any job is prepared again.
fn check_scripts(jobs: &[BatchJob], program: Option<&Path>) -> Result<()> {
    let mut clusters = jobs.iter().filter_map(|BatchJob { job, .. }| Some((job, job.cluster()?)));
    clusters.try_for_each(|(job, cluster)| {
        let run = job.settings.run.dir.as_deref().unwrap_or(Path::new(""));
        execute::check_scripts(run, cluster, program, job.settings.output.force())
    })
}

fn check(jobs: &[BatchJob], as_json: bool, context: &mut CommandContext<'_>) -> Result<CommandOutcome> {
    let (mut worst, mut made) = (None, Vec::new());
    for BatchJob { name, job, .. } in jobs {
        if as_json {
            json::write_line(context.out, job)?;
        }
        // Skips this machine's memory: the jobs may be for another one.
        let checked = job.check_files_after(&made).and_then(|()| job.check_run_dir());
        worst = worst.max(context.tell_failed(&of_job(name), checked.map_err(with_keys)));
        // A cluster's results do not exist yet when the next job starts.
        if job.cluster().is_none() {
            made.extend(job.made());
        }
    }
    if !as_json {
        const COLUMNS: [TableColumn<Job>; 9] = [
            TableColumn { heading: "job", cell: Job::title },
            TableColumn {
                heading: "input",
                cell: |j| j.inputs.iter().map(|path| shown(path)).collect::<Vec<_>>().join("\n"),
            },
            TableColumn { heading: "partitioner", cell: |j| j.settings.partition.partitioner().to_string() },
            TableColumn { heading: "parts", cell: |j| j.settings.partition.parts().to_string() },
            TableColumn { heading: "prune", cell: |j| j.settings.partition.prune().to_string() },
            TableColumn { heading: "device\nmemory", cell: |j| or_default(j.settings.memory.device) },
            TableColumn { heading: "host\nmemory", cell: |j| or_default(j.settings.memory.host) },
            TableColumn { heading: "backend", cell: |j| j.settings.count.backend().to_string() },
            TableColumn { heading: "output", cell: |j| or_dash(j.settings.output.dir.as_deref(), shown) },
        ];
        context.say(&printable(&grid(&COLUMNS, jobs.iter().map(|entry| &entry.job))))?;
    }
    Ok(worst)
}

fn or_default(bytes: Option<Bytes>) -> String {
    bytes.map_or_else(|| "default".into(), |bytes| bytes.to_string())
}

#[cfg(test)]
mod tests;
