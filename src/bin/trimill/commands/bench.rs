//! `trimill bench`, and the children that it starts.

use std::path::Path;

use super::checks::check_comparison;
use super::{Context, Outcome, count};
use crate::cli::BenchCommand;
use trimill::bench::child::{follow_parent, serve};
use trimill::disk;
use trimill::engine::Engine;
use trimill::error::{Error, Kind, Result};
use trimill::report::bench::BenchReport;
use trimill::report::{bench_table, chart, files};

pub(super) fn run(engine: &dyn Engine, command: &BenchCommand, context: &mut Context<'_>) -> Result<Outcome> {
    check_comparison(&command.settings)?;
    let request = command.request()?;
    for file in [&command.output, &command.svg].into_iter().flatten() {
        disk::make_dir(parent(file))?;
        disk::check_output(file)?;
    }
    let control = context.control.clone();
    let mut latest = None;
    // A file that cannot be written is no reason to lose what the other graphs are about to show.
    let compared = engine.bench(&request, &control, &mut |report| {
        if let Err(error) = write(command, report, Moment::Midway) {
            tracing::warn!("{error}");
        }
        latest = Some(report.clone());
        Ok(())
    });
    let (report, ended) = match (compared, latest) {
        (Ok(report), _) => (report, None),
        // What was measured before is worth being seen.
        (Err(error), Some(report)) => (report, Some(error)),
        (Err(error), None) => return Err(error),
    };
    let written = write(command, &report, Moment::End);
    context.report(command.json, &report, bench_table::bench)?;
    let mut worst = if ended.is_none() { outcome(&report, context) } else { None };
    for error in [ended, written.err()].into_iter().flatten() {
        context.tell("", &error);
        worst = worst.max(Some(error.kind()));
    }
    Ok(worst)
}

/// The child process that counts for a comparison.
pub(super) fn child(engine: &dyn Engine, context: &mut Context<'_>) -> Result<Outcome> {
    follow_parent();
    let control = context.control.clone();
    serve(&mut std::io::stdin().lock(), context.out, &control, |job| {
        let counted = count::count(engine, job, &control)?;
        counted.written.map(|()| counted.result)
    })?;
    Ok(None)
}

/// When the files of a comparison are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// After a graph: only files, of which the next report replaces the last one.
    Midway,
    End,
}

fn write(command: &BenchCommand, report: &BenchReport, moment: Moment) -> Result<()> {
    let mut outputs: Vec<(&Path, String)> = Vec::new();
    if let Some(file) = &command.output {
        outputs.push((file, files::pretty(file, report)?));
    }
    if let Some(file) = &command.svg {
        outputs.push((file, chart::svg(report)));
    }
    let mut now: Vec<(&Path, &[u8])> = Vec::new();
    for (file, text) in &outputs {
        if moment == Moment::End || disk::directory_of_output(file)?.is_some() {
            now.push((file, text.as_bytes()));
        }
    }
    disk::write_outputs(&now)
}

fn parent(file: &Path) -> &Path {
    file.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A wrong count outweighs all else. A method that cannot run is no fault, unless none can.
fn outcome(report: &BenchReport, context: &mut Context<'_>) -> Outcome {
    let mut worst = None;
    for (graph, title) in report.graphs.iter().zip(report.titles()) {
        if let Some(problem) = &graph.problem {
            context.complain(&format!("{title}: {}", problem.message));
            worst = worst.max(Some(kind(&problem.kind)));
            continue;
        }
        for method in &graph.methods {
            if let Some(wrong) = bench_table::wrong(method, graph) {
                context.complain(&format!("{title}: {}@{}: {wrong}", method.method, method.backend));
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

/// The kind that is called `name`; what a child process suffered is the machine's fault.
fn kind(name: &str) -> Kind {
    match name {
        "data" => Kind::Data,
        "usage" => Kind::Usage,
        _ => Kind::Resource,
    }
}
