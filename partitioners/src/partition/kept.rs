//! Finds what several partitions keep, in one pass over the rows in rank order (LSTC, Algorithm 1, lines 5, 6, Algorithm 2).
//!
//! Input: the graph, the partition of each vertex, some of the partitions. Output: a [`Kept`] for each. An arc `a -> b` makes `b` a successor of a
//! local in the partition of `a`, and puts each end into the partition of the other. At level `zero-indegree` a second pass, in descending rank
//! order, keeps what the locals reach: arcs lead to smaller ranks, so whether a vertex is kept is known before its row is read. Cost: one reading
//! (two at level `zero-indegree`) for all partitions together; at most `3 n / 8` bytes per partition.

use std::time::{Duration, Instant};

use rayon::prelude::*;

use super::GraphPasses;
use super::assignment::Assignment;
use super::prune::Prune;
use trimill_counting::{VertexSet, VertexSetBuilder};
use trimill_graph::{Direction, RowRun};
use trimill_system::{Bytes, Control, Result, parallel};

pub struct Kept {
    pub part: u32,
    /// The ranks of its locals and kept proxies. A vertex's place in this set is its local number.
    pub kept: VertexSet,
    /// The vertices to which arcs out of proxies may lead; `None`: all kept ones.
    closing: Option<VertexSet>,
}

impl Kept {
    /// Whether an arc out of a kept proxy to `successor` (a rank) is kept.
    #[inline]
    pub fn keeps(&self, successor: u32) -> bool {
        self.closing.as_ref().unwrap_or(&self.kept).contains(successor)
    }

    pub const fn bytes(n: u32) -> Bytes {
        Bytes(2 * VertexSet::bytes(n).get())
    }
}

struct ChosenPartitions<'a> {
    locals: &'a Assignment,
    place_of: Vec<Option<u32>>,
}

impl ChosenPartitions<'_> {
    #[inline]
    fn place(&self, rank: u32) -> Option<usize> {
        self.place_of[self.locals.part(rank) as usize].map(|place| place as usize)
    }

    fn mark(&self, sets: &[VertexSetBuilder]) {
        (0..self.locals.part_of().len() as u32).into_par_iter().for_each(|rank| {
            if let Some(place) = self.place(rank) {
                sets[place].set(rank);
            }
        });
    }
}

/// The kept vertices of `parts`, and how long inducing and pruning took.
pub fn kept(
    passes: GraphPasses<'_>,
    locals: &Assignment,
    parts: &[u32],
    level: Prune,
) -> Result<(Vec<Kept>, [Duration; 2])> {
    let mut place_of = vec![None; locals.parts() as usize];
    parts.iter().zip(0..).for_each(|(&part, place)| place_of[part as usize] = Some(place));
    let chosen = ChosenPartitions { locals, place_of };
    let start = Instant::now();
    let empty = || (0..parts.len()).map(|_| VertexSetBuilder::new(passes.graph.vertices())).collect::<Vec<_>>();
    let mut sets = empty();
    passes.each_row(|rank, row| match level {
        Prune::Direct => {
            if let Some(place) = chosen.place(rank) {
                row.iter().for_each(|&successor| sets[place].set(successor));
            }
        }
        Prune::None | Prune::ZeroIndegree => mark_present(&chosen, &sets, rank, row),
    })?;
    let marking = start.elapsed();
    let start = Instant::now();
    let mut closing: Vec<Option<VertexSet>> = parts.iter().map(|_| None).collect();
    match level {
        Prune::None => {}
        Prune::ZeroIndegree => {
            let kept = empty();
            chosen.mark(&kept);
            passes.pass(Direction::Falling, |block| reach(block, &sets, &kept, passes.control))?;
            sets = kept;
        }
        Prune::Direct => {
            let finished: Vec<VertexSet> = parallel::map(sets, VertexSetBuilder::finish);
            sets = finished.iter().map(|set| set.clone().thaw()).collect();
            chosen.mark(&sets);
            closing = finished.into_iter().map(Some).collect();
        }
    }
    let finish = |((set, closing), &part): ((VertexSetBuilder, Option<VertexSet>), &u32)| Kept {
        part,
        kept: set.finish(),
        closing,
    };
    let kept = parallel::map(sets.into_iter().zip(closing).zip(parts), finish);
    let times = match level {
        Prune::Direct => [Duration::ZERO, marking + start.elapsed()],
        Prune::None | Prune::ZeroIndegree => [marking, start.elapsed()],
    };
    Ok((kept, times))
}

fn mark_present(chosen: &ChosenPartitions<'_>, sets: &[VertexSetBuilder], rank: u32, row: &[u32]) {
    let own = chosen.place(rank);
    if let Some(own) = own {
        sets[own].set(rank);
    }
    for &successor in row {
        if let Some(own) = own {
            sets[own].set(successor);
        }
        if let Some(place) = chosen.place(successor) {
            sets[place].set(rank);
        }
    }
}

/// Marks the present successors of a block's kept vertices as kept, in parallel over partitions. Blocks come in descending order.
fn reach(block: RowRun<'_>, present: &[VertexSetBuilder], kept: &[VertexSetBuilder], control: &Control) -> Result<()> {
    parallel::try_each(present.iter().zip(kept), |(present, kept)| {
        control.check()?;
        for rank in block.ranks().rev().filter(|&rank| kept.contains(rank)) {
            let row = block.row(rank).iter();
            row.filter(|&&successor| present.contains(successor)).for_each(|&successor| kept.set(successor));
        }
        Ok(())
    })
}
