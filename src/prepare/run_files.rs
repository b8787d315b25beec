//! Sorted runs in files, where neither the device nor the host's memory holds all arcs.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use trimill_kernels::prepare::{RunStore, StoredRun};

use trimill_system::disk;
use trimill_system::error::Error;

/// Files without names in a directory; each is removed when its run is dropped.
pub(super) struct RunFiles {
    dir: PathBuf,
}

impl RunFiles {
    pub(super) fn new(dir: &Path) -> Self {
        Self { dir: dir.to_path_buf() }
    }
}

struct RunFile {
    file: File,
    dir: PathBuf,
}

impl RunStore for RunFiles {
    fn begin(&self) -> io::Result<Box<dyn StoredRun>> {
        let file = disk::anonymous(&self.dir).map_err(told)?;
        Ok(Box::new(RunFile { file, dir: self.dir.clone() }))
    }
}

impl StoredRun for RunFile {
    fn write(&self, at: u64, keys: &[u64]) -> io::Result<()> {
        disk::write_at(&self.file, &self.dir, bytemuck::cast_slice(keys), 8 * at).map_err(told)
    }

    fn read(&self, at: u64, keys: &mut [u64]) -> io::Result<()> {
        disk::read_at(&self.file, bytemuck::cast_slice_mut(keys), 8 * at)
    }
}

/// With the text that names the directory.
fn told(error: Error) -> io::Error {
    io::Error::other(error.to_string())
}
