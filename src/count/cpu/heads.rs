//! The rows of all heads in a frame's range: locals' rows are resident, proxies' rows are in the frame.

use crate::partition::section::{FrameView, Resident, RowsIn};

/// Finds the row of a head.
pub(super) struct HeadRows<'a> {
    resident: &'a Resident,
    frame: &'a FrameView<'a>,
    rows: RowsIn,
}

impl<'a> HeadRows<'a> {
    pub(super) fn new(resident: &'a Resident, frame: &'a FrameView<'a>) -> Self {
        Self { resident, frame, rows: Resident::rows_in(&resident.numbers, frame) }
    }

    /// The row of `b`, a number in the frame's range.
    #[inline(always)]
    pub(super) fn row(&self, b: u32) -> &'a [u32] {
        let place = b - self.frame.range.start;
        match &self.rows {
            RowsIn::Resident { first } => self.resident.row(first + place as usize),
            RowsIn::Frame => self.frame.row(place as usize),
            RowsIn::Both { first, local } => {
                let before = local.rank(place);
                if local.contains(place) {
                    self.resident.row(first + before as usize)
                } else {
                    self.frame.row((place - before) as usize)
                }
            }
        }
    }
}
