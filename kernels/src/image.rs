//! Gets an image that the driver can load: from the cache, else by NVRTC, else the PTX that is part of the program.
//!
//! The embedded PTX is for compute 7.5 and was made with NVRTC 12.8, so that every driver that serves at all takes it; the
//! driver compiles it for its device. Its first line says of which source it was made; a test holds it current.

use std::path::Path;

use xxhash_rust::xxh3::xxh3_128;

use crate::cache::{self, Key};
use crate::compile::{architecture, options};
use crate::error::{Error, Result};
use crate::nvrtc::{Nvrtc, Output, Source};
use crate::{Absence, Version};

/// The compute capability for which the embedded PTX is made.
pub const PTX_CAPABILITY: Version = Version { major: 7, minor: 5 };

/// The embedded PTX of a source; empty for one that is not part of the program.
pub fn embedded_ptx(source: &Source) -> &'static str {
    match source.name {
        "lstc.cu" => include_str!("../cuda/lstc.ptx"),
        "packed.cu" => include_str!("../cuda/packed.ptx"),
        "unpack.cu" => include_str!("../cuda/unpack.ptx"),
        "polak.cu" => include_str!("../cuda/polak.ptx"),
        "reverse_edge.cu" => include_str!("../cuda/reverse_edge.ptx"),
        "skiff.cu" => include_str!("../cuda/skiff.ptx"),
        "radix_binning.cu" => include_str!("../cuda/radix_binning.ptx"),
        _ => "",
    }
}

/// Where an image came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// From the cache's folder.
    Cached {
        /// The version of NVRTC that had compiled it.
        nvrtc: Version,
    },
    /// Compiled now.
    Compiled {
        /// By this version of NVRTC.
        nvrtc: Version,
    },
    /// The PTX that is part of the program, since there is no NVRTC, or one that does not know the device,
    /// or one whose code the driver does not take.
    Embedded {
        /// Why nothing was compiled.
        because: String,
    },
}

/// What the driver loads, ending in a zero where it is text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Image {
    pub(crate) bytes: Vec<u8>,
    pub(crate) origin: Origin,
}

impl Image {
    /// The embedded PTX, ending in a zero, and why it is taken.
    pub(crate) fn embedded(source: &Source, because: String) -> Self {
        Self { bytes: embedded_ptx(source).bytes().chain([0]).collect(), origin: Origin::Embedded { because } }
    }
}

/// Where to get images.
#[derive(Debug, Clone, Copy, Default)]
pub struct Images<'a> {
    /// The folder for compiled kernels; `None`: they are not kept.
    pub cache: Option<&'a Path>,
    /// Use the embedded PTX whether NVRTC is there or not.
    pub embedded_only: bool,
}

impl Images<'_> {
    /// The image of a source for devices of this compute capability.
    pub(crate) fn image(&self, source: &'static Source, capability: Version) -> Image {
        self.compiled(source, capability).unwrap_or_else(|because| Image::embedded(source, because))
    }

    fn compiled(&self, source: &'static Source, capability: Version) -> Result<Image, String> {
        if self.embedded_only {
            return Err("it was asked for".into());
        }
        let nvrtc = Nvrtc::open().map_err(|absence: Absence| absence.to_string())?;
        self.compiled_by(&nvrtc, source, capability).map_err(|error: Error| error.to_string())
    }

    fn compiled_by(&self, nvrtc: &Nvrtc, source: &'static Source, capability: Version) -> Result<Image> {
        let options = options(&architecture(capability));
        let key = Key::new(source, &options, nvrtc.version());
        let nvrtc_version = nvrtc.version();
        if let Some(bytes) = self.cache.and_then(|folder| cache::read(folder, key)) {
            return Ok(Image { bytes, origin: Origin::Cached { nvrtc: nvrtc_version } });
        }
        let bytes = nvrtc.compile(source, &options, Output::Cubin)?;
        if let Some(folder) = self.cache {
            cache::write(folder, key, &bytes);
        }
        Ok(Image { bytes, origin: Origin::Compiled { nvrtc: nvrtc_version } })
    }
}

/// The line with which a source's embedded PTX begins.
pub fn ptx_stamp(source: &Source) -> String {
    format!("// Made by scripts/make-ptx of {} with xxh3 {:032x}\n", source.name, xxh3_128(source.code.as_bytes()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use std::fs;

    use super::*;
    use crate::compile::{LSTC, PACKED, SOURCES};
    use crate::packed::arguments::Kernel;

    #[test]
    fn the_embedded_ptx_is_of_this_source() {
        for source in SOURCES {
            let ptx = embedded_ptx(source);
            assert!(ptx.starts_with(&ptx_stamp(source)), "{} has changed: run scripts/make-ptx", source.name);
            // What drivers from 12.8 on take.
            assert!(ptx.contains(".version 8.7\n.target sm_75\n"));
            assert_eq!(ptx.matches(".visible .entry ").count(), source.code.matches("__global__").count());
        }
        for kernel in ["lstc_tiled", "lstc_global", "sum"] {
            assert!(embedded_ptx(&LSTC).contains(&format!(".visible .entry {kernel}(")), "{kernel}");
        }
        for kernel in Kernel::ALL {
            let entry = format!(".visible .entry {}(", kernel.name());
            assert!(embedded_ptx(&PACKED).contains(&entry), "{kernel:?}");
        }
    }

    #[test]
    fn without_a_compiler_the_ptx_serves() {
        let images = Images { cache: None, embedded_only: true };
        let image = images.image(&LSTC, Version { major: 9, minor: 0 });
        assert_eq!(image.bytes.split_last().unwrap(), (&0, embedded_ptx(&LSTC).as_bytes()));
    }

    #[test]
    fn a_second_start_takes_the_image_from_the_cache() {
        let Some(nvrtc) = crate::testing::nvrtc() else { return };
        let folder = tempfile::tempdir().unwrap();
        let images = Images { cache: Some(folder.path()), embedded_only: false };
        let get = |minor| images.compiled_by(&nvrtc, &LSTC, Version { major: 8, minor }).unwrap();
        let compiled = get(0);
        assert_eq!(compiled.origin, Origin::Compiled { nvrtc: nvrtc.version() });
        let cached = get(0);
        assert_eq!(cached.origin, Origin::Cached { nvrtc: nvrtc.version() });
        assert_eq!(cached.bytes, compiled.bytes);
        assert_eq!(get(6).origin, Origin::Compiled { nvrtc: nvrtc.version() });
        for entry in fs::read_dir(folder.path()).unwrap() {
            let path = entry.unwrap().path();
            let mut bytes = fs::read(&path).unwrap();
            *bytes.last_mut().unwrap() ^= 1;
            fs::write(path, bytes).unwrap();
        }
        assert_eq!(get(0), compiled, "a damaged entry is compiled again");
        assert_eq!(get(0), cached);
    }
}
