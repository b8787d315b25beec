//! `NAME.offsets`, if it exists, gives the beginning of each row, so that threads need not wait for one that reads the stream. It has the distances
//! between the beginnings of rows, and the end of the last one, in gamma code or one that the properties name, high bits first. Each decoded row must
//! begin where the file says, and chunks cover all rows. A file that cannot belong to the stream is ignored.

use std::collections::VecDeque;

use dsi_bitstream::dispatch::Codes;

use super::bits::{BitReader, HighFirst, StreamError};
use super::chunk::{AGAIN_ROWS, Before, BvChunk, CHUNK, OffsetPosition};
use super::codes::read;
use super::row::Encoding;
use crate::storage::Storage;

/// The most rows of a chunk: a thread keeps the beginning of each.
const MOST_ROWS: u64 = 1 << 16;

/// The approximate maximum number of chunks: each takes a hundred bytes.
const MOST_CHUNKS: u64 = 1 << 20;

pub(super) struct Offsets {
    pub(super) file: Storage,
    pub(super) bytes: u64,
    pub(super) code: Codes,
}

impl Offsets {
    /// The beginnings of `many` rows, from the row at `offset` on.
    pub(super) fn read(&self, offset: OffsetPosition, many: u64, into: &mut Vec<u64>) -> Result<(), StreamError> {
        let mut bits = BitReader::<HighFirst>::new(&self.file, self.bytes, None);
        bits.seek(offset.bit, many);
        let mut begin = offset.begin;
        into.push(begin);
        for _ in 1..many {
            let Some(length) = read(self.code, &mut bits) else { return Err(bits.take_error()) };
            begin = begin.saturating_add(length);
            into.push(begin);
        }
        Ok(())
    }
}

pub(super) struct OffsetCuts<'a> {
    bits: BitReader<'a, HighFirst>,
    encoding: &'a Encoding,
    again: u64,
    size: u64,
    /// The next row's, and those of rows before it, the nearest first.
    next: OffsetPosition,
    kept: VecDeque<OffsetPosition>,
    pub(super) node: u64,
}

impl<'a> OffsetCuts<'a> {
    /// Cuts `bits` bits of `arcs` arcs. `None` if reference chains may be too long, if the window is too wide, or if the first offset is not 0.
    pub(super) fn new(offsets: &'a Offsets, encoding: &'a Encoding, bits: u64, arcs: u64) -> Option<Self> {
        let again = encoding.longest_chain?.checked_mul(encoding.window)?;
        if again.max(encoding.window) > AGAIN_ROWS {
            return None;
        }
        let chunk = CHUNK.max(arcs / MOST_CHUNKS);
        let size = (u128::from(bits) * u128::from(chunk) / u128::from(arcs.max(1))).max(1) as u64;
        let mut bits = BitReader::new(&offsets.file, offsets.bytes, None);
        let begin = read(offsets.code, &mut bits)?;
        let next = OffsetPosition { bit: bits.position(), begin };
        (begin == 0).then_some(Self { bits, encoding, again, size, next, kept: VecDeque::new(), node: 0 })
    }

    /// Whether the file has an offset for each row, and the last row ends at a bit that `fits` accepts. Reads all of the file.
    pub(super) fn fit(mut self, fits: impl Fn(u64) -> bool) -> bool {
        while self.node < self.encoding.nodes {
            if self.step().is_none() {
                return false;
            }
        }
        fits(self.next.begin)
    }

    /// The next chunk; a row must be left.
    pub(super) fn next_chunk(&mut self) -> Option<BvChunk> {
        let first = self.node;
        let start = first.saturating_sub(self.again);
        let window = start.saturating_sub(self.encoding.window);
        let of = |row: u64| if row == first { self.next } else { self.kept[(first - row) as usize - 1] };
        let (begin, before) = (of(start).begin, Before::Offset(of(window)));
        let from = self.next.begin;
        while self.node < self.encoding.nodes && self.node - first < MOST_ROWS && self.next.begin - from < self.size {
            self.step()?;
        }
        let (bits, reach) = (begin..self.next.begin, self.encoding.window);
        Some(BvChunk { rows: first..self.node, start, bits, reach, before })
    }

    fn step(&mut self) -> Option<()> {
        let length = read(self.encoding.offsets, &mut self.bits)?;
        self.kept.truncate((self.again + self.encoding.window) as usize);
        self.kept.push_front(self.next);
        let begin = self.next.begin.checked_add(length)?;
        self.next = OffsetPosition { bit: self.bits.position(), begin };
        self.node += 1;
        Some(())
    }
}
