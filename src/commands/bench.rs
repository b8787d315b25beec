//! `trimill bench`, and the children that it starts.

use std::path::Path;

use super::engine::Engine;
use super::{Context, Outcome, check_flags, count};
use crate::bench::child::{follow_parent, serve};
use crate::cli::BenchCommand;
use crate::error::{Error, Kind, Result};
use crate::report::bench::BenchReport;
use crate::report::{bench_table, chart, files};

pub(super) fn run(engine: &dyn Engine, command: &BenchCommand, context: &mut Context<'_>) -> Result<Outcome> {
    check_flags(&command.settings)?;
    let request = command.request()?;
    for file in [&command.output, &command.svg].into_iter().flatten() {
        files::prepare(parent(file))?;
    }
    let control = context.control.clone();
    let mut latest = None;
    let compared = engine.bench(&request, &control, &mut |report| {
        write(command, report)?;
        latest = Some(report.clone());
        Ok(())
    });
    match compared {
        Ok(report) => {
            context.report(command.json, &report, bench_table::bench)?;
            Ok(outcome(&report, context))
        }
        Err(error) => {
            // What was measured before is worth being seen.
            if let Some(report) = &latest {
                context.report(command.json, report, bench_table::bench)?;
            }
            Err(error)
        }
    }
}

/// The child process that counts for a comparison.
pub(super) fn child(engine: &dyn Engine, context: &mut Context<'_>) -> Result<Outcome> {
    follow_parent();
    let control = context.control.clone();
    serve(&mut std::io::stdin().lock(), context.out, &control, |job| count::count(engine, job, &control))?;
    Ok(None)
}

fn write(command: &BenchCommand, report: &BenchReport) -> Result<()> {
    if let Some(file) = &command.output {
        files::write_json(file, report)?;
    }
    if let Some(file) = &command.svg {
        crate::disk::replace(file, chart::svg(report).as_bytes())?;
    }
    Ok(())
}

fn parent(file: &Path) -> &Path {
    file.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A wrong count outweighs all else. A method that cannot run is no fault, unless none can.
fn outcome(report: &BenchReport, context: &mut Context<'_>) -> Outcome {
    let mut worst = None;
    for (graph, title) in report.graphs.iter().zip(report.titles()) {
        if let Some(problem) = &graph.problem {
            let _ = writeln!(context.err, "error: {title}: {}", problem.message);
            worst = worst.max(Some(kind(&problem.kind)));
            continue;
        }
        for method in &graph.methods {
            if let Some(wrong) = bench_table::wrong(method, graph) {
                let _ = writeln!(context.err, "error: {title}: {}@{}: {wrong}", method.method, method.backend);
            }
        }
        if graph.methods.iter().all(|method| method.runs.is_empty()) {
            let error = Error::resource("no method counted").at(&graph.graph);
            let _ = writeln!(context.err, "error: {error}");
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
