//! `compact-forward`: M. Latapy, 'Main-memory triangle computations for very large (sparse (power-law)) graphs' (TCS 407, 2008).
//!
//! Every vertex has a list of all its neighbours in ascending order, so each edge is stored twice. Vertices `v` are visited in
//! ascending order; for each neighbour `u > v` both lists are merged as long as the next entries of both are below `v`.
//!
//! `O(m^1.5)` time. Lists need no sorting: a vertex's smaller neighbours are its row, the larger ones are appended as their rows are read.

use std::cmp::Ordering;

use trimill_counting::{Resident, RowBlockView, RowsLocation};

use super::{ResidentLists, vectors};

pub(super) struct CompactForward {
    neighbours: Vec<Vec<u32>>,
}

impl CompactForward {
    pub(super) fn new(resident: &Resident) -> Self {
        let mut degrees: Vec<usize> = resident.offsets.windows(2).map(|row| (row[1] - row[0]) as usize).collect();
        resident.successors.iter().for_each(|&b| degrees[b as usize] += 1);
        let mut neighbours: Vec<Vec<u32>> = degrees.into_iter().map(Vec::with_capacity).collect();
        for a in 0..neighbours.len() {
            let row = resident.row(a);
            neighbours[a].extend(row);
            row.iter().for_each(|&b| neighbours[b as usize].push(a as u32));
        }
        Self { neighbours }
    }
}

impl ResidentLists for CompactForward {
    fn count(&mut self, _: &Resident, _: &RowBlockView<'_>, _: &RowsLocation) -> u64 {
        let mut triangles = 0;
        for (v, of_v) in (0u32..).zip(&self.neighbours) {
            for &u in of_v.iter().filter(|&&u| u > v) {
                triangles += common_below(v, &self.neighbours[u as usize], of_v);
            }
        }
        triangles
    }

    fn bytes(&self) -> u64 {
        vectors(&self.neighbours)
    }
}

/// The number of common entries below `v` of two ascending lists.
fn common_below(v: u32, of_u: &[u32], of_v: &[u32]) -> u64 {
    let (mut i, mut j, mut count) = (0, 0, 0);
    while i < of_u.len() && j < of_v.len() && of_u[i] < v && of_v[j] < v {
        match of_u[i].cmp(&of_v[j]) {
            Ordering::Less => i += 1,
            Ordering::Greater => j += 1,
            Ordering::Equal => (i, j, count) = (i + 1, j + 1, count + 1),
        }
    }
    count
}
