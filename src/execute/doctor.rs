//! What `trimill doctor` does: reports what this machine has, the defaults of a job, and the rates that estimates use.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::directories::default_cache_dir;
use super::measure::{measure, measured_scale};
use crate::rates::Rates;
use crate::report::DoctorReport;
use crate::report::doctor::{Directory, GpuFound};
use trimill_system::bytes::Bytes;
use trimill_system::control::Control;
use trimill_system::disk::temporary_folder;
use trimill_system::error::{Error, Result};
use trimill_system::machine;
use trimill_system::memory::default_budget;

/// What `trimill doctor` is asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DoctorRequest {
    /// The directory that a job would work in, and where spills go while rates are measured.
    pub work_dir: Option<PathBuf>,
    /// The directory of the cache.
    pub cache_dir: Option<PathBuf>,
    /// Whether rates are to be measured.
    pub measure: bool,
}

/// Surveys the machine; with `measure` a graph is counted in several ways, and the rates are stored in the cache directory.
///
/// # Errors
/// When there is no space to measure in, or no cache directory; when stopped.
pub fn doctor(request: &DoctorRequest, control: &Control) -> Result<DoctorReport> {
    if request.measure {
        let cache = request.cache_dir.clone().or_else(default_cache_dir);
        let cache = cache
            .ok_or_else(|| Error::usage("no cache directory for the rates").advice("name one with --cache-dir"))?;
        let work = request.work_dir.clone().unwrap_or_else(temporary_folder);
        measure(measured_scale(), &work, control)?.store(&cache)?;
    }
    Ok(survey(request.work_dir.as_deref(), request.cache_dir.as_deref()))
}

pub fn survey(work_dir: Option<&Path>, cache_dir: Option<&Path>) -> DoctorReport {
    let cache = cache_dir.map(Path::to_path_buf).or_else(default_cache_dir);
    let measured = cache.as_deref().and_then(Rates::measured);
    let (gpus, no_gpu, driver) = match trimill_kernels::find() {
        Ok(found) => {
            let gpus = found.devices.iter().map(|device| GpuFound {
                name: device.name.clone(),
                compute_capability: device.compute_capability.to_string(),
                memory: Bytes(device.memory),
            });
            (gpus.collect(), None, found.driver.to_string())
        }
        Err(absence) => (Vec::new(), Some(absence.to_string()), "none".into()),
    };
    let found_memory = gpus.first().map(|gpu: &GpuFound| gpu.memory.get());
    let host = default_budget();
    let half = host.get() / 2;
    let (backend, device) = match found_memory {
        Some(memory) => ("cuda", memory / 10 * 9),
        None => ("cpu", half),
    };
    DoctorReport {
        version: env!("CARGO_PKG_VERSION").into(),
        system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        cores: std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get),
        memory: machine::memory(),
        memory_free: machine::free_memory(),
        work_dir: Directory::survey(work_dir.map_or_else(temporary_folder, Path::to_path_buf)),
        cache_dir: cache.map(Directory::survey),
        gpus,
        no_gpu,
        default_host_memory: host,
        default_device_memory: Bytes(device),
        default_backend: backend.into(),
        rates: measured.unwrap_or_default(),
        rates_measured: measured.is_some(),
        versions: BTreeMap::from([("CUDA driver".into(), driver)]),
    }
}
