//! What `trimill prepare` does: everything up to the plan, and in the partition stream the spills, once for all shards of a job. Nothing is
//! counted.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::details;
use super::graph::{Input, unless_graph_damaged};
use super::partition::write_spills;
use super::planned::{PlanRequest, Planned, planned};
use super::setup::Setup;
use super::spill_dir::SpillDir;
use crate::assign::Helper;
use crate::count::method::Choice;
use crate::edges;
use crate::graph::Direction;
use crate::job::{Job, Mode};
use crate::paths;
use crate::plan::costs::{CounterKind, costs};
use crate::plan::{GraphCut, Plan};
use crate::report::{PreparedReport, Stage};
use crate::run_dir::{JobRecord, PreparedJob, RunDir, SharedFiles, unless_damaged};
use crate::shards::check as check_shards;
use crate::spill::Manifest;
use crate::vertices;
use trimill_system::bytes::Bytes;
use trimill_system::control::Control;
use trimill_system::disk;
use trimill_system::error::{Error, Kind, Result};
use trimill_system::machine;
use trimill_system::parallel;

/// Prepares `job` in its run directory, with at least one partition for each of the `shards`.
///
/// # Errors
/// The error of any stage; a job without a run directory ([`trimill_system::error::Kind::Usage`]).
pub fn prepare(
    job: &Job,
    shards: Option<NonZeroU32>,
    helper: Option<Helper>,
    control: &Control,
) -> Result<PreparedReport> {
    machine::reset_peak();
    let begin = Instant::now();
    refuse(job)?;
    if let Some(shards) = shards {
        check_shards(shards)?;
        if shards.get() > 1 {
            let cut = format!("{shards} shards are asked for");
            Choice::check_partitions(job.backend, job.method.as_deref(), &cut)?;
        }
    }
    details::check(job)?;
    // The graph and the spills are where all nodes find them: in the run directory.
    let job = &Job { cache: false, ..job.clone() };
    let setup = Setup::new(job, helper)?.for_planning();
    let Some(run) = &setup.run else { return Err(Error::usage("no run directory").advice("name it with --run-dir")) };
    let input = Input::open(job, &setup, control)?;
    let mut claimed = JobRecord::new(job, input.origin.as_ref(), control)?;
    parallel::within(&setup.pool, || run.claim(&mut claimed, control))?;
    if run.is_prepared()
        && let Some(report) = earlier(run, job, &setup, control)?
    {
        return Ok(report);
    }
    setup.open_gpus(job, input.device_bytes_at_most())?;
    let mut stages = Vec::new();
    let prepared = input.graph(&setup, control, &mut stages)?;
    if let Some(origin) = &prepared.1 {
        run.record(&claimed.with_input(&origin.identity))?;
        run.announce(paths::replaced_by(job), false)?;
    }
    drop(input);
    let path = prepared.0.path().map(Path::to_path_buf);
    let wanted = PlanRequest { spills_whole: false, shards: shards.map_or(1, NonZeroU32::get) };
    let made = planned(prepared, job, &setup, wanted, control, &mut stages)
        .and_then(|planned| made(&planned, (job, shards), (&setup, run), control, &mut stages));
    let mut report = unless_graph_damaged(made, path.as_deref())?;
    run.remove_work();
    report.stages = stages;
    report.seconds = begin.elapsed().as_secs_f64();
    Ok(report)
}

/// Refuses settings that belong to a count in one process.
fn refuse(job: &Job) -> Result<()> {
    let refused = [
        (job.kept_spills().is_some(), "kept spills as the input", "the graph itself"),
        (job.keep_spill, "to keep the spills", "'trimill partition', which keeps them"),
        (job.spill_dir.is_some(), "a directory for spills", "no such directory: spills are in the run directory"),
    ];
    match refused.into_iter().find(|(named, ..)| *named) {
        Some((_, what, expected)) => {
            Err(Error::usage(format!("a job that is prepared for shards, and {what}")).expected(expected))
        }
        None => Ok(()),
    }
}

/// The report of an earlier start, if all that it made is there and as it was, or if the job is merged already. What is damaged, or of
/// another job, is removed, with a warning, so that it is made again.
fn earlier(run: &RunDir, job: &Job, setup: &Setup, control: &Control) -> Result<Option<PreparedReport>> {
    let prepared = unless_damaged(run.prepared().map(Some), "it is made again")?;
    let Some(prepared) = prepared else { return Ok(None) };
    let asked = |job: &Job| (job.output_files(), job.output.clone(), job.clustering);
    if asked(&prepared.job) != asked(&absolute(job)?) {
        return Err(Error::resource("is prepared for other outputs")
            .at(run.path())
            .expected("the same files of vertices and edges, and the same directory of --output")
            .advice("ask for the same ones, name another --run-dir, or remove this one"));
    }
    let done = |how: &str| {
        tracing::info!(target: trimill_system::control::NOTE, "{}: {how} on an earlier start", run.path().display());
        Ok(Some(report(job, &prepared)))
    };
    let merged = unless_damaged(run.finished(prepared.fingerprint), "the job is prepared again")?;
    if merged.is_some_and(|result| details::holds_all(&prepared.job, run, &result)) {
        setup.tidy(job);
        return done("merged");
    }
    run.forget_result()?;
    match parallel::within(&setup.pool, || is_whole(run, &prepared, setup, control))? {
        true => done("prepared"),
        false => Ok(None),
    }
}

/// Whether everything that was prepared is there and as it was written. Reads all of the graph and of the spills. Of these, what is
/// damaged is removed.
fn is_whole(run: &RunDir, prepared: &PreparedJob, setup: &Setup, control: &Control) -> Result<bool> {
    let mut whole = true;
    let mut look = |checked: Result<()>| match checked {
        Err(error) if error.kind() == Kind::Data => {
            whole = false;
            let found = error.path().filter(|path| path.is_file()).map(Path::to_path_buf);
            tracing::warn!("{error}");
            let made = |path: &PathBuf| path.starts_with(run.graphs()) || path.starts_with(run.spills(None));
            found.filter(made).map_or(Ok(()), |path| disk::remove(&path))
        }
        other => other,
    };
    look(run.check(prepared))?;
    look(run.graph(prepared).and_then(|graph| {
        graph.order()?;
        graph.ids()?;
        graph.pass(setup.host_block(), Direction::Rising, control, |_| Ok(()))?;
        let missing = || Error::data(run.path(), "its plan is missing or damaged");
        run.planned(Some(graph.vertices()))?.map(drop).ok_or_else(missing)
    }))?;
    if prepared.stream == Mode::Partition {
        let (dir, mut spilled) = (run.spills(None), None);
        look(Manifest::read(&dir).map(|manifest| spilled = Some(manifest)))?;
        for (manifest, partition) in spilled.iter().flat_map(|all| all.partitions.iter().map(move |one| (all, one))) {
            look(manifest.open(&dir, partition).and_then(|spill| spill.verify(control)))?;
        }
    }
    Ok(whole)
}

/// Spills the partitions, if the stream is that, and records the plan for shards.
fn made(
    planned: &Planned,
    (job, shards): (&Job, Option<NonZeroU32>),
    (setup, run): (&Setup, &RunDir),
    control: &Control,
    stages: &mut Vec<Stage>,
) -> Result<PreparedReport> {
    let Planned { graph, plan, fingerprint, partitioner, .. } = planned;
    let start = Instant::now();
    let gpus = planned.backends[0].name() != "cpu";
    let costs = parallel::within(&setup.pool, || costs(graph, plan, CounterKind::new(&setup.rates, gpus), control))?;
    stages.push(Stage::since("costs", start, graph.stored_bytes(), Bytes::ZERO));
    let mut spilled = Bytes::ZERO;
    if let GraphCut::Sets(locals) = &plan.cut {
        let dir = SpillDir::of_prepared(&run.spills(None), *fingerprint)?;
        let spills = write_spills((planned, locals), job, setup, dir, control, stages)?;
        spilled = spills.iter().map(|spill| Bytes(spill.bytes)).sum();
    }
    let name = graph.path().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    let Some((name, checksum)) = name.zip(graph.checksum()) else {
        return Err(Error::defect("a prepared graph without a file"));
    };
    let made = SharedFiles {
        graph: name,
        graph_checksum: checksum,
        graph_bytes: graph.stored_bytes(),
        vertices: graph.vertices().into(),
        edges: graph.edges(),
        spilled_bytes: spilled,
        counts_bytes: counts_bytes(job, plan),
        device_memory: planned.device,
    };
    let prepared = PreparedJob {
        kind: PreparedJob::KIND.into(),
        fingerprint: *fingerprint,
        job: absolute(job)?,
        partitioner: partitioner.clone(),
        stream: plan.cut.stream(),
        made,
        shards,
        costs,
    };
    run.record_prepared(&prepared)?;
    Ok(PreparedReport {
        peak_host_bytes: machine::peak_memory().saturating_sub(planned.driver).max(planned.peak),
        ..report(job, &prepared)
    })
}

/// What is reported of a prepared job, whether it was prepared now or before.
fn report(job: &Job, prepared: &PreparedJob) -> PreparedReport {
    let SharedFiles { graph_bytes, vertices, edges, spilled_bytes, counts_bytes, device_memory, .. } = prepared.made;
    PreparedReport {
        vertices,
        edges,
        stream: prepared.stream,
        partitioner: prepared.partitioner.to_string(),
        parts: prepared.parts(),
        shards: prepared.shards,
        costs: prepared.costs.clone(),
        graph_bytes,
        spilled_bytes,
        counts_bytes,
        device_memory,
        ..PreparedReport::of(job)
    }
}

/// Bytes that the counts of all partitions take in the run directory, at most, until they are added.
fn counts_bytes(job: &Job, plan: &Plan) -> Bytes {
    let of = |part: usize| {
        let (size, predicted) = (&plan.sizes[part], &plan.predictions[part]);
        if job.counts_edges() {
            // Every arc that is read is in a row.
            edges::part::bytes_at_most(predicted.stream.get() / size_of::<u32>() as u64)
        } else if job.counts_vertices() {
            vertices::part::bytes_at_most(match plan.cut.stream() {
                Mode::Graph => plan.sizes[..=part].iter().map(|size| size.locals).sum(),
                Mode::Partition => size.numbered(),
            })
        } else {
            Bytes::ZERO
        }
    };
    (0..plan.sizes.len()).map(of).sum()
}

/// The job with absolute paths of its output: other processes may start elsewhere.
fn absolute(job: &Job) -> Result<Job> {
    let absolute = |path: &Option<PathBuf>| match path {
        Some(path) => std::path::absolute(path).map(Some).map_err(|error| Error::write(path, error)),
        None => Ok(None),
    };
    Ok(Job {
        per_vertex: absolute(&job.per_vertex)?,
        by_degree: absolute(&job.by_degree)?,
        per_edge: absolute(&job.per_edge)?,
        output: absolute(&job.output)?,
        ..job.clone()
    })
}
