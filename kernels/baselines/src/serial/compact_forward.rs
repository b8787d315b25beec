//! `compact-forward`: M. Latapy, 'Main-memory triangle computations for very large (sparse (power-law)) graphs' (TCS 407, 2008).
//!
//! Every vertex has all its neighbours in ascending order, so each edge is kept twice. Vertices `v` are met in ascending numbers;
//! for each neighbour `u > v` both lists are merged as long as the next entries of both lie below `v`.
//!
//! `O(m^1.5)` time. Lists are made in order: the smaller neighbours are the row, the larger ones come as their rows are read.

use std::cmp::Ordering;

use trimill_kernels::{ResidentSlices, RowBlockSlices};

use super::rows::resident_row;
use super::{Lists, vectors};

pub(super) struct CompactForward {
    neighbours: Vec<Vec<u32>>,
}

impl CompactForward {
    pub(super) fn new(resident: &ResidentSlices<'_>) -> Self {
        let mut degrees: Vec<usize> = resident.offsets.windows(2).map(|row| (row[1] - row[0]) as usize).collect();
        resident.successors.iter().for_each(|&b| degrees[b as usize] += 1);
        let mut neighbours: Vec<Vec<u32>> = degrees.into_iter().map(Vec::with_capacity).collect();
        for a in 0..neighbours.len() {
            let row = resident_row(resident, a);
            neighbours[a].extend(row);
            row.iter().for_each(|&b| neighbours[b as usize].push(a as u32));
        }
        Self { neighbours }
    }
}

impl Lists for CompactForward {
    fn count(&mut self, _: &ResidentSlices<'_>, _: &RowBlockSlices<'_>) -> u64 {
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

/// What two ascending lists have in common below `v`.
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
