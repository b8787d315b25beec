//! From CUDA source to what a device runs: a CUBIN by NVRTC, or the portable assembly (PTX).
//!
//! A CUBIN runs on its architecture alone and needs nothing but the driver, of any age that knows the device; about 0.1 s
//! to compile. Sources have no includes, so no headers of the toolkit are needed.

use crate::Version;
use crate::error::Result;
use crate::nvrtc::{Nvrtc, Output, Source};

/// Method `lstc`, and the sum that ends it.
pub static LSTC: Source = Source { name: "lstc.cu", code: include_str!("../cuda/lstc.cu") };

/// Method `packed`: its parts one after another.
pub static PACKED: Source = Source {
    name: "packed.cu",
    code: concat!(
        "#line 1 \"packed_words.cuh\"\n",
        include_str!("../cuda/packed_words.cuh"),
        "#line 1 \"packed_rows.cuh\"\n",
        include_str!("../cuda/packed_rows.cuh"),
        "#line 1 \"packed_assign.cuh\"\n",
        include_str!("../cuda/packed_assign.cuh"),
        "#line 1 \"packed_stream.cuh\"\n",
        include_str!("../cuda/packed_stream.cuh"),
        "#line 1 \"packed_by_thread.cuh\"\n",
        include_str!("../cuda/packed_by_thread.cuh"),
        "#line 1 \"packed.cu\"\n",
        include_str!("../cuda/packed.cu"),
    ),
};

/// A source after the primitives that several share.
macro_rules! paper {
    ($name:literal $(, $shared:literal)*) => {
        Source {
            name: $name,
            code: concat!(
                include_str!("../cuda/primitives.cuh"),
                $(include_str!(concat!("../cuda/", $shared)),)*
                "\n#line 1 \"", $name, "\"\n",
                include_str!(concat!("../cuda/", $name))
            ),
        }
    };
}

/// Method `polak`.
pub static POLAK: Source = paper!("polak.cu");

/// Method `reverse-edge`.
pub static REVERSE_EDGE: Source = paper!("reverse_edge.cu", "rows.cuh");

/// Method `skiff`.
pub static SKIFF: Source = paper!("skiff.cu", "rows.cuh");

/// Method `radix-binning`.
pub static RADIX_BINNING: Source = paper!("radix_binning.cu");

/// Rows as they are stored, to rows as they are read.
pub static UNPACK: Source = paper!("unpack.cu");

/// All sources, each of which compiles alone.
pub static SOURCES: [&Source; 7] = [&LSTC, &PACKED, &UNPACK, &POLAK, &REVERSE_EDGE, &SKIFF, &RADIX_BINNING];

/// What NVRTC is told, for a target such as `sm_90`. The target comes first.
pub(crate) fn options(target: &str) -> Vec<String> {
    vec![format!("--gpu-architecture={target}"), "--std=c++17".into(), "--generate-line-info".into()]
}

/// The architecture's name, such as `sm_90`.
pub(crate) fn architecture(capability: Version) -> String {
    format!("sm_{}{}", capability.major, capability.minor)
}

/// Machine code for devices of this compute capability.
///
/// # Errors
/// [`crate::Error::Compile`].
pub fn cubin(nvrtc: &Nvrtc, source: &'static Source, capability: Version) -> Result<Vec<u8>> {
    nvrtc.compile(source, &options(&architecture(capability)), Output::Cubin)
}

/// Portable assembly for devices of this compute capability or later, ending in a zero.
///
/// # Errors
/// [`crate::Error::Compile`].
pub fn ptx(nvrtc: &Nvrtc, source: &'static Source, capability: Version) -> Result<Vec<u8>> {
    let target = format!("compute_{}{}", capability.major, capability.minor);
    // Without line information: it names paths and doubles the size.
    nvrtc.compile(source, &options(&target)[..2], Output::Ptx)
}
