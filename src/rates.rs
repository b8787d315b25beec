//! The rates of the machine, from which times are estimated ([`crate::plan::cost`]). `trimill doctor --measure` writes them to the cache
//! directory, where later jobs read them. The defaults are of a machine with 16 cores, an H200 and one disk (docs/results/spills-h200.md,
//! row-blocks-h200.md, methods-h200.md, auto-h200.md). They need not be exact: they only rank plans that give the same count.

use std::io::Read;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::cache;
use trimill_system::{Error, Result, disk, sealed};

/// The file's name in the cache directory.
pub const RATES_NAME: &str = "rates.json";

const VERSION: u32 = 3;

/// The rates of a machine: per second, where nothing else is said.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rates {
    /// Arcs of a graph that one core handles while partitions are sized.
    pub size_arcs: f64,
    /// Kept arcs that one core marks, filters, encodes and writes when partitions are built.
    pub build_arcs: f64,
    /// Bytes written to the disk where spills go.
    pub write_bytes: f64,
    /// Bytes read from that disk.
    pub read_bytes: f64,
    /// Arcs that reach a counter on the CPU.
    pub cpu: ArcRates,
    /// Arcs that reach a counter on a GPU, which decodes rows itself.
    pub gpu: ArcRates,
    /// Arcs that are copied to a GPU encoded, and decoded there.
    pub gpu_arcs: f64,
    /// How fast a core counts, as a multiple of the speed of the core that `plan::cost` was fitted to.
    pub bitmap: f64,
    /// How fast method `lstc` is on the GPU, as a multiple of an H200's speed.
    pub lstc: f64,
    /// How fast method `packed` is on the GPU, as a multiple of an H200's speed.
    pub packed: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MachineRates {
    #[serde(flatten)]
    pub rates: Rates,
    /// Whether they were measured on this machine; else they are defaults.
    pub measured: bool,
}

impl MachineRates {
    /// The rates measured on this machine, from the cache directory that a job names, else from this user's; else the defaults.
    pub fn of(cache_dir: Option<&Path>) -> Self {
        let measured = cache::cache_dir(cache_dir).and_then(|dir| Rates::measured(&dir));
        Self { rates: measured.unwrap_or_default(), measured: measured.is_some() }
    }
}

/// Arcs that a core reads from memory or the page cache and checks, and decodes where the device does not.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArcRates {
    /// Of the graph's file.
    pub graph: f64,
    /// Of spills.
    pub spill: f64,
}

impl Default for Rates {
    fn default() -> Self {
        Self {
            size_arcs: 20e6,
            build_arcs: 60e6,
            write_bytes: 2.0e9,
            read_bytes: 1.9e9,
            cpu: ArcRates { graph: 0.4e9, spill: 0.3e9 },
            gpu: ArcRates { graph: 1.4e9, spill: 0.5e9 },
            gpu_arcs: 8e9,
            bitmap: 1.0,
            lstc: 1.0,
            packed: 1.0,
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredRates {
    version: u32,
    rates: Rates,
}

impl Rates {
    /// The rates measured on this machine, from the cache directory `dir`. Ignores damage or another version with a warning, another user's without.
    pub fn measured(dir: &Path) -> Option<Self> {
        let path = Self::path(dir);
        let mut text = Vec::new();
        let file = disk::open_own(&path).ok().flatten()?;
        let stored = match file.take(1 << 16).read_to_end(&mut text) {
            Ok(_) => sealed::read::<StoredRates>(&text).filter(|stored| stored.version == VERSION),
            Err(_) => None,
        };
        let rates = stored.map(|stored| stored.rates).filter(Self::are_sound);
        if rates.is_none() {
            tracing::warn!(
                "{} is damaged, or another version wrote it: the default rates are used; 'trimill doctor --measure' measures anew",
                path.display()
            );
        }
        rates
    }

    fn are_sound(&self) -> bool {
        let Self { size_arcs, build_arcs, write_bytes, read_bytes, cpu, gpu, gpu_arcs, bitmap, lstc, packed } = *self;
        let of = |arcs: ArcRates| [arcs.graph, arcs.spill];
        let all = [size_arcs, build_arcs, write_bytes, read_bytes, gpu_arcs, bitmap, lstc, packed];
        all.into_iter().chain(of(cpu)).chain(of(gpu)).all(|rate| rate.is_finite() && rate > 0.0)
    }

    /// The file in the cache directory `dir`.
    pub fn path(dir: &Path) -> PathBuf {
        dir.join(RATES_NAME)
    }

    /// Writes the file, whole or not at all.
    pub fn store(&self, dir: &Path) -> Result<PathBuf> {
        disk::private_dir(dir)?;
        let path = Self::path(dir);
        let text = sealed::seal(&StoredRates { version: VERSION, rates: *self })
            .map_err(|error| Error::usage(format!("the rates cannot be serialized ({error})")))?;
        disk::replace(&path, text.as_bytes())?;
        Ok(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_come_back_and_others_do_not() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Rates::measured(dir.path()), None);
        let rates = Rates { size_arcs: 1.25e7, lstc: 0.5, ..Rates::default() };
        let path = rates.store(dir.path()).unwrap();
        assert_eq!(Rates::measured(dir.path()), Some(rates));
        let whole = std::fs::read_to_string(&path).unwrap();
        for (from, to) in [("0.5", "0.6"), ("version\": 3", "version\": 4"), ("size_arcs", "size_arcz")] {
            assert!(whole.contains(from));
            std::fs::write(&path, whole.replace(from, to)).unwrap();
            assert_eq!(Rates::measured(dir.path()), None, "{from}");
        }
        for wrong in [0.0, -1.0, f64::INFINITY] {
            let _ = Rates { gpu_arcs: wrong, ..rates }.store(dir.path());
            assert_eq!(Rates::measured(dir.path()), None, "{wrong}");
        }
    }
}
