//! Which of 64 partitions each vertex is in, to size partitions without building them. Input: the graph, the partition of each vertex, the first of
//! 64 partitions. Output: [`Masks`]: for each rank a word whose bit `p` tells whether its vertex is in the induced subgraph of partition `first + p`,
//! and one for what pruning keeps. An arc is in the partitions of the AND of its ends' words; vertical counters add those up. Passes: one to make the
//! words, one to count, one to prune at `zero-indegree`. 16 bytes per vertex.

use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use super::assignment::Assignment;
use super::bit_counter::BitCounter;
use super::prune::Prune;
use super::{GraphPasses, RUN};
use trimill_graph::{Direction, RowRun};
use trimill_system::{Result, parallel};

/// The words of a vertex, next to each other because they are read together.
#[derive(Default)]
struct MaskWords {
    /// The partitions whose induced subgraph has it.
    induced: AtomicU64,
    /// The partitions in which a local vertex points at it; after [`Masks::sweep`], those that keep it.
    reached: AtomicU64,
}

pub(super) struct Masks<'a> {
    passes: GraphPasses<'a>,
    locals: &'a Assignment,
    first: u32,
    level: Prune,
    words: Vec<MaskWords>,
}

#[derive(Default)]
pub(super) struct Counts {
    pub(super) bits: [BitCounter; 4],
    pub(super) resident_arcs: Vec<u64>,
}

impl Counts {
    fn merge(self, other: Self) -> Self {
        let [a0, a1, a2, a3] = self.bits;
        let [b0, b1, b2, b3] = other.bits;
        let (mut sums, others) = (self.resident_arcs, other.resident_arcs);
        sums.resize(64, 0);
        sums.iter_mut().zip(others).for_each(|(sum, more)| *sum += more);
        Self { bits: [a0.merge(b0), a1.merge(b1), a2.merge(b2), a3.merge(b3)], resident_arcs: sums }
    }
}

fn add(word: &AtomicU64, bits: u64) {
    if bits & !word.load(Ordering::Relaxed) != 0 {
        word.fetch_or(bits, Ordering::Relaxed);
    }
}

impl<'a> Masks<'a> {
    pub(super) fn new(passes: GraphPasses<'a>, locals: &'a Assignment, first: u32, level: Prune) -> Result<Self> {
        let mut words = Vec::new();
        words.resize_with(passes.graph.vertices() as usize, MaskWords::default);
        let masks = Self { passes, locals, first, level, words };
        passes.each_row(|rank, row| {
            let own = masks.own(rank);
            let mut induced = own;
            for &successor in row {
                induced |= masks.own(successor);
                if own != 0 {
                    add(&masks.words[successor as usize].induced, own);
                    add(&masks.words[successor as usize].reached, own);
                }
            }
            add(&masks.words[rank as usize].induced, induced);
        })?;
        if level == Prune::ZeroIndegree {
            masks.sweep()?;
        }
        Ok(masks)
    }

    /// The bit of the partition where a vertex is local; 0 if that is none of these 64.
    #[inline]
    fn own(&self, rank: u32) -> u64 {
        let bit = self.locals.part(rank).wrapping_sub(self.first);
        if bit < 64 { 1 << bit } else { 0 }
    }

    /// Algorithm 2 of LSTC for 64 partitions: `reached` becomes the partitions that keep a vertex: removing proxies without an in-arc until
    /// none is left leaves what is reachable from a local. Arcs lead to smaller ranks, so blocks are taken in descending order, each in
    /// parallel: what a block propagates to lower ones is final, and a row is read again only when its word grew within its own block.
    fn sweep(&self) -> Result<()> {
        const CHUNK: usize = 256;
        let ranks = 0..self.passes.graph.vertices();
        ranks.into_par_iter().for_each(|rank| add(&self.words[rank as usize].reached, self.own(rank)));
        let propagate = |block: RowRun<'_>, rank: u32, grown: &mut Vec<u32>| {
            let kept = self.words[rank as usize].reached.load(Ordering::Relaxed);
            for &successor in block.row(rank).iter().filter(|_| kept != 0) {
                let MaskWords { induced, reached } = &self.words[successor as usize];
                let more = kept & induced.load(Ordering::Relaxed) & !reached.load(Ordering::Relaxed);
                let first = block.ranks().start;
                if more != 0 && more & !reached.fetch_or(more, Ordering::Relaxed) != 0 && successor >= first {
                    grown.push(successor);
                }
            }
        };
        self.passes.pass(Direction::Falling, |block| {
            let mut ranks: Vec<u32> = block.ranks().rev().collect();
            while !ranks.is_empty() {
                let chunks = parallel::try_map(ranks.chunks(CHUNK), |some| {
                    self.passes.control.check()?;
                    let mut grown = Vec::new();
                    some.iter().for_each(|&rank| propagate(block, rank, &mut grown));
                    for _ in 0..RUN {
                        let Some(rank) = grown.pop() else { break };
                        propagate(block, rank, &mut grown);
                    }
                    Ok(grown)
                })?;
                ranks = chunks.concat();
            }
            Ok(())
        })
    }

    pub(super) fn count(&self) -> Result<Counts> {
        let mut all = Counts::default();
        self.passes.pass(Direction::Rising, |block| {
            let of_run = |run: std::ops::Range<u32>| {
                self.passes.control.check()?;
                let mut counts = Counts { resident_arcs: vec![0; 64], ..Counts::default() };
                run.for_each(|rank| self.count_row(rank, block.row(rank), &mut counts));
                Ok(counts)
            };
            let counts = parallel::try_map(block.runs(4 * RUN), of_run)?;
            all = counts.into_iter().fold(std::mem::take(&mut all), Counts::merge);
            Ok(())
        })?;
        all.resident_arcs.resize(64, 0);
        Ok(all)
    }

    fn count_row(&self, rank: u32, row: &[u32], counts: &mut Counts) {
        let read = |rank: u32| {
            let words = &self.words[rank as usize];
            (words.induced.load(Ordering::Relaxed), words.reached.load(Ordering::Relaxed))
        };
        let own = self.own(rank);
        let (induced, reached) = read(rank);
        // The partitions whose kept arcs include this row's; at `direct` the rows of locals are added as resident arcs.
        let tail = match self.level {
            Prune::None => induced,
            Prune::ZeroIndegree => reached,
            Prune::Direct => reached & !own,
        };
        if own != 0 {
            counts.resident_arcs[own.trailing_zeros() as usize] += row.len() as u64;
        }
        let [proxies_induced, arcs_induced, proxies_kept, arcs_kept] = &mut counts.bits;
        proxies_induced.add(induced & !own);
        proxies_kept.add(tail & !own);
        for &successor in row {
            let (successor_induced, successor_reached) = read(successor);
            arcs_induced.add(induced & successor_induced);
            arcs_kept.add(tail & if self.level == Prune::None { successor_induced } else { successor_reached });
        }
    }
}
