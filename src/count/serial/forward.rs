//! `forward`: T. Schank, D. Wagner, 'Finding, Counting and Listing all Triangles in Large Graphs' (WEA 2005).
//!
//! Vertices are met in falling degree, number 0 first. Each edge is kept at its end of smaller number, in no order that is used.
//! When `v` is met, for each `u` in its list the sets `A(u)` and `A(v)` are intersected and `v` is added to `A(u)`. So `A(u)` holds
//! those neighbours of `u` that were met before, and it grows: that is the method's price.
//!
//! `O(m^1.5)` time. `A` needs no sorting, since vertices are added in ascending order.

use super::{Lists, common, vectors};
use crate::bytes::Bytes;
use crate::count::successors::SuccessorRows;
use crate::partition::section::{Resident, RowBlockView};

pub(super) struct Forward {
    /// For each vertex its neighbours of larger number.
    later: Vec<Vec<u32>>,
    /// For each vertex its neighbours that were met.
    met: Vec<Vec<u32>>,
}

impl Forward {
    pub(super) fn new(resident: &Resident) -> Self {
        let mut lengths = vec![0; resident.numbers.len()];
        resident.successors.iter().for_each(|&b| lengths[b as usize] += 1);
        let mut later: Vec<Vec<u32>> = lengths.into_iter().map(Vec::with_capacity).collect();
        for (i, &a) in resident.numbers.iter().enumerate() {
            resident.row(i).iter().for_each(|&b| later[b as usize].push(a));
        }
        // In the end they are the rows, so they need not grow by doubling.
        let met = (0..later.len()).map(|i| Vec::with_capacity(resident.row(i).len())).collect();
        Self { met, later }
    }
}

impl Lists for Forward {
    fn count(&mut self, _: &Resident, _: &RowBlockView<'_>, _: &SuccessorRows<'_>) -> u64 {
        let mut triangles = 0;
        for (v, later) in (0..).zip(&self.later) {
            for &u in later {
                triangles += common(&self.met[u as usize], &self.met[v as usize]);
                self.met[u as usize].push(v);
            }
        }
        triangles
    }

    fn bytes(&self) -> Bytes {
        vectors(&self.later) + vectors(&self.met)
    }
}
