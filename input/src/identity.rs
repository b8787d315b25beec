//! Whether two inputs are the same, and whether an input is unchanged.
//!
//! A file is identified by its path, size and times ([`Stat`]), and a hash of its contents. A file's time of change (ctime) cannot be set, so while
//! it and the inode are the same, so are the contents. If only these two differ (`chmod`, a restore, a rename, a copy), the hash decides. It also
//! decides for a file that changed just before it was examined: such a file is not [*settled*](FileIdentity::settled), and is hashed before and after
//! it is read, and at the next comparison. A remote object is identified by URL, size and strong ETag, or not at all.

use std::fs::File;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use super::contents;
use super::stat::changed;
pub use super::stat::{Stat, Watched};
use trimill_system::{Control, Error, Result, hex, path_text};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// One per file; a BVGraph has two.
    pub files: Vec<FileIdentity>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileIdentity {
    /// The canonical path; of a remote object its URL, without credentials.
    #[serde(with = "path_text::exact")]
    pub path: PathBuf,
    #[serde(flatten)]
    pub stat: Stat,
    /// Whether a later change would show in `stat`.
    pub settled: bool,
    /// The hash of the contents, once known; of a remote object a hash of its tag.
    #[serde(with = "hex::optional")]
    pub contents: Option<u128>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Match {
    Same,
    Other,
    /// Only a hash of the contents can decide.
    Undecided,
}

impl FileIdentity {
    /// `None` if the file was moved or removed.
    fn of(file: &Watched) -> Option<Self> {
        let path = if file.tag.is_some() { file.path.clone() } else { file.path.canonicalize().ok()? };
        Some(Self { path, stat: file.stat, settled: file.settled, contents: file.tag })
    }

    /// Does not read the file.
    fn compare(&self, recorded: &Self) -> Match {
        let Stat { bytes, modified, .. } = self.stat;
        if self.path != recorded.path || bytes != recorded.stat.bytes || modified != recorded.stat.modified {
            return Match::Other;
        }
        match (self.contents, recorded.contents) {
            (Some(contents), Some(before)) if contents == before => Match::Same,
            (_, None) | (Some(_), Some(_)) => Match::Other,
            (None, Some(_)) if recorded.settled && self.stat == recorded.stat => Match::Same,
            (None, Some(_)) => Match::Undecided,
        }
    }

    /// Hashes the contents. Errors: the file has changed since its state was recorded.
    fn hash(&self, control: &Control) -> Result<u128> {
        let path = &self.path;
        let file = File::open(path).map_err(|e| Error::read(path, e))?;
        let same = || {
            let now = file.metadata().map_err(|e| Error::read(path, e))?;
            self.stat.unchanged(&Stat::of(&now), path)
        };
        same()?;
        let contents = contents::hash(&file, path, self.stat.bytes, control)?;
        same()?;
        Ok(contents)
    }
}

impl Identity {
    /// Identifies a file, hashing it if it is unsettled. `Kind::Data`: a file that is not a regular one, cannot be read, or is being changed.
    pub fn of(path: &Path, control: &Control) -> Result<Self> {
        let watched = Watched::new(path)?;
        let file = watched.ok_or_else(|| Error::data(path, "is not a regular file").expected("a file"))?;
        Ok(Self::watched(&[file], control)?.unwrap_or_default())
    }

    /// The identity of files that are about to be read, unsettled ones hashed; `None` if one was moved or removed.
    pub(super) fn watched(files: &[Watched], control: &Control) -> Result<Option<Self>> {
        let Some(files) = files.iter().map(FileIdentity::of).collect::<Option<Vec<_>>>() else { return Ok(None) };
        let mut identity = Self { files };
        for file in identity.files.iter_mut().filter(|file| !file.settled) {
            file.contents = Some(file.hash(control)?);
        }
        Ok(Some(identity))
    }

    /// Hashes the files that have no hash of their contents yet.
    pub fn hash(&mut self, control: &Control) -> Result<()> {
        for file in self.files.iter_mut().filter(|file| file.contents.is_none()) {
            file.contents = Some(file.hash(control)?);
        }
        Ok(())
    }

    /// To be called once the files are read: hashes them, again if a change might not show in their times.
    pub fn hash_what_was_read(&mut self, control: &Control) -> Result<()> {
        for file in self.files.iter_mut().filter(|file| !file.settled || file.contents.is_none()) {
            let contents = file.hash(control)?;
            if file.contents.replace(contents).is_some_and(|before| before != contents) {
                return Err(changed(&file.path, "its contents differ"));
            }
        }
        Ok(())
    }

    /// Whether these are the files that were `recorded`. Hashes them only if nothing else decides; keeps the hashes if they are.
    pub fn is(&mut self, recorded: &Self, control: &Control) -> Result<bool> {
        if self.files.len() != recorded.files.len() {
            return Ok(false);
        }
        // Comparisons without a hash first: if the last file differs, the first need not be read.
        let compared: Vec<_> =
            self.files.iter().zip(&recorded.files).map(|(now, before)| now.compare(before)).collect();
        if compared.contains(&Match::Other) {
            return Ok(false);
        }
        for ((now, before), compared) in self.files.iter_mut().zip(&recorded.files).zip(compared) {
            if compared == Match::Undecided {
                tracing::debug!("{}: its time of change does not tell whether it is the same", now.path.display());
                now.contents = Some(now.hash(control)?);
            } else {
                now.contents = before.contents;
            }
            if now.contents != before.contents {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Takes the sizes and times of `now`, if the files are known to be the same.
    pub fn refresh_stat(&mut self, now: &Self) {
        for (file, now) in self.files.iter_mut().zip(&now.files) {
            (file.stat, file.settled) = (now.stat, now.settled);
        }
    }

    /// The paths alone, which do not change with the files' contents.
    pub fn paths_only(&self) -> Self {
        let bare = |file: &FileIdentity| FileIdentity { path: file.path.clone(), ..FileIdentity::default() };
        Self { files: self.files.iter().map(bare).collect() }
    }

    /// A copy without what `chmod`, a restore or a rename changes (ctime and inode), with all files settled.
    pub fn lasting(&self) -> Self {
        let lasting = |file: &FileIdentity| FileIdentity {
            stat: Stat { changed: (0, 0), inode: 0, ..file.stat },
            settled: true,
            ..file.clone()
        };
        Self { files: self.files.iter().map(lasting).collect() }
    }

    /// A digest of sizes, times and inodes: while it is the same, so are the files. `None` unless all are settled.
    pub fn seen(&self) -> Option<u128> {
        let settled = self.files.iter().all(|file| file.settled);
        let words = self.files.iter().flat_map(|FileIdentity { stat, .. }| {
            [
                stat.bytes, stat.modified.0 as u64, stat.modified.1 as u64, stat.changed.0 as u64,
                stat.changed.1 as u64, stat.inode,
            ]
        });
        settled.then(|| xxh3_128(bytemuck::cast_slice(&words.collect::<Vec<u64>>())))
    }
}

#[cfg(test)]
#[path = "identity/tests.rs"]
mod tests;
