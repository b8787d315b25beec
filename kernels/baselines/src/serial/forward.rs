//! `forward`: T. Schank, D. Wagner, 'Finding, Counting and Listing all Triangles in Large Graphs' (WEA 2005).
//!
//! Vertices are visited in descending degree order, number 0 first. Each edge is in the list of its end of smaller number, in any order. When `v` is
//! visited, for each `u` in its list the sets `A(u)` and `A(v)` are intersected and `v` is added to `A(u)`, which thus holds the neighbours of `u`
//! that were visited before; the method's cost is that these sets grow.
//!
//! `O(m^1.5)` time. `A` needs no sorting, since vertices are added in ascending order.

use trimill_counting::{Resident, RowBlockView, RowsLocation};

use super::{ResidentLists, common, vectors};

pub(super) struct Forward {
    /// For each vertex its neighbours of larger number.
    later: Vec<Vec<u32>>,
    /// For each vertex its neighbours that were visited.
    met: Vec<Vec<u32>>,
}

impl Forward {
    pub(super) fn new(resident: &Resident) -> Self {
        let vertices = resident.offsets.len() - 1;
        let mut lengths = vec![0; vertices];
        resident.successors.iter().for_each(|&b| lengths[b as usize] += 1);
        let mut later: Vec<Vec<u32>> = lengths.into_iter().map(Vec::with_capacity).collect();
        for a in 0..vertices {
            resident.row(a).iter().for_each(|&b| later[b as usize].push(a as u32));
        }
        // In the end these are the rows, so their sizes are known.
        let met = (0..vertices).map(|a| Vec::with_capacity(resident.row(a).len())).collect();
        Self { met, later }
    }
}

impl ResidentLists for Forward {
    fn count(&mut self, _: &Resident, _: &RowBlockView<'_>, _: &RowsLocation) -> u64 {
        let mut triangles = 0;
        for (v, later) in (0..).zip(&self.later) {
            for &u in later {
                triangles += common(&self.met[u as usize], &self.met[v as usize]);
                self.met[u as usize].push(v);
            }
        }
        triangles
    }

    fn bytes(&self) -> u64 {
        vectors(&self.later) + vectors(&self.met)
    }
}
