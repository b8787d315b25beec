//! What tells one input from another, and whether an input is still what it was.
//!
//! A file is known by its path, its bytes as the system counts and dates them ([`Stat`]), and a hash of all its contents.
//! Nobody can set the time of change (ctime) of a file, so while it and the inode are the same, so are the contents. Where
//! only these differ (after `chmod`, a restore, a rename, a copy), or say nothing, the contents are hashed and the hash decides.
//!
//! They say nothing of a file that changed just before it was looked at: clocks of file systems tick, and a change within
//! the same tick leaves the same time. Such a file is not [*settled*](FileIdentity::settled). It is hashed before it is read and
//! after, and once more by who meets it next. A file that a process writes through a mapping may change without a new time until
//! the system writes it back; nothing notices that.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use super::contents;
use crate::control::Control;
use crate::error::{Error, Result};
use crate::{hex, path_text};

/// The longest tick of a clock that counts nanoseconds (100 ticks a second, twice).
const TICK: Duration = Duration::from_millis(20);
/// The tick of file systems that keep no parts of a second.
const COARSE_TICK: Duration = Duration::from_secs(2);

/// What the system says of a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stat {
    /// The size in bytes.
    pub bytes: u64,
    /// The time of the last modification: seconds since 1970, and nanoseconds. Programs can set it.
    pub modified: (i64, i64),
    /// The time of the last change of the file or of what the system says of it.
    pub changed: (i64, i64),
    /// The inode.
    pub inode: u64,
}

impl Stat {
    /// What the system said.
    pub(super) fn of(metadata: &Metadata) -> Self {
        Self {
            bytes: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            inode: metadata.ino(),
        }
    }

    /// What differs in a file that was `self` and is `now`; none where nothing does.
    pub(super) fn difference(&self, now: &Self) -> Option<String> {
        if self.inode != now.inode {
            Some("another file was put in its place".into())
        } else if self.bytes != now.bytes {
            Some(format!("it had {} bytes and now has {}", self.bytes, now.bytes))
        } else if self.modified != now.modified {
            Some("its time of modification differs".into())
        } else if self.changed != now.changed {
            Some("its time of change differs: it was written, renamed, linked, or given other permissions".into())
        } else {
            None
        }
    }

    /// Whether any change from `now` on shows in the times.
    fn is_settled(&self, now: SystemTime) -> bool {
        let (Ok(seconds), Ok(nanos)) = (u64::try_from(self.changed.0), u32::try_from(self.changed.1)) else {
            return false;
        };
        let tick = if nanos == 0 { COARSE_TICK } else { TICK };
        now.duration_since(UNIX_EPOCH).is_ok_and(|now| now > Duration::new(seconds, nanos) + tick)
    }
}

/// The error for an input at `path` that changed while it was read.
pub(super) fn changed(path: &Path, how: &str) -> Error {
    Error::data(path, format!("changed while it was read ({how})"))
        .expected("an input that stays as it is until it is read")
        .advice("start again when nothing writes to it any more")
}

/// A file of an input, as it was before it was read.
#[derive(Debug)]
pub struct Watched {
    path: PathBuf,
    stat: Stat,
    settled: bool,
}

impl Watched {
    /// Looks at the file at `path`; none where it is no regular file.
    ///
    /// # Errors
    /// [`crate::error::Kind::Data`] where it cannot be looked at.
    pub fn new(path: &Path) -> Result<Option<Self>> {
        let metadata = path.metadata().map_err(|e| Error::read(path, e))?;
        let stat = Stat::of(&metadata);
        let settled = stat.is_settled(SystemTime::now());
        Ok(metadata.is_file().then(|| Self { path: path.to_path_buf(), stat, settled }))
    }

    /// Fails where the file is no longer what it was.
    ///
    /// # Errors
    /// [`crate::error::Kind::Data`] with what differs.
    pub fn unchanged(&self) -> Result<()> {
        // Opening it asks a file server how it is now, which looking alone does not.
        let now = match File::open(&self.path).and_then(|file| file.metadata()) {
            Ok(metadata) => Stat::of(&metadata),
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Err(changed(&self.path, "it is gone")),
            Err(e) => return Err(Error::read(&self.path, e)),
        };
        self.stat.difference(&now).map_or(Ok(()), |how| Err(changed(&self.path, &how)))
    }

    /// What identifies the file; none where no path leads to it any more.
    fn identity(&self) -> Option<FileIdentity> {
        let path = self.path.canonicalize().ok()?;
        Some(FileIdentity { path, stat: self.stat, settled: self.settled, contents: None })
    }
}

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
        let Some(files) = files.iter().map(Watched::identity).collect::<Option<Vec<_>>>() else { return Ok(None) };
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
