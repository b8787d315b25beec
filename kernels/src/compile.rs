//! From a source to what a device runs: CUBINs and the portable assembly (PTX), by NVRTC.

use crate::Version;
use crate::error::Result;
use crate::nvrtc::{Nvrtc, Output};
use crate::source::Source;

/// What NVRTC is told, for a target such as `sm_90`. The target comes first.
fn options(target: String) -> [String; 2] {
    [format!("--gpu-architecture={target}"), "--std=c++17".into()]
}

/// Machine code for devices of this compute capability.
///
/// # Errors
/// [`crate::Error::Compile`].
pub fn cubin(nvrtc: &Nvrtc, source: &Source, capability: Version) -> Result<Vec<u8>> {
    let target = format!("sm_{}{}", capability.major, capability.minor);
    nvrtc.compile(source, &options(target), Output::Cubin)
}

/// Portable assembly for devices of this compute capability or later, ending in a zero.
///
/// # Errors
/// [`crate::Error::Compile`].
pub fn ptx(nvrtc: &Nvrtc, source: &Source, capability: Version) -> Result<Vec<u8>> {
    let target = format!("compute_{}{}", capability.major, capability.minor);
    nvrtc.compile(source, &options(target), Output::Ptx)
}
