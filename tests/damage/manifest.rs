//! Manifests that are changed, cut, or belong to other spills.

use trimill::testing::clean::CleanReport;
use trimill::testing::error::Kind;
use trimill::testing::graph::GraphSize;
use trimill::testing::spill::manifest::MANIFEST_VERSION;
use trimill::testing::spill::{Codec, Manifest, ManifestGraph};

use crate::spill_support::*;

#[test]
fn every_changed_byte_of_a_manifest_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("manifest.json");
    // Of version 1, where row blocks are called frames, and of the current one.
    let first = Manifest::read(&fixture_dir()).unwrap();
    let blocks: Vec<_> = first.partitions.iter().map(|spill| (spill.row_block_arcs, spill.row_blocks)).collect();
    assert_eq!(blocks, [(8, 2), (4, 2)]);
    assert_eq!(first.partitions[0].largest_block_bytes, 276_020);
    let size = GraphSize { vertices: 70_000, edges: 14, longest_row: 5, probes: u64::MAX };
    let graph = ManifestGraph { size, wedges: u128::MAX, report: CleanReport { arcs: 28, ..CleanReport::default() } };
    let current = Manifest { version: MANIFEST_VERSION, graph: Some(graph), ..first.clone() };
    std::fs::copy(fixture_dir().join("manifest.json"), &path).unwrap();
    for manifest in [first, current] {
        if manifest.graph.is_some() {
            manifest.write(dir.path()).unwrap();
        }
        assert_eq!(Manifest::read(dir.path()).unwrap(), manifest);
        let whole = std::fs::read(&path).unwrap();
        for at in 0..whole.len() {
            for bit in 0..8 {
                let mut flipped = whole.clone();
                flipped[at] ^= 1 << bit;
                std::fs::write(&path, &flipped).unwrap();
                let error = failure(Manifest::read(dir.path()));
                assert_eq!(error.kind(), Kind::Data);
                assert!(error.to_string().contains("manifest.json"), "{error}");
            }
            std::fs::write(&path, &whole[..at]).unwrap();
            failure(Manifest::read(dir.path()));
        }
    }
    std::fs::remove_file(&path).unwrap();
    assert_eq!(failure(Manifest::read(dir.path())).kind(), Kind::Data);
}

#[test]
fn a_manifest_names_the_very_files_it_was_written_for() {
    let dir = tempfile::tempdir().unwrap();
    let mut manifest = Manifest::read(&fixture_dir()).unwrap();
    let summary = tiny().write(dir.path(), "part-00001.spill", Codec::Zstd, 1);
    let error = failure(manifest.open(dir.path(), &manifest.partitions[1]));
    assert!(error.to_string().contains("as the manifest says"), "{error}");
    assert_eq!(failure(manifest.open(dir.path(), &manifest.partitions[0])).kind(), Kind::Data);
    manifest.partitions = vec![(&summary).into()];
    manifest.write(dir.path()).unwrap();
    let back = Manifest::read(dir.path()).unwrap();
    assert_eq!(back, manifest);
    assert!(back.open(dir.path(), &back.partitions[0]).is_ok());
    manifest.partitions[0].file = "../part-00001.spill".into();
    manifest.write(dir.path()).unwrap();
    assert!(failure(Manifest::read(dir.path())).to_string().contains("beside the manifest"));
}
