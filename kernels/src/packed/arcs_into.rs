//! Upper bounds of the resident arcs into a range of numbers, from counts of those into each of 2048 runs of numbers. With them, memory is taken for
//! the arcs that can lead into a row block, not for all resident arcs. `O(arcs)` in parallel; 16 KiB, and as much per thread while arcs are added.

use std::ops::Range;

use rayon::prelude::*;

use crate::compact::{BINS, bin_shift};

const SUCCESSORS: usize = 1 << 18;

#[derive(Debug)]
pub(super) struct ArcBounds {
    /// A run has `2^shift` numbers.
    shift: u32,
    runs: Vec<u64>,
}

impl ArcBounds {
    pub(super) fn new(numbered: u32) -> Self {
        Self { shift: bin_shift(numbered), runs: vec![0; BINS] }
    }

    /// Adds the arcs into `successors`, all below `numbered`, in the current thread pool.
    pub(super) fn add(&mut self, successors: &[u32]) {
        let counted = |successors: &[u32]| {
            let mut runs = vec![0u64; BINS];
            successors.iter().for_each(|&successor| runs[(successor >> self.shift) as usize] += 1);
            runs
        };
        let sum = |mut all: Vec<u64>, more: Vec<u64>| {
            add(&mut all, &more);
            all
        };
        let more = successors.par_chunks(SUCCESSORS).map(counted).reduce_with(sum);
        self.add_bins(&more.unwrap_or_default());
    }

    /// Adds a device's counts, which are of the same runs.
    pub(super) fn add_bins(&mut self, bins: &[u64]) {
        add(&mut self.runs, bins);
    }

    /// An upper bound on the arcs that lead into `range`.
    pub(super) fn most(&self, range: &Range<u32>) -> u64 {
        if range.is_empty() {
            return 0;
        }
        self.runs[(range.start >> self.shift) as usize..=((range.end - 1) >> self.shift) as usize].iter().sum()
    }
}

fn add(all: &mut [u64], more: &[u64]) {
    all.iter_mut().zip(more).for_each(|(all, more)| *all += more);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_its_arcs_and_those_of_the_runs_that_it_cuts() {
        for numbered in [1, 2047, 2048, 100_000, u32::MAX] {
            let mut into = ArcBounds::new(numbered);
            let successors: Vec<u32> = (0..300_000u64).map(|i| (i * i * 7919 % u64::from(numbered)) as u32).collect();
            successors.chunks(70_000).for_each(|run| into.add(run));
            let run = (u64::from(numbered) / 1024).max(1) as u32;
            for range in [0..numbered, 0..1, numbered / 3..numbered / 2, numbered - 1..numbered] {
                let around = range.start.saturating_sub(run)..range.end.saturating_add(run);
                let within = |range: &Range<u32>| {
                    successors.iter().filter(|&successor| range.contains(successor)).count() as u64
                };
                let most = into.most(&range);
                assert!(within(&range) <= most && most <= within(&around), "{numbered} {range:?}: {most}");
            }
            assert_eq!(into.most(&(5..5)), 0);
        }
    }
}
