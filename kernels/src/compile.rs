//! Compiles a source by NVRTC, to a CUBIN or to PTX, the portable assembly.

use crate::Version;
use crate::error::GpuResult;
use crate::nvrtc::{ImageTarget, Nvrtc};
use crate::source::CudaSource;

fn options(target: String) -> [String; 2] {
    [format!("--gpu-architecture={target}"), "--std=c++17".into()]
}

pub fn cubin(nvrtc: &Nvrtc, source: &CudaSource, capability: Version) -> GpuResult<Vec<u8>> {
    let target = format!("sm_{}{}", capability.major, capability.minor);
    nvrtc.compile(source, &options(target), ImageTarget::Cubin)
}

/// PTX for devices of this compute capability or later, zero-terminated.
pub fn ptx(nvrtc: &Nvrtc, source: &CudaSource, capability: Version) -> GpuResult<Vec<u8>> {
    let target = format!("compute_{}{}", capability.major, capability.minor);
    nvrtc.compile(source, &options(target), ImageTarget::Ptx)
}
