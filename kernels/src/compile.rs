//! Compiles a source by NVRTC: to a CUBIN or to the portable assembly (PTX).

use crate::Version;
use crate::error::Result;
use crate::nvrtc::{Nvrtc, Output};
use crate::source::Source;

/// NVRTC's options for a target such as `sm_90`.
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

/// PTX for devices of this compute capability or later, zero-terminated.
///
/// # Errors
/// [`crate::Error::Compile`].
pub fn ptx(nvrtc: &Nvrtc, source: &Source, capability: Version) -> Result<Vec<u8>> {
    let target = format!("compute_{}{}", capability.major, capability.minor);
    nvrtc.compile(source, &options(target), Output::Ptx)
}
