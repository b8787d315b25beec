//! The report of `trimill doctor`: what a machine has.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::rates::Rates;
use trimill_system::{Bytes, disk, path_text};

/// What this machine has, and the defaults of a job.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DoctorReport {
    /// The operating system and the processor's architecture.
    pub system: String,
    /// CPU threads that a job would use.
    pub cores: usize,
    /// RAM; a limit of a container counts.
    pub memory: Bytes,
    /// RAM that is free now.
    pub memory_free: Bytes,
    /// Where buckets, graphs and spills would go.
    pub work_dir: Directory,
    /// Where prepared graphs are kept.
    pub cache_dir: Option<Directory>,
    /// The GPUs that can be used.
    pub gpus: Vec<GpuFound>,
    /// Why no GPU can be used; null if one can.
    pub no_gpu: Option<String>,
    /// The host's budget without --host-memory.
    pub default_host_memory: Bytes,
    /// The largest budget of the device without --device-memory.
    pub default_device_memory: Bytes,
    /// The backend that `auto` means here.
    pub default_backend: String,
    /// The rates from which `auto` estimates.
    pub rates: Rates,
    /// Whether the rates were measured here; else they are the defaults.
    pub rates_measured: bool,
    /// Versions of driver, compiler and libraries by name.
    pub versions: BTreeMap<String, String>,
}

/// A directory that files go to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Directory {
    /// Its path.
    #[serde(serialize_with = "path_text::shown")]
    pub path: PathBuf,
    /// The free space there; null where it is unknown.
    pub free: Option<Bytes>,
    /// Whether files can be written there.
    pub writable: bool,
    /// Whether it is in RAM (tmpfs), so that a spill saves no memory.
    pub in_ram: bool,
    /// Whether it, or one above it, is a file and no directory.
    #[serde(default)]
    pub is_file: bool,
}

/// A GPU.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct GpuFound {
    /// Its name.
    pub name: String,
    /// Its compute capability, such as `9.0`.
    pub compute_capability: String,
    /// Its memory.
    pub memory: Bytes,
}

impl Directory {
    /// Surveys `path`: the directory itself, or the nearest one above it that exists.
    pub fn survey(path: PathBuf) -> Self {
        const TMPFS: i64 = 0x0102_1994;
        const RAMFS: i64 = 0x8584_58f6;
        // The nearest one above a relative path may be the current directory.
        let absolute = std::path::absolute(&path).unwrap_or_else(|_| path.clone());
        let there = absolute.ancestors().find(|there| there.exists());
        let Some(there) = there.filter(|there| there.is_dir()) else {
            return Self { path, is_file: there.is_some(), ..Self::default() };
        };
        let free = disk::free_space(there).ok();
        let kind = rustix::fs::statfs(there).ok().map(|found| found.f_type);
        Self {
            free,
            writable: rustix::fs::access(there, rustix::fs::Access::WRITE_OK).is_ok(),
            in_ram: kind.is_some_and(|kind| kind == TMPFS || kind == RAMFS),
            is_file: false,
            path,
        }
    }

    /// The directory in one line.
    pub fn describe(&self) -> String {
        let mut text = self.path.display().to_string();
        if self.is_file {
            return text + ", NOT usable: it, or one above it, is a file and no directory";
        }
        match self.free {
            Some(free) => text.push_str(&format!(", {free} free")),
            None => text.push_str(", free space unknown"),
        }
        if !self.writable {
            text.push_str(", NOT writable");
        }
        if self.in_ram {
            text.push_str(", in RAM: a spill there saves no memory");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_is_not_there_yet_is_surveyed_through_its_parent() {
        let dir = tempfile::tempdir().unwrap();
        let found = Directory::survey(dir.path().join("a/b"));
        assert!(found.writable && found.free.unwrap() > Bytes::ZERO);
        assert_eq!(found.path, dir.path().join("a/b"));
        assert!(Directory::survey("not/there/yet".into()).free.is_some());
    }

    #[test]
    fn a_file_is_no_directory_that_can_be_written() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        std::fs::write(&file, "").unwrap();
        for path in [file.join("below"), file] {
            let found = Directory::survey(path);
            assert!(found.is_file && !found.writable && found.describe().contains("a file and no directory"));
        }
    }
}
