//! Counts the degrees of all ids on many threads.
//!
//! A thread adds to a byte for each id of its own, and only what exceeds the byte to the counts of all: an atomic addition to a random count takes
//! twice as long, since the count is mostly in another core's cache. Where bytes for all threads would take too much memory, or more time than
//! the pairs, all additions are atomic.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};

use rayon::prelude::*;

use trimill_system::Bytes;
use trimill_system::mapped::{prefetch, zeros};
use trimill_system::parallel::IdleValues;

/// How many pairs ahead counts are prefetched.
const AHEAD: usize = 24;

pub(super) struct DegreeCounts {
    of_all: Vec<AtomicU32>,
    /// A byte for each id, of each thread; `None`: there are none.
    of_threads: Option<IdleValues<Vec<u8>>>,
}

impl DegreeCounts {
    /// For at most `arcs` pairs of `ids` ids. Takes 4 bytes an id for all threads together, as ranks do later, and a sixteenth of what is `left`.
    pub(super) fn new(ids: u64, arcs: u64, left: Bytes) -> Self {
        let bytes = ids * rayon::current_num_threads() as u64;
        let fits = bytes <= 4 * ids + left.get() / 16 && bytes <= 8 * arcs;
        Self { of_all: zeros(ids as usize), of_threads: fits.then(IdleValues::default) }
    }

    /// Adds the pairs `min << 32 | max`, in ascending order, to the degrees of both ends. Thread-safe.
    pub(super) fn add(&self, pairs: &[u64]) {
        let all = |id: u32, many: u32| {
            self.of_all[id as usize].fetch_add(many, Ordering::Relaxed);
        };
        let Some(of_threads) = &self.of_threads else {
            return add_ends(pairs, |id| prefetch(&self.of_all, id as usize), all);
        };
        let new = || zeros(self.of_all.len());
        of_threads.with(new, |own: &mut Vec<u8>| {
            let own = Cell::from_mut(&mut own[..]).as_slice_of_cells();
            let add = |id: u32, many: u32| {
                let sum = u32::from(own[id as usize].get()) + many;
                own[id as usize].set(sum as u8);
                if sum > 255 {
                    all(id, sum & !255);
                }
            };
            add_ends(pairs, |id| prefetch(own, id as usize), add);
        });
    }

    pub(super) fn finish(self) -> Vec<u32> {
        let mut degrees: Vec<u32> = self.of_all.into_iter().map(AtomicU32::into_inner).collect();
        let of_threads = self.of_threads.map_or(Vec::new(), |of_threads| of_threads.take_all());
        const IDS: usize = 1 << 16;
        degrees.par_chunks_mut(IDS).enumerate().for_each(|(i, degrees)| {
            for own in &of_threads {
                degrees.iter_mut().zip(&own[i * IDS..]).for_each(|(degree, &own)| *degree += u32::from(own));
            }
        });
        degrees
    }
}

/// Calls `add` for each run of equal smaller ends, and for each larger end, which it announces to `soon` before.
#[inline]
fn add_ends(pairs: &[u64], soon: impl Fn(u32), add: impl Fn(u32, u32)) {
    let mut at = 0;
    for run in pairs.chunk_by(|a, b| a >> 32 == b >> 32) {
        add((run[0] >> 32) as u32, run.len() as u32);
        for key in run {
            if let Some(&ahead) = pairs.get(at + AHEAD) {
                soon(ahead as u32);
            }
            add(*key as u32, 1);
            at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use trimill_system::parallel::on;

    use super::*;

    #[test]
    fn degrees_are_counted_in_bytes_or_at_once() {
        // A star whose leaves are also joined to the next ones: bytes of the middle overflow.
        let pairs: Vec<u64> = (1..3000u64).chain((1..2999).map(|i| i << 32 | (i + 1))).collect();
        let expected: Vec<u32> =
            (0..3000).map(|i| if i == 0 { 2999 } else { 3 - u32::from(i == 1 || i == 2999) }).collect();
        for (threads, left) in [(1, 0), (3, 0), (3, 1 << 20), (7, 0), (7, 1 << 20)] {
            let counted = on(threads, || {
                let counts = DegreeCounts::new(3000, 5997, Bytes(left));
                assert_eq!(counts.of_threads.is_some(), threads < 4 || left > 0);
                pairs[..2999].par_chunks(10).chain(pairs[2999..].par_chunks(10)).for_each(|pairs| counts.add(pairs));
                counts.finish()
            });
            assert!(counted == expected, "{threads} threads, {left} bytes left");
        }
    }
}
