//! The rows of all heads in a frame's range: locals' rows are resident, proxies' rows are in the frame.

use crate::partition::section::{Frame, LocalsIn, Resident};

/// Finds the row of a head.
pub(super) struct HeadRows<'a> {
    resident: &'a Resident,
    frame: &'a Frame,
    local: LocalsIn,
}

impl<'a> HeadRows<'a> {
    pub(super) fn new(resident: &'a Resident, frame: &'a Frame) -> Self {
        Self { resident, frame, local: resident.locals_in(&frame.range) }
    }

    /// The row of `b`, a number in the frame's range.
    #[inline(always)]
    pub(super) fn row(&self, b: u32) -> &'a [u32] {
        let place = b - self.frame.range.start;
        match &self.local.bits {
            None => self.resident.row(self.local.first + place as usize),
            Some(local) => {
                let before = local.rank(place);
                if local.contains(place) {
                    self.resident.row(self.local.first + before as usize)
                } else {
                    self.frame.row((place - before) as usize)
                }
            }
        }
    }
}
