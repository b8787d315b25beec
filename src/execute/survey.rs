//! What this machine has, the defaults of a job, and the rates that estimates use.

use std::collections::BTreeMap;
use std::path::Path;

use crate::cache;
use crate::rates::MachineRates;
use crate::report::DoctorReport;
use crate::report::doctor::{Directory, GpuFound};
use trimill_system::disk::temporary_folder;
use trimill_system::memory::default_budget;
use trimill_system::{Bytes, machine};

pub fn survey(work_dir: Option<&Path>, cache_dir: Option<&Path>) -> DoctorReport {
    let rates = MachineRates::of(cache_dir);
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
        system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        cores: machine::cores(),
        memory: machine::memory(),
        memory_free: machine::free_memory(),
        work_dir: Directory::survey(work_dir.map_or_else(temporary_folder, Path::to_path_buf)),
        cache_dir: cache::cache_dir(cache_dir).map(Directory::survey),
        gpus,
        no_gpu,
        default_host_memory: host,
        default_device_memory: Bytes(device),
        default_backend: backend.into(),
        rates: rates.rates,
        rates_measured: rates.measured,
        versions: BTreeMap::from([("CUDA driver".into(), driver)]),
    }
}
