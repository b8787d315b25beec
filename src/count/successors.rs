//! The rows of all successors in a row block's range: locals' rows are resident, proxies' rows are in the row block.

use crate::partition::numbers::Numbers;
use crate::partition::section::{Resident, RowBlockView, RowsLocation};

/// Where a successor's row is.
pub(super) enum RowLocation<'a> {
    /// In the resident section, at this place.
    Resident(usize),
    /// In the row block: the row itself.
    RowBlock(&'a [u32]),
}

/// Finds the row of a successor.
pub(super) struct SuccessorRows<'a> {
    resident: &'a Resident,
    row_block: &'a RowBlockView<'a>,
    rows: RowsLocation,
}

impl<'a> SuccessorRows<'a> {
    pub(super) fn new(resident: &'a Resident, row_block: &'a RowBlockView<'a>) -> Self {
        Self { resident, row_block, rows: Resident::rows_in(Numbers::List(&resident.numbers), row_block, None) }
    }

    /// Where the row of `b` is; `b` is a number in the row block's range.
    #[inline(always)]
    pub(super) fn place(&self, b: u32) -> RowLocation<'a> {
        let place = b - self.row_block.range.start;
        match &self.rows {
            RowsLocation::Resident { first } => RowLocation::Resident(first + place as usize),
            RowsLocation::RowBlock { .. } => RowLocation::RowBlock(self.row_block.row(place as usize)),
            RowsLocation::Both { first, local } => {
                let before = local.rank(place);
                if local.contains(place) {
                    RowLocation::Resident(first + before as usize)
                } else {
                    RowLocation::RowBlock(self.row_block.row((place - before) as usize))
                }
            }
        }
    }

    /// The row of `b`; `b` is a number in the row block's range.
    #[inline(always)]
    pub(super) fn row(&self, b: u32) -> &'a [u32] {
        match self.place(b) {
            RowLocation::Resident(place) => self.resident.row(place),
            RowLocation::RowBlock(row) => row,
        }
    }
}
