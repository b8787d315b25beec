//! Counts spilled partitions on one device or several.
//!
//! A builder thread makes one spill after another and puts it into a queue; a thread for each device takes the next one,
//! counts it and removes it (`super::crew` says what happens when a device fails). Whatever overlaps shares one pool of
//! threads. With several devices the largest partitions come first, so that no device is left with one of them at the end. At
//! any time there are at most, beside the spill or the batch of spills (`super::building`) that is being built, one for each
//! device that is being counted and as many that wait, or a batch. With a run directory each result is recorded, what earlier
//! starts counted is left out, and spills that they finished are taken.

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::time::Instant;

use super::build::{Builder, Built, file_name};
use super::building::{Builders, Building};
use super::busy::Busy;
use super::count::partition_result;
use super::crew::{all_or_cause, counted_by_all};
use super::planned::Planned;
use super::queue::Queue;
use super::room::Room;
use super::setup::Setup;
use super::spill_dir::SpillDir;
use crate::bytes::Bytes;
use crate::control::{Control, Task, Unit};
use crate::count::Backend;
use crate::disk;
use crate::error::{Kind, Result};
use crate::job::Job;
use crate::lock;
use crate::plan::Plan;
use crate::report::{DeviceResult, PartitionResult, Station};
use crate::run_dir::Journal;
use crate::spill::{SpillReader, SpillSummary};
use crate::stream::source::Spilled;
use crate::stream::{Failed, count_partition};
use crate::threads::{guarded, joined};

/// What messages call the thread that builds.
const BUILDER: &str = "the thread that builds partitions";

/// What a device's thread has to show.
#[derive(Default)]
pub(super) struct Share {
    pub(super) results: Vec<PartitionResult>,
    kept: Vec<SpillSummary>,
    pub(super) busy: Busy,
}

/// What the threads of all devices have in common.
struct Shared<'a> {
    builder: &'a Builder<'a>,
    setup: &'a Setup,
    dir: &'a Mutex<SpillDir>,
    /// Where results are recorded, with a run directory.
    journal: Option<&'a Journal>,
    task: &'a Task,
    /// Stops builder and devices together when one of them fails.
    control: &'a Control,
}

impl Shared<'_> {
    /// Builds a partition.
    fn built(&self, part: u32) -> Result<Built> {
        self.setup.pool.install(|| self.builder.build(part, self.control))
    }

    /// The spill that an earlier start left.
    fn found(&self, part: u32) -> Result<Option<Built>> {
        match self.journal {
            Some(_) => Built::found(self.builder.dir, part, self.builder.fingerprint),
            None => Ok(None),
        }
    }
}

/// Builds and counts all partitions of a plan.
///
/// # Errors
/// The first error of the builder or of a device; the others are then stopped.
pub(super) fn count_spilled(
    job: &Job,
    planned: &mut Planned,
    setup: &Setup,
    control: &Control,
    stations: &mut Vec<Station>,
) -> Result<(Vec<PartitionResult>, Vec<DeviceResult>)> {
    let mut backends = std::mem::take(&mut planned.backends);
    let Planned { graph, partitioner, plan, fingerprint, .. } = &*planned;
    let parts = plan.assignment.parts();
    let journal = setup.run.as_ref().map(|run| run.journal(*fingerprint, parts));
    let mut dir = match &journal {
        Some(_) => SpillDir::lasting(&setup.spill_dir, job.keep_spill, *fingerprint)?,
        None => SpillDir::open(&setup.spill_dir, job.keep_spill, *fingerprint)?,
    };
    let place = dir.path().to_path_buf();
    let room = Room::new(setup.spill_memory(job));
    let builder = Builder { graph, plan, prune: job.prune, dir: &place, fingerprint: *fingerprint, room: &room };
    let task = control.task("count", Some(u64::from(parts)), Unit::Partitions);
    let mut before = Share::default();
    if let Some(journal) = &journal {
        resume(journal, &builder, dir.is_kept(), &mut before)?;
        task.advance(before.results.len() as u64);
    }
    let mut order = order(plan, backends.len());
    order.retain(|&part| before.results.iter().all(|result| result.id != part));
    let building = Building::choose((graph, plan, &order), job, backends.len(), setup)?;
    dir.check_space(building.disk)?;
    order.iter().for_each(|&part| dir.wrote(&place.join(file_name(part))));
    let (dir, together) = (Mutex::new(dir), control.part());
    let shared =
        Shared { builder: &builder, setup, dir: &dir, journal: journal.as_ref(), task: &task, control: &together };

    let queue = Queue::new(building.waiting(backends.len()), backends.len());
    let outcomes = std::thread::scope(|scope| {
        let builds = scope.spawn(|| {
            let built = guarded(BUILDER, || build_all(&order, building, &shared, &queue)).and_then(|built| built);
            if built.is_err() {
                together.stop();
            }
            queue.close();
            built
        });
        let mut outcomes = counted_by_all(&mut backends, &queue, &together, |backend, share| {
            count_queue(&queue, backend, &shared, share)
        });
        // Where all devices have failed, nobody takes what is built.
        together.stop();
        if let Err(error) = joined(BUILDER, builds.join()).and_then(|built| built) {
            outcomes.push(Err(error));
        }
        outcomes
    });
    let shares = all_or_cause(outcomes, control)?;

    let (mut all, devices) = together_of(shares, &backends);
    all.results.extend(before.results);
    all.kept.extend(before.kept);
    stations.extend(all.busy.stations(graph));
    let mut dir = dir.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    if dir.is_kept() {
        all.kept.sort_by_key(|spill| spill.header.partition);
        let manifest = super::partition::manifest(job, partitioner, graph, plan, *fingerprint, &all.kept);
        let path = manifest.write(dir.path())?;
        dir.wrote(&path);
    }
    dir.complete();
    Ok((all.results, devices))
}

/// What all devices have to show together, and each one's part.
pub(super) fn together_of(shares: Vec<Share>, backends: &[Box<dyn Backend>]) -> (Share, Vec<DeviceResult>) {
    let mut all = Share::default();
    let mut devices = Vec::new();
    for (share, backend) in shares.into_iter().zip(backends) {
        devices.extend(device_result(backend.as_ref(), &share.results, share.busy.counting()));
        all.busy.merge(&share.busy);
        all.results.extend(share.results);
        all.kept.extend(share.kept);
    }
    (all, devices)
}

/// Spills that exist at a time with so many devices: counted, waiting, and one being built.
pub(super) fn spills_at_a_time(devices: usize) -> usize {
    2 * devices + 1
}

/// What a device did, if it is one of its own.
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

/// The order in which partitions are built: theirs, or with several devices the largest first.
pub(super) fn order(plan: &Plan, devices: usize) -> Vec<u32> {
    let mut order: Vec<u32> = (0..plan.assignment.parts()).collect();
    if devices > 1 {
        order.sort_by_key(|&part| std::cmp::Reverse(plan.predictions[part as usize].stream));
    }
    order
}

/// Takes what earlier starts counted. Where spills are kept, a partition whose spill is gone is counted again with a new one.
fn resume(journal: &Journal, builder: &Builder<'_>, keep: bool, all: &mut Share) -> Result<()> {
    for (part, result) in journal.counted()? {
        if keep {
            let Some(built) = Built::found(builder.dir, part, builder.fingerprint)? else { continue };
            all.kept.push(built.spill);
        }
        all.results.push(result);
    }
    Ok(())
}

/// The builder thread: ends early when it fails, is stopped, or nobody takes what it builds.
fn build_all(order: &[u32], building: Building, shared: &Shared<'_>, queue: &Queue<Built>) -> Result<()> {
    let Shared { setup, builder, control, .. } = *shared;
    let builders = Builders { builder: *builder, building, pool: &setup.pool };
    let put = |built| if queue.put(built) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
    builders.build(order, control, |part| shared.found(part), put)
}

/// A device's thread: counts what it takes from the queue until all is counted.
fn count_queue(
    queue: &Queue<Built>,
    backend: &mut dyn Backend,
    shared: &Shared<'_>,
    share: &mut Share,
) -> Result<(), Failed> {
    let device = backend.device().map(|device| device.ordinal);
    while let Some(mut hand) = queue.take() {
        let part = hand.item.part;
        if let Err(failed) = count_built(&mut hand.item, (backend, device), shared, share) {
            if let Failed::Device(_) = failed {
                hand.put_back();
            }
            return Err(failed.at_partition(part));
        }
    }
    Ok(())
}

/// Counts a spill, records the result, and removes the spill unless it is kept. A spill that turns out to be damaged is built
/// from the graph once more.
fn count_built(
    built: &mut Built,
    (backend, device): (&mut dyn Backend, Option<u32>),
    shared: &Shared<'_>,
    share: &mut Share,
) -> Result<(), Failed> {
    let start = Instant::now();
    let mut count = |spill: &SpillSummary| {
        let mut source = Spilled::new(SpillReader::reopen(spill)?);
        count_partition(&mut source, backend, &shared.setup.pool, shared.control)
    };
    let counted = match count(&built.spill) {
        Err(Failed::Job(error)) if error.kind() == Kind::Data => {
            tracing::warn!("{error}: partition {} is built again", built.part);
            if built.spill.memory.is_none() {
                disk::remove(&built.spill.path)?;
            }
            *built = shared.built(built.part)?;
            count(&built.spill)?
        }
        other => other?,
    };
    share.busy.add(built, &counted);
    let spill = Bytes(built.spill.bytes);
    let result = PartitionResult {
        device,
        ..partition_result(shared.builder.plan, built.part, &counted, spill, start.elapsed())
    };
    if let Some(journal) = shared.journal {
        journal.record(&result)?;
    }
    share.results.push(result);
    if lock(shared.dir).is_kept() {
        share.kept.push(built.spill.clone());
    } else if built.spill.memory.is_none() {
        disk::remove(&built.spill.path)?;
    }
    shared.task.advance(1);
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
