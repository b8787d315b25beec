//! The sizes of all partitions, before any is built.
//!
//! Enters: the graph and an assignment. Leaves: for every partition what LSTC's Tables 3 and 4 list, vertices and arcs
//! of the induced subgraph and after pruning. 64 partitions at a time: a vertex has a word whose bit `p` tells whether
//! it is there in partition `p`, so an arc is in exactly the partitions of the AND of its ends' words, and vertical
//! counters add those up. Two readings of the graph for every 64 partitions (three at level `zero-indegree`), in
//! parallel; 20 bytes a vertex.

use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use super::assignment::Assignment;
use super::bit_counter::BitCounter;
use super::induce::RUN;
use super::prune::Prune;
use crate::bytes::Bytes;
use crate::control::{Control, Unit};
use crate::error::Result;
use crate::graph::OrientedGraph;

/// The sizes of one partition.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PartitionSize {
    /// Local vertices.
    pub locals: u64,
    /// Arcs out of them: the resident section.
    pub resident_arcs: u64,
    /// Proxies of the induced subgraph.
    pub proxies_induced: u64,
    /// Arcs of the induced subgraph.
    pub arcs_induced: u64,
    /// Proxies after pruning.
    pub proxies_kept: u64,
    /// Arcs after pruning, the locals' own among them.
    pub arcs_kept: u64,
}

/// Bytes of the arrays that [`sizes`] needs for a graph of `n` vertices.
pub fn array_bytes(n: u32) -> Bytes {
    Bytes(20 * u64::from(n))
}

/// Sizes all partitions.
///
/// # Errors
/// Only when stopped.
pub fn sizes(
    graph: &OrientedGraph,
    assignment: &Assignment,
    level: Prune,
    control: &Control,
) -> Result<Vec<PartitionSize>> {
    if assignment.parts() == 1 {
        // Nothing to find out: no proxies, all arcs.
        let (locals, arcs) = (u64::from(graph.vertices()), graph.edges());
        let whole =
            PartitionSize { locals, resident_arcs: arcs, arcs_induced: arcs, arcs_kept: arcs, ..Default::default() };
        return Ok(vec![whole]);
    }
    let groups = assignment.parts().div_ceil(64);
    let passes = if level == Prune::ZeroIndegree { 3 } else { 2 };
    let task = control.task("size", Some(graph.edges() * u64::from(groups) * passes), Unit::Arcs);
    let mut all = Vec::with_capacity(assignment.parts() as usize);
    let mut part_of_number = vec![0; graph.vertices() as usize];
    for (id, &part) in assignment.part_of().iter().enumerate() {
        part_of_number[graph.numbering().number_of[id] as usize] = part;
    }
    for group in 0..groups {
        let first = group * 64;
        let masks = Masks::new(graph, &part_of_number, first, control)?;
        task.advance(graph.edges());
        let kept = match level {
            Prune::None => Kept::Induced,
            Prune::Direct => Kept::Direct,
            Prune::ZeroIndegree => {
                masks.sweep(control)?;
                task.advance(graph.edges());
                Kept::Swept
            }
        };
        let counts = masks.count(kept, control)?;
        task.advance(graph.edges());
        let [proxies_induced, arcs_induced, proxies_kept, arcs_kept] = counts.map(BitCounter::totals);
        for part in first..assignment.parts().min(first + 64) {
            let bit = (part - first) as usize;
            let locals = assignment.locals(part);
            let resident_arcs = locals.par_iter().map(|&id| u64::from(graph.out_degree(id))).sum();
            all.push(PartitionSize {
                locals: locals.len() as u64,
                resident_arcs,
                proxies_induced: proxies_induced[bit],
                arcs_induced: arcs_induced[bit],
                proxies_kept: proxies_kept[bit],
                arcs_kept: arcs_kept[bit] + if level == Prune::Direct { resident_arcs } else { 0 },
            });
        }
    }
    Ok(all)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kept {
    Induced,
    Swept,
    Direct,
}

/// The words of a vertex, next to each other because they are read together.
#[derive(Default)]
struct Words {
    /// Where it is in the induced subgraph.
    induced: AtomicU64,
    /// Where a local vertex points at it; after [`Masks::sweep`], where it is kept.
    reached: AtomicU64,
}

struct Masks<'a> {
    graph: &'a OrientedGraph,
    part_of_number: &'a [u32],
    first: u32,
    words: Vec<Words>,
}

fn add(word: &AtomicU64, bits: u64) {
    if bits & !word.load(Ordering::Relaxed) != 0 {
        word.fetch_or(bits, Ordering::Relaxed);
    }
}

impl<'a> Masks<'a> {
    fn new(graph: &'a OrientedGraph, part_of_number: &'a [u32], first: u32, control: &Control) -> Result<Self> {
        let mut words = Vec::new();
        words.resize_with(graph.vertices() as usize, Words::default);
        let masks = Self { graph, part_of_number, first, words };
        masks.for_each_row(control, |_, number, row| {
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
        Ok(masks)
    }

    /// The bit of the partition where a vertex is local, if it is one of these 64.
    #[inline]
    fn own(&self, number: u32) -> u64 {
        let bit = self.part_of_number[number as usize].wrapping_sub(self.first);
        if bit < 64 { 1 << bit } else { 0 }
    }

    fn for_each_row(&self, control: &Control, each: impl Fn(usize, u32, &[u32]) + Sync) -> Result<()> {
        let (offsets, heads) = (self.graph.offsets(), self.graph.heads());
        self.graph.numbering().number_of.par_chunks(RUN).enumerate().try_for_each(|(run, numbers)| {
            control.check()?;
            for (i, &number) in numbers.iter().enumerate() {
                let id = run * RUN + i;
                each(id, number, &heads[offsets[id] as usize..offsets[id + 1] as usize]);
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
        let (graph, id_of) = (self.graph, &self.graph.numbering().id_of);
        let numbers = 0..graph.vertices();
        numbers.clone().into_par_iter().for_each(|number| add(&self.words[number as usize].reached, self.own(number)));
        let pass_on = |number: u32, first: u32, grown: &mut Vec<u32>| {
            let kept = self.words[number as usize].reached.load(Ordering::Relaxed);
            for &head in graph.row(id_of[number as usize]).iter().filter(|_| kept != 0) {
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

    /// Proxies and arcs, induced and kept, of each partition.
    fn count(&self, kept: Kept, control: &Control) -> Result<[BitCounter; 4]> {
        let (offsets, heads) = (self.graph.offsets(), self.graph.heads());
        let read = |number: u32| {
            let words = &self.words[number as usize];
            (words.induced.load(Ordering::Relaxed), words.reached.load(Ordering::Relaxed))
        };
        let number_of = &self.graph.numbering().number_of;
        number_of
            .par_chunks(RUN)
            .enumerate()
            .map(|(run, numbers)| {
                control.check()?;
                let mut counts: [BitCounter; 4] = Default::default();
                for (i, &number) in numbers.iter().enumerate() {
                    let own = self.own(number);
                    let (induced, reached) = read(number);
                    // Where this row passes in full or filtered as a kept vertex's, by level.
                    let tail = match kept {
                        Kept::Induced => induced,
                        Kept::Swept => reached,
                        Kept::Direct => reached & !own,
                    };
                    counts[0].add(induced & !own);
                    counts[2].add(tail & !own);
                    let id = run * RUN + i;
                    for &head in &heads[offsets[id] as usize..offsets[id + 1] as usize] {
                        let (head_induced, head_reached) = read(head);
                        counts[1].add(induced & head_induced);
                        counts[3].add(tail & if kept == Kept::Induced { head_induced } else { head_reached });
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
