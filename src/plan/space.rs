//! How a device's budget is divided between a resident section and frames.

use super::LARGEST_FRAME;
use crate::bytes::Bytes;
use crate::count::Terms;
use crate::partition::section::{frame_bytes, smallest_frame_limit};

/// A budget under a method.
#[derive(Debug, Clone, Copy)]
pub(super) struct Space {
    /// What is left beside what the method takes whatever the partition.
    room: Bytes,
    /// Frames for which there must be room.
    passing: u64,
    /// The smallest frame that holds the longest row.
    least_frame: Bytes,
    /// The largest frame with which the longest row can be resident.
    pub(super) for_frame: Bytes,
    /// The frame that is chosen where the user chose none.
    pub(super) frame: Bytes,
    /// What the whole graph takes as one partition, of `room`.
    pub(super) whole: Bytes,
    /// What the method takes whatever the partition.
    pub(super) overhead: Bytes,
}

impl Space {
    /// Divides `device` for a graph of so many vertices and edges whose longest row is `longest`.
    pub(super) fn new(
        (vertices, edges, longest): (u32, u64, u32),
        terms: &Terms,
        device: Bytes,
        largest_frame: Bytes,
    ) -> Self {
        let (least_frame, passing) = (smallest_frame_limit(longest), passing(terms));
        let overhead = terms.overhead(vertices);
        let row = terms.resident(1, u64::from(longest));
        let room = device.saturating_sub(overhead);
        let for_frame = Bytes(room.saturating_sub(row).get() / passing);
        let largest = LARGEST_FRAME.min(for_frame).min(largest_frame);
        let frame = Bytes(device.get() / (4 * passing)).min(largest).max(least_frame);
        // As one partition there are no proxies: one frame without rows, never cut.
        let bits = frame_bytes(vertices, 0, 0).get() * (terms.slots)(1).max(1);
        let whole = terms.resident(u64::from(vertices), edges) + Bytes(bits);
        Self { room, passing, least_frame, for_frame, frame, whole, overhead }
    }

    /// Whether the longest row fits, resident and in frames.
    pub(super) fn is_enough(&self) -> bool {
        self.for_frame >= self.least_frame
    }

    /// Whether the graph fits as one partition.
    pub(super) fn whole_fits(&self) -> bool {
        self.whole <= self.room
    }

    /// The most that a resident section may take beside frames of at most `frame`.
    pub(super) fn most(&self, frame: Bytes) -> Bytes {
        self.room - Bytes(frame.get() * self.passing)
    }
}

/// Frames for which there must be room when there are many.
pub(super) fn passing(terms: &Terms) -> u64 {
    (terms.slots)(u64::MAX).max(2)
}
