//! The directory of the spills, temporary or kept.

use std::path::{Path, PathBuf};

use crate::run_dir::{self, kept_by_another};
use trimill_partitioners::spill::manifest::MANIFEST_NAME;
use trimill_partitioners::spill::{Manifest, file_name, fingerprint_of, spills_in};
use trimill_system::disk::{self, FileLock, TemporaryDir};
use trimill_system::{Error, Kind, Result};

pub struct SpillDir {
    pub path: PathBuf,
    /// Whether the spills stay when the job has ended.
    pub keeps: bool,
    /// Whether spills of an earlier start, which had the same run directory, may be there.
    pub lasts: bool,
    /// Files that are removed when this is dropped, unless [`SpillDir::complete`] was called.
    written: Vec<PathBuf>,
    /// Held where other jobs may keep spills in the same place, until `written` is removed.
    _lock: Option<FileLock>,
    /// Removed when this is dropped: after the job, an error, or an interruption.
    _temporary: Option<TemporaryDir>,
}

impl SpillDir {
    fn new(path: &Path, keeps: bool, lasts: bool, lock: Option<FileLock>) -> Self {
        Self { path: path.to_path_buf(), keeps, lasts, written: Vec::new(), _lock: lock, _temporary: None }
    }

    pub fn temporary(parent: &Path) -> Result<Self> {
        let made = TemporaryDir::new(parent, "trimill-spill-")
            .map_err(|e| e.advice("name a directory that can be written with --spill-dir"))?;
        let mut dir = Self::new(made.path(), false, false, None);
        dir._temporary = Some(made);
        Ok(dir)
    }

    /// The kept directory of a job with this fingerprint. `force` replaces spills of other jobs without a readable manifest.
    pub fn kept(dir: &Path, force: bool, fingerprint: u128) -> Result<Self> {
        let lock = locked(dir)?;
        take_over(dir, fingerprint, force, |spill| !force && spill != Some(fingerprint))?;
        Ok(Self::new(dir, true, false, Some(lock)))
    }

    /// The directory of a job that is resumed in a run directory. Kept spills may be elsewhere, where `force` replaces those of other jobs.
    pub fn lasting(dir: &Path, keep: bool, force: bool, fingerprint: u128) -> Result<Self> {
        let lock = keep.then(|| locked(dir)).transpose()?;
        if keep {
            run_dir::remove_unfinished(dir);
        }
        // A damaged spill is rebuilt; so is one whose damaged header names another job, if the manifest is this job's.
        let mine = !keep || force || dir.join(MANIFEST_NAME).exists();
        // Another program's manifest was refused before (`crate::paths`), unless forced.
        take_over(dir, fingerprint, true, |spill| !mine && spill.is_some_and(|other| other != fingerprint))?;
        Ok(Self::new(dir, keep, true, lock))
    }

    /// The directory of a job that is prepared in its run directory. Warns of a manifest that is damaged or another job's.
    pub fn of_prepared(dir: &Path, fingerprint: u128) -> Self {
        let manifest = dir.join(MANIFEST_NAME);
        if manifest.exists() && Manifest::read(dir).map(|manifest| manifest.fingerprint).ok() != Some(fingerprint) {
            tracing::warn!("{}: is damaged or of another job: it is made again", manifest.display());
        }
        Self::new(dir, true, true, None)
    }

    /// Begins to write the spills of `parts`: removes an earlier start's manifest, and records the files, to be removed if the job does not complete.
    pub fn writes(&mut self, parts: &[u32]) -> Result<()> {
        disk::remove(&self.path.join(MANIFEST_NAME))?;
        if self.keeps && !self.lasts {
            self.written.extend(parts.iter().map(|&part| self.path.join(file_name(part))));
            self.written.push(self.path.join(MANIFEST_NAME));
        }
        Ok(())
    }

    /// Keeps the files of the job, which is complete.
    pub fn complete(mut self) {
        self.written.clear();
    }
}

fn locked(dir: &Path) -> Result<FileLock> {
    FileLock::of_dir(dir)?.ok_or_else(|| {
        Error::resource("is in use by another process, which keeps its spilled partitions there")
            .at(dir)
            .advice("wait until it has ended, or name another --spill-dir")
    })
}

/// If the manifest is unreadable and may be replaced, removes the spills of other jobs, after a warning. Errors: `dir` has the manifest of another
/// job, or a spill that `is_other` by its fingerprint, if any.
fn take_over(dir: &Path, fingerprint: u128, replace: bool, is_other: impl Fn(Option<u128>) -> bool) -> Result<()> {
    let path = dir.join(MANIFEST_NAME);
    let mut unreadable = false;
    match path.exists().then(|| Manifest::read(dir)) {
        None => {}
        Some(Ok(there)) if there.fingerprint == fingerprint => {}
        Some(Ok(_)) => return Err(kept_by_another(dir)),
        Some(Err(error)) if replace && error.kind() == Kind::Data => {
            tracing::warn!("{}: it is replaced", error.unadvised());
            unreadable = true;
        }
        Some(Err(_)) => {
            return Err(Error::resource("is the manifest of another job, or of another program, or is damaged")
                .at(path)
                .advice("name another --spill-dir, or replace it with --force"));
        }
    }
    if let Some(other) = spills_in(dir).find(|spill| is_other(fingerprint_of(spill))) {
        return Err(Error::resource("is not a spilled partition of this job")
            .at(other)
            .advice("name another --spill-dir, remove what is there, or replace it with --force"));
    }
    if unreadable {
        for spill in spills_in(dir) {
            if fingerprint_of(&spill).is_some_and(|other| other != fingerprint) {
                disk::remove(&spill)?;
            }
        }
    }
    Ok(())
}

impl Drop for SpillDir {
    fn drop(&mut self) {
        for file in &self.written {
            // A file that stays is not taken for a job's result, since there is no manifest.
            let _ = std::fs::remove_file(file);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_job_at_a_time_keeps_spills_in_a_directory() {
        let dir = tempfile::tempdir().unwrap();
        let refused = || {
            let all = [SpillDir::kept(dir.path(), true, 7), SpillDir::lasting(dir.path(), true, true, 7)];
            for error in all.map(|opened| opened.err().unwrap()) {
                assert!(error.kind() == Kind::Resource && error.to_string().contains("in use"), "{error}");
            }
        };
        let lock = FileLock::of_dir(dir.path()).unwrap().unwrap();
        refused();
        drop(lock);
        let mut kept = SpillDir::kept(dir.path(), false, 7).unwrap();
        refused();
        let spill = dir.path().join(file_name(0));
        std::fs::write(&spill, "spill").unwrap();
        kept.writes(&[0]).unwrap();
        drop(kept);
        assert!(!spill.exists());
        let lasting = SpillDir::lasting(dir.path(), true, false, 7).unwrap();
        refused();
        lasting.complete();
        SpillDir::kept(dir.path(), false, 7).unwrap().complete();
    }

    #[test]
    fn a_manifest_that_cannot_be_read_is_replaced_only_by_force_or_in_a_job_that_goes_on() {
        let dir = tempfile::tempdir().unwrap();
        let manifest = dir.path().join(MANIFEST_NAME);
        for text in ["", "{\"name\": \"an extension\"}"] {
            std::fs::write(&manifest, text).unwrap();
            let error = SpillDir::kept(dir.path(), false, 7).err().unwrap();
            assert!(error.to_string().contains("--force"), "{error}");
            assert_eq!(std::fs::read_to_string(&manifest).unwrap(), text);
            SpillDir::kept(dir.path(), true, 7).unwrap().writes(&[]).unwrap();
            assert!(!manifest.exists());
            std::fs::write(&manifest, text).unwrap();
            SpillDir::lasting(dir.path(), true, false, 7).unwrap().writes(&[]).unwrap();
            assert!(!manifest.exists());
        }
    }
}
