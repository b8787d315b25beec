//! Which pieces of a peeled graph are on the device; the others are in page-locked host memory, which kernels access over the bus. Values, which all
//! threads change at random places, and all arrays of the size of the vertices are always on the device. Next come the rows of neighbours, then the
//! edge numbers of neighbours, which are read only where a triangle is found. If not all neighbours fit, half of the remaining memory has the rows of
//! the first vertices, the longest and most searched; 7/16 cache rows of falling edges; 1/16 is for sorting these edges by their longer row.

use super::constants::{COUNTS, TAIL_STEP};
use crate::arena::{ALIGNMENT, padded};
use crate::prepare::sort_memory;

/// Sizes in bytes, except for `sorted` and `lists`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PeelingPieces {
    pub(super) by_vertex: u64,
    pub(super) by_edge: u64,
    pub(super) tails: u64,
    /// The values; while rows are made, the keys that are sorted.
    pub(super) values: u64,
    /// The rows of neighbours on the device, and of the edges to neighbours.
    pub(super) neighbours: u64,
    pub(super) edges: u64,
    /// The cache of rows of neighbours.
    pub(super) fetched: u64,
    pub(super) sorted: u64,
    /// Whether the gathered edges, those that fell, and the heads are on the device.
    pub(super) lists: [bool; 3],
}

impl PeelingPieces {
    /// For a device with `capacity` bytes; `None` if that is too little, or if rows may be too long for a search by 32-bit places.
    pub(super) fn of(vertices: u64, edges: u64, capacity: u64) -> Option<Self> {
        if vertices > 1 << 31 {
            return None;
        }
        let (by_vertex, by_edge) = (4 * vertices, 4 * edges);
        let mut pieces = Self {
            by_vertex,
            by_edge,
            tails: 4 * (edges.div_ceil(TAIL_STEP) + 1),
            values: padded(by_edge.max(1)),
            neighbours: 0,
            edges: 0,
            fetched: 0,
            sorted: 0,
            lists: [false; 3],
        };
        let mut left = capacity.checked_sub(pieces.always(vertices))?;
        let (rows, share) = (pieces.all_rows(), |of: u64, sixteenths| of / 16 * sixteenths / ALIGNMENT * ALIGNMENT);
        match left.checked_sub(padded(rows)) {
            Some(rest) if padded(rows) <= rest => (pieces.neighbours, pieces.edges) = (rows, rows),
            Some(rest) => (pieces.neighbours, pieces.edges) = (rows, share(rest, 15)),
            None => (pieces.neighbours, pieces.fetched) = (share(left, 8), share(left, 7)),
        }
        left -= padded(pieces.neighbours) + padded(pieces.edges) + pieces.fetched;
        for near in &mut pieces.lists {
            *near = padded(by_edge) <= left;
            left -= if *near { padded(by_edge) } else { 0 };
        }
        // For two pieces without padding.
        pieces.sorted = (left / 16).min(pieces.keys()).min(edges / 8) / ALIGNMENT * ALIGNMENT;
        Some(pieces)
    }

    /// The bytes of all rows of neighbours, and of those of edges: each edge is in two rows.
    fn all_rows(&self) -> u64 {
        2 * self.by_edge
    }

    fn always(&self, vertices: u64) -> u64 {
        let sort = sort_memory(self.keys(), 1);
        2 * padded(8 * (vertices + 1))
            + padded(8 * vertices)
            + 3 * padded(self.by_vertex)
            + padded(8)
            + padded(4 * COUNTS)
            + padded(self.tails)
            + self.values
            + sort
    }

    /// How many keys are sorted at a time: half of the values' memory is free for it.
    pub(super) fn keys(&self) -> u64 {
        self.values / 16
    }

    #[cfg(test)]
    pub(super) fn on_device(vertices: u64, edges: u64) -> u64 {
        let pieces = Self::of(vertices, edges, u64::MAX / 2);
        pieces.map_or(0, |pieces| {
            pieces.always(vertices) + 2 * padded(pieces.all_rows()) + 3 * padded(pieces.by_edge) + 16 * pieces.sorted
        })
    }

    /// An upper bound of the bytes in host memory: a row is not divided.
    pub(super) fn on_host(&self, vertices: u64) -> u64 {
        let lists = self.lists.into_iter().filter(|near| !near).count() as u64 * (self.by_edge + 8);
        let rows = match 2 * self.all_rows() - self.neighbours - self.edges {
            0 => 0,
            // The beginnings of rows, too, to find the first row that is not on the device.
            rest => rest + 2 * 8 * (vertices + 1),
        };
        lists + rows
    }
}
