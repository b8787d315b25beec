//! The sections of a partition that are streamed to a device: the resident section and the row blocks. A partition numbers its locals and kept
//! proxies together, `0..numbered`, in rank order (descending degree), so arcs go from larger numbers to smaller ones, and rows ascend strictly.

use std::ops::Range;

use rayon::ThreadPool;
use rayon::prelude::*;

use crate::{EncodedPart, EncodedRows, Lent, NumberRuns, VertexSet, VertexSetBuilder, WordBuffer};
use trimill_system::{Bytes, Result, parallel};

/// The rows of a partition's locals, or a run of them.
///
/// Invariants: `numbers` ascend strictly; `offsets.len() == numbers.len() + 1`; `offsets[0] == 0`, or in a run of encoded rows the arcs before it;
/// for plain rows `offsets.last() == successors.len()`; row `i`, `successors[offsets[i]..offsets[i + 1]]`, ascends strictly, below the `i`th number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Resident {
    pub numbers: NumberRuns,
    /// Where each row begins in `successors`, and where the last one ends.
    pub offsets: Vec<u64>,
    /// Successors, as local numbers; a device that lent this memory copies directly from it.
    pub successors: WordBuffer,
    /// The file blocks of rows that stay encoded for a device; their bytes are in `successors`.
    pub encoded: Vec<EncodedPart>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResidentSize {
    pub locals: u64,
    pub arcs: u64,
}

impl ResidentSize {
    /// Bytes of numbers, offsets and successors.
    pub fn bytes(&self) -> Bytes {
        Bytes::of::<u32>(self.locals + self.arcs) + Bytes::of::<u64>(self.locals + 1)
    }
}

impl Resident {
    pub fn size(&self) -> ResidentSize {
        ResidentSize { locals: self.numbers.len() as u64, arcs: self.arcs() }
    }

    pub fn arcs(&self) -> u64 {
        self.offsets.last().map_or(0, |end| end - self.offsets[0])
    }

    pub fn encoded_rows(&self) -> Option<EncodedRows<'_>> {
        encoded_rows(&self.successors, &self.encoded)
    }

    pub fn row(&self, i: usize) -> &[u32] {
        &self.successors[self.offsets[i] as usize..self.offsets[i + 1] as usize]
    }

    /// Adds the rows of `run`, which come after these.
    pub fn append(&mut self, run: &Self) {
        let base = self.successors.len() as u64;
        self.numbers.append(&run.numbers);
        self.offsets.extend(run.offsets[usize::from(!self.offsets.is_empty())..].iter().map(|offset| base + offset));
        self.successors.extend_from_slice(&run.successors);
    }

    /// Adds a run. The first one is moved here; later ones are copied and returned, so that their memory can be reused.
    pub fn take_run(&mut self, run: Self) -> Option<Self> {
        if self.offsets.is_empty() {
            *self = run;
            return None;
        }
        self.append(&run);
        Some(run)
    }

    /// Where the rows of `row_block`'s range are; `numbers` are those of the locals. Runs in `pool`, or else in the current pool.
    pub fn rows_in(numbers: &NumberRuns, row_block: &RowBlockView<'_>, pool: Option<&ThreadPool>) -> RowsLocation {
        let range = &row_block.range;
        let first = numbers.below(range.start);
        if row_block.holds_all() && !range.is_empty() {
            return RowsLocation::RowBlock { first };
        }
        let end = numbers.below(range.end);
        if end - first == range.len() {
            return RowsLocation::Resident { first };
        }
        let marks = VertexSetBuilder::new(range.len() as u32);
        let mark = || (first..end).into_par_iter().for_each(|i| marks.set(numbers.at(i) - range.start));
        pool.map_or_else(mark, |pool| parallel::within(pool, mark));
        RowsLocation::Both { first, local: marks.finish() }
    }

    pub fn heap(&self) -> Bytes {
        self.numbers.heap()
            + Bytes::of::<u32>(self.successors.capacity() as u64)
            + Bytes::of::<u64>(self.offsets.capacity() as u64)
    }

    pub fn lent(memory: Box<dyn Lent>) -> Self {
        Self { successors: WordBuffer::lent(memory), ..Self::default() }
    }
}

#[derive(Debug, Clone)]
pub enum RowsLocation {
    /// All of the range is local: rows are in the resident section.
    Resident {
        /// The place of the first row.
        first: usize,
    },
    /// The row block has a row for every number, of locals too, so it does not matter which are local.
    RowBlock {
        /// How many locals come before the range; they have no successor in it.
        first: usize,
    },
    /// Locals' rows are in the resident section; the others are in the row block.
    Both {
        first: usize,
        /// The local numbers of the range, counted from its start.
        local: VertexSet,
    },
}

/// Where the row of a number in a row block's range is.
#[derive(Debug, Clone, Copy)]
pub enum RowPlace {
    Resident(usize),
    RowBlock(usize),
}

impl RowsLocation {
    /// The place of the row of `number`, which is counted from the range's start.
    #[inline(always)]
    pub fn place(&self, number: u32) -> RowPlace {
        match self {
            Self::Resident { first } => RowPlace::Resident(first + number as usize),
            Self::RowBlock { .. } => RowPlace::RowBlock(number as usize),
            Self::Both { first, local } => {
                let before = local.rank(number);
                match local.contains(number) {
                    true => RowPlace::Resident(first + before as usize),
                    false => RowPlace::RowBlock((number - before) as usize),
                }
            }
        }
    }
}

/// A bounded slice of rows: of all proxies whose local number is in `range`, or of all its numbers. Locals in the range have no row here (theirs are
/// resident), so row `i` belongs to the range's `i`-th proxy. If there are as many rows as the range is long, every number has its row here, local
/// or not: in the in-place mode, and in a spill where the range has no local. A partition's row blocks tile `0..numbered`, ascending. Invariants:
/// `offsets.len() == rows + 1`, `offsets[0] == 0`, `offsets.last() == successors.len()`; rows strictly ascending, below the row's own number.
#[derive(Debug, Default)]
pub struct RowBlock {
    pub range: Range<u32>,
    rows: usize,
    /// Bytes of the largest row block that this memory has held.
    most: Bytes,
    /// Offsets, then successors as local numbers, or encoded.
    words: WordBuffer,
    encoded: Vec<EncodedPart>,
}

fn encoded_rows<'a>(words: &'a [u32], parts: &'a [EncodedPart]) -> Option<EncodedRows<'a>> {
    let end = parts.last()?.end as usize;
    Some(EncodedRows { bytes: &bytemuck::cast_slice(words)[..end], parts })
}

impl RowBlock {
    pub fn lent(memory: Box<dyn Lent>) -> Self {
        Self { words: WordBuffer::lent(memory), ..Self::default() }
    }

    #[cfg(feature = "testing")]
    pub fn of(range: Range<u32>, offsets: &[u32], successors: &[u32]) -> Result<Self> {
        let mut row_block = Self::default();
        let (own_offsets, own_successors, _) =
            row_block.reset(range, offsets.len() as u64 - 1, successors.len() as u64)?;
        own_offsets.copy_from_slice(offsets);
        own_successors.copy_from_slice(successors);
        Ok(row_block)
    }

    /// Makes this a row block over `range`; returns `rows + 1` offsets, `words` words for the successors, plain or encoded, and the list of blocks
    /// that stay encoded, to be filled. If memory is refused, it has no rows.
    pub fn reset(
        &mut self,
        range: Range<u32>,
        rows: u64,
        words: u64,
    ) -> Result<(&mut [u32], &mut [u32], &mut Vec<EncodedPart>)> {
        let size = RowBlockSize { range: range.len() as u32, rows, arcs: words };
        self.most = self.most.max(size.bytes());
        // The memory of an earlier row block with many words and few bits may be too much for one with fewer words and many bits.
        if Bytes::of::<u32>(self.words.capacity() as u64) + size.bits() > self.most {
            self.words.give_back();
        }
        (self.range, self.rows) = (range, 0);
        self.encoded.clear();
        self.words.resize(rows + 1 + words)?;
        self.rows = rows as usize;
        let (offsets, words) = self.words.split_at_mut(self.rows + 1);
        Ok((offsets, words, &mut self.encoded))
    }

    pub fn view(&self) -> RowBlockView<'_> {
        let (offsets, successors) = self.words.split_at((self.rows + 1).min(self.words.len()));
        let encoded = encoded_rows(successors, &self.encoded);
        RowBlockView {
            range: self.range.clone(),
            offsets,
            successors: if encoded.is_some() { &[] } else { successors },
            encoded,
        }
    }

    /// Bytes of its memory, and of the bits that mark the locals of its range while it is counted.
    pub fn heap(&self) -> Bytes {
        let bits = if self.rows == self.range.len() { Bytes::ZERO } else { VertexSet::bytes(self.range.len() as u32) };
        Bytes::of::<u32>(self.words.capacity() as u64) + bits
    }
}

impl PartialEq for RowBlock {
    fn eq(&self, other: &Self) -> bool {
        let (a, b) = (self.view(), other.view());
        (a.range, a.offsets, a.successors) == (b.range, b.offsets, b.successors) && self.encoded == other.encoded
    }
}

#[derive(Debug, Clone)]
pub struct RowBlockView<'a> {
    pub range: Range<u32>,
    pub offsets: &'a [u32],
    /// Empty if they are encoded.
    pub successors: &'a [u32],
    pub encoded: Option<EncodedRows<'a>>,
}

impl<'a> RowBlockView<'a> {
    #[inline]
    pub fn row(&self, i: usize) -> &'a [u32] {
        &self.successors[self.offsets[i] as usize..self.offsets[i + 1] as usize]
    }

    /// The number of arcs in the row block before row `i`.
    #[inline]
    pub fn first_arc(&self, i: usize) -> u64 {
        self.offsets[i].into()
    }

    /// Whether every number of the range has its row here.
    pub fn holds_all(&self) -> bool {
        self.offsets.len() == self.range.len() + 1
    }

    /// Whether every number has its row here, and all rows are empty.
    pub fn is_empty(&self) -> bool {
        self.holds_all() && self.offsets.last() == Some(&0)
    }

    pub fn size(&self) -> RowBlockSize {
        RowBlockSize {
            range: self.range.len() as u32,
            rows: self.offsets.len() as u64 - 1,
            arcs: self.offsets.last().map_or(0, |&end| end.into()),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowBlockSize {
    pub range: u32,
    pub rows: u64,
    pub arcs: u64,
}

impl RowBlockSize {
    /// Bytes on the device: successors, offsets, and the bits that mark locals, without padding between them.
    pub fn bytes(&self) -> Bytes {
        Bytes::of::<u32>(self.words()) + self.bits()
    }

    /// An upper bound of [`Self::bytes`] that includes the bits even if the range has no locals yet.
    pub fn most_bytes(&self) -> Bytes {
        Bytes::of::<u32>(self.words()) + VertexSet::bytes(self.range)
    }

    /// Words of offsets and successors.
    pub fn words(&self) -> u64 {
        self.rows + 1 + self.arcs
    }

    /// Bytes of the bits that mark locals; none if every number has a row.
    fn bits(&self) -> Bytes {
        if self.rows == u64::from(self.range) { Bytes::ZERO } else { VertexSet::bytes(self.range) }
    }
}

/// The longest range of a row block of at most `limit` bytes: the bits that mark locals take at most a quarter.
pub fn longest_row_block_range(limit: Bytes) -> u32 {
    // 12 bytes for each 64 numbers of the range, see `VertexSet::bytes`.
    (limit.get() / 4 / 12 * 64).clamp(512, u64::from(u32::MAX)) as u32
}

/// The smallest limit under which a row block can have a row of `longest` successors.
pub fn smallest_row_block_limit(longest: u32) -> Bytes {
    Bytes((4 * u64::from(longest) + 8) * 4 / 3 + 512)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_never_holds_more_than_its_largest_row_block() {
        // Many words and few bits, then the reverse, as in partitions with runs of locals.
        let row_blocks = [(1000, 999, 50_000), (600_000, 10, 100), (10, 10, 49_000), (500_000, 1, 45_000), (2, 1, 1)];
        let (mut row_block, mut most) = (RowBlock::default(), Bytes::ZERO);
        for (range, rows, arcs) in row_blocks {
            row_block.reset(0..range, rows, arcs).unwrap();
            most = most.max(RowBlockSize { range, rows, arcs }.bytes());
            assert!(row_block.heap() <= most, "{} of {most}", row_block.heap());
        }
    }
}
