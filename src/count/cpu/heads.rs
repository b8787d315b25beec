//! The rows of all heads in a frame's range: locals' rows are resident, proxies' rows are in the frame.

use rayon::prelude::*;

use crate::graph::bits::{Bits, Marks};
use crate::partition::section::{Frame, Resident};

/// Finds the row of a head.
pub(super) struct HeadRows<'a> {
    resident: &'a Resident,
    frame: &'a Frame,
    /// Which of the range is local; `None` when all of it is.
    local: Option<Bits>,
    /// The first local of the range.
    first: usize,
}

impl<'a> HeadRows<'a> {
    pub(super) fn new(resident: &'a Resident, frame: &'a Frame) -> Self {
        let range = &frame.range;
        let first = resident.numbers.partition_point(|&number| number < range.start);
        let end = resident.numbers.partition_point(|&number| number < range.end);
        let local = (end - first < range.len()).then(|| {
            let marks = Marks::new(range.len() as u32);
            resident.numbers[first..end].par_iter().for_each(|&number| marks.set(number - range.start));
            marks.finish()
        });
        Self { resident, frame, local, first }
    }

    /// The row of `b`, a number in the frame's range.
    #[inline(always)]
    pub(super) fn row(&self, b: u32) -> &'a [u32] {
        let place = b - self.frame.range.start;
        match &self.local {
            None => self.resident.row(self.first + place as usize),
            Some(local) => {
                let before = local.rank(place);
                if local.contains(place) {
                    self.resident.row(self.first + before as usize)
                } else {
                    self.frame.row((place - before) as usize)
                }
            }
        }
    }
}
