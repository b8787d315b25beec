//! Finds GPUs. Checks in this order: the driver's library exists, starts, is new enough, sees a device. Never panics; takes no device memory.

use std::fmt;
use std::sync::OnceLock;

use cudarc::driver::{result, sys};
use libloading::Library;
use thiserror::Error;

/// The oldest supported driver, by its version of CUDA: earlier ones lack functions, such as the second version of event timing.
const OLDEST: Version = Version { major: 12, minor: 8 };

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    pub major: u32,
    pub minor: u32,
}

impl Version {
    /// From the driver's form, `1000 major + 10 minor`.
    fn packed(number: i32) -> Self {
        let number = number.unsigned_abs();
        Self { major: number / 1000, minor: number % 1000 / 10 }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Whether the driver's library is installed, regardless of GPUs; faster than [`find()`].
pub fn has_driver() -> bool {
    // The driver's names on Linux; `cudarc` tries 34 names, which takes half a millisecond. SAFETY: runs the initialisers of the library that the
    // system's loader finds under this name: the driver that the administrator installed.
    let load = |name| unsafe { Library::new(name) };
    static PRESENT: OnceLock<bool> = OnceLock::new();
    *PRESENT.get_or_init(|| ["libcuda.so", "libcuda.so.1"].into_iter().any(|name| load(name).is_ok()))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error)]
pub enum Absence {
    #[error("no CUDA driver is installed: libcuda.so was not found; install the NVIDIA driver, or count on the CPU")]
    NoDriverLibrary,
    /// The driver's library was loaded, but a call failed with this error of the CUDA driver API.
    #[error("the CUDA driver does not work (error {0}); see what nvidia-smi says")]
    DriverNotReady(u32),
    #[error("the CUDA driver implements CUDA {found}; expected {OLDEST} or later; update the NVIDIA driver")]
    DriverTooOld { found: Version },
    #[error("the CUDA driver sees no GPU; if there is one, look at CUDA_VISIBLE_DEVICES")]
    NoDevice,
}

impl From<result::DriverError> for Absence {
    fn from(error: result::DriverError) -> Self {
        match error.0 {
            sys::CUresult::CUDA_ERROR_NO_DEVICE => Self::NoDevice,
            code => Self::DriverNotReady(code as u32),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GpuInfo {
    /// The driver's number, under `CUDA_VISIBLE_DEVICES`.
    pub ordinal: u32,
    pub name: String,
    /// In bytes; other programs may hold some of it.
    pub memory: u64,
    pub compute_capability: Version,
    pub multiprocessors: u32,
}

/// The GPUs of this machine, at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundGpus {
    /// The version of CUDA that the driver implements.
    pub driver: Version,
    /// By ordinal.
    pub devices: Vec<GpuInfo>,
}

pub fn find() -> Result<FoundGpus, Absence> {
    if !has_driver() {
        return Err(Absence::NoDriverLibrary);
    }
    result::init()?;
    let mut number = 0;
    // SAFETY: the library is loaded (checked above), and `number` outlives the call that writes it.
    unsafe { sys::cuDriverGetVersion(&mut number) }.result()?;
    let driver = Version::packed(number);
    if driver < OLDEST {
        return Err(Absence::DriverTooOld { found: driver });
    }
    let devices = (0..result::device::get_count()?).map(device).collect::<Result<Vec<_>, _>>()?;
    if devices.is_empty() { Err(Absence::NoDevice) } else { Ok(FoundGpus { driver, devices }) }
}

fn device(ordinal: i32) -> Result<GpuInfo, Absence> {
    use sys::CUdevice_attribute::{
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR as MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR as MINOR,
        CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT as MULTIPROCESSORS,
    };
    let handle = result::device::get(ordinal)?;
    // SAFETY: `handle` is a device that the driver just named.
    let attribute = |which| unsafe { result::device::get_attribute(handle, which) }.map(i32::unsigned_abs);
    Ok(GpuInfo {
        ordinal: ordinal.unsigned_abs(),
        name: result::device::get_name(handle)?,
        // SAFETY: as above.
        memory: unsafe { result::device::total_mem(handle) }? as u64,
        compute_capability: Version { major: attribute(MAJOR)?, minor: attribute(MINOR)? },
        multiprocessors: attribute(MULTIPROCESSORS)?,
    })
}

#[cfg(test)]
mod tests;
