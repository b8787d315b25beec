//! The CUDA sources of this crate.

use crate::compact::constants as unpack_constants;
use crate::packed::constants as packed_constants;
use crate::prepare::constants as prepare_constants;
use crate::source::{CudaSource, SourceFile};
use crate::truss::constants as truss_constants;

/// Made by `scripts/make-images`.
const IMAGES: &[u8] = include_bytes!("../images.tar.zst");

macro_rules! part {
    ($name:literal) => {
        SourceFile { name: $name, text: include_str!(concat!("../cuda/", $name)) }
    };
}

/// Sums and scans over warps and blocks.
pub const BLOCK: SourceFile = part!("block.cuh");

/// Method `lstc`, and the final sum.
pub(crate) static LSTC: CudaSource = CudaSource { name: "lstc.cu", parts: &[BLOCK, part!("lstc.cu")], images: IMAGES };

pub static PACKED: CudaSource = CudaSource {
    name: "packed.cu",
    parts: &[
        packed_constants::TEXT,
        BLOCK,
        part!("packed_words.cuh"),
        part!("packed_rows.cuh"),
        part!("packed_assign.cuh"),
        part!("packed_found.cuh"),
        part!("packed_arcs.cuh"),
        part!("packed_stream.cuh"),
        part!("packed_by_thread.cuh"),
        part!("packed.cu"),
        part!("packed_by_group.cuh"),
        part!("packed_by_block.cuh"),
        part!("packed_by_warp.cuh"),
    ],
    images: IMAGES,
};

pub static UNPACK: CudaSource =
    CudaSource { name: "unpack.cu", parts: &[unpack_constants::TEXT, BLOCK, part!("unpack.cu")], images: IMAGES };

pub(crate) static PREPARE: CudaSource = CudaSource {
    name: "prepare.cu",
    parts: &[
        prepare_constants::TEXT,
        BLOCK,
        part!("prepare_sort.cuh"),
        part!("prepare_select.cuh"),
        part!("prepare.cu"),
        part!("prepare_encode.cuh"),
        part!("prepare_runs.cuh"),
    ],
    images: IMAGES,
};

pub(crate) static TRUSS: CudaSource =
    CudaSource { name: "truss.cu", parts: &[truss_constants::TEXT, BLOCK, part!("truss.cu")], images: IMAGES };

/// Each is compiled on its own.
pub static SOURCES: [&CudaSource; 5] = [&LSTC, &PACKED, &PREPARE, &TRUSS, &UNPACK];
