//! Partitions: assignments, induced subgraphs, pruning, sizes, and the sections that travel.

pub mod assignment;
pub mod batch;
pub mod bit_counter;
pub mod cuts;
pub mod induce;
mod masks;
pub mod outline;
pub mod prune;
mod reach;
pub mod section;
pub mod sections;
pub mod sizes;
pub mod words;

use std::ops::Range;

use rayon::prelude::*;

/// Ranks between two looks at the stop flag and at the resident pages.
const RUN: u32 = 4096;

/// All of `n` ranks, in runs for the threads of the current pool.
fn runs(n: u32) -> impl IndexedParallelIterator<Item = Range<u32>> {
    (0..n.div_ceil(RUN)).into_par_iter().map(move |run| run * RUN..n.min((run + 1) * RUN))
}
