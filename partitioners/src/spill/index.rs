//! The index of a spill: which blocks hold the ranks, the resident section and each row block. The last bytes of the file, with a checksum in the
//! header, against which a parsed index is checked: blocks tile the bytes before the index, row blocks tile the numbering, sums agree, and no block
//! claims more rows or arcs than it can have. So nothing is allocated for a size that the file contradicts. Cost: 24 bytes a row block, 48 a block.

use std::ops::Range;
use std::path::Path;

use super::block::{FULL, MOST_VALUES, MOST_VALUES_OF_ROW, VALUE_BYTES, values};
use super::codec::Codec;
use super::format::{HEADER_BYTES, SpillHeader, damaged};
use trimill_counting::RowBlockSize;
use trimill_system::Result;

const ROW_BLOCK_BYTES: usize = 24;
const BLOCK_BYTES: usize = 48;
const COUNTS_BYTES: usize = 16;

/// The most bytes of a spill with these numbers of vertices, locals, arcs and row blocks.
pub const fn most_bytes(numbered: u64, locals: u64, arcs: u64, row_blocks: u64) -> u64 {
    // Successors and local numbers are below the number of vertices, so take at most as many bytes as it; a rank may be any `u32`.
    let value = (numbered | 1).ilog2() as u64 / 7 + 1;
    let plain = VALUE_BYTES * numbered + value * (locals + numbered + arcs);
    let blocks = (2 * numbered + arcs) / FULL + 2 + row_blocks;
    // The most that zstd adds to incompressible data.
    let stored = plain + plain / 256 + 64 * blocks;
    stored + (HEADER_BYTES + COUNTS_BYTES) as u64 + ROW_BLOCK_BYTES as u64 * row_blocks + BLOCK_BYTES as u64 * blocks
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SpillBlock {
    pub(super) offset: u64,
    pub(super) stored: u64,
    pub(super) plain: u64,
    pub(super) arcs: u64,
    pub(super) checksum: u64,
    pub(super) rows: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowBlockInfo {
    pub range: Range<u32>,
    /// The number of proxies in the range, each with a row.
    pub rows: u32,
    pub arcs: u64,
    pub(super) blocks: Range<usize>,
}

impl RowBlockInfo {
    pub fn size(&self) -> RowBlockSize {
        RowBlockSize { range: self.range.len() as u32, rows: self.rows.into(), arcs: self.arcs }
    }

    /// Bytes of the decoded row block in host memory: successors and offsets.
    pub fn decoded_bytes(&self) -> u64 {
        4 * self.size().words()
    }
}

/// All row blocks, and all blocks: those of the ranks, then of the resident section, then of each row block.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SpillIndex {
    pub(super) rank_blocks: usize,
    pub(super) resident_blocks: usize,
    pub(super) row_blocks: Vec<RowBlockInfo>,
    pub(super) blocks: Vec<SpillBlock>,
}

impl SpillIndex {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let lists = ROW_BLOCK_BYTES * self.row_blocks.len() + BLOCK_BYTES * self.blocks.len();
        let mut bytes = Vec::with_capacity(COUNTS_BYTES + lists);
        let counts = [self.rank_blocks, self.resident_blocks, self.row_blocks.len(), 0].map(|count| count as u32);
        bytes.extend_from_slice(bytemuck::bytes_of(&counts));
        for RowBlockInfo { range, rows, arcs, blocks } in &self.row_blocks {
            bytes.extend_from_slice(bytemuck::bytes_of(&[range.start, range.end, *rows, blocks.len() as u32]));
            bytes.extend_from_slice(bytemuck::bytes_of(arcs));
        }
        for &SpillBlock { offset, stored, plain, arcs, checksum, rows } in &self.blocks {
            let longs = [offset, stored, plain, arcs, checksum, rows.into()];
            bytes.extend_from_slice(bytemuck::bytes_of(&longs));
        }
        bytes
    }

    pub(super) fn parse(path: &Path, bytes: &[u8], header: &SpillHeader) -> Result<Self> {
        let index = Self::fields(bytes).ok_or_else(|| damaged(path, "index: its length contradicts its counts"))?;
        index.check(header).map_err(|found| damaged(path, format!("index: {found}")))?;
        Ok(index)
    }

    /// `None` if the length contradicts the counts.
    fn fields(bytes: &[u8]) -> Option<Self> {
        let (counts, lists) = bytes.split_first_chunk::<COUNTS_BYTES>()?;
        let [rank_blocks, resident_blocks, many, nothing] = bytemuck::cast::<_, [u32; 4]>(*counts).map(|n| n as usize);
        let (row_blocks, blocks) = lists.split_at_checked(ROW_BLOCK_BYTES * many)?;
        let (blocks, rest) = blocks.as_chunks::<BLOCK_BYTES>();
        // A sum of fewer than 2^32 numbers below 2^32 does not overflow.
        let mut next = rank_blocks + resident_blocks;
        let row_block = |bytes: &[u8; ROW_BLOCK_BYTES]| {
            let [range, rows, arcs]: [u64; 3] = bytemuck::cast(*bytes);
            let [[start, end], [rows, many]] = [range, rows].map(bytemuck::cast::<u64, [u32; 2]>);
            let first = next;
            next += many as usize;
            RowBlockInfo { range: start..end, rows, arcs, blocks: first..next }
        };
        let row_blocks = row_blocks.as_chunks::<ROW_BLOCK_BYTES>().0.iter().map(row_block).collect();
        if nothing != 0 || !rest.is_empty() || blocks.len() != next {
            return None;
        }
        let block = |bytes: &[u8; BLOCK_BYTES]| {
            let [offset, stored, plain, arcs, checksum, rows]: [u64; 6] = bytemuck::cast(*bytes);
            Some(SpillBlock { offset, stored, plain, arcs, checksum, rows: rows.try_into().ok()? })
        };
        let blocks = blocks.iter().map(block).collect::<Option<Vec<_>>>()?;
        Some(Self { rank_blocks, resident_blocks, row_blocks, blocks })
    }

    pub(super) fn ranks(&self) -> Range<usize> {
        0..self.rank_blocks
    }

    pub(super) fn resident(&self) -> Range<usize> {
        self.rank_blocks..self.rank_blocks + self.resident_blocks
    }

    /// The most bytes of a row block once decoded.
    pub(super) fn largest_row_block(&self) -> u64 {
        self.row_blocks.iter().map(RowBlockInfo::decoded_bytes).max().unwrap_or(0)
    }

    /// Bytes of a block's rows as plain values: a `u32` for each number (if there are any), each length and each successor.
    pub(super) fn raw_bytes(&self, i: usize) -> u64 {
        let SpillBlock { rows, arcs, .. } = self.blocks[i];
        4 * values(self.resident().contains(&i), rows.into(), arcs)
    }

    /// Errors: what contradicts the header or the rest of the index.
    pub(super) fn check(&self, header: &SpillHeader) -> Result<(), String> {
        let of = &header.partition;
        let mut raw = 0u64;
        for (i, block) in self.blocks.iter().enumerate() {
            let most = if i < self.rank_blocks { 0 } else { u64::from(block.rows) * u64::from(of.numbered) };
            if block.rows == 0 || block.arcs > most {
                return Err(format!("block {i} has {} rows and {} arcs", block.rows, block.arcs));
            }
            let values = values(self.resident().contains(&i), block.rows.into(), block.arcs.min(1 << 60));
            if values > if block.rows > 1 { MOST_VALUES } else { MOST_VALUES_OF_ROW } {
                return Err(format!("block {i} of {} rows has {values} values", block.rows));
            }
            let compressed = header.codec == Codec::Zstd || block.plain == block.stored;
            if !compressed || block.plain < values || block.plain > VALUE_BYTES * values {
                return Err(format!("block {i} of {values} values has {} bytes", block.plain));
            }
            raw = raw.saturating_add(4 * values);
        }
        let mut order: Vec<usize> = (0..self.blocks.len()).collect();
        order.sort_unstable_by_key(|&i| self.blocks[i].offset);
        let mut offset = HEADER_BYTES as u64;
        for i in order {
            let block = &self.blocks[i];
            if block.offset != offset {
                return Err(format!("block {i} begins at byte {}, expected {offset}", block.offset));
            }
            offset = offset.checked_add(block.stored).ok_or_else(|| format!("block {i} is too long"))?;
        }
        if offset != header.index_offset {
            return Err(format!("the blocks end at byte {offset}, the index begins at {}", header.index_offset));
        }
        if raw != header.raw_bytes {
            return Err(format!("the blocks have {raw} raw bytes, the header says {}", header.raw_bytes));
        }
        let ranks = self.sum(self.ranks());
        if ranks.0 != u64::from(of.numbered) {
            return Err(format!("ranks of {} vertices, the header says {}", ranks.0, of.numbered));
        }
        let resident = self.sum(self.resident());
        if resident != (of.size.locals, of.size.resident_arcs) {
            return Err(format!("{resident:?} resident rows and arcs, the header says otherwise"));
        }
        self.check_row_blocks(header)
    }

    fn check_row_blocks(&self, header: &SpillHeader) -> Result<(), String> {
        let of = &header.partition;
        if self.row_blocks.len() != header.row_blocks as usize {
            return Err(format!("{} row blocks, the header says {}", self.row_blocks.len(), header.row_blocks));
        }
        let (mut next, mut rows, mut arcs) = (0, 0u64, 0u64);
        for (i, row_block) in self.row_blocks.iter().enumerate() {
            let Range { start, end } = row_block.range;
            if start != next || end < start || u64::from(row_block.rows) > u64::from(end - start) {
                return Err(format!(
                    "row block {i} has {} rows in {start}..{end}, expected to begin at {next}",
                    row_block.rows
                ));
            }
            if self.sum(row_block.blocks.clone()) != (row_block.rows.into(), row_block.arcs)
                || row_block.arcs > u32::MAX.into()
            {
                return Err(format!("row block {i} and its blocks disagree about rows and arcs"));
            }
            next = end;
            rows += u64::from(row_block.rows);
            arcs += row_block.arcs;
        }
        if !self.row_blocks.is_empty() && next != of.numbered {
            return Err(format!("the row blocks end at {next}, the numbering at {}", of.numbered));
        }
        let (numbered, kept) = (of.size.locals + rows, of.size.proxies_kept);
        if (numbered, rows, arcs) != (of.numbered.into(), kept, header.row_block_arcs) {
            return Err(format!("the row blocks hold {rows} rows and {arcs} arcs, the header says otherwise"));
        }
        Ok(())
    }

    pub(super) fn sum(&self, blocks: Range<usize>) -> (u64, u64) {
        let blocks = &self.blocks[blocks];
        (
            blocks.iter().map(|block| u64::from(block.rows)).sum(),
            blocks.iter().fold(0, |sum, block| sum.saturating_add(block.arcs)),
        )
    }

    pub(super) fn encoded_words(&self, blocks: Range<usize>) -> u64 {
        self.blocks[blocks].iter().map(|block| block.plain).sum::<u64>().div_ceil(4)
    }

    pub(super) fn stored(&self, blocks: Range<usize>) -> u64 {
        self.blocks[blocks].iter().map(|block| block.stored).sum()
    }
}
