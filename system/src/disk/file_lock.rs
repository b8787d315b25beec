//! A lock on a file or a directory that one process at a time uses; the kernel releases it however the process ends.

use std::fs::File;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::error::{Error, Result};

/// Unlocks on drop.
#[derive(Debug)]
pub struct FileLock(pub(super) File);

impl FileLock {
    /// Locks `file`, which stands for `dir`; `None` if it is locked already. Warns if the file system cannot lock files.
    pub fn take(file: File, dir: &Path) -> Option<Self> {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return None,
            Err(_) => tracing::warn!(
                "{}: its file system cannot lock files: see that no other job runs in this directory at the same time",
                dir.display()
            ),
        }
        Some(Self(file))
    }

    /// As [`Self::take`], for the directory itself.
    pub fn of_dir(dir: &Path) -> Result<Option<Self>> {
        let file = File::open(dir).map_err(|e| Error::write(dir, e))?;
        Ok(Self::take(file, dir))
    }

    pub fn as_file(&self) -> &File {
        &self.0
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // A process that another thread starts has the file open, too, until its program is loaded; closing it here would not unlock it.
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}
