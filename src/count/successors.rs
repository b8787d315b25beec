//! The rows of all successors in a row block's range: locals' rows are resident, proxies' rows are in the row block.

use std::ops::Range;

use trimill_counting::{Resident, RowBlockView, RowPlace, RowsLocation};
use trimill_system::mapped::prefetch;

pub(super) struct SuccessorRows<'a> {
    /// CSR row offsets of `entries`.
    offsets: &'a [u64],
    entries: &'a [u32],
    row_block: &'a RowBlockView<'a>,
    rows: RowsLocation,
}

impl<'a> SuccessorRows<'a> {
    pub(super) fn new(resident: &'a Resident, row_block: &'a RowBlockView<'a>) -> Self {
        let rows = Resident::rows_in(&resident.numbers, row_block, None);
        Self { offsets: &resident.offsets, entries: &resident.successors, row_block, rows }
    }

    #[inline(always)]
    pub(super) fn row(&self, b: u32) -> &'a [u32] {
        match self.place(b) {
            RowPlace::Resident(i) => self.resident(i),
            RowPlace::RowBlock(i) => self.row_block.row(i),
        }
    }

    /// The row of `b`, and the place of its first arc; arcs of the row block come after `arcs` resident ones.
    #[inline(always)]
    pub(super) fn row_at(&self, b: u32, arcs: u64) -> (&'a [u32], u64) {
        match self.place(b) {
            RowPlace::Resident(i) => (self.resident(i), self.offsets[i]),
            RowPlace::RowBlock(i) => (self.row_block.row(i), arcs + self.row_block.first_arc(i)),
        }
    }

    #[inline(always)]
    fn place(&self, b: u32) -> RowPlace {
        self.rows.place(b - self.row_block.range.start)
    }

    pub(super) fn range(&self) -> &'a Range<u32> {
        &self.row_block.range
    }

    /// Whether these are all rows of a graph: then [`Self::resident`] takes a vertex.
    pub(super) fn are_all(&self) -> bool {
        let range = &self.row_block.range;
        let first = matches!(self.rows, RowsLocation::Resident { first: 0 });
        first && range.start == 0 && range.end as usize + 1 == self.offsets.len()
    }

    /// The resident row of `b`, if all rows of the range are resident.
    #[inline(always)]
    fn resident_place(&self, b: u32) -> Option<usize> {
        let RowsLocation::Resident { first } = self.rows else { return None };
        Some(first + (b - self.row_block.range.start) as usize)
    }

    /// Prefetches the bounds of the row of `b`, for [`Self::prefetch`].
    #[inline(always)]
    pub(super) fn prefetch_place(&self, b: u32) {
        if let Some(i) = self.resident_place(b) {
            prefetch(self.offsets, i);
        }
    }

    #[inline(always)]
    pub(super) fn prefetch_offset(&self, i: usize) {
        prefetch(self.offsets, i);
    }

    #[inline(always)]
    pub(super) fn prefetch(&self, b: u32) {
        if let Some(i) = self.resident_place(b) {
            prefetch(self.entries, self.offsets[i] as usize);
            prefetch(self.entries, (self.offsets[i + 1] as usize).wrapping_sub(1));
        }
    }

    /// Entries between the beginnings of resident row `i` and of the row of `b`; 0 if that is not resident.
    pub(super) fn distance(&self, i: usize, b: u32) -> u64 {
        self.resident_place(b).map_or(0, |place| self.offsets[place].abs_diff(self.offsets[i]))
    }

    #[inline(always)]
    pub(super) fn resident(&self, i: usize) -> &'a [u32] {
        &self.entries[self.offsets[i] as usize..self.offsets[i + 1] as usize]
    }
}
