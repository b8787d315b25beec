//! The images of the CUDA sources of both crates are current, and there is one for each supported GPU.

use std::path::{Path, PathBuf};

use trimill_kernels::images::{ARCHITECTURES, ImageForm, PORTABLE, entries, image, stamp};
use trimill_kernels::{CudaSource, Version};

/// The folders of the sources of both crates, and these sources.
fn crates() -> [(PathBuf, &'static [&'static CudaSource]); 2] {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    [(own.join("cuda"), &trimill_baselines::SOURCES[..]), (own.join("../cuda"), &trimill_kernels::SOURCES[..])]
}

#[test]
fn every_source_has_its_images() {
    for (_, sources) in crates() {
        let archive = entries(sources[0].images).unwrap();
        let (first, hashes) = &archive[0];
        assert_eq!(first, "STAMP");
        assert_eq!(String::from_utf8_lossy(hashes), stamp(sources), "a source has changed: run scripts/make-images");
        assert_eq!(archive.len(), 1 + sources.len() * (ARCHITECTURES.len() + 1));
        for source in sources {
            assert_eq!(source.images, sources[0].images);
            let of = |major, minor, form| image(source, Version { major, minor }, form).unwrap();
            for Version { major, minor } in ARCHITECTURES {
                let is_elf = of(major, minor, ImageForm::Best).starts_with(b"\x7fELF");
                assert!(is_elf, "{} {major}.{minor}", source.name);
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
}

#[test]
fn every_file_of_the_folders_is_a_source() {
    for (folder, sources) in crates() {
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut files: Vec<_> = files.filter(|name| name.ends_with(".cu")).collect();
        files.sort();
        let mut names: Vec<_> = sources.iter().map(|source| source.name).collect();
        names.sort();
        assert_eq!(files, names);
    }
}
