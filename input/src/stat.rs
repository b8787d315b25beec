//! Size, times and inode of a file, which show whether it changed. File systems' clocks have a tick, and changes within a tick have the same time. So
//! a file is *settled* only if its last change is older than that: then all later changes show, except unwritten ones of a mapping.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::storage::RemoteBytes;
use trimill_system::{Error, Result};

/// The longest tick of a clock that counts nanoseconds (100 ticks a second), doubled.
pub(super) const TICK: Duration = Duration::from_millis(20);
const COARSE_TICK: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stat {
    pub bytes: u64,
    /// Last modification: seconds since 1970 and nanoseconds. Programs can set it.
    pub modified: (i64, i64),
    /// Last change of the file or its metadata (ctime), in the same form.
    pub changed: (i64, i64),
    /// For a remote object, a number derived from its tag.
    pub inode: u64,
}

impl Stat {
    pub(super) fn of(metadata: &Metadata) -> Self {
        Self {
            bytes: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            inode: metadata.ino(),
        }
    }

    /// Fails if the file at `path`, which had this state, has another one `now`.
    pub(super) fn unchanged(&self, now: &Self, path: &Path) -> Result<()> {
        let differs = |how: &str| Err(changed(path, how));
        if self.inode != now.inode {
            differs("another file was put in its place")
        } else if self.bytes != now.bytes {
            differs(&format!("it had {} bytes and now has {}", self.bytes, now.bytes))
        } else if self.modified != now.modified {
            differs("its time of modification differs")
        } else if self.changed != now.changed {
            differs("its time of change differs: it was written, renamed, linked, or given other permissions")
        } else {
            Ok(())
        }
    }

    /// Whether any change from `now` on shows in the times.
    pub(super) fn is_settled(&self, now: SystemTime) -> bool {
        let (Ok(seconds), Ok(nanos)) = (u64::try_from(self.changed.0), u32::try_from(self.changed.1)) else {
            return false;
        };
        let tick = if nanos == 0 { COARSE_TICK } else { TICK };
        now.duration_since(UNIX_EPOCH).is_ok_and(|now| now > Duration::new(seconds, nanos) + tick)
    }
}

/// The error for an input that changed between passes.
pub fn changed(path: &Path, how: &str) -> Error {
    Error::data(path, format!("changed while it was read ({how})"))
        .expected("an input that stays as it is until it is read")
        .advice("start again when nothing writes to it any more")
}

/// A file of an input, as it was before it was read.
#[derive(Debug)]
pub struct Watched {
    pub(super) path: PathBuf,
    pub(super) stat: Stat,
    pub(super) settled: bool,
    /// For a remote object, whose URL is `path`: a number that stays the same while its contents do; every read compares it.
    pub(super) tag: Option<u128>,
}

impl Watched {
    /// A server's object; `None` if nothing shows whether its contents stay the same.
    pub(super) fn object(object: &dyn RemoteBytes) -> Option<Self> {
        let tag = object.tag()?;
        let stat = Stat { bytes: object.bytes(), inode: tag as u64, ..Stat::default() };
        Some(Self { path: object.name().to_path_buf(), stat, settled: true, tag: Some(tag) })
    }

    /// The state of the file at `path`; `None` if it is no regular file.
    pub fn new(path: &Path) -> Result<Option<Self>> {
        let metadata = path.metadata().map_err(|e| Error::read(path, e))?;
        let stat = Stat::of(&metadata);
        let settled = stat.is_settled(SystemTime::now());
        Ok(metadata.is_file().then(|| Self { path: path.to_path_buf(), stat, settled, tag: None }))
    }

    /// Fails if the file changed since then.
    pub fn unchanged(&self) -> Result<()> {
        if self.tag.is_some() {
            return Ok(());
        }
        // Opening makes a file server report its current state; `stat` alone does not.
        let now = match File::open(&self.path).and_then(|file| file.metadata()) {
            Ok(metadata) => Stat::of(&metadata),
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Err(changed(&self.path, "it is gone")),
            Err(e) => return Err(Error::read(&self.path, e)),
        };
        self.stat.unchanged(&now, &self.path)
    }
}
