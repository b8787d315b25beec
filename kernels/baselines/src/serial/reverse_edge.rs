//! `reverse-edge`: the reverse-edge forward algorithm, an improved compact-forward that stores each edge once.
//!
//! Each vertex has an ascending list of its smaller neighbours. For each vertex `max` and each `mid` in its list, common entries are corners `min`.
//!
//! The paper's figure and its comparison with compact-forward store an edge at its end of larger number, as here; its fifth step of
//! preprocessing names the smaller one. With that, the lists of hubs would be as long as their degrees, so this follows the figure.
//!
//! `O(m^1.5)` time. Each list is a vector of its own, as in the paper; `reverse-edge-serial` has one array for all lists.

use trimill_counting::{Resident, RowBlockView, RowsLocation};

use super::{ResidentLists, common, row_of, vectors};

pub(super) struct ReverseEdgeSerial {
    lists: Vec<Vec<u32>>,
}

impl ReverseEdgeSerial {
    pub(super) fn new(resident: &Resident) -> Self {
        Self { lists: (0..resident.offsets.len() - 1).map(|i| resident.row(i).to_vec()).collect() }
    }
}

impl ResidentLists for ReverseEdgeSerial {
    fn count(&mut self, _: &Resident, row_block: &RowBlockView<'_>, location: &RowsLocation) -> u64 {
        let mut triangles = 0;
        for of_max in &self.lists {
            let start = of_max.partition_point(|&b| b < row_block.range.start);
            let end = of_max.partition_point(|&b| b < row_block.range.end);
            for &mid in &of_max[start..end] {
                triangles += common(of_max, row_of(row_block, location, mid, |local| &self.lists[local]));
            }
        }
        triangles
    }

    fn bytes(&self) -> u64 {
        vectors(&self.lists)
    }
}
