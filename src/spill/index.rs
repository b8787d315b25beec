//! The index of a spill: which blocks hold the resident section and each frame.
//!
//! Enters and leaves: the bytes at the end of the file, under a checksum that stands in the header. What is parsed is
//! checked against the header: the blocks tile the bytes between the header and the index, the frames tile the numbering,
//! the sums agree, and no block claims more rows or arcs than it can have. So nothing is allocated for a claim that the
//! rest of the file contradicts. Cost: 24 bytes a frame and 40 a block.

use std::ops::Range;
use std::path::Path;

use super::block::{MAX_BLOCK_BYTES, MAX_ROW_BYTES, raw_bytes};
use super::format::{Fields, HEADER_BYTES, Header, damaged};
use crate::error::Result;

const FRAME_BYTES: usize = 24;
const BLOCK_BYTES: usize = 40;

/// Bytes of a spill besides its blocks: the header and the index.
pub const fn bytes_beside_blocks(frames: u64, blocks: u64) -> u64 {
    HEADER_BYTES as u64 + 8 + FRAME_BYTES as u64 * frames + BLOCK_BYTES as u64 * blocks
}

/// Where a block is and what it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) offset: u64,
    pub(super) stored: u64,
    pub(super) arcs: u64,
    pub(super) checksum: u64,
    pub(super) rows: u32,
}

/// What the index knows of a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrameInfo {
    /// The local numbers that the frame covers.
    pub range: Range<u32>,
    /// The number of proxies in the range: rows.
    pub rows: u32,
    /// The arcs of all rows.
    pub arcs: u64,
    pub(super) blocks: Range<usize>,
}

impl FrameInfo {
    /// Bytes of the decoded frame in host memory: heads and offsets.
    pub fn decoded_bytes(&self) -> u64 {
        4 * (self.arcs + u64::from(self.rows) + 1)
    }

    /// Bytes of the frame's rows before coding.
    pub fn raw_bytes(&self) -> u64 {
        raw_bytes(false, u64::from(self.rows), self.arcs)
    }
}

/// All frames and all blocks; the blocks of the resident section come first, then those of each frame.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Index {
    pub(super) resident_blocks: usize,
    pub(super) frames: Vec<FrameInfo>,
    pub(super) blocks: Vec<Block>,
}

impl Index {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(8 + FRAME_BYTES * self.frames.len() + BLOCK_BYTES * self.blocks.len());
        bytes.extend((self.resident_blocks as u32).to_le_bytes());
        bytes.extend((self.frames.len() as u32).to_le_bytes());
        for frame in &self.frames {
            for value in [frame.range.start, frame.range.end, frame.rows, frame.blocks.len() as u32] {
                bytes.extend(value.to_le_bytes());
            }
            bytes.extend(frame.arcs.to_le_bytes());
        }
        for block in &self.blocks {
            for value in [block.offset, block.stored, block.arcs, block.checksum, u64::from(block.rows)] {
                bytes.extend(value.to_le_bytes());
            }
        }
        bytes
    }

    /// Reads an index and checks it against the header.
    ///
    /// # Errors
    /// What contradicts what.
    pub(super) fn parse(path: &Path, bytes: &[u8], header: &Header) -> Result<Self> {
        let index = Self::fields(bytes).ok_or_else(|| damaged(path, "index: its length contradicts its counts"))?;
        index.check(header).map_err(|found| damaged(path, format!("index: {found}")))?;
        Ok(index)
    }

    /// Reads an index whose length agrees with what it lists.
    fn fields(bytes: &[u8]) -> Option<Self> {
        let mut fields = Fields(bytes);
        let resident_blocks = fields.u32()? as usize;
        let count = fields.u32()? as usize;
        if fields.0.len() / FRAME_BYTES < count {
            return None;
        }
        let mut frames = Vec::with_capacity(count);
        let mut next = resident_blocks;
        for _ in 0..count {
            let range = fields.u32()?..fields.u32()?;
            let rows = fields.u32()?;
            let start = next;
            next = next.checked_add(fields.u32()? as usize)?;
            frames.push(FrameInfo { range, rows, arcs: fields.u64()?, blocks: start..next });
        }
        if Some(fields.0.len()) != next.checked_mul(BLOCK_BYTES) {
            return None;
        }
        let mut blocks = Vec::with_capacity(next);
        for _ in 0..next {
            let [offset, stored, arcs, checksum] = [fields.u64()?, fields.u64()?, fields.u64()?, fields.u64()?];
            let rows = u32::try_from(fields.u64()?).ok()?;
            blocks.push(Block { offset, stored, arcs, checksum, rows });
        }
        Some(Self { resident_blocks, frames, blocks })
    }

    fn check(&self, header: &Header) -> Result<(), String> {
        let of = &header.partition;
        let mut offset = HEADER_BYTES as u64;
        let mut raw = 0u64;
        for (i, block) in self.blocks.iter().enumerate() {
            if block.offset != offset {
                return Err(format!("block {i} begins at byte {}, expected {offset}", block.offset));
            }
            offset = offset.checked_add(block.stored).ok_or_else(|| format!("block {i} is too long"))?;
            let most = u64::from(block.rows) * u64::from(of.numbered);
            if block.rows == 0 || block.arcs > most {
                return Err(format!("block {i} has {} rows and {} arcs", block.rows, block.arcs));
            }
            let bytes = raw_bytes(i < self.resident_blocks, block.rows.into(), block.arcs.min(1 << 60));
            if bytes > if block.rows > 1 { MAX_BLOCK_BYTES } else { MAX_ROW_BYTES } {
                return Err(format!("block {i} of {} rows has {bytes} raw bytes", block.rows));
            }
            raw = raw.saturating_add(bytes);
        }
        if offset != header.index_offset {
            return Err(format!("the blocks end at byte {offset}, the index begins at {}", header.index_offset));
        }
        if raw != header.raw_bytes {
            return Err(format!("the blocks have {raw} raw bytes, the header says {}", header.raw_bytes));
        }
        let resident = self.sum(0..self.resident_blocks);
        if resident != (u64::from(of.locals), header.resident_arcs) {
            return Err(format!("{resident:?} resident rows and arcs, the header says otherwise"));
        }
        self.check_frames(header)
    }

    fn check_frames(&self, header: &Header) -> Result<(), String> {
        let of = &header.partition;
        if self.frames.len() != header.frames as usize {
            return Err(format!("{} frames, the header says {}", self.frames.len(), header.frames));
        }
        let (mut next, mut rows, mut arcs) = (0, 0u64, 0u64);
        for (i, frame) in self.frames.iter().enumerate() {
            let Range { start, end } = frame.range;
            if start != next || end < start || u64::from(frame.rows) > u64::from(end - start) {
                return Err(format!(
                    "frame {i} has {} rows in {start}..{end}, expected to begin at {next}",
                    frame.rows
                ));
            }
            if self.sum(frame.blocks.clone()) != (frame.rows.into(), frame.arcs) || frame.arcs > u32::MAX.into() {
                return Err(format!("frame {i} and its blocks disagree about rows and arcs"));
            }
            next = end;
            rows += u64::from(frame.rows);
            arcs += frame.arcs;
        }
        if !self.frames.is_empty() && next != of.numbered {
            return Err(format!("the frames end at {next}, the numbering at {}", of.numbered));
        }
        if (u64::from(of.locals) + rows, arcs) != (of.numbered.into(), header.frame_arcs) {
            return Err(format!("the frames hold {rows} rows and {arcs} arcs, the header says otherwise"));
        }
        Ok(())
    }

    /// Rows and arcs of a range of blocks.
    pub(super) fn sum(&self, blocks: Range<usize>) -> (u64, u64) {
        let blocks = &self.blocks[blocks];
        (
            blocks.iter().map(|block| u64::from(block.rows)).sum(),
            blocks.iter().fold(0, |sum, block| sum.saturating_add(block.arcs)),
        )
    }

    /// Stored bytes of a range of blocks.
    pub(super) fn stored(&self, blocks: Range<usize>) -> u64 {
        self.blocks[blocks].iter().map(|block| block.stored).sum()
    }
}
