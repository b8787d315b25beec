//! The counting loop: a queue of partitions, and for each device a thread that takes the next one.
//!
//! A partition of the graph stream is a rank range, and all of them are in the queue from the beginning. Those of the partition
//! stream are spills, which a builder thread puts there, a batch at a time (`super::building`); a spill is removed once it was
//! counted. Stages that overlap share one thread pool. Where the device has memory of its own, the first rows of the next
//! partition are prefetched while the current one is counted. With several devices the largest partitions come first, so that
//! all devices finish at about the same time; `super::workers` says what happens when a device fails. With a run directory each
//! result is recorded, partitions that earlier starts counted are skipped, and spills that they finished are reused.

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::time::Instant;

use rayon::ThreadPool;

use super::build::{Builder, Built, file_name};
use super::building::{Builders, Building};
use super::details::Details;
use super::planned::Planned;
use super::queue::{Queue, Taken};
use super::results::{Known, partition_result};
use super::room::SpillMemory;
use super::setup::Setup;
use super::spill_dir::SpillDir;
use super::stage_times::StageTimes;
use super::workers::{all_or_first_error, run_on_all};
use crate::count::cuda::RUNS_AHEAD;
use crate::count::{Backend, DeviceWork};
use crate::graph::OrientedGraph;
use crate::job::Job;
use crate::partition::locals::Locals;
use crate::partition::ranks::Ranks;
use crate::plan::{Cut, Plan};
use crate::report::{DeviceResult, PartitionResult, Stage};
use crate::run_dir::{CountedBy, Journal};
use crate::spill::{SpillReader, SpillSummary};
use crate::stream::ahead::Ahead;
use crate::stream::ranges::RankRange;
use crate::stream::row_blocks::RowBlocks;
use crate::stream::source::{PartitionSource, Spilled};
use crate::stream::{Counted, Failed};
use trimill_system::bytes::Bytes;
use trimill_system::control::{Control, Task, Unit};
use trimill_system::disk;
use trimill_system::error::{Error, Kind, Result};
use trimill_system::lock;
use trimill_system::parallel;
use trimill_system::threads::{guarded, joined};
use trimill_system::timeline::TrackKind;

/// The name of the builder thread in messages.
const BUILDER: &str = "the thread that builds partitions";

/// The name of the prefetching thread in messages.
const READER_AHEAD: &str = "the thread that reads the next partition";

/// The results of a device's thread.
#[derive(Default)]
pub(super) struct Outcome {
    pub(super) results: Vec<PartitionResult>,
    kept: Vec<SpillSummary>,
    pub(super) times: StageTimes,
}

/// A partition in the queue.
pub(super) enum Item {
    /// A rank range.
    Range(u32),
    /// A spill.
    Built(Box<Built>),
}

impl Item {
    pub(super) fn part(&self) -> u32 {
        match self {
            Self::Range(part) => *part,
            Self::Built(built) => built.part,
        }
    }
}

/// The graph and how its rows are cut, where partitions are rank ranges.
pub(super) struct Ranges<'a> {
    pub(super) graph: &'a OrientedGraph,
    pub(super) ranges: &'a [Ranks],
    pub(super) blocks: &'a RowBlocks,
}

/// What the threads of all devices have in common.
pub(super) struct Work<'a> {
    pub(super) known: Known<'a>,
    pub(super) ranges: Option<Ranges<'a>>,
    pub(super) setup: &'a Setup,
    /// The budget of each device.
    pub(super) device_memory: Bytes,
    pub(super) queue: &'a Queue<Item>,
    /// In the partition stream, what builds spills and removes them once they were counted.
    pub(super) spills: Option<&'a Spills<'a>>,
    /// Where results are recorded, with a run directory.
    pub(super) journal: Option<&'a Journal>,
    /// Where triangles at vertices or on edges are added up.
    pub(super) details: &'a Details<'a>,
    pub(super) task: &'a Task,
    /// The units of the task that a partition is; 0 if the backend reports its progress by itself.
    pub(super) per_partition: u64,
    /// Stops builder and devices together when one of them fails.
    pub(super) control: &'a Control,
}

/// What only the partition stream has.
pub(super) struct Spills<'a> {
    builders: Builders<'a>,
    builder: Builder<'a>,
    dir: Mutex<SpillDir>,
}

/// Counts all partitions of a plan.
///
/// # Errors
/// The first error of the builder or of a device; the others are then stopped. Too little disk space; when stopped.
pub(super) fn count_partitions(
    job: &Job,
    (planned, mut backends): (&Planned, Vec<Box<dyn Backend>>),
    setup: &Setup,
    details: &Details<'_>,
    control: &Control,
    stages: &mut Vec<Stage>,
) -> Result<(Vec<PartitionResult>, Vec<DeviceResult>)> {
    let (plan, parts) = (&planned.plan, planned.plan.parts());
    let journal = setup.run.as_ref().map(|run| run.journal(planned.fingerprint, parts));
    let room = SpillMemory::new(planned.spills);
    let place = match &plan.cut {
        Cut::Ranges(..) => None,
        Cut::Sets(locals) => Some((locals, spill_dir(job, setup, planned.fingerprint, journal.is_some())?)),
    };
    let path = place.as_ref().map(|(_, dir)| dir.path().to_path_buf()).unwrap_or_default();
    let keeps = place.as_ref().is_some_and(|(_, dir)| dir.is_kept());
    let (task, per_partition) = task_of(&mut backends, u64::from(parts), planned.graph.edges(), control);
    let mut before = Outcome::default();
    if let Some(journal) = &journal {
        let spills = keeps.then_some((path.as_path(), planned.fingerprint));
        resume(journal, spills, (details, &setup.pool), &mut before)?;
        task.advance(before.results.len() as u64 * per_partition);
    }
    let mut order = order(plan, backends.len());
    order.retain(|&part| before.results.iter().all(|result| result.id != part));
    let together = control.part();
    let spilling = match place {
        None => None,
        Some((locals, mut dir)) => {
            let of = (&planned.graph, plan, order.len());
            let building = Building::choose(of, job, (backends.len(), planned.building, planned.spills), setup)?;
            dir.check_space(building.disk_at_least())?;
            order.iter().for_each(|&part| dir.wrote(&path.join(file_name(part))));
            let builder = builder(planned, locals, job, (&path, &room));
            let builders = Builders::new(builder, building, &setup.pool);
            Some((Spills { builders, builder, dir: Mutex::new(dir) }, building))
        }
    };
    let queue = match &spilling {
        None => Queue::of(order.iter().map(|&part| Item::Range(part)), backends.len()),
        Some((_, building)) => Queue::new(building.waiting(backends.len()), backends.len()),
    };
    let spills = spilling.as_ref().map(|(spills, _)| spills);
    let work = Work {
        known: Known { sizes: &plan.sizes, predictions: &plan.predictions },
        ranges: match &plan.cut {
            Cut::Ranges(ranges, blocks) => Some(Ranges { graph: &planned.graph, ranges, blocks }),
            Cut::Sets(_) => None,
        },
        setup,
        device_memory: planned.device,
        queue: &queue,
        spills,
        journal: journal.as_ref(),
        details,
        task: &task,
        per_partition,
        control: &together,
    };
    let start = Instant::now();
    let outcomes = std::thread::scope(|scope| {
        let builds = spills.map(|spills| scope.spawn(|| build_all(&order, spills, &work)));
        let mut outcomes = count_all(&mut backends, &work);
        if let Some(builds) = builds {
            // If all devices failed, the builder may still be at work.
            together.stop();
            if let Err(error) = joined(BUILDER, builds.join()).and_then(|built| built) {
                outcomes.push(Err(error));
            }
        }
        outcomes
    });
    let shares = all_or_first_error(outcomes, control)?;
    control.did_stage("count", start);

    let (mut all, devices) = together_of(shares, &backends);
    all.results.extend(before.results);
    all.kept.extend(before.kept);
    match spilling {
        None => stages.extend(all.times.streamed_stages(all.times.read(&planned.graph))),
        Some((spills, _)) => {
            stages.extend(all.times.stages(&planned.graph));
            let mut dir = spills.dir.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
            if dir.is_kept() {
                all.kept.sort_by_key(|spill| spill.header.partition);
                let manifest = planned.manifest(job, &all.kept);
                let path = manifest.write(dir.path())?;
                dir.wrote(&path);
            }
            dir.complete();
        }
    }
    Ok((all.results, devices))
}

/// Counts all partitions of the queue on all devices; returns the results of each device.
pub(super) fn count_all(backends: &mut [Box<dyn Backend>], work: &Work<'_>) -> Vec<Result<Outcome>> {
    if work.control.is_recorded() {
        backends.iter_mut().for_each(|backend| backend.record_work());
    }
    run_on_all(backends, work.queue, work.control, |backend, share| count_queue(backend, work, share))
}

/// The directory of a job's spills.
fn spill_dir(job: &Job, setup: &Setup, fingerprint: u128, lasting: bool) -> Result<SpillDir> {
    match lasting {
        true => SpillDir::lasting(&setup.spill_dir, job.keep_spill, fingerprint),
        false => SpillDir::open(&setup.spill_dir, job.keep_spill, fingerprint),
    }
}

/// The builder of a job's partitions.
pub(super) fn builder<'a>(
    planned: &'a Planned,
    locals: &'a Locals,
    job: &Job,
    (dir, room): (&'a std::path::Path, &'a SpillMemory),
) -> Builder<'a> {
    let Planned { graph, plan, fingerprint, .. } = planned;
    Builder { graph, locals, plan, prune: job.prune, dir, fingerprint: *fingerprint, room, durable: job.keep_spill }
}

/// The results of all devices together, and the result of each device.
pub(super) fn together_of(shares: Vec<Outcome>, backends: &[Box<dyn Backend>]) -> (Outcome, Vec<DeviceResult>) {
    let mut all = Outcome::default();
    let mut devices = Vec::new();
    for (share, backend) in shares.into_iter().zip(backends) {
        devices.extend(device_result(backend.as_ref(), &share.results, share.times.counting()));
        all.times.merge(&share.times);
        all.results.extend(share.results);
        all.kept.extend(share.kept);
    }
    (all, devices)
}

/// The result of a device; none where the host counts.
pub(super) fn device_result(
    backend: &dyn Backend,
    results: &[PartitionResult],
    counting: std::time::Duration,
) -> Option<DeviceResult> {
    let device = backend.device()?;
    Some(DeviceResult {
        device: device.ordinal,
        name: device.name,
        partitions: results.len() as u32,
        triangles: results.iter().map(|result| u128::from(result.triangles)).sum(),
        stream_bytes: results.iter().map(|result| result.stream_bytes).sum(),
        seconds: counting.as_secs_f64(),
        budget_bytes: device.budget,
        peak_bytes: results.iter().map(|result| result.peak_bytes).max().unwrap_or_default(),
        context_bytes: device.context,
        used_bytes: device.used,
    })
}

/// The task of counting `parts` partitions, and its units of each; that of a single partition of so many arcs is in arcs, where the
/// backend reports these itself.
pub(super) fn task_of(backends: &mut [Box<dyn Backend>], parts: u64, arcs: u64, control: &Control) -> (Task, u64) {
    let single = backends.first_mut().filter(|_| parts == 1).and_then(|backend| backend.progress());
    match single {
        Some(progress) => {
            let task = control.task("count", Some(arcs), Unit::Arcs);
            *progress = Some(task.progress(control));
            (task, 0)
        }
        None => (control.task("count", Some(parts), Unit::Partitions), 1),
    }
}

/// What counts, for the record of a partition.
pub(super) fn counted_by(backend: &dyn Backend, device_memory: Bytes) -> CountedBy {
    CountedBy { backend: backend.name().into(), method: backend.method().into(), device_memory }
}

/// The order in which partitions are counted: ascending, or with several devices the largest first.
pub(super) fn order(plan: &Plan, devices: usize) -> Vec<u32> {
    let mut order: Vec<u32> = (0..plan.parts()).collect();
    if devices > 1 {
        order.sort_by_key(|&part| std::cmp::Reverse(plan.predictions[part as usize].stream));
    }
    order
}

/// Takes over the results of earlier starts. Where spills are kept, a partition whose spill is missing is built and counted again; where
/// triangles at vertices or on edges are wanted, one without these is counted again.
fn resume(
    journal: &Journal,
    spills: Option<(&std::path::Path, u128)>,
    (details, pool): (&Details<'_>, &ThreadPool),
    all: &mut Outcome,
) -> Result<()> {
    for (part, result) in journal.counted()? {
        let spill = match spills {
            Some((dir, fingerprint)) => {
                let Some(built) = Built::found(dir, part, fingerprint)? else { continue };
                Some(built.spill)
            }
            None => None,
        };
        if !details.resume(part, pool)? {
            continue;
        }
        all.kept.extend(spill);
        all.results.push(result);
    }
    Ok(())
}

/// The builder thread: ends early when it fails, is stopped, or all devices have failed.
fn build_all(order: &[u32], spills: &Spills<'_>, work: &Work<'_>) -> Result<()> {
    // The spill that an earlier start left.
    let found = |part| match work.journal {
        Some(_) => Built::found(spills.builder.dir, part, spills.builder.fingerprint),
        None => Ok(None),
    };
    let put = |built| {
        let start = Instant::now();
        let taken = work.queue.put(Item::Built(Box::new(built)));
        work.control.waited(TrackKind::Building, "a device", start);
        if taken { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let build = || spills.builders.build(order, work.control, found, put);
    let built = guarded(BUILDER, build).and_then(|built| built);
    if built.is_err() {
        work.control.stop();
    }
    work.queue.close();
    built
}

/// A partition that was taken, and its source or the error of opening it.
type Opened<'a> = (Taken<'a, Item>, Result<Ahead<Box<dyn PartitionSource + 'a>>>);

impl<'a> Work<'a> {
    /// Opens a partition and reads up to `room` bytes of its resident section, in runs of `chunk`.
    fn open(&self, taken: Taken<'a, Item>, (chunk, room): (Bytes, Bytes), by: &By) -> Opened<'a> {
        let start = Instant::now();
        let source = || Ahead::new(self.source(&taken.item, by.stored)?, chunk, room);
        let source = parallel::within(&self.setup.pool, source);
        if room > Bytes::ZERO {
            let control = self.control.at(by.device, taken.item.part());
            control.did(TrackKind::Prefetching, ("first rows", None), start, None);
        }
        (taken, source)
    }

    fn source(&self, item: &Item, stored: Option<Bytes>) -> Result<Box<dyn PartitionSource + 'a>> {
        match (item, &self.ranges) {
            (Item::Built(built), _) => {
                let stored = stored.filter(|_| !self.details.needs_rows());
                Ok(Box::new(Spilled::new(SpillReader::reopen(&built.spill)?).packed(stored)))
            }
            (Item::Range(part), Some(Ranges { graph, ranges, blocks })) => {
                let range = RankRange::new(graph, blocks, &ranges[*part as usize])?;
                Ok(Box::new(range.stored(stored)))
            }
            (Item::Range(_), None) => Err(Error::defect("a rank range that was not planned")),
        }
    }
}

/// What counts a partition.
struct By {
    /// The GPU.
    device: Option<u32>,
    /// The most stored bytes of a file block that it unpacks, where it takes rows as they are stored.
    stored: Option<Bytes>,
}

/// A device's thread: counts partitions from the queue until all are counted.
fn count_queue<'a>(backend: &mut dyn Backend, work: &'a Work<'a>, share: &mut Outcome) -> Result<(), Failed> {
    let device = backend.device().map(|device| device.ordinal);
    let (chunk, by) = (backend.resident_chunk(), By { device, stored: backend.stored_rows() });
    let mut next: Option<Opened<'a>> = None;
    loop {
        let begin = Instant::now();
        let first = || Some(work.open(work.queue.take()?, (chunk.unwrap_or_default(), Bytes::ZERO), &by));
        let Some((mut taken, source)) = next.take().or_else(first) else { return Ok(()) };
        let start = Instant::now();
        let control = work.control.at(device, taken.item.part());
        control.waited(TrackKind::Counting, "a partition", begin);
        let (counted, ahead) = std::thread::scope(|scope| {
            let by = &by;
            let read =
                |chunk: Bytes| Some(work.open(work.queue.take_now()?, (chunk, Bytes(RUNS_AHEAD * chunk.get())), by));
            let ahead = chunk.map(|chunk| scope.spawn(move || read(chunk)));
            let counted = count_item(&mut taken.item, source, backend, work, &control);
            let counted_at = Instant::now();
            let ahead = ahead.map(|thread| joined(READER_AHEAD, thread.join()));
            control.waited(TrackKind::Counting, "the first rows of the next partition", counted_at);
            (counted, ahead)
        });
        next = ahead.transpose()?.flatten();
        device_work(backend, &control);
        let counted = match counted {
            Ok(counted) => counted,
            Err(failed) => {
                let part = taken.item.part();
                if let Failed::Device(_) = failed {
                    next.into_iter().for_each(|(taken, _)| taken.requeue());
                    taken.requeue();
                }
                return Err(failed.at_partition(part));
            }
        };
        let spill = match &taken.item {
            Item::Range(_) => Bytes::ZERO,
            Item::Built(built) => Bytes(built.spill.bytes),
        };
        let result = partition_result(work.known, taken.item.part(), &counted, spill, start.elapsed());
        let result = PartitionResult { device, ..result };
        if let Some(journal) = work.journal {
            journal.record(&result, counted_by(backend, work.device_memory))?;
        }
        share.results.push(result);
        share.times.add_counted(&counted);
        if let (Item::Built(built), Some(spills)) = (&taken.item, work.spills) {
            share.times.add_built(built);
            if lock(&spills.dir).is_kept() {
                share.kept.push(built.spill.clone());
            } else if built.spill.memory.is_none() {
                disk::remove(&built.spill.path)?;
            }
        }
        work.task.advance(work.per_partition);
    }
}

/// Records what the device measured of its own work since it was last asked.
pub(super) fn device_work(backend: &mut dyn Backend, control: &Control) {
    for DeviceWork { queue, name, start, time } in backend.recorded_work() {
        control.did_for(queue, (name, None), start, time, None);
    }
}

/// Counts a partition. A spill that turns out to be damaged is built again from the graph.
fn count_item(
    item: &mut Item,
    source: Result<Ahead<Box<dyn PartitionSource + '_>>>,
    backend: &mut dyn Backend,
    work: &Work<'_>,
    control: &Control,
) -> Result<Counted, Failed> {
    let stored = backend.stored_rows();
    let count = |source: Result<Ahead<Box<dyn PartitionSource + '_>>>, item: &Item, backend: &mut dyn Backend| {
        let mut source = source?;
        let pool = &work.setup.pool;
        let again = || work.source(item, stored);
        let mut counted = work.details.count(item.part(), &mut source, again, backend, pool, control)?;
        counted.reading += source.reading();
        Ok(counted)
    };
    match (count(source, item, backend), &mut *item, work.spills) {
        (Err(Failed::Job(error)), Item::Built(built), Some(spills)) if error.kind() == Kind::Data => {
            tracing::warn!("{error}: partition {} is built again", built.part);
            if built.spill.memory.is_none() {
                disk::remove(&built.spill.path)?;
            }
            let again = || spills.builders.batches.build(&[built.part], work.control);
            **built = parallel::within(&work.setup.pool, again)?.remove(0);
            let source: Box<dyn PartitionSource> = Box::new(Spilled::new(SpillReader::reopen(&built.spill)?));
            count(Ahead::new(source, Bytes::ZERO, Bytes::ZERO), item, backend)
        }
        (counted, ..) => counted,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
