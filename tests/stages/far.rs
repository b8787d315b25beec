//! Ids and offsets beyond 2^31 and 2^32. Where real data would be too large, offsets are synthetic.
//!
//! | quantity | where it is checked |
//! | --- | --- |
//! | ids at 2^32 - 1, 2^48 - 1 and 2^64 - 2 in every format that can write them, assignments of them | here |
//! | ids up to 2^64 - 2 in files of counts | `tests/jobs/counts/settings.rs` |
//! | ids of every width against a set of edges | fuzz target `clean`, `tests/stages/corpus.rs` |
//! | spill: blocks past 2^33 bytes | here |
//! | spill: offsets of rows past 2^32 | `tests/stages/spill_format.rs`, `rows_with_giant_gaps_come_back` |
//! | graph file: rows past 2^32 arcs and bytes, found and read | `graph/src/far/tests.rs` |
//! | sets and ranks over 2^32 - 2 vertices | `graph/src/far/tests.rs` |
//! | wedges past 2^64 | `graph/src/far/tests.rs` |
//! | triangles of all partitions past 2^64 | `src/report/json.rs` |
//! | estimates and bounds of graphs of 3.6 billion vertices and 129 billion arcs | `tests/program/how_big_doc.rs` |
//! | triangles past 2^32 | `tests/jobs/counts.rs`, `closed_forms_hold` |
//! | readers: windows past 2^33 and 2^35 bytes, arcs past 2^32 of binary files | `input/src/far/tests.rs` |
//! | edges: sums and kept counts at arcs past 2^32 | `src/sums/blocks.rs`, `src/sums/part.rs` |
//! | kernels: pieces past 2^34 bytes of device memory | `kernels/src/arena.rs` |

use std::fs::File;
use std::os::unix::fs::FileExt;

use crate::common::job::{arcs, count};
use crate::spill_support::{failure, tiny};
use trimill::Kind;
use trimill::testing::spill::{Codec, SpillReader};
use trimill_counting::RowBlock;
use xxhash_rust::xxh3::xxh3_64;

/// Counts Zachary's karate club with ids that descend from `last`, written by `record` after `header`.
fn is_counted(name: &str, last: u64, header: &str, record: impl Fn(u64, u64) -> Vec<u8>) {
    let dir = tempfile::tempdir().unwrap();
    // The first line has the sizes.
    let arcs = arcs("karate.mtx").split_off(1);
    let bytes: Vec<u8> = arcs.iter().flat_map(|&(u, v)| record(last - u, last - v)).collect();
    std::fs::write(dir.path().join(name), [header.as_bytes(), &bytes].concat()).unwrap();
    let parts: String = (1..=34).map(|v| format!("{} {}\n", last - v, v % 3)).collect();
    std::fs::write(dir.path().join("parts.txt"), parts).unwrap();
    for settings in ["", "partition.parts = 3", "partition.partitioner = 'file:parts.txt'"] {
        let result = count(&format!("input.path = '{name}'\n{settings}"), dir.path()).unwrap();
        assert_eq!((result.vertices, result.edges, result.triangles), (34, 78, 45), "{name} {settings}");
    }
}

#[test]
fn ids_at_the_end_of_their_range_are_counted() {
    let words = |u: u64, v: u64| [u as u32, v as u32].map(u32::to_le_bytes).as_flattened().to_vec();
    let longs = |u: u64, v: u64| [u, v].map(u64::to_le_bytes).as_flattened().to_vec();
    let line = |u: u64, v: u64| format!("{u} {v}\n").into_bytes();
    let packed = |u: u64, v: u64| {
        let high = (u >> 32) as u32 | ((v >> 32) as u32) << 16;
        [u as u32, v as u32, high].map(u32::to_le_bytes).as_flattened().to_vec()
    };
    // Ids begin at 1 and end before `last`.
    for last in [(1 << 31) + 1, 1 << 32] {
        is_counted("g.u32", last, "", words);
    }
    for last in [1 << 31, (1 << 32) - 1, (1 << 32) + 20, u64::MAX] {
        is_counted("g.u64", last, "", longs);
        is_counted("g.txt", last, "", line);
    }
    is_counted("g.g500", 1 << 48, "", packed);
    let most = (1u64 << 32) - 2;
    let header = format!("%%MatrixMarket matrix coordinate pattern symmetric\n{most} {most} 78\n");
    is_counted("g.mtx", most + 1, &header, line);
}

#[test]
fn blocks_of_a_spill_lie_past_2_to_the_33_bytes() {
    // The block of the ranks, the first one of the file, becomes a hole of 8 GiB; only its length is read below.
    const HOLE: u64 = 1 << 33;
    let dir = tempfile::tempdir().unwrap();
    let partition = tiny();
    let bytes = std::fs::read(partition.write(dir.path(), "near.spill", Codec::Zstd, 10).path).unwrap();
    let number = |bytes: &[u8], at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let index_at = number(&bytes, 104);
    let (mut header, mut index) = (bytes[..160].to_vec(), bytes[index_at as usize..].to_vec());
    let [ranks, residents, row_blocks] = [0, 4, 8].map(|at| number(&index, at) as u32 as usize);
    assert_eq!((ranks, residents, row_blocks), (1, 1, 2));
    let blocks = 16 + 24 * row_blocks;
    let add = |bytes: &mut [u8], at: usize| {
        let moved = number(bytes, at) + HOLE;
        bytes[at..at + 8].copy_from_slice(&moved.to_le_bytes());
    };
    let first_stored = number(&index, blocks + 8);
    add(&mut index, blocks + 8);
    (1..=3).for_each(|block| add(&mut index, blocks + 48 * block));
    add(&mut header, 104);
    header[120..128].copy_from_slice(&xxh3_64(&index).to_le_bytes());
    let checksum = xxh3_64(&header[..152]);
    header[152..160].copy_from_slice(&checksum.to_le_bytes());

    let path = dir.path().join("far.spill");
    let file = File::create(&path).unwrap();
    let row_blocks_at = 160 + first_stored;
    file.write_all_at(&header, 0).unwrap();
    file.write_all_at(&bytes[row_blocks_at as usize..index_at as usize], row_blocks_at + HOLE).unwrap();
    file.write_all_at(&index, index_at + HOLE).unwrap();
    let spill = SpillReader::open(&path, None).unwrap();
    assert!(spill.summary().bytes > HOLE);
    for i in 0..2 {
        let mut row_block = RowBlock::default();
        spill.read_row_block(i, false, &mut row_block).unwrap();
        assert_eq!(row_block, partition.row_block(i));
    }
    file.set_len(HOLE).unwrap();
    assert_eq!(failure(spill.read_row_block(1, false, &mut RowBlock::default())).kind(), Kind::Data);
    assert_eq!(failure(SpillReader::open(&path, None)).kind(), Kind::Data);
}
