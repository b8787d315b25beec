//! The spill format: round trips, the layout of the header, the bytes of blocks, the fixture of version 2.

use std::ops::Range;

use crate::common::place::make_pipe;
use crate::readers::support::{on, refused};
use crate::spill_support::*;
use proptest::prelude::*;
use trimill::testing::partition::prune::Prune;
use trimill::testing::spill::block::{RowEndsMut, RowNumbers, decode, encode};
use trimill::testing::spill::manifest::MANIFEST_VERSION;
use trimill::testing::spill::{Codec, CodedRows, Manifest, ManifestJob, ManifestPartition, SpillWriter};
use trimill::{Control, Kind};
use xxhash_rust::xxh3::xxh3_64;

#[test]
fn the_fixture_of_version_2_holds_these_rows() {
    let manifest = Manifest::read(&fixture_dir()).unwrap();
    assert_eq!(manifest.fingerprint, FINGERPRINT);
    assert_eq!((manifest.vertices, manifest.edges), (70_000, 14));
    assert_eq!(manifest.job.partitioner, "contiguous");
    assert_eq!((manifest.version, &manifest.graph), (2, &fixture_graph()));
    let [zstd, plain] = &manifest.partitions[..] else { panic!("two partitions") };
    let spill = manifest.open(&fixture_dir(), zstd).unwrap();
    assert_eq!(spill.summary().header.codec, Codec::Zstd);
    fixture().assert_is_in(&spill);
    let spill = manifest.open(&fixture_dir(), plain).unwrap();
    assert_eq!(spill.summary().header.codec, Codec::Plain);
    tiny().assert_is_in(&spill);
}

/// To be run manually, once for each version of the format: `cargo test --test stages spill_format -- --ignored`.
#[test]
#[ignore = "writes the fixture of the current version"]
fn write_the_fixture() {
    let dir = fixture_dir();
    let partitions = [("part-00000.spill", fixture(), Codec::Zstd), ("part-00001.spill", tiny(), Codec::Plain)];
    let job = ManifestJob {
        input: "graph".into(),
        partitioner: "contiguous".into(),
        prune: Prune::Direct,
        seed: "1".into(),
        parts: "2".into(),
    };
    let partitions = partitions.map(|(name, partition, codec)| (&partition.write(&dir, name, codec, 2)).into());
    let partitions: Vec<ManifestPartition> = partitions.into();
    let (version, graph) = (MANIFEST_VERSION, fixture_graph());
    let manifest = Manifest { version, fingerprint: FINGERPRINT, job, vertices: 70_000, edges: 14, graph, partitions };
    manifest.write(&dir).unwrap();
}

#[test]
fn the_header_is_as_specified() {
    let dir = tempfile::tempdir().unwrap();
    let summary = tiny().write(dir.path(), "part-00007.spill", Codec::Zstd, 1);
    let bytes = std::fs::read(&summary.path).unwrap();
    assert_eq!(summary.bytes, bytes.len() as u64);
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let long = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    assert_eq!(&bytes[..8], b"TRIMSPIL");
    assert_eq!((word(8), &bytes[12..16]), (2, &[1, 0, 0, 0][..]));
    assert_eq!(bytes[16..32], FINGERPRINT.to_le_bytes());
    assert_eq!([word(32), word(36), word(40), word(44)], [7, 3, 6, 2]);
    assert_eq!([long(48), long(56)], [5, 4], "resident and row block arcs");
    assert_eq!([long(64), long(72), long(80), long(88)], [1 << 40, 3, (1 << 50) + 1, 3]);
    assert_eq!(long(96), 4 * 6 + 4 * (3 + 3 + 5) + 4 * (3 + 4), "raw bytes");
    assert_eq!(long(104) + long(112), bytes.len() as u64);
    assert_eq!(long(120), xxh3_64(&bytes[long(104) as usize..]));
    assert_eq!(bytes[128..152], [0; 24]);
    assert_eq!((long(152), summary.checksum), (xxh3_64(&bytes[..152]), xxh3_64(&bytes[..152])));
    assert_eq!((summary.header.row_block_arcs, summary.header.row_blocks), (4, 2));
    assert_eq!((summary.header.raw_bytes, summary.largest_block_bytes), (96, 4 * (2 + 2 + 1)));
}

#[test]
fn blocks_of_many_sizes_come_back_on_any_number_of_threads() {
    // Rows of 0 to 300,000 successors, several blocks a section, two longer than a block, in chunks and all at once.
    let numbered = 3_000_100;
    let row = |number: u32| match number % 50 {
        0 if number >= 3_000_000 => (0..number / 10).collect(),
        k if number >= 2_900_000 => (0..k).map(|i| i * (number / 50)).collect::<Vec<u32>>(),
        _ => vec![],
    };
    let is_local = |number: u32| number % 3 == 1;
    let row_block = |range: Range<u32>| (range.clone(), range.filter(|&n| !is_local(n)).map(row).collect());
    let partition = Partition {
        numbered,
        locals: (0..numbered).filter(|&n| is_local(n)).map(|n| (n, row(n))).collect(),
        row_blocks: vec![row_block(0..2_950_000), row_block(2_950_000..2_950_000), row_block(2_950_000..numbered)],
    };
    let dir = tempfile::tempdir().unwrap();
    let mut checksums = Vec::new();
    for threads in [1, 5] {
        on(threads, || {
            for (codec, chunk) in [(Codec::Zstd, 1_000), (Codec::Zstd, usize::MAX), (Codec::Plain, 200_000)] {
                let summary = partition.write(dir.path(), "a.spill", codec, chunk);
                checksums.push(summary.checksum);
                let spill = opened(&summary.path).unwrap();
                let report = spill.report();
                assert!(report.resident.blocks > 5 && report.total.rows == u64::from(numbered));
                partition.assert_is_in(&spill);
            }
        });
    }
    assert_eq!(checksums[..3], checksums[3..], "the bytes do not depend on the threads");
}

#[test]
fn an_unfinished_spill_leaves_nothing_and_a_directory_that_is_missing_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = SpillWriter::create(dir.path(), "a.spill", tiny().header(), Codec::Zstd).unwrap();
    writer.resident(&tiny().resident()).unwrap();
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    assert!(!dir.path().join("a.spill").exists());
    drop(writer);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    let missing = dir.path().join("missing");
    let error = failure(SpillWriter::create(&missing, "a.spill", tiny().header(), Codec::Zstd));
    assert_eq!(error.kind(), Kind::Resource);
    let control = Control::silent();
    control.stop();
    let path = tiny().write(dir.path(), "a.spill", Codec::Zstd, 1).path;
    assert_eq!(failure(opened(&path).unwrap().verify(&control)).kind(), Kind::Interrupted);
}

/// Opening a named pipe would wait for a writer.
#[test]
fn a_named_pipe_is_no_spill_and_no_manifest() {
    let dir = tempfile::tempdir().unwrap();
    let paths = ["part-00000.spill", "manifest.json"].map(|name| dir.path().join(name));
    paths.iter().for_each(make_pipe);
    refused(opened(&paths[0]), &["no regular file"]);
    refused(Manifest::read(dir.path()), &["no regular file"]);
}

#[test]
fn a_report_counts_what_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let path = tiny().write(dir.path(), "a.spill", Codec::Plain, 1).path;
    let json = serde_json::to_value(opened(&path).unwrap().report()).unwrap();
    assert_eq!(json["codec"], "plain");
    assert_eq!(json["fingerprint"], "0123456789abcdef0011223344556677");
    assert_eq!(json["resident"]["rows"], 3);
    assert_eq!((&json["ranks"]["rows"], &json["ranks"]["stored_bytes"]), (&6.into(), &6.into()));
    assert_eq!(json["resident"]["stored_bytes"], 11, "each value takes a byte");
    assert_eq!(json["row_blocks"][1]["first"], 3);
    assert_eq!(json["row_blocks"][1]["arcs"], 2);
    assert_eq!(json["row_blocks"][0]["raw_bytes"], 16);
    assert_eq!(json["total"]["ratio"], 4.0);
}

/// Ascending values with gaps of every size, the largest below `u32::MAX`.
fn ascending(count: usize) -> impl Strategy<Value = Vec<u32>> {
    let value = prop_oneof![0..300u32, any::<u32>().prop_map(|v| v.min(u32::MAX - 2)), Just(u32::MAX - 2)];
    proptest::collection::btree_set(value, 0..count).prop_map(|set| set.into_iter().collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn any_partition_comes_back(partition in partition(), chunk in 1usize..20, plain: bool) {
        let dir = tempfile::tempdir().unwrap();
        let codec = if plain { Codec::Plain } else { Codec::Zstd };
        let summary = partition.write(dir.path(), "a.spill", codec, chunk);
        let spill = opened(&summary.path).unwrap();
        partition.assert_is_in(&spill);
        prop_assert_eq!(&summary, spill.summary());
    }

    #[test]
    fn rows_with_giant_gaps_come_back(rows in proptest::collection::vec(ascending(300), 0..9)) {
        let bytes = block_of(&rows, false);
        let successors = rows.concat();
        let (mut ends, mut back) = (vec![0u64; rows.len()], vec![1; successors.len()]);
        let base = u64::from(u32::MAX) + 5;
        let into = RowEndsMut { numbers: RowNumbers::UpTo(u32::MAX - 1), ends: &mut ends, base };
        decode(&bytes, into, &mut back, &mut Vec::new()).unwrap();
        prop_assert_eq!(back, successors);
        let expected: Vec<u64> = crate::spill_support::ends(rows.iter())[1..].iter().map(|end| base + end).collect();
        prop_assert_eq!(ends, expected);
    }
}

fn block_of(rows: &[Vec<u32>], numbered: bool) -> Vec<u8> {
    let (mut coded, mut bytes) = (CodedRows::default(), Vec::new());
    let mut coder = coded.coder();
    for (i, row) in (1000..).zip(rows) {
        coder.push(if numbered { i } else { u32::MAX }, row, |_| true, |successor| successor);
    }
    encode(coded.all(), numbered, &mut bytes);
    bytes
}

#[test]
fn a_block_is_as_specified() {
    let rows = [vec![0, 1, 5], vec![], vec![130, 260, 999]];
    // 1000 is 0b111_1101000, other numbers follow without gaps; then three lengths; then successors: 0, 1, three skipped; 130 is 128 + 2, etc.
    let numbers = [0xe8, 7, 0, 0];
    let rest = [3, 0, 3, 0, 0, 3, 0x82, 1, 0x81, 1, 0xe2, 5];
    assert_eq!(block_of(&rows, true), [&numbers[..], &rest].concat());
    assert_eq!(block_of(&rows, false), rest);
}
