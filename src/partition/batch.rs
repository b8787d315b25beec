//! What is kept of many partitions at once, marked by one pass over the rows in the order of numbers.
//!
//! Enters: the graph, who is local where, some of the partitions. Leaves: for each of them a [`Kept`], the same sets as
//! [`super::prune::prune`] makes for one. All marks of an arc `a -> b` follow from the partitions of its ends: `b` is pointed at
//! where `a` is local, and each end is present where the other is local. At level `zero-indegree` a second pass, in falling
//! order of numbers, keeps what the locals reach: arcs lead to smaller numbers, so whether a row's vertex is kept is settled when
//! its turn comes, and no round is needed (see `super::reach`).
//!
//! Cost: one reading (two at level `zero-indegree`) for all partitions together; `3 n / 8` bytes for each of them at most.

use std::time::{Duration, Instant};

use rayon::prelude::*;

use super::assignment::Assignment;
use super::prune::Prune;
use crate::bytes::Bytes;
use crate::control::Control;
use crate::error::Result;
use crate::graph::OrientedGraph;
use crate::graph::bits::{Bits, Marks};
use crate::graph::pass::{Direction, RowBlock};

/// Rows that a thread marks at a time.
const ROWS: usize = 512;

/// Bytes of the arrays over a graph of `n` vertices that batches need besides what each partition takes: who is local where.
pub const fn array_bytes(n: u32) -> Bytes {
    Bytes(4 * n as u64)
}

/// What is kept of one partition.
pub struct Kept {
    /// The partition.
    pub part: u32,
    /// Its locals and kept proxies, as a set of numbers. A vertex's rank is its local number.
    pub kept: Bits,
    /// Where an arc out of a proxy may lead; `None` means to all that is kept.
    closing: Option<Bits>,
}

impl Kept {
    /// Whether an arc out of a kept proxy to `head` (a number) is kept.
    #[inline]
    pub fn keeps_head(&self, head: u32) -> bool {
        self.closing.as_ref().unwrap_or(&self.kept).contains(head)
    }

    /// Bytes of one of `n` vertices.
    pub const fn bytes(n: u32) -> Bytes {
        Bytes(2 * Bits::bytes(n).get())
    }
}

/// Who is local where, by number. 4 bytes a vertex.
pub struct Locals<'a> {
    graph: &'a OrientedGraph,
    assignment: &'a Assignment,
    part_of_number: Vec<u32>,
}

impl<'a> Locals<'a> {
    /// Turns an assignment round.
    pub fn new(graph: &'a OrientedGraph, assignment: &'a Assignment) -> Self {
        let mut part_of_number = vec![0; assignment.part_of().len()];
        for (&number, &part) in graph.numbering().number_of.iter().zip(assignment.part_of()) {
            part_of_number[number as usize] = part;
        }
        Self { graph, assignment, part_of_number }
    }

    /// The partition where a number is local.
    #[inline]
    pub fn part(&self, number: u32) -> u32 {
        self.part_of_number[number as usize]
    }

    fn mark(&self, part: u32, set: &Marks) {
        let number_of = &self.graph.numbering().number_of;
        self.assignment.locals(part).iter().for_each(|&id| set.set(number_of[id as usize]));
    }
}

/// Some partitions, each with its place among them.
struct Chosen<'a> {
    locals: &'a Locals<'a>,
    place_of: Vec<Option<u32>>,
}

impl Chosen<'_> {
    #[inline]
    fn place(&self, number: u32) -> Option<usize> {
        self.place_of[self.locals.part(number) as usize].map(|place| place as usize)
    }
}

/// What is kept of `parts`, found in blocks of at most `limit` bytes; and how long inducing and pruning took.
///
/// # Errors
/// When rows cannot be read, or when stopped.
pub fn kept(
    locals: &Locals<'_>,
    parts: &[u32],
    level: Prune,
    limit: Bytes,
    control: &Control,
) -> Result<(Vec<Kept>, [Duration; 2])> {
    let mut place_of = vec![None; locals.assignment.parts() as usize];
    parts.iter().zip(0..).for_each(|(&part, place)| place_of[part as usize] = Some(place));
    let chosen = Chosen { locals, place_of };
    let start = Instant::now();
    let n = locals.graph.vertices();
    let empty = || (0..parts.len()).map(|_| Marks::new(n)).collect::<Vec<_>>();
    let mut sets = empty();
    let graph = locals.graph;
    graph.pass(limit, Direction::Rising, control, |block| {
        in_rows(block, control, |number, row| match level {
            Prune::Direct => mark_pointed(&chosen, &sets, number, row),
            Prune::None | Prune::ZeroIndegree => mark_present(&chosen, &sets, number, row),
        })
    })?;
    let marking = start.elapsed();
    let start = Instant::now();
    if level == Prune::ZeroIndegree {
        let kept = empty();
        kept.par_iter().zip(parts).for_each(|(kept, &part)| locals.mark(part, kept));
        graph.pass(limit, Direction::Falling, control, |block| reach(block, &sets, &kept, control))?;
        sets = kept;
    }
    let finish = |(set, &part): (Marks, &u32)| match level {
        Prune::Direct => {
            let closing = set.finish();
            let kept = closing.clone().thaw();
            locals.mark(part, &kept);
            Kept { part, kept: kept.finish(), closing: Some(closing) }
        }
        Prune::None | Prune::ZeroIndegree => Kept { part, kept: set.finish(), closing: None },
    };
    let kept = sets.into_par_iter().zip(parts).map(finish).collect();
    let times = match level {
        Prune::Direct => [Duration::ZERO, marking + start.elapsed()],
        Prune::None | Prune::ZeroIndegree => [marking, start.elapsed()],
    };
    Ok((kept, times))
}

/// Shows the rows of a block to many threads.
fn in_rows(block: RowBlock<'_>, control: &Control, each: impl Fn(u32, &[u32]) + Sync) -> Result<()> {
    block.ranks().into_par_iter().with_min_len(ROWS).try_for_each(|number| {
        if number.is_multiple_of(ROWS as u32) {
            control.check()?;
        }
        each(number, block.row(number));
        Ok(())
    })
}

fn mark_pointed(chosen: &Chosen<'_>, sets: &[Marks], number: u32, row: &[u32]) {
    if let Some(place) = chosen.place(number) {
        row.iter().for_each(|&head| sets[place].set(head));
    }
}

fn mark_present(chosen: &Chosen<'_>, sets: &[Marks], number: u32, row: &[u32]) {
    let own = chosen.place(number);
    if let Some(own) = own {
        sets[own].set(number);
    }
    for &head in row {
        if let Some(own) = own {
            sets[own].set(head);
        }
        if let Some(place) = chosen.place(head) {
            sets[place].set(number);
        }
    }
}

/// Passes on, from each kept vertex of a block to the heads that are present, that they are kept; the blocks come in falling
/// order. Parallel over partitions.
fn reach(block: RowBlock<'_>, present: &[Marks], kept: &[Marks], control: &Control) -> Result<()> {
    present.par_iter().zip(kept).try_for_each(|(present, kept)| {
        control.check()?;
        for number in block.ranks().rev().filter(|&number| kept.contains(number)) {
            block.row(number).iter().filter(|&&head| present.contains(head)).for_each(|&head| kept.set(head));
        }
        Ok(())
    })
}
