//! Graphs for the tests of counters.
#![allow(clippy::unwrap_used)]

use std::ops::Range;

use trimill_counting::{Resident, RowBlock};

/// A graph by numbers: row `b` holds numbers below `b`, ascending, small ones more often than large ones.
pub(super) struct Rows(pub(super) Vec<Vec<u32>>);

impl Rows {
    pub(super) fn skewed(n: u32, longest: u64, seed: u64) -> Self {
        let mix = |i: u64| trimill_system::hash::mix(i ^ seed << 40);
        let row = |b: u32| {
            let draws = mix(u64::from(b)) % (longest + 1);
            let successor = |i: u64| {
                let at = mix(u64::from(b) << 20 | i) % (u64::from(b) * u64::from(b));
                b - 1 - at.isqrt() as u32
            };
            let mut row: Vec<u32> = (0..draws).filter(|_| b > 0).map(successor).collect();
            row.sort_unstable();
            row.dedup();
            row
        };
        Self((0..n).map(row).collect())
    }

    /// Calls `act` with the corners, in falling order, of each triangle whose largest corner is local.
    pub(super) fn each_triangle(&self, local: impl Fn(u32) -> bool, mut act: impl FnMut([u32; 3])) {
        let Self(rows) = self;
        for a in (0..rows.len() as u32).filter(|&a| local(a)) {
            let row = &rows[a as usize];
            for (k, &b) in row.iter().enumerate() {
                let closing = row[..k].iter().filter(|c| rows[b as usize].binary_search(c).is_ok());
                closing.for_each(|&c| act([a, b, c]));
            }
        }
    }

    pub(super) fn triangles(&self, local: impl Fn(u32) -> bool) -> u64 {
        let mut found = 0;
        self.each_triangle(local, |_| found += 1);
        found
    }

    pub(super) fn at_vertices(&self, local: impl Fn(u32) -> bool) -> Vec<u64> {
        let mut found = vec![0; self.0.len()];
        self.each_triangle(local, |corners| corners.iter().for_each(|&corner| found[corner as usize] += 1));
        found
    }

    pub(super) fn resident(&self, local: impl Fn(u32) -> bool) -> Resident {
        let mut resident = Resident { offsets: vec![0], ..Resident::default() };
        for (b, row) in (0..).zip(&self.0).filter(|&(b, _)| local(b)) {
            resident.numbers.push(b);
            resident.successors.extend_from_slice(row);
            resident.offsets.push(resident.successors.len() as u64);
        }
        resident
    }

    pub(super) fn row_block(&self, range: Range<u32>, local: impl Fn(u32) -> bool) -> RowBlock {
        let (mut offsets, mut successors) = (vec![0], Vec::new());
        for b in range.clone().filter(|&b| !local(b)) {
            successors.extend(&self.0[b as usize]);
            offsets.push(successors.len() as u32);
        }
        RowBlock::of(range, &offsets, &successors).unwrap()
    }
}
