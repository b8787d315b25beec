//! `trimill bench`, and the children that it starts.

use crate::text::bench;
use std::path::{Path, PathBuf};

use super::checks::check;
use super::{CommandContext, CommandOutcome, count};
use crate::cli::BenchCommand;
use trimill::program::execute::{self, BenchGraph};
use trimill::program::report::BenchReport;
use trimill::program::{Job, PageEntry, Paths, ResultKind, disk, files, kind_name, paths, serve, views};
use trimill::{Error, Kind, Result};

pub(super) fn run(command: &BenchCommand, context: &mut CommandContext<'_>) -> Result<CommandOutcome> {
    let request = command.request()?;
    let job = |graph: &BenchGraph| -> Result<_> {
        let mut job = Job::resolve(None, &graph.tables, Path::new(""))?;
        check(&mut job, &graph.tables, false)?;
        Ok(job.paths())
    };
    let graphs = request.graphs.iter().map(job).collect::<Result<Vec<_>>>()?;
    let mut files = Paths::default();
    if let Some(file) = &command.settings.output.dir {
        files = files.writes("the comparison", file, Some(views::check_comparison));
    }
    if let Some(file) = &command.settings.output.report {
        files = files.writes("the report", file, Some(views::check_report));
    }
    paths::check(&graphs.into_iter().chain([files]).collect::<Vec<_>>())?;
    let control = context.control.clone();
    // A file that cannot be written must not end the comparison on the other graphs.
    let compared = execute::bench(&request, context.program.as_deref(), &control, &mut |report| {
        if let Err(error) = write(command, report, false) {
            tracing::warn!("{error}");
        }
    });
    let (report, ended) = Error::answered(compared)?;
    let written = write(command, &report, true);
    context.report(command.json, &report, bench::bench)?;
    let worst = if ended.is_ok() { outcome(&report, context) } else { None };
    Ok(worst.max(context.tell_failed("", ended)).max(context.tell_failed("", written)))
}

pub(super) fn child(context: &mut CommandContext<'_>) -> Result<CommandOutcome> {
    let (metis, control) = (context.metis(), context.control.clone());
    serve(&mut std::io::stdin().lock(), context.out, &control, &|job| {
        let counted = count::count(&job, metis.clone(), &control)?;
        counted.written.map(|()| counted.result)
    })?;
    Ok(None)
}

/// Writes the files; before the end only regular files, which the next report replaces.
fn write(command: &BenchCommand, report: &BenchReport, at_end: bool) -> Result<()> {
    let now = |file: &&PathBuf| at_end || !matches!(disk::file_of_output(file), Ok(None));
    let asked = &command.settings.output;
    let mut outputs: Vec<(&Path, String)> = Vec::new();
    if let Some(file) = asked.dir.as_ref().filter(now) {
        outputs.push((file, files::pretty(file, report)?));
    }
    if let Some(file) = asked.report.as_ref().filter(now) {
        outputs.push((file, views::page(&[PageEntry::new(ResultKind::Bench, report.titles().join(", "), report)?])));
    }
    let outputs: Vec<(&Path, &[u8])> = outputs.iter().map(|(file, text)| (*file, text.as_bytes())).collect();
    disk::write_outputs(&outputs)
}

/// A wrong count takes precedence. A method that cannot run is no error, unless none can.
fn outcome(report: &BenchReport, context: &mut CommandContext<'_>) -> CommandOutcome {
    let mut worst = None;
    for (graph, title) in report.graphs.iter().zip(report.titles()) {
        if let Some(problem) = &graph.problem {
            context.print_error_text(&bench::named(graph, &title, &problem.message));
            worst = worst.max(Some(kind(&problem.kind)));
            continue;
        }
        for method in &graph.methods {
            if let Some(wrong) = bench::wrong(method, graph) {
                context.print_error_text(&format!("{title}: {}: {wrong}", method.name()));
            }
        }
        if graph.methods.iter().all(|method| method.runs.is_empty()) {
            let error = Error::resource("no method counted").at(&graph.graph);
            context.tell("", &error);
            let kinds = graph.methods.iter().filter_map(|method| method.problem.as_ref());
            worst = worst.max(kinds.map(|problem| kind(&problem.kind)).max());
        }
    }
    if report.any_wrong() { Some(Kind::Data) } else { worst }
}

/// A timeout or crash of a child process counts as a lack of resources.
fn kind(name: &str) -> Kind {
    let others = [Kind::Data, Kind::Usage, Kind::Defect, Kind::Interrupted];
    others.into_iter().find(|kind| kind_name(*kind) == name).unwrap_or(Kind::Resource)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_has_the_kind_of_its_error() {
        for error in [Kind::Data, Kind::Usage, Kind::Resource, Kind::Defect, Kind::Interrupted] {
            assert_eq!(kind(kind_name(error)), error);
        }
        assert_eq!(kind("timeout"), Kind::Resource);
    }
}
