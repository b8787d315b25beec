//! In which of 64 partitions each vertex is: what sizes partitions without building them.
//!
//! Enters: the graph, the part of each number, the first of 64 parts. Leaves: [`Masks`]: for each vertex a word whose bit
//! `p` tells whether it is in the induced subgraph of part `first + p`, and one for what pruning keeps of it. An arc is in
//! exactly the partitions of the AND of its ends' words, and vertical counters add those up. One reading of the graph to
//! make them, one to count (one and a little more to prune at level `zero-indegree`), all in parallel; 16 bytes a
//! vertex.

use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use super::bit_counter::BitCounter;
use super::prune::{Prune, Pruned};
use super::{RUN, runs};
use crate::control::Control;
use crate::error::Result;
use crate::graph::OrientedGraph;
use crate::graph::bits::Bits;

/// The words of a vertex, next to each other because they are read together.
#[derive(Default)]
struct Words {
    /// Where it is in the induced subgraph.
    induced: AtomicU64,
    /// Where a local vertex points at it; after [`Masks::sweep`], where it is kept.
    reached: AtomicU64,
}

/// The words of all vertices, by number, for 64 partitions at one level.
pub(super) struct Masks<'a> {
    graph: &'a OrientedGraph,
    part_of_number: &'a [u32],
    first: u32,
    level: Prune,
    words: Vec<Words>,
}

fn add(word: &AtomicU64, bits: u64) {
    if bits & !word.load(Ordering::Relaxed) != 0 {
        word.fetch_or(bits, Ordering::Relaxed);
    }
}

impl<'a> Masks<'a> {
    /// Induces and prunes the 64 partitions from `first` on.
    pub(super) fn new(
        graph: &'a OrientedGraph,
        part_of_number: &'a [u32],
        first: u32,
        level: Prune,
        control: &Control,
    ) -> Result<Self> {
        let mut words = Vec::new();
        words.resize_with(graph.vertices() as usize, Words::default);
        let masks = Self { graph, part_of_number, first, level, words };
        masks.for_each_row(control, |number, row| {
            let own = masks.own(number);
            let mut induced = own;
            for &head in row {
                induced |= masks.own(head);
                if own != 0 {
                    add(&masks.words[head as usize].induced, own);
                    add(&masks.words[head as usize].reached, own);
                }
            }
            add(&masks.words[number as usize].induced, induced);
        })?;
        if level == Prune::ZeroIndegree {
            masks.sweep(control)?;
        }
        Ok(masks)
    }

    /// The bit of the partition where a vertex is local, if it is one of these 64.
    #[inline]
    fn own(&self, number: u32) -> u64 {
        let bit = self.part_of_number[number as usize].wrapping_sub(self.first);
        if bit < 64 { 1 << bit } else { 0 }
    }

    fn for_each_row(&self, control: &Control, each: impl Fn(u32, &[u32]) + Sync) -> Result<()> {
        let (offsets, heads) = (self.graph.offsets(), self.graph.heads());
        runs(self.graph.vertices()).try_for_each(|ranks| {
            control.check()?;
            for rank in ranks {
                each(rank, &heads[offsets[rank as usize] as usize..offsets[rank as usize + 1] as usize]);
            }
            self.graph.relieve();
            Ok(())
        })
    }

    /// Algorithm 2 of LSTC for 64 partitions (see [`super::reach`]): `reached` becomes where a vertex is kept.
    ///
    /// Arcs lead to smaller numbers, so the numbers are taken in falling blocks, each in parallel: what a block passes
    /// on to those below is final, and a vertex is read again only when its word grew within its own block.
    fn sweep(&self, control: &Control) -> Result<()> {
        const DEALT: usize = 256;
        let graph = self.graph;
        let numbers = 0..graph.vertices();
        numbers.clone().into_par_iter().for_each(|number| add(&self.words[number as usize].reached, self.own(number)));
        let pass_on = |number: u32, first: u32, grown: &mut Vec<u32>| {
            let kept = self.words[number as usize].reached.load(Ordering::Relaxed);
            for &head in graph.row(number).iter().filter(|_| kept != 0) {
                let Words { induced, reached } = &self.words[head as usize];
                let more = kept & induced.load(Ordering::Relaxed) & !reached.load(Ordering::Relaxed);
                if more != 0 && more & !reached.fetch_or(more, Ordering::Relaxed) != 0 && head >= first {
                    grown.push(head);
                }
            }
        };
        let mut end = numbers.end;
        while end > 0 {
            // Blocks shrink with their numbers, since rows and the share of arcs within a block grow.
            let first = end - end.div_ceil(8);
            let mut block: Vec<u32> = (first..end).rev().collect();
            while !block.is_empty() {
                let dealt = block.par_chunks(DEALT).map(|some| {
                    control.check()?;
                    let mut grown = Vec::new();
                    some.iter().for_each(|&number| pass_on(number, first, &mut grown));
                    for _ in 0..RUN {
                        let Some(number) = grown.pop() else { break };
                        pass_on(number, first, &mut grown);
                    }
                    graph.relieve();
                    Ok(grown)
                });
                block = dealt.collect::<Result<Vec<_>>>()?.concat();
            }
            end = first;
        }
        Ok(())
    }

    /// The view of one of the 64 partitions, as [`super::prune::prune`] makes it.
    pub(super) fn view(&self, part: u32) -> Pruned<'a> {
        let bit = part - self.first;
        let set = |word: &(dyn Fn(u32) -> u64 + Sync)| {
            let n = self.graph.vertices();
            let words = (0..n.div_ceil(64)).into_par_iter().map(|w| {
                let numbers = w * 64..n.min((w + 1) * 64);
                numbers.rev().fold(0, |bits, number| bits << 1 | (word(number) >> bit & 1))
            });
            Bits::of_words(words.collect(), n)
        };
        let local = set(&|number| self.own(number));
        let [induced, reached]: [fn(&Words) -> u64; 2] =
            [|words| words.induced.load(Ordering::Relaxed), |words| words.reached.load(Ordering::Relaxed)];
        let all = |word: fn(&Words) -> u64| set(&|number| word(&self.words[number as usize]));
        match self.level {
            Prune::None => Pruned::of(self.graph, local, all(induced)),
            Prune::ZeroIndegree => Pruned::of(self.graph, local, all(reached)),
            Prune::Direct => Pruned::direct(self.graph, local, all(reached)),
        }
    }

    /// Proxies and arcs, induced and kept, of each partition.
    pub(super) fn count(&self, control: &Control) -> Result<[BitCounter; 4]> {
        let read = |number: u32| {
            let words = &self.words[number as usize];
            (words.induced.load(Ordering::Relaxed), words.reached.load(Ordering::Relaxed))
        };
        let (offsets, heads) = (self.graph.offsets(), self.graph.heads());
        runs(self.graph.vertices())
            .map(|ranks| {
                control.check()?;
                let mut counts: [BitCounter; 4] = Default::default();
                for number in ranks {
                    let own = self.own(number);
                    let (induced, reached) = read(number);
                    // Where this row passes in full or filtered as a kept vertex's, by level.
                    let tail = match self.level {
                        Prune::None => induced,
                        Prune::ZeroIndegree => reached,
                        Prune::Direct => reached & !own,
                    };
                    counts[0].add(induced & !own);
                    counts[2].add(tail & !own);
                    for &head in &heads[offsets[number as usize] as usize..offsets[number as usize + 1] as usize] {
                        let (head_induced, head_reached) = read(head);
                        counts[1].add(induced & head_induced);
                        counts[3].add(tail & if self.level == Prune::None { head_induced } else { head_reached });
                    }
                }
                self.graph.relieve();
                Ok(counts)
            })
            .try_reduce(Default::default, |a, b| {
                let [a0, a1, a2, a3] = a;
                let [b0, b1, b2, b3] = b;
                Ok([a0.merge(b0), a1.merge(b1), a2.merge(b2), a3.merge(b3)])
            })
    }
}
