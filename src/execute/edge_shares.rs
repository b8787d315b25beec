//! Counts a whole graph in shares of its edges, for methods that can: each device holds the graph, and a failed device's share is counted by another.

use std::time::Instant;

use super::counting::CountedAll;
use super::details::Details;
use super::device::counted_by;
use super::planned::Planned;
use super::queue::Item;
use super::results::partition_result;
use super::stage_times::device_stages;
use crate::job::Mode;
use crate::report::Stage;
use crate::run_dir::Journal;
use crate::stream::CountedPartition;
use trimill_counting::{CountBackend, EdgeShare, Scope};
use trimill_system::{Bytes, Result};

impl Planned {
    pub(super) fn counts_in_shares(&self) -> bool {
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
        self.begin()?;
        let journal = self.session.run.as_ref().map(|run| run.journal(self.fingerprint, 1));
        if let Some(result) = journal.as_ref().map(Journal::counted).transpose()?.and_then(|mut all| all.remove(&0)) {
            return Ok(CountedAll { partitions: vec![result], devices: Vec::new() });
        }
        let start = Instant::now();
        let of = backends.len() as u32;
        let shares = (0..of).map(|index| Item::Share(EdgeShare { index, of })).collect();
        let details = Details::Total;
        // No journal: the sum of all shares is recorded below.
        let partitions = self.partitions(None, &details);
        let known = partitions.known;
        let (all, devices) = partitions.count(shares, backends, &self.session)?;
        let triangles = all.results.iter().map(|share| share.counted().triangles).sum();
        let counted = CountedPartition { triangles, ..all.times.counted };
        stages.push(Stage::since("count", start, counted.streamed, Bytes::ZERO, &self.session.control));
        stages.extend(device_stages(counted.device, counted.streamed));
        let result = partition_result(known, &Item::Range(0), &counted, None, start.elapsed());
        if let Some(journal) = &journal {
            journal.record(&result, counted_by(backends[0].as_ref(), self.limits.device))?;
        }
        Ok(CountedAll { partitions: vec![result], devices })
    }
}
