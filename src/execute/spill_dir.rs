//! The directory of the spills, temporary or kept.

use std::path::{Path, PathBuf};

use trimill_partitioners::spill::manifest::MANIFEST_NAME;
use trimill_partitioners::spill::{Manifest, fingerprint_of, spills_in};
use trimill_system::disk::{self, TemporaryDir};
use trimill_system::{Error, Result};

pub enum SpillDir {
    /// Removed when dropped: after the job, an error, or an interruption.
    Temporary(TemporaryDir),
    /// In a run directory, where later starts find the spills.
    Lasting {
        dir: PathBuf,
        /// Whether spills stay when the job has ended.
        keep: bool,
    },
    /// Kept; files written are removed when this is dropped, unless [`SpillDir::complete`] was called.
    Kept {
        dir: PathBuf,
        /// Files written by this job so far.
        written: Vec<PathBuf>,
    },
}

impl SpillDir {
    /// Makes the directory for a job with this fingerprint. `force` replaces spills of other jobs without a manifest.
    pub fn open(parent: &Path, keep: bool, force: bool, fingerprint: u128) -> Result<Self> {
        if !keep {
            let dir = TemporaryDir::new(parent, "trimill-spill-")
                .map_err(|e| e.advice("name a directory that can be written with --spill-dir"))?;
            return Ok(Self::Temporary(dir));
        }
        take_over(parent, fingerprint, |spill| !force && spill != Some(fingerprint))?;
        Ok(Self::Kept { dir: parent.to_path_buf(), written: Vec::new() })
    }

    /// For a job that is resumed in a run directory. Spills that are kept may be elsewhere, where `force` replaces those of other jobs.
    pub fn lasting(dir: &Path, keep: bool, force: bool, fingerprint: u128) -> Result<Self> {
        // A damaged spill is built again, and so is one that a damaged header makes another job's, if the manifest is this job's.
        let mine = !keep || force || dir.join(MANIFEST_NAME).exists();
        take_over(dir, fingerprint, |spill| !mine && spill.is_some_and(|other| other != fingerprint))?;
        Ok(Self::Lasting { dir: dir.to_path_buf(), keep })
    }

    /// For a job that is prepared in its run directory. An existing manifest is removed, with a warning if it is damaged or another job's.
    pub fn of_prepared(dir: &Path, fingerprint: u128) -> Result<Self> {
        let manifest = dir.join(MANIFEST_NAME);
        if manifest.exists() {
            if Manifest::read(dir).map(|manifest| manifest.fingerprint).ok() != Some(fingerprint) {
                tracing::warn!("{}: is damaged or of another job: it is made again", manifest.display());
            }
            disk::remove(&manifest)?;
        }
        Ok(Self::Lasting { dir: dir.to_path_buf(), keep: true })
    }

    pub fn path(&self) -> &Path {
        match self {
            Self::Temporary(dir) => dir.path(),
            Self::Kept { dir, .. } | Self::Lasting { dir, .. } => dir,
        }
    }

    /// Records a file, to be removed if the job does not complete.
    pub fn wrote(&mut self, file: &Path) {
        if let Self::Kept { written, .. } = self {
            written.push(file.to_path_buf());
        }
    }

    /// Whether it belongs to a run directory, and may have spills of an earlier start.
    pub fn lasts(&self) -> bool {
        matches!(self, Self::Lasting { .. })
    }

    pub fn is_kept(&self) -> bool {
        matches!(self, Self::Kept { .. } | Self::Lasting { keep: true, .. })
    }

    /// The job is complete: its files are kept.
    pub fn complete(mut self) {
        if let Self::Kept { written, .. } = &mut self {
            written.clear();
        }
    }
}

/// Removes the manifest of an earlier, equal job: there must be none while spills are written. Errors: `dir` has the manifest of another job, or
/// a spill whose fingerprint, none if it cannot be read, shows that it `is_other`.
fn take_over(dir: &Path, fingerprint: u128, is_other: impl Fn(Option<u128>) -> bool) -> Result<()> {
    let manifest = manifest_of(dir, fingerprint)?;
    if let Some(other) = spills_in(dir).find(|spill| is_other(fingerprint_of(spill))) {
        return Err(Error::resource("is not a spilled partition of this job")
            .at(other)
            .advice("name another --spill-dir, remove what is there, or replace it with --force"));
    }
    manifest.map_or(Ok(()), |manifest| disk::remove(&manifest))
}

/// The manifest of an earlier, equal job in `dir`.
fn manifest_of(dir: &Path, fingerprint: u128) -> Result<Option<PathBuf>> {
    let manifest = dir.join(MANIFEST_NAME);
    if !manifest.exists() {
        return Ok(None);
    }
    match Manifest::read(dir) {
        Ok(there) if there.fingerprint == fingerprint => Ok(Some(manifest)),
        Ok(_) => Err(Error::resource("holds the spilled partitions of another job")
            .at(dir)
            .advice("name another --spill-dir, or remove its manifest.json and part-*.spill")),
        Err(_) => Err(Error::resource("is the manifest of another job, or of another program, or is damaged")
            .at(manifest)
            .advice("name another --spill-dir")),
    }
}

impl Drop for SpillDir {
    fn drop(&mut self) {
        if let Self::Kept { written, .. } = self {
            for file in written {
                // If removal fails, no manifest is beside it, so it is not mistaken for a job's result.
                let _ = std::fs::remove_file(file);
            }
        }
    }
}
