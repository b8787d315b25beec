//! Random choices for a case: numbers, and a partitioner.

use trimill::testing::partition::assignment::Assignment;
use trimill::testing::plan::Assign;
use trimill::testing::plan::sets::VertexInfo;
use trimill::{Bytes, Result};
use trimill_system::hash::mix;

pub(crate) struct Draws(pub(crate) u64);

impl Draws {
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        (mix(self.0) % end as u64) as usize
    }

    /// A number between `least` and `most`; small ones are more likely.
    pub(crate) fn between(&mut self, least: Bytes, most: Bytes) -> Bytes {
        let share = self.below(1000) * self.below(1000);
        Bytes(least.get() + (u128::from(most.saturating_sub(least).get()) * share as u128 / 1_000_000) as u64)
    }
}

pub(crate) struct Partitioner<'g> {
    pub(crate) vertices: &'g VertexInfo,
    pub(crate) way: usize,
    pub(crate) parts: Option<u32>,
}

impl Assign for Partitioner<'_> {
    fn assign(&self, parts: u32) -> Result<Assignment> {
        let n = self.vertices.order.len() as u32;
        let part_of = match self.way {
            0 => trimill_partitioners::random(n, parts, 7),
            1 => trimill_partitioners::contiguous_vertices(n, parts),
            _ => {
                let weight = |id: u32| 16 + 4 * u64::from(self.vertices.out_degrees[id as usize]);
                trimill_partitioners::contiguous_by_weight(n, parts, weight)
            }
        };
        Ok(Assignment::new(part_of, parts))
    }
    fn is_cheap(&self) -> bool {
        true
    }
    fn parts(&self) -> Option<u32> {
        self.parts
    }
}
