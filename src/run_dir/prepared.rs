//! A job that is prepared for shards: `prepared.json`. With plan, graph and spills beside it, a process can count partitions, or add them all.

use std::io::ErrorKind;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{GRAPHS, PREPARE_AGAIN, RESULT, RunDir, SPILLS, lock, sealed_file};
use crate::job::file::{MemoryTable, PartitionTable, Tables, WorkTable};
use crate::job::{Job, Mode, Partitioner};
use crate::report::PreparedReport;
use trimill_system::{Error, Kind, Result, hex};

pub(super) const NAME: &str = "prepared.json";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PreparedJob {
    pub kind: String,
    #[serde(with = "hex")]
    pub fingerprint: u128,
    /// How it is counted (budgets, devices, method, threads) is chosen anew by each process.
    pub job: Job,
    /// Never `auto`.
    pub partitioner: Partitioner,
    /// The name of the graph's file in [`super::RunDir::graphs`].
    pub graph: String,
    #[serde(with = "hex")]
    pub graph_checksum: u64,
    /// The report, without times, stages and memory.
    pub report: PreparedReport,
}

impl PreparedJob {
    pub const KIND: &str = "trimill prepared job 4";

    pub fn parts(&self) -> u32 {
        self.report.parts
    }

    /// The job with the budgets, the method and the devices of `how`.
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
        let read = sealed_file::read_kind::<Self>(&dir.join(NAME), Self::KIND, |prepared| &prepared.kind);
        read.map_err(with_advice)
    }
}

impl RunDir {
    /// Fails if the directory `path` of a job would be refused for any input; changes nothing. `shards`: whether the job is prepared for shards.
    pub fn check_place(path: &Path, shards: bool) -> Result<()> {
        let run = Self::unlocked(path);
        if !run.is_only_read() {
            lock::check(path)?;
        }
        run.check_kind(shards)
    }

    /// Fails if the directory has a job of the other kind: prepared for shards, or counted by one process.
    pub fn check_kind(&self, shards: bool) -> Result<()> {
        let dir = self.path.display();
        let (found, advice) = match (self.is_prepared(), shards) {
            (true, false) if self.has_result() => (
                "holds a job that was prepared for shards and merged",
                format!("add its partitions again with 'trimill merge {dir}', or name another --run-dir"),
            ),
            (true, false) => (
                "holds a job that is prepared for shards",
                format!(
                    "count its partitions with 'trimill count --run-dir {dir} --shard I/N', add them with 'trimill merge {dir}', or name \
                     another --run-dir"
                ),
            ),
            (false, true) if self.has_result() => {
                ("holds a job that 'trimill count' finished", "name another --run-dir, or remove this one".into())
            }
            _ => return Ok(()),
        };
        Err(Error::resource(found).at(&self.path).advice(advice))
    }
}

/// Adds what to do to an error about the graph, the spills or the result of the job that is prepared in `run`.
pub fn with_prepare_advice(error: Error, run: &Path) -> Error {
    let made = [run.join(GRAPHS), run.join(SPILLS), run.join(RESULT)];
    let ours = |path: &Path| made.iter().any(|made| path.starts_with(made));
    match error.kind() == Kind::Data && error.path().is_some_and(ours) {
        true => with_advice(error),
        false => error,
    }
}

fn with_advice(error: Error) -> Error {
    let denied = error.io_kind() == Some(ErrorKind::PermissionDenied);
    error.advice(if denied { "run trimill as the user who prepared the job" } else { PREPARE_AGAIN })
}

#[cfg(test)]
mod tests {
    use rustix::io::Errno;

    use super::*;

    #[test]
    fn what_another_user_may_not_read_is_not_to_be_prepared_again() {
        let run = Path::new("run");
        let said = |errno: Errno| with_prepare_advice(Error::read("run/graph/g", errno.into()), run).to_string();
        let denied = said(Errno::ACCESS);
        assert!(denied.starts_with("run/graph/g: cannot be read (Permission denied"), "{denied}");
        assert!(denied.ends_with("; run trimill as the user who prepared the job"), "{denied}");
        assert!(said(Errno::NOENT).ends_with(PREPARE_AGAIN));
    }
}
