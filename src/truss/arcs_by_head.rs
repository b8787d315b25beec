//! The arcs of an oriented graph sorted by head, in parallel, by bins that are ranges of heads.

use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};

use trimill_system::mapped::zeros;
use trimill_system::parallel;

const CHUNKS: usize = 4;

/// The bin of a head: 64 for each power of two, so that no bin has very many arcs, since smaller vertices have higher degrees.
fn bin(head: u32) -> usize {
    let shift = ((head | 63).ilog2() - 5).saturating_sub(1);
    ((shift as usize) << 6) + (head >> shift) as usize
}

/// Arcs bin by bin, in their order within a bin. Memory: 12 bytes an arc.
pub(super) struct ArcsByHead {
    bins: Vec<u32>,
    /// The head of each arc in the high half, the tail in the low one; and its number.
    ends: Vec<AtomicU64>,
    numbers: Vec<AtomicU32>,
}

impl ArcsByHead {
    /// Vertex `v` has the row `heads[firsts[v]..firsts[v + 1]]`; fewer than 2^32 arcs. Runs in the current thread pool.
    pub(super) fn new(firsts: &[u64], heads: &[u32]) -> Self {
        let many = bin(firsts.len() as u32) + 1;
        let chunks = chunks(firsts);
        let mut counts = parallel::map(&chunks, |chunk| {
            let mut counts = vec![0u32; many];
            let heads = &heads[firsts[chunk.start] as usize..firsts[chunk.end] as usize];
            heads.iter().for_each(|&head| counts[bin(head)] += 1);
            counts
        });
        let (mut bins, mut end) = (Vec::with_capacity(many + 1), 0);
        for bin in 0..many {
            bins.push(end);
            for counts in &mut counts {
                let first = end;
                end += std::mem::replace(&mut counts[bin], first);
            }
        }
        bins.push(end);
        let arcs = Self { bins, ends: zeros(heads.len()), numbers: zeros(heads.len()) };
        parallel::each(chunks.iter().zip(counts), |(chunk, mut next)| {
            for tail in chunk.clone() {
                for number in firsts[tail]..firsts[tail + 1] {
                    let head = heads[number as usize];
                    let next = &mut next[bin(head)];
                    arcs.ends[*next as usize].store(u64::from(head) << 32 | tail as u64, Relaxed);
                    arcs.numbers[*next as usize].store(number as u32, Relaxed);
                    *next += 1;
                }
            }
        });
        arcs
    }

    /// Calls `act` with head, tail and number of each arc. All arcs of one head are visited by one thread, in order.
    pub(super) fn each(&self, act: impl Fn(usize, u32, u32) + Sync) {
        parallel::each(self.bins.windows(2).filter(|bin| bin[0] < bin[1]), |bin| {
            let arcs = bin[0] as usize..bin[1] as usize;
            for (ends, number) in self.ends[arcs.clone()].iter().zip(&self.numbers[arcs]) {
                let ends = ends.load(Relaxed);
                act((ends >> 32) as usize, ends as u32, number.load(Relaxed));
            }
        });
    }
}

/// Cuts the vertices into chunks with about equal numbers of arcs, a few for each thread.
fn chunks(firsts: &[u64]) -> Vec<Range<usize>> {
    let (arcs, chunks) = (firsts[firsts.len() - 1], (CHUNKS * rayon::current_num_threads()) as u64);
    let cut = |i: u64| firsts[..firsts.len() - 1].partition_point(|&first| first < arcs * i / chunks);
    let cuts: Vec<usize> = (0..chunks).map(cut).chain([firsts.len() - 1]).collect();
    cuts.windows(2).map(|cut| cut[0]..cut[1]).collect()
}
