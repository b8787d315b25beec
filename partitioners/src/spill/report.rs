//! Reports what a spill holds: no block is read.

use std::ops::Range;
use std::path::PathBuf;

use serde::Serialize;

use super::block::raw_bytes;
use super::codec::Codec;
use super::format::{PartitionHeader, VERSION};
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
    /// The header's checksum, which covers the whole file.
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
        let section = |blocks: Range<usize>, numbered: bool, decoded_bytes: u64| {
            let (rows, arcs) = self.index.sum(blocks.clone());
            let (raw, stored) = (raw_bytes(numbered, rows, arcs), self.index.stored(blocks.clone()));
            SectionReport {
                rows,
                arcs,
                blocks: blocks.len() as u64,
                raw_bytes: raw,
                stored_bytes: stored,
                decoded_bytes,
                ratio: ratio(raw, stored),
            }
        };
        let resident = section(self.index.resident(), true, self.resident_decoded_bytes());
        let row_blocks: Vec<_> = self
            .index
            .row_blocks
            .iter()
            .map(|row_block| RowBlockReport {
                first: row_block.range.start,
                end: row_block.range.end,
                section: section(row_block.blocks.clone(), false, row_block.decoded_bytes()),
            })
            .collect();
        let ranks = section(self.index.ranks(), false, 4 * u64::from(self.header().numbered));
        let mut total = SectionReport { rows: 0, ..ranks };
        for section in std::iter::once(&resident).chain(row_blocks.iter().map(|row_block| &row_block.section)) {
            total.rows += section.rows;
            total.arcs += section.arcs;
            total.blocks += section.blocks;
            total.raw_bytes += section.raw_bytes;
            total.stored_bytes += section.stored_bytes;
            total.decoded_bytes += section.decoded_bytes;
        }
        total.ratio = ratio(total.raw_bytes, total.stored_bytes);
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

fn ratio(raw: u64, stored: u64) -> f64 {
    if stored == 0 { 0.0 } else { raw as f64 / stored as f64 }
}
