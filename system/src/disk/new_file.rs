//! A file that is written under a temporary name, before it gets its final one.

use std::fs::File;
use std::io::{self, Write};
use std::num::NonZeroU64;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Advice, fadvise};
use tempfile::NamedTempFile;

use super::file_lock::FileLock;
use super::temporary::{is_lost, marked};
use super::{faults, pass, step, write_at};
use crate::bytes::Bytes;
use crate::error::{Error, Result};

/// Readable by the owner only.
pub const PRIVATE: u32 = 0o600;
/// Readable by everybody whom the umask allows.
pub const SHARED: u32 = 0o666;

/// After this many bytes written in order, the system is asked to begin writing them to disk.
const FLUSHED: u64 = 32 << 20;

/// A file under a temporary name, while it is written and until it gets its final name; removed on drop.
#[derive(Debug)]
pub struct NewFile {
    file: NamedTempFile,
    name: PathBuf,
    /// Bytes written in order, and how many of them are on their way to disk.
    written: u64,
    flushed: u64,
}

impl NewFile {
    /// `prefix` is that of the temporary name.
    pub fn create(dir: &Path, prefix: &str, mode: u32) -> Result<Self> {
        let prefix = marked(prefix);
        let make = || loop {
            // Opened here, because `tempfile_in` would hide the system's error and name the temporary file.
            let open = |path: &Path| File::options().read(true).write(true).create_new(true).mode(mode).open(path);
            let file = tempfile::Builder::new().prefix(&prefix).suffix(".tmp").make_in(dir, open)?;
            if !is_lost(file.as_file(), file.path()) {
                return Ok(file);
            }
        };
        let file = step(make).map_err(|e| Error::write(dir, e))?;
        Ok(Self { name: file.path().to_path_buf(), file, written: 0, flushed: 0 })
    }

    /// Errors name `path`, which the file is to become.
    #[must_use]
    pub fn known_as(mut self, path: &Path) -> Self {
        self.name = path.to_path_buf();
        self
    }

    pub fn name(&self) -> &Path {
        &self.name
    }

    /// The temporary path.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// For reading; works even after the file is renamed or removed.
    pub fn as_file(&self) -> &File {
        self.file.as_file()
    }

    pub fn bytes(&self) -> Bytes {
        Bytes(self.as_file().metadata().map_or(0, |metadata| metadata.len()))
    }

    /// May be called from many threads.
    pub fn write_at(&self, bytes: &[u8], position: u64) -> Result<()> {
        write_at(self.as_file(), &self.name, bytes, position)
    }

    pub fn sync(&self) -> Result<()> {
        step(|| faults::sync(self.as_file())).map_err(|e| Error::write(&self.name, e))
    }

    /// Gives the file its final name, replacing any file of that name. Errors: `Kind::Resource`; the file is removed.
    pub fn persist(self, to: &Path) -> Result<()> {
        let (lock, path) = self.file.into_parts();
        step(|| path.persist(to).map_err(|e| e.error)).map_err(|e| Error::write(to, e))?;
        // Unlocked only now: the name is final, so no sweep removes the file.
        drop(lock);
        Ok(())
    }

    /// As [`Self::persist`], unless a file has that name, which then stays. Returns whether the name was free.
    pub(super) fn persist_if_free(self, to: &Path) -> Result<bool> {
        let (lock, path) = self.file.into_parts();
        let named = step(|| match path.persist_noclobber(to) {
            Ok(()) => Ok(true),
            Err(_) if to.symlink_metadata().is_ok() => Ok(false),
            // Some file systems have neither such a rename nor hard links.
            Err(error) => error.path.persist(to).map(|()| true).map_err(|error| error.error),
        });
        drop(lock);
        named.map_err(|e| Error::write(to, e))
    }

    /// Gives the file its final name if that is free; returns its lock. Errors: `Kind::Resource`; the file is removed.
    pub fn persist_new(self, to: &Path) -> Result<Option<FileLock>> {
        let (lock, path) = self.file.into_parts();
        match step(|| path.persist_noclobber(to).map_err(|e| e.error)) {
            Ok(()) => Ok(Some(FileLock(lock))),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(None),
            Err(e) => Err(Error::write(to, e)),
        }
    }
}

impl AsRef<Path> for NewFile {
    fn as_ref(&self) -> &Path {
        self.path()
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        pass(bytes, |bytes| self.file.as_file_mut().write_all(bytes))?;
        self.written += bytes.len() as u64;
        while self.written - self.flushed >= FLUSHED {
            // A hint to Linux to begin writing the pages, so that a later `sync` waits less: a table of 2.2 GB is written half a second faster on a
            // virtual machine (docs/results/gathers-h200.txt). It may fail.
            let _ = fadvise(self.file.as_file(), self.flushed, NonZeroU64::new(FLUSHED), Advice::DontNeed);
            self.flushed += FLUSHED;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
