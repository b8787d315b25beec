//! Counts a whole graph in shares of its edges, for methods that can: each device holds the graph, and a failed device's share is counted by another.

use std::time::Instant;

use rayon::ThreadPool;

use super::counting::CountedAll;
use super::device::{counted_by, device_result, device_work};
use super::planned::Planned;
use super::queue::Queue;
use super::results::{PlannedFigures, partition_result};
use super::session::Session;
use super::stage_times::device_stages;
use super::workers::{all_or_first_error, run_on_all};
use trimill_counting::{CountBackend, Detail, EdgeShare, Scope};

use crate::job::Mode;
use crate::report::{DeviceResult, Stage};
use crate::run_dir::Journal;
use crate::stream::ranges::RankRange;
use crate::stream::row_blocks::RowBlocks;
use crate::stream::{CountedPartition, DeviceThread, PartitionFailure};
use trimill_graph::OrientedGraph;
use trimill_partitioners::partition::ranks::LocalsAndHeads;
use trimill_system::control::{Control, Unit};
use trimill_system::{Bytes, Error, Result};

impl Planned {
    pub(super) fn is_shared(&self) -> bool {
        let whole = self.plan.parts() == 1 && self.plan.cut.mode() == Mode::InPlace;
        let backends = &self.chosen.backends;
        whole && backends.len() > 1 && backends.iter().all(|backend| backend.footprint().scope == Scope::SharesOfGraphs)
    }

    /// Counts the one partition in shares. The first error of a device stops the others.
    pub(super) fn count_shares(
        &self,
        backends: &mut [Box<dyn CountBackend>],
        stages: &mut Vec<Stage>,
    ) -> Result<CountedAll> {
        let Self { graph, plan, fingerprint, session: Session { run, pool, control, .. }, .. } = self;
        self.begin()?;
        let journal = run.as_ref().map(|run| run.journal(*fingerprint, 1));
        if let Some(result) = journal.as_ref().map(Journal::counted).transpose()?.and_then(|mut all| all.remove(&0)) {
            return Ok(CountedAll { partitions: vec![result], devices: Vec::new() });
        }
        let task = control.task("count", Some(1), Unit::Partitions);
        let start = Instant::now();
        let shares = counted_together(graph, backends, pool, control)?;
        let Some(all) = shares.iter().flatten().copied().reduce(CountedPartition::and) else {
            return Err(Error::defect("nothing was counted"));
        };
        control.did_stage("count", start);
        stages.push(Stage::since("count", start, all.streamed, Bytes::ZERO));
        stages.extend(device_stages(all.device, all.streamed));
        task.advance(1);
        let known = PlannedFigures { sizes: &plan.sizes, predictions: &plan.predictions };
        let result = |counted: &CountedPartition| partition_result(known, 0, counted, Bytes::ZERO, start.elapsed());
        let each = shares.into_iter().zip(&*backends);
        let devices = each.filter_map(|(shares, backend)| {
            let own = shares.into_iter().reduce(CountedPartition::and)?;
            device_result(backend.as_ref(), &[result(&own)], own.counting)
        });
        let devices: Vec<DeviceResult> = devices.collect();
        let result = result(&all);
        if let Some(journal) = &journal {
            journal.record(&result, counted_by(backends[0].as_ref(), self.limits.device))?;
        }
        Ok(CountedAll { partitions: vec![result], devices })
    }
}

fn counted_together(
    graph: &OrientedGraph,
    backends: &mut [Box<dyn CountBackend>],
    pool: &ThreadPool,
    control: &Control,
) -> Result<Vec<Vec<CountedPartition>>> {
    let shares = backends.len() as u32;
    let (together, queue) = (control.part(), Queue::of(0..shares, backends.len()));
    let outcomes = run_on_all(backends, &queue, &together, |backend, counted: &mut Vec<CountedPartition>| {
        while let Some(taken) = queue.take() {
            let blocks = RowBlocks::default();
            let mut source = RankRange::new(graph, &blocks, &LocalsAndHeads::of(0..graph.vertices()))?;
            let share = EdgeShare { index: taken.item, of: shares };
            let control = together.at(backend.device().map(|device| device.ordinal), 0);
            let share =
                DeviceThread { backend, pool, control: &control }.count(&mut source, share, Detail::Total, None);
            device_work(backend, &control);
            match share {
                Ok((share, _)) => counted.push(share),
                Err(failed) => {
                    if let PartitionFailure::Device(_) = failed {
                        taken.requeue();
                    }
                    return Err(failed);
                }
            }
        }
        Ok(())
    });
    all_or_first_error(outcomes, control)
}
