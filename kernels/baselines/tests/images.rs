//! The images of the CUDA sources are current.

use std::path::Path;

use trimill_baselines::SOURCES;
use trimill_kernels::testing::sources;

#[test]
fn every_source_has_its_images() {
    sources::have_images(&SOURCES);
}

#[test]
fn every_file_of_the_folder_is_a_source() {
    sources::are_all_of(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/cuda")), &SOURCES);
}
