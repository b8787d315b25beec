//! How a device's budget is divided between resident rows and row blocks.

use trimill_counting::{Footprint, RowBlockSize, smallest_row_block_limit};
use trimill_graph::GraphSize;
use trimill_system::Bytes;

#[derive(Debug, Clone, Copy)]
pub(super) struct Space {
    /// The budget without `overhead`.
    room: Bytes,
    /// The number of row blocks that must fit.
    passing: u64,
    /// The smallest row block that holds the longest row.
    pub(super) least_row_block: Bytes,
    /// The largest row block with which the longest row can be resident.
    pub(super) for_row_block: Bytes,
    /// The row block, unless the user chose it.
    pub(super) row_block: Bytes,
    /// What the whole graph takes of `room` as one partition.
    pub(super) whole: Bytes,
    /// The resident rows of the whole graph, and the most that the method can number.
    resident: Bytes,
    most_resident: Bytes,
    pub(super) overhead: Bytes,
}

impl Space {
    pub(super) fn new(graph: &GraphSize, footprint: &Footprint, device: Bytes, largest_row_block: Bytes) -> Self {
        let &GraphSize { vertices, edges, longest_row: longest, .. } = graph;
        let (least_row_block, passing) = (smallest_row_block_limit(longest), passing(footprint));
        let overhead = footprint.overhead(vertices);
        let row = footprint.resident(1, u64::from(longest));
        let room = device.saturating_sub(overhead);
        let for_row_block = Bytes(room.saturating_sub(row).get() / passing);
        let largest = footprint.largest_row_block.min(for_row_block).min(largest_row_block);
        let row_block = Bytes(device.get() / (4 * passing)).min(largest).max(least_row_block);
        // One partition has no proxies: its one row block has no rows and is never cut.
        let bits = RowBlockSize { range: vertices, rows: 0, arcs: 0 }.bytes().get() * footprint.row_blocks.of(1).max(1);
        let resident = footprint.resident(u64::from(vertices), edges);
        let (whole, most_resident) = (resident + Bytes(bits), footprint.most_resident);
        Self { room, passing, least_row_block, for_row_block, row_block, whole, resident, most_resident, overhead }
    }

    /// Whether the longest row fits, resident and in row blocks.
    pub(super) fn is_enough(&self) -> bool {
        self.for_row_block >= self.least_row_block
    }

    pub(super) fn whole_fits(&self) -> bool {
        self.whole <= self.room && self.resident <= self.most_resident
    }

    /// The most bytes of resident rows beside row blocks of at most `row_block`.
    pub(super) fn most(&self, row_block: Bytes) -> Bytes {
        (self.room - Bytes(row_block.get() * self.passing)).min(self.most_resident)
    }
}

/// The number of row blocks that must fit if there are many.
pub(super) fn passing(footprint: &Footprint) -> u64 {
    footprint.row_blocks.of(u64::MAX).max(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_resident_than_the_method_can_number() {
        let graph = GraphSize { vertices: 1000, edges: 100_000, longest_row: 300, probes: 0 };
        let footprint = Footprint { per_resident_arc: 4, per_local: 12, ..Footprint::NOTHING };
        let space = |most_resident| {
            let footprint = Footprint { most_resident: Bytes(most_resident), ..footprint };
            Space::new(&graph, &footprint, Bytes::mib(1024), Bytes::mib(256))
        };
        assert!(space(u64::MAX).whole_fits() && space(412_000).whole_fits());
        assert!(!space(411_999).whole_fits() && space(411_999).is_enough());
        assert_eq!(space(300_000).most(Bytes::mib(1)), Bytes(300_000));
        assert!(space(u64::MAX).most(Bytes::mib(1)) > Bytes::mib(900));
    }
}
