//! What `trimill count` does: from the input to the answer.
//!
//! Once the plan stands, a builder thread makes one spill after another and runs at most one finished spill ahead, while
//! the partition before it is read, decoded and counted; a spill goes as soon as it is counted unless it is kept. All of
//! it shares one pool of threads. A graph that is one partition is not spilled: its rows go to the counter directly.

use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use super::build::{Builder, Built, disk_needed};
use super::machine;
use super::planned::{Planned, planned};
use super::setup::Setup;
use super::spill_dir::SpillDir;
use crate::assign::Helper;
use crate::bytes::Bytes;
use crate::control::{Control, Unit};
use crate::count::DeviceTimes;
use crate::error::{Error, Result};
use crate::graph::OrientedGraph;
use crate::job::Job;
use crate::partition::prune::prune;
use crate::plan::Plan;
use crate::report::{InputReport, PartitionResult, RunResult, Station};
use crate::spill::SpillReader;
use crate::stream::source::Whole;
use crate::stream::{Counted, count_partition, joined};

/// Finished spills that wait for the counter.
const AHEAD: usize = 1;

/// Counts the triangles of a job's graph.
///
/// # Errors
/// What any station reports.
pub fn count(job: &Job, helper: Option<Helper>, control: &Control) -> Result<RunResult> {
    machine::forget_peak();
    let begin = Instant::now();
    let setup = Setup::new(job, helper)?;
    let mut stations = Vec::new();
    let mut planned = planned(job, &setup, control, &mut stations)?;

    let partitions = if planned.plan.assignment.parts() == 1 && !job.keep_spill {
        vec![count_whole(&mut planned, &setup, control, &mut stations)?]
    } else {
        count_spilled(job, &mut planned, &setup, control, &mut stations)?
    };
    let Planned { graph, backend, .. } = &planned;
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
fn count_whole(
    planned: &mut Planned,
    setup: &Setup,
    control: &Control,
    stations: &mut Vec<Station>,
) -> Result<PartitionResult> {
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
    let counted = count_partition(&mut source, backend.as_mut(), &setup.pool, control)?;
    stations.push(Station::since("count", start, counted.streamed, Bytes::ZERO));
    stations.extend(device_stations(counted.device, counted.streamed));
    task.advance(1);
    Ok(partition_result(plan, 0, &counted, Bytes::ZERO, start.elapsed()))
}

/// The time that stations which overlap were at work, and their bytes.
#[derive(Default)]
struct Busy {
    inducing: Duration,
    pruning: Duration,
    spilling: Duration,
    reading: Duration,
    counting: Duration,
    device: Option<DeviceTimes>,
    spilled: Bytes,
    streamed: Bytes,
}

impl Busy {
    fn add_device(&mut self, times: Option<DeviceTimes>) {
        if let Some(times) = times {
            let all = self.device.get_or_insert_default();
            all.kernels += times.kernels;
            all.copies += times.copies;
        }
    }

    fn stations(&self, graph: &OrientedGraph) -> Vec<Station> {
        let arcs = graph.csr_bytes();
        let mut stations = vec![
            Station::new("induce", self.inducing, arcs, Bytes::ZERO),
            Station::new("prune", self.pruning, arcs, Bytes::ZERO),
            Station::new("spill", self.spilling, arcs, self.spilled),
            Station::new("stream", self.reading, self.spilled, self.streamed),
            Station::new("count", self.counting, self.streamed, Bytes::ZERO),
        ];
        stations.extend(device_stations(self.device, self.streamed));
        stations
    }
}

/// What the device's own clock says, where it has one: these overlap with 'count', the host's time.
fn device_stations(times: Option<DeviceTimes>, streamed: Bytes) -> impl Iterator<Item = Station> {
    times.into_iter().flat_map(move |times| {
        [
            Station::new("copy", times.copies, streamed, streamed),
            Station::new("kernel", times.kernels, streamed, Bytes::ZERO),
        ]
    })
}

/// Many partitions: built ahead by one thread, read by another, counted by this one.
fn count_spilled(
    job: &Job,
    planned: &mut Planned,
    setup: &Setup,
    control: &Control,
    stations: &mut Vec<Station>,
) -> Result<Vec<PartitionResult>> {
    let Planned { graph, plan, backend, fingerprint, .. } = planned;
    let (graph, plan, fingerprint) = (&*graph, &*plan, *fingerprint);
    let mut dir = SpillDir::open(&setup.spill_dir, job.keep_spill, fingerprint)?;
    let parts = plan.assignment.parts() as usize;
    // One being counted, one finished, one being built.
    dir.check_space(disk_needed(plan, if job.keep_spill { parts } else { AHEAD + 2 }))?;
    let place = dir.path().to_path_buf();
    let builder = Builder { graph, plan, prune: job.prune, dir: &place, fingerprint };
    let task = control.task("count", Some(parts as u64), Unit::Partitions);
    let (mut results, mut busy, mut kept) = (Vec::with_capacity(parts), Busy::default(), Vec::new());
    // The builder stops when the counter fails, not only when the job is stopped.
    let building = control.part();
    let outcome = std::thread::scope(|scope| {
        let (to_counter, built): (_, Receiver<Result<Built>>) = sync_channel(AHEAD);
        let thread = scope.spawn(|| build_all(&builder, parts as u32, setup, &building, to_counter));
        let counted = built.iter().try_for_each(|built| -> Result<()> {
            let Built { part, spill, inducing, pruning, spilling } = built?;
            dir.wrote(&spill.path);
            let start = Instant::now();
            let mut source = SpillReader::open(&spill.path, Some(fingerprint))?;
            let counted = count_partition(&mut source, backend.as_mut(), &setup.pool, control)?;
            busy.inducing += inducing;
            busy.pruning += pruning;
            busy.spilling += spilling;
            busy.reading += counted.reading;
            busy.counting += counted.counting;
            busy.add_device(counted.device);
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
        let manifest = super::partition::manifest(job, graph, plan, fingerprint, &kept);
        dir.wrote(&manifest.write(dir.path())?);
    }
    dir.complete();
    Ok(results)
}

/// The builder thread: all partitions in order; ends early when nobody takes them.
fn build_all(
    builder: &Builder<'_>,
    parts: u32,
    setup: &Setup,
    control: &Control,
    to_counter: SyncSender<Result<Built>>,
) {
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
