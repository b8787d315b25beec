//! The embedded images: kernels compiled in advance, so that nothing is compiled where the program runs. A crate with sources has an archive of
//! images, `images.tar.zst`, made by `scripts/make-images`: for each source a CUBIN for each of [`ARCHITECTURES`], and PTX that drivers compile for
//! later GPUs, all by NVRTC 12.8, so that drivers from CUDA 12.8 on accept them. Its first entry has the hashes of the sources, which a test
//! compares. A CUBIN for compute `x.y` runs on GPUs of compute `x.z` with `z >= y`.

use std::io::Read;

use xxhash_rust::xxh3::xxh3_128;

use crate::Version;
use crate::error::{GpuError, GpuResult};
use crate::source::CudaSource;

/// The compute capabilities for which there are CUBINs.
pub const ARCHITECTURES: [Version; 5] = [version(7, 5), version(8, 0), version(8, 6), version(8, 9), version(9, 0)];

/// The compute capability of the PTX, which later GPUs take.
pub const PORTABLE: Version = version(9, 0);

const STAMP: &str = "STAMP";

const fn version(major: u32, minor: u32) -> Version {
    Version { major, minor }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageForm {
    /// A CUBIN if there is one for the GPU, else PTX.
    Best,
    Portable,
}

/// The image of a source for a GPU of this compute capability; PTX is zero-terminated. Errors: [`GpuError::Image`]: there is none.
pub fn image(source: &CudaSource, capability: Version, form: ImageForm) -> GpuResult<Vec<u8>> {
    let serves = |made: &&Version| made.major == capability.major && made.minor <= capability.minor;
    let native = ARCHITECTURES.iter().rev().find(serves).filter(|_| form == ImageForm::Best);
    let name = entry_name(source, &native.map_or_else(portable_target, cubin_target));
    let missing = || GpuError::Image { name: name.clone() };
    let found = entries(source.images)?.into_iter().find(|(entry, _)| *entry == name);
    found.map(|(_, bytes)| bytes).ok_or_else(missing)
}

/// The archive of images of `sources`. `compile` makes the image for a target: a CUBIN for `sm_*`, zero-terminated PTX for `compute_*`.
pub fn make(
    compile: impl Fn(&CudaSource, &str) -> Result<Vec<u8>, String>,
    sources: &[&'static CudaSource],
) -> Result<Vec<u8>, String> {
    let mut made = vec![(STAMP.to_owned(), stamp(sources).into_bytes())];
    for source in sources {
        for target in ARCHITECTURES.iter().map(cubin_target).chain([portable_target()]) {
            made.push((entry_name(source, &target), compile(source, &target)?));
        }
    }
    archive(&made).map_err(|error| error.to_string())
}

/// The contents of an archive's first entry: names and hashes of these sources.
pub fn stamp(sources: &[&'static CudaSource]) -> String {
    let line = |source: &&CudaSource| format!("{} {:032x}\n", source.name, xxh3_128(source.code().as_bytes()));
    sources.iter().map(line).collect()
}

pub fn entries(archive: &[u8]) -> GpuResult<Vec<(String, Vec<u8>)>> {
    let read = || -> std::io::Result<Vec<(String, Vec<u8>)>> {
        let mut archive = tar::Archive::new(zstd::Decoder::new(archive)?);
        let mut entries = Vec::new();
        for entry in archive.entries()? {
            let mut entry = entry?;
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes)?;
            entries.push((entry.path()?.to_string_lossy().into_owned(), bytes));
        }
        Ok(entries)
    };
    read().map_err(|error| GpuError::Image { name: error.to_string() })
}

fn archive(entries: &[(String, Vec<u8>)]) -> std::io::Result<Vec<u8>> {
    // A high compression level, since archives are made rarely.
    let mut archive = tar::Builder::new(zstd::Encoder::new(Vec::new(), 19)?);
    for (name, bytes) in entries {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, name, bytes.as_slice())?;
    }
    archive.into_inner()?.finish()
}

fn cubin_target(capability: &Version) -> String {
    format!("sm_{}{}", capability.major, capability.minor)
}

fn portable_target() -> String {
    format!("compute_{}{}", PORTABLE.major, PORTABLE.minor)
}

fn entry_name(source: &CudaSource, target: &str) -> String {
    let stem = source.name.trim_end_matches(".cu");
    if target.starts_with("sm_") { format!("{stem}.{target}.cubin") } else { format!("{stem}.ptx") }
}
