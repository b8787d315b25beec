//! The count of one partition: its tables, and how a row block is counted in batches of runs.

use std::sync::Mutex;

use trimill_counting::Resident;

use super::by_head::{self, HeadBuckets};
use super::hubs::Hubs;
use super::locals::{count_postponed, count_run};
use super::pack::{self, BitRows};
use super::vertices::{HostVertexCounters, TotalOnly};
use super::worker::{CpuWorker, LocalsRun, RowBlockContext};
use super::{RUNS_PER_THREAD, batches, free};
use crate::count::successors::SuccessorRows;
use trimill_system::control::Progress;
use trimill_system::mapped::zeros;
use trimill_system::{Bytes, Result, lock, parallel, unpoisoned};

#[derive(Default)]
pub(super) struct BitmapState {
    pub(super) numbered: u32,
    pub(super) most_hubs: u32,
    pub(super) room_by_head: usize,
    pub(super) by_head: Vec<u64>,
    /// How many entries of each local's row earlier row blocks have covered.
    pub(super) cursors: Vec<u32>,
    pub(super) workers: Vec<Mutex<CpuWorker>>,
    pub(super) hubs: Hubs,
    pub(super) packed: BitRows,
    pub(super) counters: Option<HostVertexCounters>,
    pub(super) triangles: u64,
    pub(super) progress: Option<Progress>,
}

impl BitmapState {
    /// Packs the rows that will be probed, those behind the hubs. The graph must be one partition with one row block.
    pub(super) fn pack(&mut self, resident: &mut Resident, end_of_hubs: u32) {
        let probed = resident.numbers.below(end_of_hubs)..resident.numbers.len();
        self.packed = pack::pack_rows(resident, probed);
    }

    /// Counts the triangles with a middle corner in the row block's range: hubs up to `end_of_hubs` by bits, arcs to `heads` by head.
    pub(super) fn count(
        &mut self,
        resident: &Resident,
        successors: &SuccessorRows<'_>,
        end_of_hubs: u32,
        heads: &HeadBuckets,
    ) -> Result<()> {
        let (range, numbered) = (successors.range(), u64::from(self.numbered.max(1)));
        self.hubs.take(range.start..end_of_hubs, |b| successors.row(b));
        if !self.hubs.range().is_empty() || !heads.is_empty() {
            // All workers allocate, so that the memory taken does not depend on which of them run.
            parallel::each(&self.workers, |worker| lock(worker).allocate(self.hubs.bytes()));
        }
        // How many arcs by head a worker has room to sort.
        let sorted = self.workers.first().map_or(0, |worker| lock(worker).postponed.room.arcs);
        let (hubs, workers, counters) = (&self.hubs, &self.workers, self.counters.as_ref());
        let progress = self.progress.as_ref();
        let most_arcs = if heads.is_empty() { u64::MAX } else { self.room_by_head as u64 };
        for batch in batches(resident, &mut self.cursors, RUNS_PER_THREAD, most_arcs) {
            let in_batch = batch.iter().map(|run| run.arcs(resident)).sum::<u64>();
            // A single row may have more arcs than there is room for.
            let heads = if in_batch <= most_arcs { heads } else { &HeadBuckets::default() };
            if !heads.is_empty() {
                if self.by_head.is_empty() {
                    self.by_head = zeros(self.room_by_head);
                }
                let arcs = heads.of_batch(resident, &batch, &mut self.by_head);
                let counted = parallel::try_map(heads.parts(&arcs, sorted), |part| {
                    progress.map_or(Ok(()), Progress::check)?;
                    Ok(part.count(&mut free(workers), successors, counters))
                })?;
                self.triangles += counted.into_iter().sum::<u64>();
            }
            let around = RowBlockContext { packed: self.packed, range, successors, hubs };
            let pieces: Vec<_> = batch.into_iter().flat_map(LocalsRun::pieces).collect();
            let counted = parallel::try_map(pieces, |run| {
                progress.map_or(Ok(()), Progress::check)?;
                // The run's arcs count as done in proportion to the row block's share of the numbering.
                let share = run.arcs(resident) * u64::from(range.end - range.start) / numbered;
                let triangles = match counters {
                    None => count_run(&mut free(workers), run, &around, heads, &mut TotalOnly),
                    Some(all) => free(workers)
                        .at_vertices(all, |worker, corners| count_run(worker, run, &around, heads, corners)),
                };
                progress.into_iter().for_each(|progress| progress.advance(share));
                Ok(triangles)
            })?;
            self.triangles += counted.into_iter().sum::<u64>();
        }
        let workers = self.workers.iter_mut().map(|worker| unpoisoned(worker.get_mut()));
        self.triangles += count_postponed(workers.collect(), &self.hubs, self.counters.as_ref());
        if let Some(all) = &self.counters {
            parallel::each(&self.workers, |worker| all.take(&mut lock(worker).near));
        }
        Ok(())
    }

    pub(super) fn bytes(&self) -> Bytes {
        let workers = self.workers.iter().map(|worker| lock(worker).bytes()).sum::<Bytes>();
        let counters = self.counters.as_ref().map_or(Bytes::ZERO, HostVertexCounters::bytes);
        workers
            + Bytes::of::<u32>(self.cursors.capacity() as u64)
            + self.hubs.bytes()
            + counters
            + by_head::bytes(self.by_head.capacity())
    }
}
