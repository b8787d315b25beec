//! The CUDA sources of this crate.

use trimill_kernels::{BLOCK, CudaSource, SourceFile};

use crate::gpu::primitives;

/// Made by `scripts/make-images`.
const IMAGES: &[u8] = include_bytes!("../images.tar.zst");

macro_rules! part {
    ($name:literal) => {
        SourceFile { name: $name, text: include_str!(concat!("../cuda/", $name)) }
    };
}

/// A source; the primitives that all share come first.
macro_rules! source {
    ($($name:literal),*; $own:literal) => {
        CudaSource {
            name: $own,
            parts: &[primitives::CONSTANTS, BLOCK, part!("primitives.cuh"), $(part!($name),)* part!($own)],
            images: IMAGES,
        }
    };
}

pub(crate) static POLAK: CudaSource = source!(; "polak.cu");

pub(crate) static REVERSE_EDGE: CudaSource = source!("rows.cuh"; "reverse_edge.cu");

pub(crate) static SKIFF: CudaSource = source!("rows.cuh"; "skiff.cu");

pub(crate) static RADIX_BINNING: CudaSource = source!(; "radix_binning.cu");

/// All sources; each is compiled on its own.
pub static SOURCES: [&CudaSource; 4] = [&POLAK, &REVERSE_EDGE, &SKIFF, &RADIX_BINNING];
