//! A file that is written under a temporary name, before it gets its final one.

use std::fs::File;
use std::io::{self, Write};
use std::num::NonZeroU64;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Advice, fadvise};
use tempfile::NamedTempFile;

use super::temporary::{Claim, TemporaryFile, claimed, marked};
use super::{faults, pass, step, write_at};
use crate::error::{Error, Result};

/// Readable by the owner only.
pub const PRIVATE: u32 = 0o600;
/// Readable by everybody whom the umask allows.
pub const SHARED: u32 = 0o666;

/// After this many bytes written in order, the system is asked to begin writing them to disk.
const FLUSHED: u64 = 32 << 20;

/// A file being written; removed on drop, unless [`NewFile::persist`] or [`NewFile::into_temporary`] took it.
#[derive(Debug)]
pub struct NewFile {
    file: NamedTempFile,
    name: PathBuf,
    /// Bytes written in order, and how many of them are on their way to disk.
    written: u64,
    flushed: u64,
}

impl NewFile {
    /// `prefix` and `suffix` are those of the temporary name.
    pub fn create(dir: &Path, prefix: &str, suffix: &str, mode: u32) -> Result<Self> {
        let prefix = marked(prefix);
        let make = || loop {
            // Opened here, because `tempfile_in` would hide the system's error and name the temporary file.
            let open = |path: &Path| File::options().read(true).write(true).create_new(true).mode(mode).open(path);
            let file = tempfile::Builder::new().prefix(&prefix).suffix(suffix).make_in(dir, open)?;
            if !matches!(claimed(file.as_file(), file.path()), Claim::Lost) {
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

    pub fn as_file(&self) -> &File {
        self.file.as_file()
    }

    /// May be called from many threads.
    pub fn write_at(&self, bytes: &[u8], position: u64) -> Result<()> {
        write_at(self.as_file(), &self.name, bytes, position)
    }

    pub fn sync(&self) -> Result<()> {
        step(|| faults::sync(self.as_file())).map_err(|e| self.failed(e))
    }

    /// Gives the file its final name, replacing any file of that name.
    pub fn persist(self, to: &Path) -> Result<()> {
        self.into_temporary().persist(to)
    }

    /// Ends writing; the file keeps its temporary name.
    pub fn into_temporary(self) -> TemporaryFile {
        let (file, path) = self.file.into_parts();
        TemporaryFile::new(path, file)
    }

    pub fn failed(&self, error: io::Error) -> Error {
        Error::write(&self.name, error)
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        pass(bytes, |bytes| self.file.as_file_mut().write_all(bytes))?;
        self.written += bytes.len() as u64;
        while self.written - self.flushed >= FLUSHED {
            // A hint to Linux to begin writing the pages, without waiting for them, so that a later `sync` waits less. It may fail.
            let _ = fadvise(self.file.as_file(), self.flushed, NonZeroU64::new(FLUSHED), Advice::DontNeed);
            self.flushed += FLUSHED;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
