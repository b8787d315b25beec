//! Manifests that are changed, cut, or belong to other spills.

use trimill::testing::spill::{Codec, Manifest};

use crate::common::flip;
use crate::readers::support::refused;
use crate::spill_support::*;

/// `system/src/sealed.rs` changes every byte and cuts everywhere.
#[test]
fn a_manifest_is_written_as_it_was_read_and_is_refused_if_it_was_changed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("manifest.json");
    let manifest = Manifest::read(&fixture_dir()).unwrap();
    let blocks: Vec<_> = manifest.partitions.iter().map(|spill| (spill.row_block_arcs, spill.row_blocks)).collect();
    assert_eq!(blocks, [(8, 2), (4, 2)]);
    assert_eq!(manifest.partitions[0].largest_block_bytes, 276_020);
    manifest.write(dir.path()).unwrap();
    let whole = std::fs::read(&path).unwrap();
    assert!(whole == std::fs::read(fixture_dir().join("manifest.json")).unwrap());
    flip(&path, 4 * whole.len() as u64);
    refused(Manifest::read(dir.path()), &["manifest.json"]);
    std::fs::remove_file(&path).unwrap();
    refused(Manifest::read(dir.path()), &[]);
}

#[test]
fn a_manifest_names_the_very_files_it_was_written_for() {
    let dir = tempfile::tempdir().unwrap();
    let mut manifest = Manifest::read(&fixture_dir()).unwrap();
    let summary = tiny().write(dir.path(), "part-00001.spill", Codec::Zstd, 1);
    refused(manifest.open(dir.path(), &manifest.partitions[1]), &["as the manifest says"]);
    refused(manifest.open(dir.path(), &manifest.partitions[0]), &[]);
    manifest.partitions = vec![(&summary).into()];
    manifest.write(dir.path()).unwrap();
    let back = Manifest::read(dir.path()).unwrap();
    assert_eq!(back, manifest);
    assert!(back.open(dir.path(), &back.partitions[0]).is_ok());
    manifest.partitions[0].file = "../part-00001.spill".into();
    manifest.write(dir.path()).unwrap();
    refused(Manifest::read(dir.path()), &["beside the manifest"]);
}
