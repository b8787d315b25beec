//! The CUDA sources compile, and their images are current. Needs NVRTC, not a GPU.

use std::path::Path;

use trimill_baselines::SOURCES;
use trimill_kernels::testing::sources;

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
