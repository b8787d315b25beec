//! What `trimill doctor` does: tells what this machine has and what a job would use by default.

use std::collections::BTreeMap;
use std::path::Path;

use super::machine;
use super::setup::{default_cache_dir, default_host_memory};
use crate::bytes::Bytes;
use crate::report::DoctorReport;
use crate::report::doctor::{Directory, Gpu};

/// Surveys the machine.
pub fn doctor(work_dir: Option<&Path>, cache_dir: Option<&Path>) -> DoctorReport {
    let (gpus, no_gpu, driver) = match trimill_kernels::find() {
        Ok(found) => {
            let gpus = found.devices.iter().map(|device| Gpu {
                name: device.name.clone(),
                compute_capability: device.compute_capability.to_string(),
                memory: Bytes(device.memory),
            });
            (gpus.collect(), None, found.driver.to_string())
        }
        Err(absence) => (Vec::new(), Some(absence.to_string()), "none".into()),
    };
    let found_memory = gpus.first().map(|gpu: &Gpu| gpu.memory.get());
    let compiler = trimill_kernels::nvrtc().map_or_else(|absence| absence.to_string(), |version| version.to_string());
    let host = default_host_memory();
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
        work_dir: Directory::survey(work_dir.map_or_else(std::env::temp_dir, Path::to_path_buf)),
        cache_dir: cache_dir.map(Path::to_path_buf).or_else(default_cache_dir).map(Directory::survey),
        gpus,
        no_gpu,
        default_host_memory: host,
        default_device_memory: Bytes(device),
        default_backend: backend.into(),
        versions: BTreeMap::from([("CUDA driver".into(), driver), ("NVRTC".into(), compiler)]),
    }
}
