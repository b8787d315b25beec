//! `reverse-edge-serial`, in the paper 'serial CUDA': the GPU program of `reverse-edge` carried out edge by edge.
//!
//! Three arrays: `head`, all lists one after another, `index`, where each begins, and `tail`, of which list an entry of `head` is.
//! One loop over the edges takes the place of the kernel; it needs no second loop over the entries of a list.
//!
//! `O(m^1.5)` time, and for each frame a pass over all edges. `head` and `index` are the resident section as it stands.

use super::{Lists, common};
use crate::bytes::Bytes;
use crate::count::heads::HeadRows;
use crate::partition::section::{FrameView, Resident};

pub(super) struct Edges {
    tail: Vec<u32>,
}

impl Edges {
    pub(super) fn new(resident: &Resident) -> Self {
        let mut tail = Vec::with_capacity(resident.heads.len());
        for (place, row) in (0u32..).zip(resident.offsets.windows(2)) {
            tail.extend((row[0]..row[1]).map(|_| place));
        }
        Self { tail }
    }
}

impl Lists for Edges {
    fn count(&mut self, resident: &Resident, frame: &FrameView<'_>, heads: &HeadRows<'_>) -> u64 {
        let mut triangles = 0;
        for (&head, &tail) in resident.heads.iter().zip(&self.tail) {
            if frame.range.contains(&head) {
                triangles += common(resident.row(tail as usize), heads.row(head));
            }
        }
        triangles
    }

    fn bytes(&self) -> Bytes {
        Bytes::of::<u32>(self.tail.capacity() as u64)
    }
}
