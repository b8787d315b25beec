//! Shared by the tests of spills: partitions as literal rows, and functions to write, read and damage them.

#![allow(dead_code, missing_docs, unreachable_pub, clippy::unwrap_used)]

use std::ops::Range;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use tempfile::TempDir;
use trimill::testing::clean::CleanReport;
use trimill::testing::graph::{GraphFigures, GraphSize};
use trimill::testing::partition::sizes::PartitionSize;
use trimill::testing::spill::{Codec, PartitionHeader, SpillReader, SpillSummary, SpillWriter};
use trimill::{Control, Error};
use trimill_counting::{NumberRuns, Resident, RowBlock};

pub const FINGERPRINT: u128 = 0x0123_4567_89ab_cdef_0011_2233_4455_6677;

#[derive(Debug, Clone)]
pub struct Partition {
    pub numbered: u32,
    /// Number and row of each local.
    pub locals: Vec<(u32, Vec<u32>)>,
    /// Range and rows of each row block.
    pub row_blocks: Vec<(Range<u32>, Vec<Vec<u32>>)>,
}

impl Partition {
    pub fn resident(&self) -> Resident {
        resident_of(&self.locals)
    }

    pub fn row_block(&self, i: usize) -> RowBlock {
        let (range, rows) = &self.row_blocks[i];
        row_block_of(range.clone(), rows)
    }

    /// Every third vertex of a graph.
    pub fn ranks(&self) -> Vec<u32> {
        (0..self.numbered).map(|number| 3 * number + 1).collect()
    }

    pub fn header(&self) -> PartitionHeader {
        PartitionHeader {
            partition: 7,
            fingerprint: FINGERPRINT,
            numbered: self.numbered,
            size: PartitionSize {
                locals: self.locals.len() as u64,
                resident_arcs: self.locals.iter().map(|(_, row)| row.len() as u64).sum(),
                proxies_induced: 1 << 40,
                proxies_kept: u64::from(self.numbered) - self.locals.len() as u64,
                arcs_induced: (1 << 50) + 1,
                arcs_kept: 3,
            },
        }
    }

    /// Writes it with resident chunks of `chunk` rows.
    pub fn write(&self, dir: &Path, name: &str, codec: Codec, chunk: usize) -> SpillSummary {
        let mut writer = SpillWriter::create(dir, name, self.header(), codec).unwrap();
        writer.ranks(self.ranks().into_iter()).unwrap();
        for rows in self.locals.chunks(chunk) {
            writer.resident(&resident_of(rows)).unwrap();
        }
        for i in 0..self.row_blocks.len() {
            writer.row_block(&self.row_block(i)).unwrap();
        }
        writer.finish().unwrap()
    }

    pub fn assert_is_in(&self, spill: &SpillReader) {
        assert_eq!(*spill.header(), self.header());
        assert_eq!(spill.row_blocks(), self.row_blocks.len());
        assert_eq!(spill.ranks().unwrap(), self.ranks());
        // Used buffers, some larger and some smaller than needed.
        let mut resident = Resident {
            numbers: NumberRuns::of((0..500).map(|i| 2 * i).collect()),
            offsets: vec![9],
            successors: vec![9; 3].into(),
            ..Resident::default()
        };
        spill.read_resident(&mut resident).unwrap();
        assert_eq!(resident, self.resident());
        assert_eq!(spill.size().resident_arcs, resident.successors.len() as u64);
        let mut row_block = RowBlock::of(1..2, &[9; 700], &[]).unwrap();
        for i in (0..self.row_blocks.len()).rev() {
            spill.read_row_block(i, false, &mut row_block).unwrap();
            assert_eq!(row_block, self.row_block(i));
            let info = spill.row_block_info(i);
            assert_eq!(info.range, row_block.range);
            assert_eq!(info.arcs, row_block.view().successors.len() as u64);
            assert_eq!(info.decoded_bytes(), 4 * row_block.view().size().words());
        }
        spill.verify(&Control::silent()).unwrap();
    }
}

pub fn ends<'a>(rows: impl Iterator<Item = &'a Vec<u32>>) -> Vec<u64> {
    let mut offsets = vec![0];
    for row in rows {
        offsets.push(offsets.last().unwrap() + row.len() as u64);
    }
    offsets
}

pub fn resident_of(rows: &[(u32, Vec<u32>)]) -> Resident {
    Resident {
        numbers: NumberRuns::of(rows.iter().map(|row| row.0).collect()),
        offsets: ends(rows.iter().map(|row| &row.1)),
        successors: rows.iter().flat_map(|row| row.1.clone()).collect::<Vec<u32>>().into(),
        ..Resident::default()
    }
}

pub fn row_block_of(range: Range<u32>, rows: &[Vec<u32>]) -> RowBlock {
    let offsets: Vec<u32> = ends(rows.iter()).into_iter().map(|end| end as u32).collect();
    RowBlock::of(range, &offsets, &rows.concat()).unwrap()
}

/// The partition of the fixture: 70,000 vertices, three of them local, most proxies without arcs.
pub fn fixture() -> Partition {
    let row = |number| match number {
        500 => vec![0, 1, 499],
        1000 => vec![],
        65_999 => vec![0, 255, 256, 65_535, 65_998],
        _ => vec![],
    };
    let locals = [2, 300, 69_999];
    let rows = |range: Range<u32>| range.filter(|number| !locals.contains(number)).map(row).collect();
    Partition {
        numbered: 70_000,
        locals: vec![(2, vec![0, 1]), (300, vec![]), (69_999, vec![0, 500, 65_999, 69_998])],
        row_blocks: vec![(0..1000, rows(0..1000)), (1000..70_000, rows(1000..70_000))],
    }
}

/// A few rows, so that every bit of the file can be tested.
pub fn tiny() -> Partition {
    Partition {
        numbered: 6,
        locals: vec![(1, vec![0]), (4, vec![0, 1, 3]), (5, vec![4])],
        row_blocks: vec![(0..3, vec![vec![], vec![0, 1]]), (3..6, vec![vec![0, 2]])],
    }
}

pub fn opened(path: &Path) -> Result<SpillReader, Error> {
    SpillReader::open(path, Some(FINGERPRINT))
}

pub fn failure<T>(result: Result<T, Error>) -> Error {
    result.err().expect("damage is found")
}

/// Reads everything; the buffers must be empty after an error.
pub fn read_all(spill: &SpillReader) -> Result<(), Error> {
    let mut resident = Resident::default();
    let mut row_block = RowBlock::default();
    let mut result = spill.read_resident(&mut resident);
    assert!(result.is_ok() || resident == Resident::default());
    for i in 0..spill.row_blocks() {
        let read = spill.read_row_block(i, false, &mut row_block);
        assert!(read.is_ok() || row_block == RowBlock::default());
        result = result.and(read);
    }
    result.and(spill.ranks().map(drop))
}

pub fn fixture_graph() -> GraphFigures {
    let size = GraphSize { vertices: 70_000, edges: 14, longest_row: 5, probes: u64::MAX };
    GraphFigures { size, wedges: u128::MAX, report: CleanReport { arcs: 28, ..CleanReport::default() } }
}

pub fn fixture_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/spill-v2")
}

/// A folder with a spill of the partition, the path of this file, and its bytes.
pub fn written(partition: &Partition, codec: Codec) -> (TempDir, PathBuf, Vec<u8>) {
    let dir = tempfile::tempdir().unwrap();
    let path = partition.write(dir.path(), "a.spill", codec, 10).path;
    let bytes = std::fs::read(&path).unwrap();
    (dir, path, bytes)
}

/// Writes a spill and opens it, with the checksums updated, as a faulty or malicious writer would.
pub fn sealed(path: &Path, bytes: &[u8]) -> Result<SpillReader, Error> {
    std::fs::write(path, crate::targets::seal::spill(bytes).unwrap()).unwrap();
    opened(path)
}

/// A row of strictly ascending successors below `bound`.
pub fn row_below(bound: u32) -> impl Strategy<Value = Vec<u32>> {
    proptest::collection::btree_set(0..bound.max(1), 0..=8.min(bound as usize))
        .prop_map(|row| row.into_iter().collect())
}

pub fn partition() -> impl Strategy<Value = Partition> {
    (0u32..60)
        .prop_flat_map(|numbered| {
            let rows: Vec<_> = (0..numbered).map(row_below).collect();
            let count = numbered as usize;
            (rows, proptest::collection::vec(any::<bool>(), count), proptest::collection::vec(0..=numbered, 0..4))
        })
        .prop_map(|(rows, local, mut cuts)| {
            let numbered = rows.len() as u32;
            cuts.sort_unstable();
            let all_local = local.iter().all(|&local| local);
            let ends = if all_local && cuts.is_empty() { vec![] } else { [&cuts[..], &[numbered]].concat() };
            let mut start = 0;
            let row_blocks = ends.into_iter().map(|end| {
                let range = std::mem::replace(&mut start, end)..end;
                let proxies = range.clone().filter(|&n| !local[n as usize]);
                (range, proxies.map(|n| rows[n as usize].clone()).collect())
            });
            let row_blocks = row_blocks.collect();
            let locals = (0..numbered).filter(|&n| local[n as usize]).map(|n| (n, rows[n as usize].clone())).collect();
            Partition { numbered, locals, row_blocks }
        })
}
