//! Adds the counts of partitions at vertices or on edges to the sums; keeps the counts of unfinished partitions, and all counts in a run directory.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use rayon::ThreadPool;

use super::count_memory::in_memory;
use super::session::Session;
use crate::run_dir::unless_damaged;
use crate::stream::{CountedPartition, PartitionFailure};
use crate::sums::part::{PartCounts, PartKey, PartWriter};
use crate::sums::{CountedKeys, SumKey, Sums};
use trimill_system::control::Unit;
use trimill_system::{Bytes, Error, Result, lock, parallel};

const MOST_FILES: usize = 128;

/// Zeroed sums, in memory if [`in_memory`] allows.
pub(super) fn zeros<K: SumKey>(session: &Session, keys: u64) -> Result<Sums<K>> {
    match in_memory::<K>(session.host, keys) {
        true => Ok(Sums::in_memory(keys)),
        false => Sums::in_file(keys, &session.work_dir),
    }
}

/// Partitions that a device began and did not finish: the progress of each, and its file.
type Unfinished<K, P> = BTreeMap<u32, (P, Option<PartWriter<K>>)>;

/// The sums of a job, and the files in its run directory with the counts of each partition. `P` says how far a partition is counted.
pub(super) struct JobSums<K: SumKey, P> {
    keys: u64,
    /// None in a shard: its counts are added by the merge.
    sums: Option<Sums<K>>,
    run: Option<(PathBuf, u128)>,
    unfinished: Mutex<Unfinished<K, P>>,
}

impl<K: SumKey, P: Default> JobSums<K, P> {
    pub(super) fn new(session: &Session, keys: u64, fingerprint: u128) -> Result<Self> {
        let sums = (!session.is_shard()).then(|| zeros(session, keys)).transpose()?;
        let run = session.run.as_ref().map(|run| (run.path().to_path_buf(), fingerprint));
        Ok(Self { keys, sums, run, unfinished: Mutex::default() })
    }

    /// Counts a partition from where an earlier attempt stopped, and completes its file. If `count` fails, the next call continues.
    pub(super) fn count(
        &self,
        part: u32,
        count: impl FnOnce(&mut P, Option<&mut PartWriter<K>>) -> Result<CountedPartition, PartitionFailure>,
    ) -> Result<CountedPartition, PartitionFailure> {
        let before = lock(&self.unfinished).remove(&part);
        let (mut progress, mut file) = match before {
            Some(unfinished) => unfinished,
            None => (P::default(), self.begin(part)?),
        };
        match count(&mut progress, file.as_mut()) {
            Ok(counted) => {
                file.map_or(Ok(()), PartWriter::finish)?;
                Ok(counted)
            }
            Err(failed) => {
                lock(&self.unfinished).insert(part, (progress, file));
                Err(failed)
            }
        }
    }

    fn begin(&self, part: u32) -> Result<Option<PartWriter<K>>> {
        self.place(part).map(|(dir, key)| PartWriter::new(dir, key)).transpose()
    }

    pub(super) fn has_files(&self) -> bool {
        self.run.is_some()
    }

    /// Writes a number for each key to a file of the run directory, if there is one. Runs in the current thread pool.
    pub(super) fn save(&self, part: u32, blocks: impl Iterator<Item = Vec<K::Count>>) -> Result<()> {
        let Some(mut file) = self.begin(part)? else { return Ok(()) };
        let mut first = 0;
        for block in blocks {
            file.add(CountedKeys::From(first), &block)?;
            first += block.len() as u64;
        }
        file.finish()
    }

    /// Replaces the sums by those that an earlier start saved. `false` if there is no such file, or it is damaged, which is logged.
    pub(super) fn restore(&self, part: u32, pool: &ThreadPool) -> Result<bool> {
        let Some(saved) = self.file(part, "peeling begins again")? else { return Ok(false) };
        let sums = self.all()?;
        sums.clear();
        parallel::within(pool, || PartCounts::add_all(&[saved], sums, |_| Ok(()))).map(|()| true)
    }

    fn place(&self, part: u32) -> Option<(&Path, PartKey)> {
        let (dir, fingerprint) = self.run.as_ref()?;
        Some((dir, PartKey { fingerprint: *fingerprint, part, keys: self.keys }))
    }

    /// The file of an earlier start; `None` if it is missing or damaged. Damage is logged with the consequence `then`.
    fn file(&self, part: u32, then: &str) -> Result<Option<PartCounts<K>>> {
        let Some((dir, key)) = self.place(part) else { return Ok(None) };
        unless_damaged(PartCounts::open(dir, key), then)
    }

    /// Adds counts of a partition to its file and to the sums. Runs in the current thread pool.
    pub(super) fn add(
        &self,
        file: Option<&mut PartWriter<K>>,
        keys: CountedKeys<'_>,
        counts: &[K::Count],
    ) -> Result<()> {
        if let Some(file) = file {
            file.add(keys, counts)?;
        }
        self.sums.as_ref().map_or(Ok(()), |sums| sums.add(keys, counts))
    }

    /// Adds the counts of `parts` from earlier starts, as many at a time as [`MOST_FILES`] and the memory of a block of rows allow, since a group
    /// writes each block of the sums once. Returns the parts whose counts are there; damage is logged.
    pub(super) fn resume(&self, parts: &[u32], session: &Session) -> Result<BTreeSet<u32>> {
        let Session { pool, control, .. } = session;
        let size = |(dir, key): (&Path, PartKey)| key.path::<K>(dir).metadata().map_or(0, |file| file.len());
        let bytes = parts.iter().filter_map(|&part| self.place(part)).map(size).sum();
        let task = self.sums.as_ref().map(|sums| (sums, control.task("merge", Some(bytes), Unit::Bytes)));
        let add = |some: Vec<PartCounts<K>>| match &task {
            Some((sums, task)) => {
                let added = |bytes| control.check().map(|()| task.advance(bytes));
                parallel::within(pool, || PartCounts::add_all(&some, sums, added))
            }
            None => Ok(()),
        };
        let (mut found, mut waiting) = (BTreeSet::new(), Vec::new());
        for &part in parts {
            control.check()?;
            let Some(counts) = self.file(part, &format!("partition {part} is counted again"))? else { continue };
            found.insert(part);
            waiting.push(counts);
            let held: Bytes = waiting.iter().map(PartCounts::held_bytes).sum();
            if waiting.len() == MOST_FILES || held >= session.host_block() {
                add(std::mem::take(&mut waiting))?;
            }
        }
        add(waiting).map(|()| found)
    }

    pub(super) fn all(&self) -> Result<&Sums<K>> {
        self.sums.as_ref().ok_or_else(|| Error::defect("the counts of a shard are not added"))
    }

    pub(super) fn into_all(self) -> Result<Sums<K>> {
        self.sums.ok_or_else(|| Error::defect("the counts of a shard are not added"))
    }
}
