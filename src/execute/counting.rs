//! The counting loop: a queue of partitions, from which each device's thread (`super::device`; the first is the caller's) takes the next.
//!
//! In the in-place mode all rank ranges are queued at the start. In the spilled mode a builder thread queues spills batch by batch
//! (`super::building`), and each is removed once it is counted. Stages that overlap share one thread pool. Several devices take the largest
//! partitions first, so that all finish at about the same time; `super::workers` says what happens when one fails. With a run directory
//! each result is recorded, and later starts skip counted partitions and reuse finished spills.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Instant;

use super::building::BatchBuilder;
use super::details::Details;
use super::planned::Planned;
use super::queue::{Item, Queue};
use super::session::{Purpose, Session};
use super::spill_dir::SpillDir;
use super::work::{DeviceOutcome, PartitionsToCount, Ranges, SharedWork};
use super::workers::{all_or_first_error, count_all, merged_outcomes, task_of};
use crate::plan::GraphCut;
use crate::plan::predict::PlannedPartition;
use crate::report::{DeviceResult, PartitionFigures, Stage};
use crate::run_dir::Journal;
use trimill_counting::CountBackend;
use trimill_partitioners::build::BuiltPartition;
use trimill_system::Result;
use trimill_system::control::Unit;
use trimill_system::disk::check_room;
use trimill_system::memory::SharedBudget;
use trimill_system::threads::{guarded, joined, spawn};
use trimill_system::timeline::TrackKind;

const BUILDER: &str = "the thread that builds partitions";

#[derive(Debug)]
pub(super) struct CountedAll {
    pub(super) partitions: Vec<PartitionFigures>,
    pub(super) devices: Vec<DeviceResult>,
}

impl Planned {
    /// Counts all partitions until an error. If only a manifest cannot be written, the error has the result. Removes backends whose devices failed.
    pub(super) fn count_partitions(
        &self,
        backends: &mut Vec<Box<dyn CountBackend>>,
        details: &Details<'_>,
        stages: &mut Vec<Stage>,
    ) -> Result<CountedAll> {
        let Self { graph, plan, fingerprint, session, .. } = self;
        let Session { run, pool, control, .. } = session;
        let parts = plan.parts();
        let journal = run.as_ref().map(|run| run.journal(*fingerprint, parts));
        let room = SharedBudget::new(self.chosen.division.spills);
        let mut place = match &plan.cut {
            GraphCut::Ranges(_) => None,
            GraphCut::Sets(locals) => Some((locals, session.spills(*fingerprint)?)),
        };
        let arcs = plan.partitions.iter().map(PlannedPartition::counted_arcs).sum();
        let (task, unit) = task_of(backends, u64::from(parts), arcs, control);
        let mut before = DeviceOutcome::default();
        if let Some(journal) = &journal {
            let kept = place.as_ref().map(|(_, dir)| dir).filter(|dir| dir.keeps);
            before = session.counted_before(journal, kept, details)?;
            let done = |result: &PartitionFigures| match unit {
                Unit::Arcs => plan.partitions[result.id as usize].counted_arcs(),
                _ => 1,
            };
            task.advance(before.results.iter().map(done).sum());
        }
        let mut order = plan.order(backends.len());
        order.retain(|&part| before.results.iter().all(|result| result.id != part));
        let together = control.part();
        let batches =
            place.is_some().then(|| self.plan_batches(order.len(), session.job.settings.spill.keep())).transpose()?;
        check_room(self.disk_needs(batches.as_ref())?)?;
        self.begin()?;
        place.iter_mut().try_for_each(|(_, dir)| dir.writes(&order))?;
        let spilling = place.as_ref().zip(batches);
        let batch_builder = spilling.map(|((locals, dir), batches)| self.batch_builder(locals, dir, &room, batches));
        let queue = match batches {
            None => Queue::of(order.iter().map(|&part| Item::Range(part)), backends.len()),
            Some(batches) => Queue::new(batches.many.max(backends.len()), backends.len()),
        };
        let work = SharedWork {
            partitions: self.partitions(journal.as_ref(), details),
            pool,
            queue: &queue,
            batch_builder: batch_builder.as_ref(),
            task: &task,
            unit,
            control: &together,
        };
        let start = Instant::now();
        let outcomes = build_and_count(&order, backends, &work);
        let shares = all_or_first_error(outcomes, control).map_err(|error| session.resumes(error))?;
        control.did_stage("count", start);

        let failed: Vec<bool> = shares.iter().map(|share| share.failed).collect();
        let (mut all, devices) = merged_outcomes(shares, backends);
        let mut failed = failed.into_iter();
        backends.retain(|_| failed.next() == Some(false));
        all.merge(before);
        match place {
            None => stages.extend(all.times.streamed_stages(all.times.read(graph))),
            Some((_, dir)) => {
                stages.extend(all.times.built_stages(graph));
                stages.extend(all.times.streamed_stages(all.times.spilled));
                if dir.keeps {
                    all.kept.sort_by_key(|spill| spill.header.partition.partition);
                    if let Err(error) = self.manifest(&all.kept).write(&dir.path) {
                        return Err(error.with_answer(CountedAll { partitions: all.results, devices }));
                    }
                }
                dir.complete();
            }
        }
        Ok(CountedAll { partitions: all.results, devices })
    }

    pub(super) fn partitions<'a>(
        &'a self,
        journal: Option<&'a Journal>,
        details: &'a Details<'a>,
    ) -> PartitionsToCount<'a> {
        let Self { graph, plan, limits, .. } = self;
        let ranges = match &plan.cut {
            GraphCut::Ranges(ranges) => Some(Ranges { graph, ranges, blocks: &plan.row_blocks }),
            GraphCut::Sets(_) => None,
        };
        PartitionsToCount { known: &plan.partitions, ranges, device_memory: limits.device, journal, details }
    }
}

impl Session {
    fn spills(&self, fingerprint: u128) -> Result<SpillDir> {
        if self.purpose == Purpose::Question {
            self.sweep_directories();
        }
        let (keep, force) = (self.job.settings.spill.keep(), self.job.settings.output.force());
        match self.run {
            Some(_) => SpillDir::lasting(&self.spill_dir, keep, force, fingerprint),
            None if keep => SpillDir::kept(&self.spill_dir, force, fingerprint),
            None => SpillDir::temporary(&self.spill_dir),
        }
    }

    /// The results of earlier starts. A partition is counted again if its `kept` spill, or wanted counts at vertices or on edges, are missing.
    fn counted_before(
        &self,
        journal: &Journal,
        kept: Option<&SpillDir>,
        details: &Details<'_>,
    ) -> Result<DeviceOutcome> {
        let (mut counted, mut spills) = (journal.counted()?, BTreeMap::new());
        if let Some(dir) = kept {
            for &part in counted.keys() {
                if let Some(built) = BuiltPartition::found(&dir.path, part, journal.fingerprint)? {
                    spills.insert(part, built.spill);
                }
            }
            counted.retain(|part, _| spills.contains_key(part));
        }
        details.resume(&mut counted, self)?;
        spills.retain(|part, _| counted.contains_key(part));
        let (results, kept) = (counted.into_values().collect(), spills.into_values().collect());
        Ok(DeviceOutcome { results, kept, ..DeviceOutcome::default() })
    }
}

fn build_and_count(
    order: &[u32],
    backends: &mut [Box<dyn CountBackend>],
    work: &SharedWork<'_>,
) -> Vec<Result<DeviceOutcome>> {
    std::thread::scope(|scope| {
        let builds = work.batch_builder.map(|builder| spawn(scope, "building", || build_all(order, builder, work)));
        let builds = match builds.transpose() {
            Ok(builds) => builds,
            Err(error) => return vec![Err(error)],
        };
        let mut outcomes = count_all(backends, work);
        if let Some(builds) = builds {
            // If all devices failed, the builder may still be at work.
            work.control.stop();
            if let Err(error) = joined(BUILDER, builds.join()).and_then(|built| built) {
                outcomes.push(Err(error));
            }
        }
        outcomes
    })
}

/// The builder thread; ends early when it fails, is stopped, or all devices have failed.
fn build_all(order: &[u32], builder: &BatchBuilder<'_>, work: &SharedWork<'_>) -> Result<()> {
    let put = |built| {
        let start = Instant::now();
        let taken = work.queue.put(Item::Built(Box::new(built)));
        work.control.waited(TrackKind::Building, "a device", start);
        if taken { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let build = || builder.build(order, work.control, put);
    let built = guarded(BUILDER, build).and_then(|built| built);
    if built.is_err() {
        work.control.stop();
    }
    work.queue.close();
    built
}
