//! The directories of a job: cache, work files, spills.

use std::path::{Path, PathBuf};

use crate::cache::{Cache, NO_CACHE, cache_dir};
use crate::job::file::{CacheTable, Tables};
use crate::run_dir::{self, RunDir};
use trimill_system::Result;
use trimill_system::disk::{self, TemporaryDir};

/// The cache that a job names, else this user's if it can be used.
pub(super) fn cache(settings: &CacheTable) -> Option<Cache> {
    match (&settings.dir, cache_dir(None)) {
        (Some(dir), _) => Cache::of_job(dir, settings.max),
        (None, Some(dir)) => Cache::of_user(&dir, settings.max),
        (None, None) => {
            tracing::info!("{NO_CACHE}: the graph is not cached");
            None
        }
    }
}

pub(super) struct Places {
    pub(super) spill: PathBuf,
    pub(super) work: PathBuf,
    /// The work directory, if it is removed when the job ends.
    pub(super) temporary: Option<TemporaryDir>,
}

impl Places {
    /// Creates the directories, private unless the user named them; in a run directory, removes earlier
    /// work files, and creates none if it is shared or only read.
    pub(super) fn make(settings: &Tables, run: Option<&mut RunDir>) -> Result<Self> {
        let (spill_dir, work_dir) = (settings.spill.dir.as_deref(), settings.work.dir.as_deref());
        for dir in [spill_dir, work_dir].into_iter().flatten() {
            disk::make_dir(dir)?;
        }
        let Some(run) = run.filter(|run| !run.is_for_shard()) else {
            let spill = spill_dir.or(work_dir).map_or_else(disk::temporary_folder, Path::to_path_buf);
            let work = work_dir.unwrap_or(&spill).to_path_buf();
            disk::make_dir(&spill)?;
            return Ok(Self { spill, work, temporary: None });
        };
        let elsewhere = run.is_read_only().then(disk::temporary_folder);
        let (work, temporary) = match work_dir.or(elsewhere.as_deref()) {
            Some(dir) => {
                disk::sweep(dir);
                let work = TemporaryDir::new(dir, "trimill-run-")?;
                (work.path().to_path_buf(), Some(work))
            }
            None => {
                run_dir::remove_tree(&run.work());
                run.make(&run.work())?;
                (run.work(), None)
            }
        };
        let spill = match spill_dir {
            // Unfinished files of earlier starts are removed after this directory is locked, since another job may be writing to it.
            Some(dir) if settings.spill.keep() => dir.to_path_buf(),
            dir => {
                let spill = run.spills(dir);
                if !run.is_read_only() {
                    run.make(&spill)?;
                }
                run_dir::remove_unfinished(&spill);
                spill
            }
        };
        Ok(Self { spill, work, temporary })
    }
}
