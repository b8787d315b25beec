//! Checks of a crate's CUDA sources and of their images.

use std::path::Path;

use crate::images::{ARCHITECTURES, ImageForm, PORTABLE, entries, image, stamp};
use crate::{CudaSource, Version};

/// The images were made of the current sources, and there is one for each supported GPU.
///
/// # Panics
/// If not.
pub fn have_images(sources: &[&'static CudaSource]) {
    let archive = entries(sources[0].images).unwrap();
    let (first, parts_text) = &archive[0];
    assert_eq!(first, "STAMP");
    assert_eq!(String::from_utf8_lossy(parts_text), stamp(sources), "a source has changed: run scripts/make-images");
    assert_eq!(archive.len(), 1 + sources.len() * (ARCHITECTURES.len() + 1));
    let is_elf = |bytes: &[u8]| bytes.starts_with(b"\x7fELF");
    for source in sources {
        assert_eq!(source.images, sources[0].images);
        let of = |major, minor, form| image(source, Version { major, minor }, form).unwrap();
        for architecture in ARCHITECTURES {
            assert!(
                is_elf(&of(architecture.major, architecture.minor, ImageForm::Best)),
                "{} {architecture}",
                source.name
            );
        }
        // A CUBIN of an earlier GPU of the same generation; PTX for later generations.
        assert_eq!(of(8, 7, ImageForm::Best), of(8, 6, ImageForm::Best));
        assert_ne!(of(8, 6, ImageForm::Best), of(8, 0, ImageForm::Best));
        let portable = of(12, 0, ImageForm::Best);
        assert_eq!(portable, of(PORTABLE.major, PORTABLE.minor, ImageForm::Portable));
        let text = std::str::from_utf8(&portable).unwrap();
        // A version of PTX that drivers from CUDA 12.8 on accept, zero-terminated.
        assert!(text.ends_with('\0') && text.contains(".version 8.7\n.target sm_90\n"), "{}", source.name);
        for (kernel, _) in source.kernels() {
            assert!(text.contains(&format!(".visible .entry {kernel}(")), "{kernel}");
        }
        assert_eq!(text.matches(".visible .entry ").count(), source.kernels().count());
    }
}

/// Every `.cu` file of a folder is a source.
///
/// # Panics
/// If one is not, or a file is missing.
pub fn are_all_of(folder: &Path, sources: &[&'static CudaSource]) {
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".cu"))
        .collect();
    files.sort();
    let mut names: Vec<_> = sources.iter().map(|source| source.name.to_owned()).collect();
    names.sort();
    assert_eq!(files, names);
}
