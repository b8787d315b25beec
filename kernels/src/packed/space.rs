//! The work space: the memory for assigning and counting arcs. A row block is counted in pieces (ranges of its numbers), each against batches of
//! locals, whose data fits the work space: the piece's packed rows and table, the owners' ends, the assigned arcs, the list of owners. If all fits,
//! there is one piece and one batch. Both are found by binary search. Counting on arcs takes 4 more bytes per chunk of rows and per assigned arc.

use std::ops::Range;

use super::{SCAN, packed_bytes};
use crate::arena::largest;
use trimill_counting::{EDGE_COUNTER_BYTES, PartitionExtent};

/// The locals of a block; a batch is a run of blocks.
pub(super) const BLOCK: u32 = 256;

/// Bytes for a batch of one block and a piece of one number, without its row.
pub(super) const LEAST: u64 = 64 << 10;

/// The least work space, for about ten batches and two pieces of a row block: an eighth to a quarter of one batch of all locals, and two row blocks.
pub(super) const LEAST_PER_ARC: u64 = 2;
pub(super) const LEAST_PER_LOCAL: u64 = 4;
pub(super) const LEAST_ROW_BLOCKS: u64 = 2;

pub(super) const LEAST_PER_ARC_WITH_EDGES: u64 = 3;
pub(super) const LEAST_ROW_BLOCKS_WITH_EDGES: u64 = 3;

/// The most arcs, and the most owners, of a batch: kernels number both with 32 bits, and step past the end by what a block or all warps take.
pub(super) const MOST: u64 = (1 << 32) - (1 << 20);

/// Offsets in the work space, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WorkOffsets {
    pub(super) table: u64,
    pub(super) ends: u64,
    pub(super) arcs: u64,
    /// The counters of the assigned arcs, and of the first arcs of chunks.
    pub(super) arc_counters: u64,
    pub(super) firsts: u64,
    pub(super) list: u64,
    pub(super) list_length: u64,
    pub(super) sums: u64,
    pub(super) state: u64,
    pub(super) end: u64,
}

/// The size of a piece of `numbers` numbers, of which the row block has `rows` rows with `arcs` successors. At most `into` resident arcs lead there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BlockRange {
    pub(super) numbers: u64,
    pub(super) rows: u64,
    pub(super) arcs: u64,
    pub(super) into: u64,
    pub(super) all_local: bool,
    pub(super) edges: bool,
}

impl BlockRange {
    pub(super) fn words(&self) -> u64 {
        if self.all_local { 0 } else { packed_bytes(self.rows, self.arcs) }
    }

    fn firsts(&self) -> u64 {
        if self.edges { firsts_bytes(self.words()) } else { 0 }
    }

    /// Bytes of its packed rows, its table, and the counters of its chunks' first arcs.
    pub(super) fn bytes(&self) -> u64 {
        self.words() + self.table().next_multiple_of(16) + self.firsts().next_multiple_of(16)
    }

    fn table(&self) -> u64 {
        if self.all_local { 0 } else { 8 * self.numbers }
    }
}

/// Bytes of the counters of first arcs, one for each 16-byte chunk of `words` bytes of packed rows.
pub(super) const fn firsts_bytes(words: u64) -> u64 {
    words / 16 * EDGE_COUNTER_BYTES
}

/// Where the data of a piece and a batch is, with `owners` owners of at most `arcs` arcs in all.
pub(super) fn places(piece: &BlockRange, owners: u64, arcs: u64) -> WorkOffsets {
    let mut at = 0;
    let mut next = |bytes: u64| {
        let begin = at;
        at += bytes.next_multiple_of(16);
        begin
    };
    next(piece.words());
    let table = next(piece.table());
    let firsts = next(piece.firsts());
    let ends = next(8 * owners);
    let arcs_at = next(8 * arcs);
    let arc_counters = next(if piece.edges { EDGE_COUNTER_BYTES * arcs } else { 0 });
    // An owner has one entry, and another one for each part of 32,768 chunks, or 1,365 long rows.
    let list_length = owners + arcs / 1024 + 1;
    let list = next(8 * list_length);
    let sums = next(4 * scan_blocks(owners));
    let state = next(16);
    WorkOffsets { table, ends, arcs: arcs_at, arc_counters, firsts, list, list_length, sums, state, end: at }
}

pub(super) fn scan_blocks(owners: u64) -> u64 {
    (2 * owners).div_ceil(SCAN.into())
}

/// The number of arcs before each block of [`BLOCK`] locals, and finally of all arcs.
#[derive(Debug, Clone, Default)]
pub(super) struct ArcsBefore {
    before: Vec<u64>,
    locals: u32,
    arcs: u64,
    largest: u64,
}

impl ArcsBefore {
    /// Appends a run, given the ends of its rows.
    pub(super) fn extend(&mut self, ends: &[u64]) {
        let first = self.locals.next_multiple_of(BLOCK) - self.locals;
        for row in (first as usize..ends.len()).step_by(BLOCK as usize) {
            if row > 0 {
                self.arcs = ends[row - 1];
            }
            self.mark();
        }
        self.locals += ends.len() as u32;
        self.arcs = ends.last().copied().unwrap_or(self.arcs);
    }

    /// Notes the arcs before the next block; to be called once more after the last row.
    pub(super) fn mark(&mut self) {
        let last = self.before.last().copied().unwrap_or(0);
        self.largest = self.largest.max(self.arcs - last);
        self.before.push(self.arcs);
    }

    pub(super) fn count(&self) -> u32 {
        self.locals.div_ceil(BLOCK)
    }

    /// The locals of a range of blocks, and the most arcs that they have into a piece.
    pub(super) fn batch(&self, first: u32, end: u32, piece: &BlockRange) -> LocalsBatch {
        let (begin, past) = (first * BLOCK, (u64::from(end) * u64::from(BLOCK)).min(u64::from(self.locals)) as u32);
        let arcs = self.before[end as usize] - self.before[first as usize];
        let count = past - begin;
        LocalsBatch {
            first: begin,
            count,
            arcs: arcs.min(u64::from(count).saturating_mul(piece.numbers)).min(piece.into),
        }
    }

    fn least(&self, piece: &BlockRange) -> u64 {
        let arcs = self.largest.min(u64::from(BLOCK) * piece.numbers);
        places(piece, u64::from(BLOCK) + piece.numbers, arcs).end
    }

    /// The end of the longest piece from `range.start` on of at most `limit` bytes that leaves space for a batch; `piece(end)` is its size.
    pub(super) fn cut_piece(
        &self,
        range: Range<u32>,
        limit: u64,
        space: u64,
        piece: impl Fn(u32) -> BlockRange,
    ) -> u32 {
        let fits = |end: u32| {
            let piece = piece(end);
            piece.bytes() <= limit && self.least(&piece) <= space
        };
        longest(range.start + 1, range.end, fits)
    }

    /// The end of the longest batch from block `first` on that fits beside `others` further owners.
    pub(super) fn cut_batch(&self, first: u32, space: u64, piece: &BlockRange, others: u64) -> u32 {
        let fits = |end: u32| {
            let batch = self.batch(first, end, piece);
            let owners = u64::from(batch.count) + others;
            batch.arcs <= MOST && owners <= MOST && places(piece, owners, batch.arcs).end <= space
        };
        longest(first + 1, self.count(), fits)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LocalsBatch {
    pub(super) first: u32,
    pub(super) count: u32,
    pub(super) arcs: u64,
}

/// The largest of `least..=most` that fits, or `least` if none does. `fits` must be monotone, as for [`largest`].
fn longest(least: u32, most: u32, fits: impl Fn(u32) -> bool) -> u32 {
    largest(u64::from(least)..u64::from(most) + 1, |number| fits(number as u32)) as u32
}

/// The bytes of the work space with which everything is counted at once; more does not help. Row blocks have no bytes if all vertices are local.
pub(super) fn preferred_space(size: &PartitionExtent, edges: bool) -> u64 {
    let &PartitionExtent { locals, arcs, numbered, row_block_limit: row_block } = size;
    let (rows, all_local) = (row_block / 4, row_block == 0);
    let others = if all_local { 0 } else { u64::from(numbered) };
    let piece = BlockRange { numbers: others, rows, arcs: rows, into: arcs, all_local, edges };
    places(&piece, locals + others, arcs).end + row_block
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_and_pieces_fit_whatever_the_space() {
        let mut blocks = ArcsBefore::default();
        // A long row in the midst of short ones.
        let mut end = 0;
        let ends: Vec<u64> = (0..2000u64)
            .map(|row| {
                end += if row == 700 { 5000 } else { row % 7 };
                end
            })
            .collect();
        ends.chunks(333).for_each(|run| blocks.extend(run));
        blocks.mark();
        assert_eq!((blocks.locals, blocks.count()), (2000, 8));
        assert!(blocks.largest >= 5000);
        let row = 4 * 900;
        for space in [LEAST + row, LEAST + row + 5000, 1 << 20, 1 << 30] {
            let piece = |end: u32| {
                let numbers = u64::from(end - 100);
                BlockRange {
                    numbers,
                    rows: numbers,
                    arcs: 900 * numbers,
                    into: u64::MAX,
                    all_local: false,
                    edges: false,
                }
            };
            let end = blocks.cut_piece(100..3000, space / 2, space, piece);
            assert!(end > 100 && (end == 101 || piece(end).bytes() <= space / 2));
            assert!(end == 3000 || piece(end + 1).bytes() > space / 2 || blocks.least(&piece(end + 1)) > space);
            let piece = piece(end);
            let (mut first, mut locals, mut arcs) = (0, 0, 0);
            while first < blocks.count() {
                let end = blocks.cut_batch(first, space, &piece, piece.numbers);
                let batch = blocks.batch(first, end, &piece);
                assert!(places(&piece, u64::from(batch.count) + piece.numbers, batch.arcs).end <= space, "{space}");
                assert_eq!(batch.first, locals);
                locals += batch.count;
                arcs += batch.arcs;
                first = end;
            }
            assert_eq!(locals, 2000);
            assert!(space < 1 << 30 || (end == 3000 && arcs == *ends.last().unwrap_or(&0)));
        }
    }

    #[test]
    fn the_preferred_space_is_enough_for_everything_at_once() {
        let mut blocks = ArcsBefore::default();
        blocks.extend(&(1..=1000).map(|row| 10 * row).collect::<Vec<_>>());
        blocks.mark();
        let all = BlockRange { numbers: 1000, rows: 0, arcs: 0, into: u64::MAX, all_local: true, edges: false };
        let size = PartitionExtent { locals: 1000, arcs: 10_000, numbered: 1000, row_block_limit: 0 };
        let space = preferred_space(&size, false);
        assert_eq!(blocks.cut_piece(0..1000, space, 2 * space, |_| all), 1000);
        assert_eq!(blocks.cut_batch(0, space, &all, 0), blocks.count());
    }

    #[test]
    fn batches_are_numbered_with_32_bits() {
        let mut blocks = ArcsBefore::default();
        // A row has 2^24 arcs, a block 2^32, all 256 blocks 2^40.
        let ends: Vec<u64> = (1..=1 << 16).map(|row| row << 24).collect();
        blocks.extend(&ends);
        blocks.mark();
        let piece = BlockRange { numbers: u64::MAX, rows: 0, arcs: 0, into: u64::MAX, all_local: true, edges: false };
        assert_eq!(blocks.cut_batch(7, u64::MAX / 2, &piece, 0), 8, "a block is the least");
        let mut blocks = ArcsBefore::default();
        blocks.extend(&ends.iter().map(|end| end >> 20).collect::<Vec<_>>());
        blocks.mark();
        let many = |others| blocks.cut_batch(0, u64::MAX / 2, &piece, others);
        assert_eq!(many(0), 256);
        assert_eq!(many(MOST - (1 << 16)), 256);
        assert_eq!(many(MOST + 1 - (1 << 16)), 255);
        let mut blocks = ArcsBefore::default();
        blocks.extend(&ends.iter().map(|end| end >> 8).collect::<Vec<_>>());
        blocks.mark();
        let end = blocks.cut_batch(0, u64::MAX / 2, &piece, 0);
        assert!(blocks.batch(0, end, &piece).arcs <= MOST && blocks.batch(0, end + 1, &piece).arcs > MOST);
    }

    #[test]
    fn places_do_not_overlap() {
        let piece = BlockRange { numbers: 7, rows: 3, arcs: 100, into: u64::MAX, all_local: false, edges: false };
        let p = places(&piece, 50, 3000);
        assert!(p.table >= piece.words() && p.ends >= p.table + 56);
        assert!(p.arcs >= p.ends + 400 && p.list >= p.arcs + 24_000);
        assert!(p.list_length >= 50 + 3000 * 24 / 32_768 && p.sums >= p.list + 8 * p.list_length);
        assert!(p.state >= p.sums + 4 && p.end >= p.state + 16);
        for at in [p.table, p.ends, p.arcs, p.list, p.sums, p.state, p.end] {
            assert_eq!(at % 16, 0);
        }
    }
}
