//! Reports what a spill holds: no block is read.

use std::ops::Range;
use std::path::PathBuf;

use serde::Serialize;

use super::codec::Codec;
use super::format::{PartitionHeader, VERSION};
use super::index::RowBlockInfo;
use super::reader::SpillReader;
use trimill_system::{hex, path_text};

/// What a spill holds. Bytes are `raw` before coding (4 for each rank, each local's number, each row's length and each successor)
/// and `stored` after it; a ratio is raw / stored, 0 if nothing is stored.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SpillReport {
    #[serde(serialize_with = "path_text::shown")]
    pub file: PathBuf,
    pub bytes: u64,
    pub version: u32,
    pub codec: Codec,
    #[serde(with = "hex")]
    pub checksum: u64,
    #[serde(flatten)]
    pub header: PartitionHeader,
    /// The ranks of all vertices, as rows without arcs.
    pub ranks: SectionReport,
    pub resident: SectionReport,
    pub row_blocks: Vec<RowBlockReport>,
    /// All sections together; the rows are those of locals and proxies.
    pub total: SectionReport,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SectionReport {
    pub rows: u64,
    pub arcs: u64,
    pub blocks: u64,
    pub raw_bytes: u64,
    pub stored_bytes: u64,
    /// Bytes in host memory once decoded; for all sections together the sum.
    pub decoded_bytes: u64,
    pub ratio: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RowBlockReport {
    /// The first local number of the range.
    pub first: u32,
    pub end: u32,
    #[serde(flatten)]
    pub section: SectionReport,
}

impl SpillReader {
    pub fn report(&self) -> SpillReport {
        let section = |blocks: Range<usize>, decoded_bytes: u64| {
            let (rows, arcs) = self.index.sum(blocks.clone());
            let raw_bytes: u64 = blocks.clone().map(|i| self.index.raw_bytes(i)).sum();
            let stored_bytes = self.index.stored(blocks.clone());
            let ratio = if stored_bytes == 0 { 0.0 } else { raw_bytes as f64 / stored_bytes as f64 };
            SectionReport { rows, arcs, blocks: blocks.len() as u64, raw_bytes, stored_bytes, decoded_bytes, ratio }
        };
        let ranks = section(self.index.ranks(), 4 * u64::from(self.header().numbered));
        let resident = section(self.index.resident(), self.resident_size().bytes().get());
        let of_row_block = |row_block: &RowBlockInfo| RowBlockReport {
            first: row_block.range.start,
            end: row_block.range.end,
            section: section(row_block.blocks.clone(), row_block.decoded_bytes()),
        };
        let row_blocks: Vec<_> = self.index.row_blocks.iter().map(of_row_block).collect();
        let decoded: u64 = row_blocks.iter().map(|row_block| row_block.section.decoded_bytes).sum();
        let all = section(0..self.index.blocks.len(), ranks.decoded_bytes + resident.decoded_bytes + decoded);
        let total = SectionReport { rows: all.rows - ranks.rows, ..all };
        SpillReport {
            file: self.path().to_path_buf(),
            bytes: self.summary.bytes,
            version: VERSION,
            codec: self.summary.header.codec,
            checksum: self.summary.checksum,
            header: self.header().clone(),
            ranks,
            resident,
            row_blocks,
            total,
        }
    }
}
