//! Which of 64 partitions each vertex is in, to size partitions without building them. Input: the graph, the partition of each vertex, a range of at
//! most 64 partitions. Output: their sizes. For each rank there is a word whose bit `p` tells whether its vertex is in the induced subgraph of the
//! range's partition `p`, and one for what pruning keeps. An arc is in the partitions given by the AND of its ends' words; vertical counters add up
//! these. Passes: one to make the words, one to count, one to prune at `zero-indegree`. 16 bytes per vertex.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use super::assignment::Assignment;
use super::prune::Prune;
use super::{GraphPasses, RUN};
use trimill_counting::planes::{self, EMPTY, FULL, Planes};
use trimill_graph::{Direction, RowRun};
use trimill_system::control::Task;
use trimill_system::{Result, parallel};

/// The words of a vertex, next to each other because they are read together.
#[derive(Default)]
struct MaskWords {
    induced: AtomicU64,
    /// The partitions in which it is a successor of a local; after [`Masks::sweep`], those that keep it.
    reached: AtomicU64,
}

/// In how many words each bit is set.
struct BitCounter {
    waiting: [u64; 4],
    planes: Planes,
    /// Of those in the planes, and waiting for them.
    words: u32,
    totals: [u64; 64],
}

impl BitCounter {
    const ZERO: Self = Self { waiting: [0; 4], planes: EMPTY, words: 0, totals: [0; 64] };

    #[inline(always)]
    fn add(&mut self, word: u64) {
        self.waiting[self.words as usize % 4] = word;
        self.words += 1;
        if self.words.is_multiple_of(4) {
            planes::add_four(&mut self.planes, self.waiting);
            if self.words > FULL - 4 {
                self.settle();
            }
        }
    }

    #[cold]
    fn settle(&mut self) {
        planes::take_all(&mut self.planes, &mut self.totals);
        self.words = 0;
    }

    fn totals(mut self) -> [u64; 64] {
        self.waiting[..self.words as usize % 4].iter().for_each(|&word| planes::add(&mut self.planes, word));
        self.settle();
        self.totals
    }
}

struct Masks<'a> {
    passes: GraphPasses<'a>,
    locals: &'a Assignment,
    first: u32,
    level: Prune,
    words: Vec<MaskWords>,
}

/// The sums of each of at most 64 `parts`, as [`super::lists::sizes`] returns them.
pub(super) fn sizes(
    passes: GraphPasses<'_>,
    locals: &Assignment,
    parts: Range<u32>,
    level: Prune,
    task: &Task,
) -> Result<Vec<[u64; 5]>> {
    let masks = Masks::new(passes, locals, parts.start, level)?;
    task.advance(passes.graph.edges());
    let sums = masks.count()?;
    task.advance(passes.graph.edges());
    Ok((0..parts.len()).map(|bit| sums.map(|of_bits| of_bits[bit])).collect())
}

fn add(word: &AtomicU64, bits: u64) {
    if bits & !word.load(Ordering::Relaxed) != 0 {
        word.fetch_or(bits, Ordering::Relaxed);
    }
}

impl<'a> Masks<'a> {
    fn new(passes: GraphPasses<'a>, locals: &'a Assignment, first: u32, level: Prune) -> Result<Self> {
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

    /// The bit of the partition where a vertex is local; 0 if that partition is not one of these.
    #[inline]
    fn own(&self, rank: u32) -> u64 {
        let bit = self.locals.part(rank).wrapping_sub(self.first);
        if bit < 64 { 1 << bit } else { 0 }
    }

    /// Algorithm 2 of LSTC for 64 partitions: `reached` becomes the partitions that keep a vertex, namely those where a local reaches it. Arcs lead
    /// to smaller ranks, so blocks come in descending order; within one, in parallel, a row is visited again if its word changed.
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

    fn count(&self) -> Result<[[u64; 64]; 5]> {
        let mut all = [[0_u64; 64]; 5];
        self.passes.pass(Direction::Rising, |block| {
            let of_run = |run: Range<u32>| {
                self.passes.control.check()?;
                let (mut counters, mut resident_arcs) = ([BitCounter::ZERO; 4], [0; 64]);
                run.for_each(|rank| self.count_row(rank, block.row(rank), &mut counters, &mut resident_arcs));
                let [proxies_induced, arcs_induced, proxies_kept, arcs_kept] = counters.map(BitCounter::totals);
                Ok([proxies_induced, arcs_induced, proxies_kept, arcs_kept, resident_arcs])
            };
            for sums in parallel::try_map(block.runs(4 * RUN), of_run)? {
                all.iter_mut().flatten().zip(sums.iter().flatten()).for_each(|(sum, more)| *sum += more);
            }
            Ok(())
        })?;
        Ok(all)
    }

    fn count_row(&self, rank: u32, row: &[u32], counters: &mut [BitCounter; 4], resident_arcs: &mut [u64; 64]) {
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
            resident_arcs[own.trailing_zeros() as usize] += row.len() as u64;
        }
        let [proxies_induced, arcs_induced, proxies_kept, arcs_kept] = counters;
        proxies_induced.add(induced & !own);
        proxies_kept.add(tail & !own);
        for &successor in row {
            let (successor_induced, successor_reached) = read(successor);
            arcs_induced.add(induced & successor_induced);
            arcs_kept.add(tail & if self.level == Prune::None { successor_induced } else { successor_reached });
        }
    }
}
