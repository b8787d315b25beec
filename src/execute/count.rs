//! What `trimill count` does: from the input to the answer.
//!
//! Once the plan stands, a builder thread makes one spill after another and runs at most one finished spill ahead, while
//! the partition before it is read, decoded and counted; a spill goes as soon as it is counted unless it is kept. All of
//! it shares one pool of threads. A graph that is one partition is not spilled: its rows go to the counter directly.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use xxhash_rust::xxh3::xxh3_128;

use super::build::{Builder, Built, disk_needed};
use super::machine;
use super::setup::Setup;
use super::spill_dir::SpillDir;
use crate::assign::{Assigner, Helper};
use crate::bytes::Bytes;
use crate::control::{Control, Unit};
use crate::count::Backend;
use crate::error::{Error, Result};
use crate::graph::OrientedGraph;
use crate::job::Job;
use crate::partition::prune::prune;
use crate::plan::{Limits, Plan, plan};
use crate::report::{InputReport, PartitionResult, RunResult, Station};
use crate::spill::SpillReader;
use crate::stream::source::Whole;
use crate::stream::{Counted, count_partition, joined};

/// Finished spills that wait for the counter.
const AHEAD: usize = 1;

/// A job that is ready to be built and counted.
pub(super) struct Planned {
    pub(super) graph: OrientedGraph,
    pub(super) plan: Plan,
    pub(super) backend: Box<dyn Backend>,
    pub(super) device: Bytes,
    pub(super) fingerprint: u128,
    pub(super) child_peak: Bytes,
}

/// Takes a job up to its plan.
pub(super) fn planned(job: &Job, setup: &Setup, control: &Control, stations: &mut Vec<Station>) -> Result<Planned> {
    let (graph, identity) = super::graph::graph(job, setup, control, stations)?;
    let (backend, device) = setup.backend(job, graph.vertices())?;
    let terms = backend.terms();
    graph.limit_pages(setup.page_budget(device, job.frame_bytes.unwrap_or(Bytes(device.get() / 8))));
    let start = Instant::now();
    let weight = |id| terms.resident(1, u64::from(graph.out_degree(id))).get();
    let assigner = Assigner {
        graph: &graph,
        partitioner: &job.partitioner,
        parts: job.parts,
        seed: job.seed,
        weight: &weight,
        helper: setup.helper.as_ref(),
        host_memory: setup.host_memory,
        work_dir: &setup.work_dir,
        control,
        child_peak: AtomicU64::new(0),
    };
    let limits = Limits { device, frame: job.frame_bytes, prune: job.prune };
    let plan = setup.pool.install(|| plan(&graph, &assigner, &terms, limits, control))?;
    let child_peak = Bytes(assigner.child_peak.load(Ordering::Relaxed));
    if plan.assignment.parts() != plan.parts_asked {
        tracing::warn!(
            "{} parts do not fit the device budget of {device}: they were split into {}",
            plan.parts_asked,
            plan.assignment.parts()
        );
    }
    stations.push(Station::since("plan", start, graph.csr_bytes(), Bytes::ZERO));
    let fingerprint = fingerprint(job, &identity, &plan);
    Ok(Planned { graph, plan, backend, device, fingerprint, child_peak })
}

/// Marks the partitions of a job: the input, how it was cut, what was pruned, how large frames are.
fn fingerprint(job: &Job, identity: &str, plan: &Plan) -> u128 {
    let text = format!(
        "{identity}\n{}\n{}\n{}\n{}\n{}",
        job.partitioner,
        job.seed,
        plan.assignment.parts(),
        job.prune,
        plan.frame_limit.get()
    );
    let mut key = text.into_bytes();
    key.extend_from_slice(bytemuck::cast_slice(plan.assignment.part_of()));
    xxh3_128(&key)
}

/// Counts the triangles of a job's graph.
///
/// # Errors
/// What any station reports.
pub fn count(job: &Job, helper: Option<Helper>, control: &Control) -> Result<RunResult> {
    machine::forget_peak();
    let begin = Instant::now();
    let setup = Setup::new(job, helper)?;
    let mut stations = Vec::new();
    let planned = planned(job, &setup, control, &mut stations)?;
    let Planned { graph, plan, backend, .. } = &planned;

    let partitions = if plan.assignment.parts() == 1 && !job.keep_spill {
        vec![count_whole(&planned, &setup, control, &mut stations)?]
    } else {
        count_spilled(job, &planned, &setup, control, &mut stations)?
    };
    let report = graph.report();
    let result = RunResult {
        vertices: u64::from(graph.vertices()),
        edges: graph.edges(),
        wedges: graph.wedges(),
        input: InputReport {
            vertices_declared: Some(report.vertices_declared),
            arcs: report.arcs,
            loops_removed: report.loops_removed,
            duplicates_removed: report.duplicates_removed,
            arcs_added: report.arcs_added,
            arcs_without_reverse: report.arcs_without_reverse,
        },
        backend: backend.name().into(),
        method: backend.method().into(),
        partitions,
        stations,
        peak_host_bytes: machine::peak_memory() + planned.child_peak,
        device_memory: planned.device,
        host_memory: setup.host_memory,
        seconds: begin.elapsed().as_secs_f64(),
        ..RunResult::of(job)
    };
    Ok(result.complete())
}

/// One partition that is the whole graph.
fn count_whole(planned: &Planned, setup: &Setup, control: &Control, stations: &mut Vec<Station>) -> Result<PartitionResult> {
    let Planned { graph, plan, backend, .. } = planned;
    let task = control.task("count", Some(1), Unit::Partitions);
    let start = Instant::now();
    let mut source = setup.pool.install(|| {
        let pruned = prune(graph, plan.assignment.locals(0), Default::default(), control)?;
        Whole::new(&pruned, control)
    })?;
    graph.release();
    stations.push(Station::since("induce", start, graph.csr_bytes(), Bytes::ZERO));
    let start = Instant::now();
    let counted = count_partition(&mut source, backend.as_ref(), &setup.pool, control)?;
    stations.push(Station::since("count", start, counted.streamed, Bytes::ZERO));
    task.advance(1);
    Ok(partition_result(plan, 0, &counted, Bytes::ZERO, start.elapsed()))
}

/// The time that stations which overlap were at work, and their bytes.
#[derive(Default)]
struct Busy {
    pruning: Duration,
    spilling: Duration,
    reading: Duration,
    counting: Duration,
    spilled: Bytes,
    streamed: Bytes,
}

impl Busy {
    fn stations(&self, graph: &OrientedGraph) -> [Station; 4] {
        let arcs = graph.csr_bytes();
        [
            ("prune", self.pruning, arcs, Bytes::ZERO),
            ("spill", self.spilling, arcs, self.spilled),
            ("stream", self.reading, self.spilled, self.streamed),
            ("count", self.counting, self.streamed, Bytes::ZERO),
        ]
        .map(|(name, time, bytes_in, bytes_out)| Station::new(name, time, bytes_in, bytes_out))
    }
}

/// Many partitions: built ahead by one thread, read by another, counted by this one.
fn count_spilled(
    job: &Job,
    planned: &Planned,
    setup: &Setup,
    control: &Control,
    stations: &mut Vec<Station>,
) -> Result<Vec<PartitionResult>> {
    let Planned { graph, plan, backend, fingerprint, .. } = planned;
    let mut dir = SpillDir::open(&setup.spill_dir, job.keep_spill, *fingerprint)?;
    let parts = plan.assignment.parts() as usize;
    // One being counted, one finished, one being built.
    dir.check_space(disk_needed(plan, if job.keep_spill { parts } else { AHEAD + 2 }))?;
    let place = dir.path().to_path_buf();
    let builder = Builder { graph, plan, prune: job.prune, dir: &place, fingerprint: *fingerprint };
    let task = control.task("count", Some(parts as u64), Unit::Partitions);
    let (mut results, mut busy, mut kept) = (Vec::with_capacity(parts), Busy::default(), Vec::new());
    // The builder stops when the counter fails, not only when the job is stopped.
    let building = control.part();
    let outcome = std::thread::scope(|scope| {
        let (to_counter, built): (_, Receiver<Result<Built>>) = sync_channel(AHEAD);
        let thread = scope.spawn(|| build_all(&builder, parts as u32, setup, &building, to_counter));
        let counted = built.iter().try_for_each(|built| -> Result<()> {
            let Built { part, spill, pruning, spilling } = built?;
            dir.wrote(&spill.path);
            let start = Instant::now();
            let mut source = SpillReader::open(&spill.path, Some(*fingerprint))?;
            let counted = count_partition(&mut source, backend.as_ref(), &setup.pool, control)?;
            busy.pruning += pruning;
            busy.spilling += spilling;
            busy.reading += counted.reading;
            busy.counting += counted.counting;
            busy.spilled += Bytes(spill.bytes);
            busy.streamed += counted.streamed;
            results.push(partition_result(plan, part, &counted, Bytes(spill.bytes), start.elapsed()));
            if dir.is_kept() {
                kept.push(spill);
            } else {
                std::fs::remove_file(&spill.path).map_err(|e| Error::write(&spill.path, e))?;
            }
            task.advance(1);
            Ok(())
        });
        building.stop();
        drop(built);
        joined(thread.join())?;
        counted
    });
    // A stop reaches builder and counter in any order; it is the same outcome.
    outcome?;
    control.check()?;
    stations.extend(busy.stations(graph));
    if dir.is_kept() {
        let manifest = super::partition::manifest(job, planned, &kept);
        dir.wrote(&manifest.write(dir.path())?);
    }
    dir.complete();
    Ok(results)
}

/// The builder thread: all partitions in order; ends early when nobody takes them.
fn build_all(builder: &Builder<'_>, parts: u32, setup: &Setup, control: &Control, to_counter: SyncSender<Result<Built>>) {
    let _ = (0..parts).try_for_each(|part| {
        let built = setup.pool.install(|| builder.build(part, control));
        let failed = built.is_err();
        match to_counter.send(built) {
            Ok(()) if !failed => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        }
    });
}

fn partition_result(plan: &Plan, part: u32, counted: &Counted, spill: Bytes, time: Duration) -> PartitionResult {
    let (size, predicted) = (&plan.sizes[part as usize], &plan.predictions[part as usize]);
    PartitionResult {
        id: part,
        local_vertices: size.locals,
        proxies_induced: size.proxies_induced,
        proxies_kept: size.proxies_kept,
        arcs_induced: size.arcs_induced,
        arcs_kept: size.arcs_kept,
        resident_bytes: predicted.resident,
        frames: counted.frames,
        largest_frame_bytes: counted.largest_frame,
        spill_bytes: spill,
        stream_bytes: counted.streamed,
        peak_bytes_predicted: predicted.peak,
        peak_bytes: counted.peak,
        triangles: counted.triangles,
        seconds: time.as_secs_f64(),
    }
}
