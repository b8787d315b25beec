//! A job that is prepared for shards: `prepared.json`. With plan, graph and spills beside it, a process can count partitions, or add them all.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{PREPARE_AGAIN, sealed_file};
use crate::job::file::{MemoryTable, PartitionTable, Tables, WorkTable};
use crate::job::{Job, Mode, Partitioner};
use crate::report::PreparedReport;
use trimill_system::{Error, Result, hex};

pub(super) const NAME: &str = "prepared.json";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PreparedJob {
    pub kind: String,
    #[serde(with = "hex::of_u128")]
    pub fingerprint: u128,
    /// How it is counted (budgets, devices, method, threads) is chosen anew by each process.
    pub job: Job,
    /// Never `auto`.
    pub partitioner: Partitioner,
    /// The name of the graph's file in [`super::RunDir::graphs`].
    pub graph: String,
    #[serde(with = "hex::of_u64")]
    pub graph_checksum: u64,
    /// Without the time that it took, its stages and its memory.
    pub report: PreparedReport,
}

impl PreparedJob {
    pub const KIND: &str = "trimill prepared job 4";

    pub fn parts(&self) -> u32 {
        self.report.parts
    }

    /// The job as `how` counts it: within its budgets, by its method, on its devices.
    #[must_use]
    pub fn counted_as(&self, how: Job) -> Job {
        let mut job = self.job.clone().without_cache();
        let asked = job.settings.partition;
        job.settings.partition = match self.report.mode {
            Mode::InPlace => PartitionTable { partitioner: Some(Partitioner::Rank), prune: None, ..asked },
            Mode::Spilled => PartitionTable { partitioner: Some(self.partitioner.clone()), ..asked },
        };
        let (MemoryTable { device, host, .. }, block) = (how.settings.memory, job.settings.memory.block);
        let Tables { count, work, run, .. } = how.settings;
        let work = WorkTable { prepare: job.settings.work.prepare, ..work };
        job.settings = Tables { memory: MemoryTable { device, host, block }, count, work, run, ..job.settings };
        job
    }

    pub fn write(&self, dir: &Path) -> Result<()> {
        sealed_file::write(&dir.join(NAME), self)
    }

    pub(super) fn read(dir: &Path) -> Result<Option<Self>> {
        if dir.exists() && !dir.is_dir() {
            return Ok(None);
        }
        let path = dir.join(NAME);
        match sealed_file::read::<Self>(&path) {
            Ok(Some(prepared)) if prepared.kind != Self::KIND => {
                Err(Error::data(path, format!("is a '{}'", prepared.kind))
                    .expected(format!("a '{}'", Self::KIND))
                    .advice(PREPARE_AGAIN))
            }
            other => other.map_err(|error| error.advice(PREPARE_AGAIN)),
        }
    }
}
