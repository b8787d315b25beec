//! How a device's budget is divided between a resident section and row blocks.

use super::LARGEST_ROW_BLOCK;
use trimill_counting::{Footprint, RowBlockSize, smallest_row_block_limit};
use trimill_graph::GraphSize;
use trimill_system::bytes::Bytes;

/// A budget under a method.
#[derive(Debug, Clone, Copy)]
pub(super) struct Space {
    /// What `overhead` leaves of the budget.
    room: Bytes,
    /// The number of row blocks that must fit.
    passing: u64,
    /// The smallest row block that holds the longest row.
    least_row_block: Bytes,
    /// The largest row block with which the longest row can be resident.
    pub(super) for_row_block: Bytes,
    /// The row block that is chosen where the user chose none.
    pub(super) row_block: Bytes,
    /// What the whole graph takes of `room` as one partition.
    pub(super) whole: Bytes,
    /// What the method takes for any partition.
    pub(super) overhead: Bytes,
}

impl Space {
    /// Divides `device`.
    pub(super) fn new(graph: &GraphSize, footprint: &Footprint, device: Bytes, largest_row_block: Bytes) -> Self {
        let &GraphSize { vertices, edges, longest_row: longest, .. } = graph;
        let (least_row_block, passing) = (smallest_row_block_limit(longest), passing(footprint));
        let overhead = footprint.overhead(vertices);
        let row = footprint.resident(1, u64::from(longest));
        let room = device.saturating_sub(overhead);
        let for_row_block = Bytes(room.saturating_sub(row).get() / passing);
        let largest = LARGEST_ROW_BLOCK.min(for_row_block).min(largest_row_block);
        let row_block = Bytes(device.get() / (4 * passing)).min(largest).max(least_row_block);
        // One partition has no proxies: its one row block has no rows and is never cut.
        let bits = RowBlockSize { range: vertices, rows: 0, arcs: 0 }.bytes().get() * footprint.row_blocks.of(1).max(1);
        let whole = footprint.resident(u64::from(vertices), edges) + Bytes(bits);
        Self { room, passing, least_row_block, for_row_block, row_block, whole, overhead }
    }

    /// Whether the longest row fits, resident and in row blocks.
    pub(super) fn is_enough(&self) -> bool {
        self.for_row_block >= self.least_row_block
    }

    /// Whether the graph fits as one partition.
    pub(super) fn whole_fits(&self) -> bool {
        self.whole <= self.room
    }

    /// The most that a resident section may take beside row blocks of at most `row_block`.
    pub(super) fn most(&self, row_block: Bytes) -> Bytes {
        self.room - Bytes(row_block.get() * self.passing)
    }
}

/// The number of row blocks that must fit when there are many.
pub(super) fn passing(footprint: &Footprint) -> u64 {
    footprint.row_blocks.of(u64::MAX).max(2)
}
