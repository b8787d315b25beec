//! Counts partitions that were spilled earlier: their sizes come from the spills and the manifest alone.

use std::path::Path;

use super::chosen::{ChosenBackends, host_holds, with_enough};
use super::details::Details;
use super::host::HostNeeds;
use super::queue::Item;
use super::session::Session;
use super::work::{DeviceOutcome, PartitionsToCount};
use crate::plan::predict::{PlannedPartition, predict};
use crate::report::DeviceResult;
use crate::run_dir::Journal;
use trimill_counting::Footprint;
use trimill_partitioners::build::BuiltPartition;
use trimill_partitioners::partition::totals::RowBlockTotals;
use trimill_partitioners::spill::manifest::MANIFEST_NAME;
use trimill_partitioners::spill::{Manifest, SpillReader};
use trimill_system::{Bytes, Error, Result};

pub(super) struct SpillsToCount<'a> {
    pub(super) manifest: &'a Manifest,
    pub(super) dir: &'a Path,
    pub(super) wanted: &'a dyn Fn(u32) -> bool,
    pub(super) journal: Option<&'a Journal>,
}

impl SpillsToCount<'_> {
    pub(super) fn backends(&self, needs: &HostNeeds, session: &Session) -> Result<ChosenBackends> {
        session.backends(needs, None).map_err(|error| self.with_enough(error, needs, session))
    }

    /// Returns `error`, with a larger host budget in its advice if these spills need that when the cores count them.
    fn with_enough(&self, error: Error, needs: &HostNeeds, session: &Session) -> Error {
        let &Self { manifest, dir, wanted, .. } = self;
        let asked = session.job.settings.memory.device;
        with_enough(error, needs, |needs| {
            let chosen = session.backends_within(needs, false, asked)?;
            let footprint = chosen.backends[0].footprint();
            let partitions = manifest.partitions.iter().filter(|partition| wanted(partition.id));
            let spills = partitions.filter_map(|partition| manifest.open(dir, partition).ok());
            let peaks = spills.map(|spill| planned(&spill, &footprint, chosen.device_budget).predicted.peak);
            chosen.holds(peaks.max().unwrap_or_default(), "the largest partition", needs, asked)
        })
    }
}

impl ChosenBackends {
    pub(super) fn count(
        &mut self,
        spills: &SpillsToCount<'_>,
        details: &Details<'_>,
        needs: &HostNeeds,
        session: &Session,
    ) -> Result<(DeviceOutcome, Vec<DeviceResult>)> {
        let &SpillsToCount { manifest, dir, wanted, journal } = spills;
        let footprint = self.backends[0].footprint();
        let (mut items, mut known) = (Vec::new(), Vec::new());
        for (i, partition) in manifest.partitions.iter().enumerate() {
            session.control.check()?;
            if partition.id as usize != i {
                return Err(Error::data(dir.join(MANIFEST_NAME), format!("partition {} in place {i}", partition.id))
                    .expected("all partitions in their order"));
            }
            known.push(PlannedPartition::default());
            if wanted(partition.id) {
                let spill = manifest.open(dir, partition)?;
                known[i] = planned(&spill, &footprint, self.device_budget);
                if self.gpus() > 0 {
                    host_holds(known[i].predicted.largest_row_block, self.largest_row_block)
                        .map_err(|error| error.at(spill.path()))?;
                }
                let built = BuiltPartition::on_disk(partition.id, spill.summary().clone());
                items.push(Item::Built(Box::new(built)));
            }
        }
        let largest = known.iter().zip(&manifest.partitions).max_by_key(|(planned, _)| planned.predicted.peak);
        if let Some((planned, partition)) = largest {
            let what = format!("partition {}, the largest,", partition.id);
            let advice = "or partition the graph into more parts";
            self.holds(planned.predicted.peak, &what, needs, session.job.settings.memory.device)
                .map_err(|error| spills.with_enough(error, needs, session))
                .map_err(|error| error.at(dir.join(&partition.file)).also(advice))?;
        }
        let partitions =
            PartitionsToCount { known: &known, ranges: None, device_memory: self.device_budget, journal, details };
        partitions.count(items, &mut self.backends, session)
    }
}

fn planned(spill: &SpillReader, footprint: &Footprint, budget: Bytes) -> PlannedPartition {
    let size = spill.size();
    let row_blocks = (0..spill.row_blocks()).map(|i| spill.row_block_info(i).size().bytes());
    let layout = RowBlockTotals { spill: Bytes(spill.summary().bytes), ..RowBlockTotals::of(row_blocks) };
    predict(size, size.numbered() as u32, footprint, &layout, budget)
}
