//! Which partition each vertex is local in, by rank.

use rayon::prelude::*;

use super::assignment::Assignment;

/// For every rank the partition where its vertex is local. 4 bytes per vertex.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Locals {
    part_of: Vec<u32>,
    counts: Vec<u64>,
}

impl Locals {
    /// From the part of each rank. Panics if one is not below `parts`.
    pub fn new(part_of: Vec<u32>, parts: u32) -> Self {
        let mut counts = vec![0; parts as usize];
        part_of.iter().for_each(|&part| counts[part as usize] += 1);
        Self { part_of, counts }
    }

    /// From an assignment of vertices; `order` has the vertex of each rank.
    pub fn of(assignment: &Assignment, order: &[u32]) -> Self {
        let part_of = order.par_iter().map(|&vertex| assignment.part_of()[vertex as usize]).collect();
        let counts = (0..assignment.parts()).map(|part| assignment.locals(part).len() as u64).collect();
        Self { part_of, counts }
    }

    pub fn parts(&self) -> u32 {
        self.counts.len() as u32
    }

    #[inline]
    pub fn part(&self, rank: u32) -> u32 {
        self.part_of[rank as usize]
    }

    pub fn count(&self, part: u32) -> u64 {
        self.counts[part as usize]
    }

    pub fn part_of(&self) -> &[u32] {
        &self.part_of
    }
}
