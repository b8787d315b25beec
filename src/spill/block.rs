//! A run of rows as the codec sees it, and how sections are cut into blocks.
//!
//! Resident sections and frames differ in two things: whether rows carry their numbers, and whether offsets are `u64`
//! or `u32`. Everything below the reader and the writer works on these views of both.

use std::ops::Range;

pub use crate::graph::Offset;

/// The raw length that blocks are cut to: 1 MiB. Measured against 256 KiB, 4 MiB and 16 MiB: larger blocks save
/// up to 2% and give a frame fewer blocks to decode in parallel; smaller ones cost 1 to 4%.
pub const BLOCK_BYTES: u64 = 1 << 20;

/// The largest raw length of a block of more than one row that a reader accepts.
pub(super) const MAX_BLOCK_BYTES: u64 = 64 << 20;

/// The largest raw length of a row that a reader accepts. Rows of an oriented graph have at most `sqrt(2 m)` heads, so
/// none comes near; consecutive heads take no stored bytes at all, so nothing else bounds what a few bytes can claim.
pub(super) const MAX_ROW_BYTES: u64 = 1 << 30;

/// What rows are called: each has a number of its own (resident), or only the end of their range is known (frames).
#[derive(Debug, Clone, Copy)]
pub enum Numbers<T> {
    /// The number of each row.
    Each(T),
    /// All rows' numbers are below this.
    Below(u32),
}

/// Rows to be encoded.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a, O> {
    /// The rows' numbers, or what bounds them.
    pub numbers: Numbers<&'a [u32]>,
    /// Where each row begins, one more at the end; the first need not be 0.
    pub offsets: &'a [O],
    /// The heads from the first offset to the last.
    pub heads: &'a [u32],
}

impl<'a, O: Offset> Rows<'a, O> {
    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// The lengths of all rows.
    pub(super) fn lengths(&self) -> impl Iterator<Item = u64> + Clone + 'a {
        self.offsets.windows(2).map(|pair| pair[1].get() - pair[0].get())
    }

    /// The rows, each with the bound that its heads stay below.
    pub(super) fn bounded(&self) -> impl Iterator<Item = (u32, &'a [u32])> + 'a {
        let Self { numbers, mut heads, .. } = *self;
        self.lengths().enumerate().map(move |(i, length)| {
            let (row, rest) = heads.split_at(length as usize);
            heads = rest;
            match numbers {
                Numbers::Each(numbers) => (numbers[i], row),
                Numbers::Below(end) => (end.saturating_sub(1), row),
            }
        })
    }

    /// Rows `range` of these.
    pub(super) fn part(&self, range: Range<usize>) -> Self {
        let base = self.offsets[0].get();
        let offsets = &self.offsets[range.start..=range.end];
        let at = |offset: O| (offset.get() - base) as usize;
        Self {
            numbers: match self.numbers {
                Numbers::Each(numbers) => Numbers::Each(&numbers[range]),
                Numbers::Below(end) => Numbers::Below(end),
            },
            heads: &self.heads[at(offsets[0])..at(offsets[offsets.len() - 1])],
            offsets,
        }
    }

    /// Cuts the rows into blocks, see [`cut_at`].
    pub(super) fn cut_at(&self, target: u64) -> Vec<Range<usize>> {
        let numbered = matches!(self.numbers, Numbers::Each(_));
        cut_at(target, self.lengths().map(|length| raw_bytes(numbered, 1, length)))
    }
}

/// Cuts rows of such lengths into blocks of at most `most` bytes raw and about the same length; longer rows stand alone.
/// `numbered` rows carry their numbers.
pub fn cut(numbered: bool, most: u64, lengths: impl Iterator<Item = u64> + Clone) -> Vec<Range<usize>> {
    let raw = lengths.map(|length| raw_bytes(numbered, 1, length));
    cut_at(even(raw.clone().sum(), most), raw)
}

/// The bytes at which rows of `total` raw bytes are cut so that blocks have at most `most` and about the same length.
pub(super) fn even(total: u64, most: u64) -> u64 {
    total.div_ceil(total.div_ceil(most).max(1))
}

/// Cuts rows of such raw lengths into blocks of at most `target`; longer rows stand alone. Where a block ends depends on no row
/// after the first of the next one.
fn cut_at(target: u64, raw: impl Iterator<Item = u64>) -> Vec<Range<usize>> {
    let mut blocks = Vec::new();
    let (mut start, mut end, mut bytes) = (0, 0, 0);
    for row in raw {
        if bytes + row > target && end > start {
            blocks.push(start..end);
            (start, bytes) = (end, 0);
        }
        bytes += row;
        end += 1;
    }
    if end > start {
        blocks.push(start..end);
    }
    blocks
}

/// Places for decoded rows.
pub struct RowsMut<'a, O> {
    /// Where the rows' numbers go, or what bounds them.
    pub numbers: Numbers<&'a mut [u32]>,
    /// Where each row's end goes.
    pub ends: &'a mut [O],
    /// Where the heads go.
    pub heads: &'a mut [u32],
    /// The offset at which the first row begins.
    pub base: u64,
}

/// Raw bytes of rows: a `u32` for each number (if there are any), each length and each head.
pub const fn raw_bytes(numbered: bool, rows: u64, arcs: u64) -> u64 {
    4 * (arcs + rows * (1 + numbered as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_tile_the_rows_and_keep_to_the_target() {
        let lengths = [0u64, 5, 300_000, 0, 100_000, 200_000, 1, 1, 262_143, 0, 0];
        let mut offsets = vec![0u64];
        offsets.extend(lengths.iter().scan(0, |end, length| {
            *end += length;
            Some(*end)
        }));
        let heads = vec![0; offsets[lengths.len()] as usize];
        let rows = Rows { numbers: Numbers::Below(1), offsets: &offsets, heads: &heads };
        let total = raw_bytes(false, lengths.len() as u64, offsets[lengths.len()]);
        let blocks = rows.cut_at(even(total, BLOCK_BYTES));
        assert_eq!(blocks.first().map(|b| b.start), Some(0));
        assert_eq!(blocks.last().map(|b| b.end), Some(lengths.len()));
        assert!(blocks.windows(2).all(|pair| pair[0].end == pair[1].start));
        for block in &blocks {
            let part = rows.part(block.clone());
            let raw = raw_bytes(false, block.len() as u64, part.heads.len() as u64);
            assert!(raw <= BLOCK_BYTES || block.len() == 1, "{block:?}: {raw}");
        }
    }
}
