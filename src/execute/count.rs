//! What `trimill count` does: from the input to the result.
//!
//! Once there is a plan, partitions are built, spilled, streamed and counted concurrently, on one device or several
//! (`super::counting`); in the graph stream nothing is built or spilled.

use std::path::Path;
use std::time::Instant;

use super::counting::count_partitions;
use super::details::{self, Details, keeps_answer};
use super::graph::{Input, unless_graph_damaged};
use super::planned::{PlanRequest, planned, recorded};
use super::results::input_report;
use super::setup::Setup;
use super::whole::{count_shares, shared};
use crate::assign::Helper;
use crate::job::Job;
use crate::paths;
use crate::report::RunResult;
use crate::run_dir::{JobRecord, RunDir, unless_damaged, with_resume_advice};
use crate::vertices::degrees::DegreeBin;
use trimill_input::arcs::EdgeSource;
use trimill_system::control::Control;
use trimill_system::error::{Error, Kind, Result};
use trimill_system::machine;
use trimill_system::parallel;

/// Counts the triangles of `edges`, or if there are none of the job's input.
///
/// # Errors
/// The error of any stage. Where only files could not be written, the result is the error's answer.
pub fn count(
    job: &Job,
    edges: Option<&dyn EdgeSource>,
    helper: Option<Helper>,
    control: &Control,
) -> Result<RunResult> {
    if let Some(dir) = job.kept_spills() {
        return super::kept::count(job, dir, control);
    }
    machine::reset_peak();
    let begin = Instant::now();
    let control = &control.recorded_if(job.recorded, begin);
    details::check(job)?;
    let setup = Setup::new(job, helper)?;
    let mut input = Input::of(edges, job, &setup, control)?;
    let mut record = None;
    if let Some(run) = &setup.run {
        if run.is_prepared() {
            return Err(Error::resource("holds a job that is prepared for shards").at(run.path()).advice(
                "count its partitions with 'trimill count --run-dir DIR --shard I/N', add them with 'trimill merge DIR', or name \
                 another --run-dir",
            ));
        }
        let mut claimed = JobRecord::new(job, input.origin.as_ref(), control)?;
        parallel::within(&setup.pool, || run.claim(&mut claimed, control))?;
        if let Some(origin) = &mut input.origin {
            origin.identity = claimed.input();
        }
        record = Some((run, claimed));
        let finished = finished(run, job, &input, &setup)?;
        if let Some(result) = finished.filter(|result| details::holds_all(job, run, result)) {
            tracing::info!("{}: counted on an earlier start", run.path().display());
            run.announce(paths::replaced_by(job), true)?;
            setup.tidy(job);
            return Ok(RunResult { job: job.name.clone(), ..result });
        }
    }
    setup.open_gpus(job, input.device_bytes_at_most())?;
    let mut stages = Vec::new();
    tracing::debug!("the input is open");
    let prepared = input.graph(&setup, control, &mut stages)?;
    tracing::debug!("the graph is prepared");
    if let (Some((run, claimed)), Some(origin)) = (record, &prepared.1) {
        run.record(&claimed.with_input(&origin.identity))?;
        run.announce(paths::replaced_by(job), false)?;
    }
    // Freed before planning measures what the GPUs' drivers mapped: its pages would be counted as theirs.
    drop(input);
    let path = prepared.0.path().map(Path::to_path_buf);
    let planned = planned(prepared, job, &setup, PlanRequest::by(job), control, &mut stages);
    let mut planned = unless_graph_damaged(planned, path.as_deref())?;
    tracing::debug!("partitions are planned");

    let (whole, backends) = (shared(&planned), std::mem::take(&mut planned.backends));
    let (backend, method) = (backends[0].name(), backends[0].method());
    let details = Details::new(job, &planned.graph, &setup, planned.fingerprint)?;
    let counted = match whole {
        true => count_shares((&planned, backends), &setup, control, &mut stages),
        false => count_partitions(job, (&planned, backends), &setup, &details, control, &mut stages),
    };
    let counted = unless_graph_damaged(counted, path.as_deref());
    let counted = counted.map_err(|error| match error.kind() {
        Kind::Interrupted => error,
        _ => with_resume_advice(error, setup.run.as_ref().map(RunDir::path)),
    });
    let ((partitions, devices), kept) = Error::answered(counted)?;
    tracing::debug!("partitions are counted");
    let graph = &planned.graph;
    let result = RunResult {
        vertices: u64::from(graph.vertices()),
        edges: graph.edges(),
        wedges: graph.wedges(),
        input: input_report(graph.report()),
        stream: planned.plan.cut.stream(),
        partitioner: planned.partitioner.to_string(),
        backend: backend.into(),
        method: method.into(),
        methods: planned.methods,
        partitions,
        devices,
        stages,
        peak_host_bytes: machine::peak_memory().saturating_sub(planned.driver).max(planned.peak),
        driver_host_bytes: planned.driver,
        device_memory: planned.device,
        host_memory: setup.host.budget(),
        seconds: begin.elapsed().as_secs_f64(),
        ..RunResult::of(job)
    };
    let mut result = result.complete();
    let mut written = kept;
    if details.are_counted() {
        let finished = unless_graph_damaged(details.finish(job, &setup, control, &mut result), path.as_deref());
        if finished.as_ref().is_err_and(|error| !keeps_answer(error)) {
            return finished.map(|()| result);
        }
        written = Error::worst_of([written, finished.map_err(|error| resumes(error, &setup))]);
        result.seconds = begin.elapsed().as_secs_f64();
        result.peak_host_bytes = machine::peak_memory().saturating_sub(planned.driver).max(planned.peak);
    }
    if control.is_recorded() {
        result.degrees = result.degrees.or_else(|| Some(DegreeBin::of_runs(graph.degree_runs())));
        result.timeline = control.timeline(result.seconds);
    }
    if let Some(run) = &setup.run {
        // Without a result there, the next start writes the files from the counts that the directory keeps.
        let fingerprint = planned.fingerprint;
        let finish =
            || run.finish(fingerprint, &result).map(|()| setup.tidy(job)).map_err(|error| resumes(error, &setup));
        written = written.and_then(|()| finish());
    }
    match written {
        Ok(()) => Ok(result),
        Err(error) => Err(error.with_answer(result)),
    }
}

/// The result of an earlier start of this job. One that another job left is no result of this one.
fn finished(run: &RunDir, job: &Job, input: &Input<'_>, setup: &Setup) -> Result<Option<RunResult>> {
    let Some(origin) = input.origin.as_ref().filter(|_| run.has_result()) else { return Ok(None) };
    let plan = parallel::within(&setup.pool, || recorded(run, job, &origin.lasting()?, None))?;
    match plan {
        Some((plan, _)) => unless_damaged(run.finished(plan.fingerprint), "it is put together again"),
        None => Ok(None),
    }
}

/// Adds that the next start goes on, where there is a run directory.
fn resumes(error: Error, setup: &Setup) -> Error {
    match &setup.run {
        Some(run) => with_resume_advice(error, Some(run.path())),
        None => error,
    }
}
