//! `reverse-edge-serial`, in the paper 'serial CUDA': the GPU program of `reverse-edge`, edge by edge on one thread.
//!
//! Three arrays: `successor`, all lists one after another; `index`, where each begins; `tail`, the vertex whose list an entry of
//! `successor` is in. One loop over the edges replaces the kernel; no outer loop over the vertices is needed.
//!
//! `O(m^1.5)` time, and a pass over all edges for each row block. `successor` and `index` are the resident section itself.

use trimill_counting::{Resident, RowBlockView, RowsLocation};

use super::{ResidentLists, common, row_of};

pub(super) struct EdgeArrays {
    tail: Vec<u32>,
}

impl EdgeArrays {
    pub(super) fn new(resident: &Resident) -> Self {
        let mut tail = Vec::with_capacity(resident.successors.len());
        for (place, row) in (0u32..).zip(resident.offsets.windows(2)) {
            tail.extend((row[0]..row[1]).map(|_| place));
        }
        Self { tail }
    }
}

impl ResidentLists for EdgeArrays {
    fn count(&mut self, resident: &Resident, row_block: &RowBlockView<'_>, location: &RowsLocation) -> u64 {
        let mut triangles = 0;
        for (&successor, &tail) in resident.successors.iter().zip(&self.tail) {
            if row_block.range.contains(&successor) {
                let row = row_of(row_block, location, successor, |local| resident.row(local));
                triangles += common(resident.row(tail as usize), row);
            }
        }
        triangles
    }

    fn bytes(&self) -> u64 {
        4 * self.tail.capacity() as u64
    }
}
