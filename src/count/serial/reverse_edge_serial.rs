//! `reverse-edge-serial`, in the paper 'serial CUDA': the GPU program of `reverse-edge` carried out edge by edge.
//!
//! Three arrays: `successor`, all lists one after another, `index`, where each begins, and `tail`, of which list an entry of
//! `successor` is. One loop over the edges takes the place of the kernel; it needs no second loop over the entries of a list.
//!
//! `O(m^1.5)` time, and for each row block a pass over all edges. `successor` and `index` are the resident section as it stands.

use super::{Lists, common};
use crate::bytes::Bytes;
use crate::count::successors::SuccessorRows;
use crate::partition::section::{Resident, RowBlockView};

pub(super) struct Edges {
    tail: Vec<u32>,
}

impl Edges {
    pub(super) fn new(resident: &Resident) -> Self {
        let mut tail = Vec::with_capacity(resident.successors.len());
        for (place, row) in (0u32..).zip(resident.offsets.windows(2)) {
            tail.extend((row[0]..row[1]).map(|_| place));
        }
        Self { tail }
    }
}

impl Lists for Edges {
    fn count(&mut self, resident: &Resident, row_block: &RowBlockView<'_>, successors: &SuccessorRows<'_>) -> u64 {
        let mut triangles = 0;
        for (&successor, &tail) in resident.successors.iter().zip(&self.tail) {
            if row_block.range.contains(&successor) {
                triangles += common(resident.row(tail as usize), successors.row(successor));
            }
        }
        triangles
    }

    fn bytes(&self) -> Bytes {
        Bytes::of::<u32>(self.tail.capacity() as u64)
    }
}
