//! The work of the cores for counting a whole graph, from a sample of its rows. For an arc `a -> b` a core intersects the successors of `a` before
//! `b` with the row of `b` as bits. This costs one step for each word of 64 ranks with such successors, and a cache miss unless `b` is a hub or its
//! row is near that of `a`. The row's length is ignored, so lengths take no memory; it matters only to compare partitions ([`super::sample`]).

use super::sample::over_sample;
use trimill_graph::OrientedGraph;
use trimill_system::{Control, Result};

/// A core's cache holds about the rows of the first `NEAR` ranks, the hubs, and of the `NEAR` ranks before a local.
const NEAR: u32 = 1 << 14;

#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub struct WholeWork {
    pub(super) arcs: f64,
    /// For each arc, the words that have the successors up to its head.
    pub(super) words: f64,
    /// Arcs whose head is no hub and far from their tail.
    pub(super) far: f64,
}

impl WholeWork {
    /// Reads at most 16 million arcs, or one row per run. Runs in the current thread pool.
    pub fn of(graph: &OrientedGraph, control: &Control) -> Result<Self> {
        let sampled =
            over_sample(graph, control, Self::default(), Self::add, |all, of_run: Self| *all = all.and(of_run))?;
        Ok(sampled.times(if sampled.arcs == 0.0 { 0.0 } else { graph.edges() as f64 / sampled.arcs }))
    }

    fn add(&mut self, rank: u32, row: &[u32]) {
        let (mut words, mut last) = (0, u32::MAX);
        for &head in row {
            words += u32::from(head / 64 != last);
            last = head / 64;
            self.words += f64::from(words);
            self.far += f64::from(u8::from(head >= NEAR && rank - head > NEAR));
        }
        self.arcs += row.len() as f64;
    }

    fn and(self, other: Self) -> Self {
        Self { arcs: self.arcs + other.arcs, words: self.words + other.words, far: self.far + other.far }
    }

    pub fn times(self, factor: f64) -> Self {
        let Self { arcs, words, far } = self;
        Self { arcs: arcs * factor, words: words * factor, far: far * factor }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arcs_to_hubs_and_to_near_ranks_are_not_far() {
        let mut work = WholeWork::default();
        work.add(4 * NEAR, &[0, 63, 70, NEAR - 1, NEAR, 3 * NEAR - 1, 3 * NEAR]);
        let words = 1 + 1 + 2 + 3 + 4 + 5 + 6;
        assert_eq!(work, WholeWork { arcs: 7.0, words: f64::from(words), far: 2.0 });
        assert_eq!(work.and(work).times(0.5), work);
    }
}
