//! What tells one input from another, and whether an input is still what it was.
//!
//! A file is known by its path, its bytes as the system counts and dates them ([`Stat`]), and a hash of all its contents.
//! Nobody can set the time of change (ctime) of a file, so while it and the inode are the same, so are the contents. Where
//! only these differ (after `chmod`, a restore, a rename, a copy), or say nothing, the contents are hashed and the hash decides.
//!
//! They say nothing of a file that changed just before it was looked at. Such a file is not [*settled*](FileIdentity::settled): it is
//! hashed before it is read and after, and once more by who meets it next.

use std::fs::File;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use super::contents;
use super::stat::changed;
pub use super::stat::{Stat, Watched};
use crate::control::Control;
use crate::error::{Error, Result};
use crate::{hex, path_text};

/// The identity of all files of an input, in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// One for each file; a BVGraph has two.
    pub files: Vec<FileIdentity>,
}

/// The identity of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileIdentity {
    /// The canonical path.
    #[serde(with = "path_text::exact")]
    pub path: PathBuf,
    /// What the system says of it.
    #[serde(flatten)]
    pub stat: Stat,
    /// Whether a change since then would show in that.
    pub settled: bool,
    /// The hash of all bytes, once it is known.
    #[serde(with = "hex::of_optional_u128")]
    pub contents: Option<u128>,
}

/// How a file compares with what was recorded of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Match {
    /// It is the same.
    Same,
    /// It is another one.
    Other,
    /// The contents decide.
    Undecided,
}

impl FileIdentity {
    /// What identifies the file; none where no path leads to it any more.
    fn of(file: &Watched) -> Option<Self> {
        let path = file.path.canonicalize().ok()?;
        Some(Self { path, stat: file.stat, settled: file.settled, contents: None })
    }

    /// Compares with what was `recorded`, without reading the file.
    pub fn compare(&self, recorded: &Self) -> Match {
        let Stat { bytes, modified, .. } = self.stat;
        if self.path != recorded.path || bytes != recorded.stat.bytes || modified != recorded.stat.modified {
            return Match::Other;
        }
        match (self.contents, recorded.contents) {
            (_, None) => Match::Other,
            (Some(contents), Some(before)) => {
                if contents == before {
                    Match::Same
                } else {
                    Match::Other
                }
            }
            (None, Some(_)) if recorded.settled && self.stat == recorded.stat => Match::Same,
            (None, Some(_)) => Match::Undecided,
        }
    }

    /// Hashes the contents, which must be those that were looked at.
    fn hash(&self, control: &Control) -> Result<u128> {
        let path = &self.path;
        let file = File::open(path).map_err(|e| Error::read(path, e))?;
        let same = || {
            let now = file.metadata().map_err(|e| Error::read(path, e))?;
            self.stat.difference(&Stat::of(&now)).map_or(Ok(()), |how| Err(changed(path, &how)))
        };
        same()?;
        let contents = contents::hash(&file, path, self.stat.bytes, control)?;
        same()?;
        Ok(contents)
    }
}

impl Identity {
    /// Looks at the files at `paths`, which are there, and hashes those that are not settled.
    ///
    /// # Errors
    /// [`crate::error::Kind::Data`] for a file that is no regular one, cannot be read, or is being changed.
    pub(crate) fn of<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Result<Self> {
        let watched = paths.into_iter().map(|path| {
            let path = path.as_ref();
            Watched::new(path)?.ok_or_else(|| Error::data(path, "is no regular file").expected("a file"))
        });
        Ok(Self::watched(&watched.collect::<Result<Vec<_>>>()?)?.unwrap_or_default())
    }

    /// The identity of files that are about to be read; none where no path leads to one of them. Those that are not settled
    /// are hashed.
    pub(super) fn watched(files: &[Watched]) -> Result<Option<Self>> {
        let Some(files) = files.iter().map(FileIdentity::of).collect::<Option<Vec<_>>>() else { return Ok(None) };
        let mut identity = Self { files };
        for file in identity.files.iter_mut().filter(|file| !file.settled) {
            file.contents = Some(file.hash(&Control::silent())?);
        }
        Ok(Some(identity))
    }

    /// Hashes all contents that are not known.
    ///
    /// # Errors
    /// Files that cannot be read or changed since they were looked at; the wish to stop.
    pub fn hash(&mut self, control: &Control) -> Result<()> {
        for file in self.files.iter_mut().filter(|file| file.contents.is_none()) {
            file.contents = Some(file.hash(control)?);
        }
        Ok(())
    }

    /// Called once the files are read: hashes them, and those once more whose change might not show in their times.
    ///
    /// # Errors
    /// As [`Self::hash`].
    pub fn hash_what_was_read(&mut self, control: &Control) -> Result<()> {
        for file in self.files.iter_mut().filter(|file| !file.settled || file.contents.is_none()) {
            let contents = file.hash(control)?;
            if file.contents.replace(contents).is_some_and(|before| before != contents) {
                return Err(changed(&file.path, "its contents differ"));
            }
        }
        Ok(())
    }

    /// Whether these are the files that were `recorded`; their contents are hashed where that alone decides, and known
    /// afterwards where they are.
    ///
    /// # Errors
    /// As [`Self::hash`].
    pub fn is(&mut self, recorded: &Self, control: &Control) -> Result<bool> {
        if self.files.len() != recorded.files.len() {
            return Ok(false);
        }
        // What needs no hash first: where the last file is another one, the first need not be read.
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

    /// The files were seen to be `now`, whatever their times were when they were recorded.
    pub fn see_again(&mut self, now: &Self) {
        for (file, now) in self.files.iter_mut().zip(&now.files) {
            (file.stat, file.settled) = (now.stat, now.settled);
        }
    }

    /// The paths alone: what stays the same when the files change.
    pub fn paths_only(&self) -> Self {
        let bare = |file: &FileIdentity| FileIdentity {
            path: file.path.clone(),
            stat: Stat::default(),
            settled: false,
            contents: None,
        };
        Self { files: self.files.iter().map(bare).collect() }
    }

    /// Without what `chmod`, a restore or a rename changes.
    pub fn lasting(&self) -> Self {
        let lasting = |file: &FileIdentity| FileIdentity {
            stat: Stat { changed: (0, 0), inode: 0, ..file.stat },
            settled: true,
            ..file.clone()
        };
        Self { files: self.files.iter().map(lasting).collect() }
    }

    /// A digest of times of change and inodes: where it is the same, so are the files. None while they are not settled.
    pub fn seen(&self) -> Option<u128> {
        let settled = self.files.iter().all(|file| file.settled);
        let words = self.files.iter().flat_map(|FileIdentity { stat, .. }| {
            [
                stat.bytes,
                stat.modified.0 as u64,
                stat.modified.1 as u64,
                stat.changed.0 as u64,
                stat.changed.1 as u64,
                stat.inode,
            ]
        });
        settled.then(|| xxh3_128(bytemuck::cast_slice(&words.collect::<Vec<u64>>())))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
#[path = "identity/tests.rs"]
mod tests;
