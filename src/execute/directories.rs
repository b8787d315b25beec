//! The directories of a job: its cache, where graphs are prepared, and where partitions are spilled.

use std::path::PathBuf;

use crate::cache::Cache;
use crate::job::Job;
use crate::rates::Rates;
use crate::run_dir::{self, RunDir};
use trimill_system::disk::{self, TemporaryDir};
use trimill_system::error::Result;

/// The directory of the cache, whether a job uses it or not.
pub(super) fn cache_dir(job: &Job) -> Option<PathBuf> {
    job.cache_dir.clone().or_else(default_cache_dir)
}

/// The rates that estimates of a job use, and whether they were measured on this machine.
pub fn rates(job: &Job) -> (Rates, bool) {
    let measured = cache_dir(job).and_then(|dir| Rates::measured(&dir));
    (measured.unwrap_or_default(), measured.is_some())
}

/// The cache that a job names, or else this user's, if there is one that can be used.
pub(super) fn cache(job: &Job) -> Option<Cache> {
    match (&job.cache_dir, default_cache_dir()) {
        (Some(dir), _) => Cache::of_job(dir, job.cache_max),
        (None, Some(dir)) => Cache::of_user(&dir, job.cache_max),
        (None, None) => {
            tracing::info!("{NO_CACHE}: the graph is not cached");
            None
        }
    }
}

/// Makes the directories for spills and for preparing, with access for the user only unless the user named them. In a run
/// directory, the work files of an earlier start are removed; in one that several processes share nothing is made.
pub(super) fn places(job: &Job, run: Option<&RunDir>) -> Result<(PathBuf, PathBuf, Option<TemporaryDir>)> {
    for dir in [&job.spill_dir, &job.work_dir].into_iter().flatten() {
        disk::make_dir(dir)?;
    }
    let Some(run) = run.filter(|run| !run.is_shared()) else {
        let spill = job.spill_dir.clone().or_else(|| job.work_dir.clone()).unwrap_or_else(disk::temporary_folder);
        let work = job.work_dir.clone().unwrap_or_else(|| spill.clone());
        disk::make_dir(&spill)?;
        return Ok((spill, work, None));
    };
    let (work, temporary) = match &job.work_dir {
        Some(dir) => {
            disk::sweep(dir);
            let work = TemporaryDir::new(dir, "trimill-run-")?;
            (work.path().to_path_buf(), Some(work))
        }
        None => {
            run_dir::remove_tree(&run.work());
            disk::private_dir(&run.work())?;
            (run.work(), None)
        }
    };
    let spill = match &job.spill_dir {
        Some(dir) if job.keep_spill => dir.clone(),
        dir => {
            let spill = run.spills(dir.as_deref());
            disk::private_dir(&spill)?;
            spill
        }
    };
    run_dir::remove_unfinished(&spill);
    Ok((spill, work, temporary))
}

/// Why there is no cache unless one is named.
pub(super) const NO_CACHE: &str = "neither XDG_CACHE_HOME nor HOME names a folder";

/// `$XDG_CACHE_HOME/trimill`, or `~/.cache/trimill`; none where neither is set. Relative paths are ignored, as the XDG Base Directory
/// Specification asks.
pub(super) fn default_cache_dir() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")))?;
    Some(base.join("trimill"))
}
