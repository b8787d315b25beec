//! What is counted of partitions besides their totals, on its way to the sums: of partitions that a device did not finish, and of those
//! that a run directory keeps.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use rayon::ThreadPool;

use crate::run_dir::{RunDir, unless_damaged};
use crate::stream::PartitionFailure;
use crate::stream::source::PartitionSource;
use trimill_system::error::Result;
use trimill_system::lock;
use trimill_system::parallel;

/// Partitions that a device began and did not finish, and how far each is.
pub(super) struct Unfinished<T>(Mutex<BTreeMap<u32, T>>);

impl<T> Default for Unfinished<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Unfinished<T> {
    /// Counts a partition from where it was left, or from what `begin` returns. If `count` fails, the next call continues from there.
    pub(super) fn finish<C>(
        &self,
        part: u32,
        begin: impl FnOnce() -> Result<T>,
        count: impl FnOnce(&mut T) -> Result<C, PartitionFailure>,
    ) -> Result<(T, C), PartitionFailure> {
        let before = lock(&self.0).remove(&part);
        let mut unfinished = match before {
            Some(unfinished) => unfinished,
            None => begin()?,
        };
        match count(&mut unfinished) {
            Ok(counted) => Ok((unfinished, counted)),
            Err(failed) => {
                lock(&self.0).insert(part, unfinished);
                Err(failed)
            }
        }
    }
}

/// Which ranks the numbers of a partition stand for.
pub(super) struct PartitionRanks {
    /// The numbers are those below this one.
    pub(super) numbered: u32,
    /// The number of the first local, where the locals are consecutive.
    pub(super) locals_at: u32,
    /// The rank of each number; none where it is the number itself.
    pub(super) ranks: Option<Vec<u32>>,
}

impl PartitionRanks {
    pub(super) fn of(source: &mut dyn PartitionSource, pool: &ThreadPool) -> Result<Self> {
        let (numbered, locals_at) = (source.numbered(), source.locals_at());
        Ok(Self { numbered, locals_at, ranks: parallel::within(pool, move || source.ranks())? })
    }
}

/// The files of a run directory with the counts of each partition.
pub(super) struct PartFiles {
    /// The directory, and the fingerprint of the job; none without a run directory.
    run: Option<(PathBuf, u128)>,
}

impl PartFiles {
    pub(super) fn new(run: Option<&RunDir>, fingerprint: u128) -> Self {
        Self { run: run.map(RunDir::path).map(|path| (path.to_path_buf(), fingerprint)) }
    }

    /// Begins the file of a partition by `writer`; none without a run directory.
    pub(super) fn begin<W>(&self, writer: impl FnOnce(&Path, u128) -> Result<W>) -> Result<Option<W>> {
        self.run.as_ref().map(|(dir, fingerprint)| writer(dir, *fingerprint)).transpose()
    }

    /// Opens the file of a partition by `reader`; none where it is missing, or damaged, which is logged.
    pub(super) fn open<C>(
        &self,
        part: u32,
        reader: impl FnOnce(&Path, u128) -> Result<Option<C>>,
    ) -> Result<Option<C>> {
        let Some((dir, fingerprint)) = &self.run else { return Ok(None) };
        unless_damaged(reader(dir, *fingerprint), &format!("partition {part} is counted again"))
    }
}
