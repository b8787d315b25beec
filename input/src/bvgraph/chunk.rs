//! Chunks: consecutive rows that a thread decodes. As a row may copy from one in the window before it, and so on, decoding begins earlier.

use std::ops::Range;

pub(super) const CHUNK: u64 = 1 << 17;

/// The most rows before a chunk that are decoded for it, once more.
pub(super) const AGAIN_ROWS: u64 = 1 << 10;

#[derive(Debug, Clone)]
pub(super) struct BvChunk {
    pub(super) rows: Range<u64>,
    /// The row where decoding begins: the first of [`Self::rows`], or an earlier one.
    pub(super) start: u64,
    pub(super) bits: Range<u64>,
    /// The largest distance of a reference from `start` on: so many rows are kept, not the properties' window, which may be far larger.
    pub(super) reach: u64,
    /// What is known of the at most `reach` rows before `start`, to which later rows may refer.
    pub(super) before: Before,
}

#[derive(Debug, Clone)]
pub(super) enum Before {
    Degrees(Vec<u64>),
    /// The place of the first of these rows in the file of offsets.
    Offset(OffsetPosition),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct OffsetPosition {
    /// The bit after this row's number in the file of offsets.
    pub(super) bit: u64,
    pub(super) begin: u64,
}
