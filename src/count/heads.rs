//! The rows of all heads in a frame's range: locals' rows are resident, proxies' rows are in the frame.

use crate::partition::numbers::Numbers;
use crate::partition::section::{FrameView, Resident, RowsIn};

/// Where a head's row is.
pub(super) enum Place<'a> {
    /// In the resident section, so many rows after the first.
    Resident(usize),
    /// In the frame: the row itself.
    Frame(&'a [u32]),
}

/// Finds the row of a head.
pub(super) struct HeadRows<'a> {
    resident: &'a Resident,
    frame: &'a FrameView<'a>,
    rows: RowsIn,
}

impl<'a> HeadRows<'a> {
    pub(super) fn new(resident: &'a Resident, frame: &'a FrameView<'a>) -> Self {
        Self { resident, frame, rows: Resident::rows_in(Numbers::List(&resident.numbers), frame, None) }
    }

    /// Where the row of `b` is, a number in the frame's range.
    #[inline(always)]
    pub(super) fn place(&self, b: u32) -> Place<'a> {
        let place = b - self.frame.range.start;
        match &self.rows {
            RowsIn::Resident { first } => Place::Resident(first + place as usize),
            RowsIn::Frame { .. } => Place::Frame(self.frame.row(place as usize)),
            RowsIn::Both { first, local } => {
                let before = local.rank(place);
                if local.contains(place) {
                    Place::Resident(first + before as usize)
                } else {
                    Place::Frame(self.frame.row((place - before) as usize))
                }
            }
        }
    }

    /// The row of `b`, a number in the frame's range.
    #[inline(always)]
    pub(super) fn row(&self, b: u32) -> &'a [u32] {
        match self.place(b) {
            Place::Resident(place) => self.resident.row(place),
            Place::Frame(row) => row,
        }
    }
}
