//! The CUDA sources compile, and their images are current. Needs NVRTC, not a GPU.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::path::Path;

use trimill_kernels::testing::{nvrtc, sources};
use trimill_kernels::{CudaSource, GpuError, SOURCES, SourceFile, Version};

#[test]
fn every_source_compiles_for_every_architecture() {
    sources::compile(&SOURCES);
}

#[test]
fn every_source_has_its_images() {
    sources::have_images(&SOURCES);
}

#[test]
fn every_file_of_the_folder_is_a_source() {
    sources::are_all_of(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/cuda")), &SOURCES);
}

#[test]
fn a_refused_source_is_an_error_with_the_compilers_words() {
    let Some(nvrtc) = nvrtc() else { return };
    static WRONG: CudaSource = CudaSource {
        name: "wrong.cu",
        parts: &[SourceFile { name: "wrong.cu", text: "__global__ void f() { no_such_thing(); }" }],
        images: &[],
    };
    let error = nvrtc.cubin(&WRONG, Version { major: 9, minor: 0 }).unwrap_err();
    let GpuError::Compile { source_name, architecture, code, log } = &error else { panic!("{error}") };
    assert_eq!((*source_name, code.as_str()), ("wrong.cu", "NVRTC_ERROR_COMPILATION"));
    assert!(architecture.ends_with("sm_90") && log.contains("wrong.cu(1)") && log.contains("no_such_thing"), "{error}");
    static FINE: CudaSource = CudaSource {
        name: "fine.cu",
        parts: &[SourceFile { name: "fine.cu", text: "__global__ void f() {}" }],
        images: &[],
    };
    let error = nvrtc.cubin(&FINE, Version { major: 1, minor: 0 }).unwrap_err();
    assert!(matches!(error, GpuError::Compile { .. }), "{error}");
}
