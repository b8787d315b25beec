//! Chunks: consecutive rows that a thread decodes.
//!
//! A row may copy from one other row, in the window before it; that may copy from another one, and so on. So decoding begins some rows
//! before the chunk, early enough for all rows that its rows copy from, directly or not.

use std::ops::Range;

/// Arcs of a chunk, more or less.
pub(super) const CHUNK: u64 = 1 << 17;

/// The most rows before a chunk that are decoded again.
pub(super) const AGAIN_ROWS: u64 = 1 << 10;

#[derive(Debug, Clone, Default)]
pub(super) struct BvChunk {
    pub(super) rows: Range<u64>,
    /// The row where decoding begins: the first of [`Self::rows`] or an earlier one.
    pub(super) start: u64,
    /// The bits of the rows from `start` on.
    pub(super) bits: Range<u64>,
    /// How many rows before a row the rows from `start` on refer to, at most: what is kept of them follows from this number, not from the
    /// window of the properties, which may be far larger.
    pub(super) reach: u64,
    /// The rows before `start` that the rows from there on may refer to: `reach` at most.
    pub(super) before: Before,
}

/// The rows before a chunk, from which its rows may copy: their degrees, or where to find these.
#[derive(Debug, Clone)]
pub(super) enum Before {
    Degrees(Vec<u64>),
    /// Where the first of them is in the file of offsets, which says where they begin.
    Offset(OffsetPosition),
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct OffsetPosition {
    /// The bit of the file after the number of the row.
    pub(super) bit: u64,
    pub(super) begin: u64,
}

impl Default for Before {
    fn default() -> Self {
        Self::Degrees(Vec::new())
    }
}
