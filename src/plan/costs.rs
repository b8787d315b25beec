//! What each partition is expected to cost, so that shards of a plan are even.
//!
//! Input: a graph, its plan, the rates of a machine. Output: nanoseconds for each partition. Only their ratios matter, so they need not
//! be those of the machine that counts.
//!
//! The probes of an arc `a -> b` are the successors of `a` before `b`, or those of `b`, whichever are fewer: all methods of this program
//! cost about as much as these. On the CPU, arcs to hubs are counted by words of bits, and other arcs wait for the row of `b`. They are
//! added up over a sample of all rows, of at most 16 million arcs; that takes 4 bytes a vertex.

use std::ops::Range;

use rayon::prelude::*;

use super::{Cut, Plan};
use crate::control::Control;
use crate::error::Result;
use crate::graph::OrientedGraph;
use crate::partition::ranks::Ranks;
use crate::rates::{Rates, Speed};

/// The hubs of the CPU counter, whose rows are bits: about as many ranks.
const HUBS: u32 = 1 << 14;

/// What the CPU counter takes, in seconds of a core.
struct Core {
    near: f64,
    far: f64,
    near_probe: f64,
    far_probe: f64,
    read: f64,
}

/// Fitted to 16 partitions of GAP-kron 22, whose rows are in the cache or not as those of other graphs; each of them is within a fifth.
const CORE: Core = Core { near: 1.7e-8, far: 3.0e-7, near_probe: 1e-10, far_probe: 5e-10, read: 5e-9 };

/// Runs of rows that are read of a large graph, evenly spread over its arcs, and the arcs of each. A small graph is read as a whole.
const RUNS: u64 = 1 << 11;
const RUN: u64 = 1 << 13;

/// Arcs that a partition counts, and their probes: of arcs whose head is a hub, and of all others.
#[derive(Debug, Default, Clone, Copy)]
struct Work {
    /// Resident arcs that were looked at.
    sampled: u64,
    near: u64,
    far: u64,
    near_probes: u64,
    far_probes: u64,
}

/// The cost of each partition of `plan`, on GPUs or on the CPU. Runs in the current thread pool.
///
/// # Errors
/// When the graph cannot be read; when stopped.
pub fn costs(
    (graph, plan): (&OrientedGraph, &Plan),
    (rates, gpus): (&Rates, bool),
    control: &Control,
) -> Result<Vec<u64>> {
    let of = |(part, work): (usize, Work)| {
        let (size, predicted) = (&plan.sizes[part], &plan.predictions[part]);
        // What the sample found, for all of the partition's arcs.
        let sampled = if work.sampled == 0 { 0.0 } else { size.resident_arcs as f64 / work.sampled as f64 };
        let [near, far, near_probes, far_probes] =
            [work.near, work.far, work.near_probes, work.far_probes].map(|sum| sum as f64 * sampled);
        let read = predicted.stream.get() as f64 / size_of::<u32>() as f64;
        let seconds = if gpus {
            let Speed { arc, probe, streamed, pass, visit } = rates.packed();
            let visits = (pass + visit * size.locals as f64) * predicted.row_blocks as f64;
            let counting = arc * (near + far) + probe * (near_probes + far_probes) + visits;
            // Rows are copied while others are counted.
            (counting + streamed * read).max(read / rates.gpu_arcs)
        } else {
            CORE.near * near
                + CORE.far * far
                + CORE.near_probe * near_probes
                + CORE.far_probe * far_probes
                + CORE.read * read
        };
        (1e9 * seconds) as u64
    };
    Ok(work(graph, &plan.cut, control)?.into_iter().enumerate().map(of).collect())
}

/// Adds up what a sample of the arcs of each partition asks for.
fn work(graph: &OrientedGraph, cut: &Cut, control: &Control) -> Result<Vec<Work>> {
    let none = || vec![Work::default(); cut.parts() as usize];
    if cut.parts() == 1 {
        return Ok(none());
    }
    let lengths = graph.out_degrees()?;
    let runs = sample(graph)?;
    let of_run = |mut sums: Vec<Work>, run: &Range<u32>| {
        control.check()?;
        let arcs = graph.first_arc(run.end)? - graph.first_arc(run.start)?;
        let (mut begins, mut successors) = (vec![0u64; run.len() + 1], vec![0; arcs as usize]);
        graph.read(run.clone(), &mut begins, &mut successors)?;
        for (rank, ends) in run.clone().zip(begins.windows(2)) {
            let row = &successors[ends[0] as usize..ends[1] as usize];
            match cut {
                Cut::Sets(locals) => {
                    sums[locals.part_of()[rank as usize] as usize].add(row, 0..row.len(), &lengths);
                }
                Cut::Ranges(all, _) => add_row(&mut sums, all, (rank, row), &lengths),
            }
        }
        Ok(sums)
    };
    let sums = runs.par_iter().try_fold(none, of_run);
    sums.try_reduce(none, |mut all, more| {
        all.iter_mut().zip(more).for_each(|(sum, more)| sum.and(more));
        Ok(all)
    })
}

/// Adds a row to the partitions that have it: each counts the arcs to its own heads.
fn add_row(sums: &mut [Work], all: &[Ranks], (rank, row): (u32, &[u32]), lengths: &[u32]) {
    let mut part = all.partition_point(|ranks| ranks.locals.end <= rank);
    let mut begin = 0;
    while let Some(ranks) = all.get(part).filter(|ranks| ranks.locals.contains(&rank)) {
        let end = begin + row[begin..].partition_point(|&b| b < ranks.heads.end);
        sums[part].add(row, begin..end, lengths);
        (begin, part) = (end, part + 1);
    }
}

impl Work {
    /// Adds some of the arcs of a row.
    fn add(&mut self, row: &[u32], arcs: Range<usize>, lengths: &[u32]) {
        self.sampled += row.len() as u64;
        for before in arcs {
            let b = row[before];
            let probes = u64::from(lengths[b as usize]).min(before as u64);
            if b < HUBS {
                self.near += 1;
                self.near_probes += probes;
            } else {
                self.far += 1;
                self.far_probes += probes;
            }
        }
    }

    fn and(&mut self, more: Self) {
        self.sampled += more.sampled;
        self.near += more.near;
        self.far += more.far;
        self.near_probes += more.near_probes;
        self.far_probes += more.far_probes;
    }
}

/// The runs of rows that are read.
fn sample(graph: &OrientedGraph) -> Result<Vec<Range<u32>>> {
    let (arcs, all) = (graph.edges(), graph.vertices());
    let many = arcs.div_ceil(RUN).clamp(1, RUNS);
    let whole = many * RUN >= arcs;
    let (mut runs, mut end) = (Vec::new(), 0);
    for i in 0..many {
        let from = (u128::from(arcs) * u128::from(i) / u128::from(many)) as u64;
        let begin = if whole { end } else { graph.last_fitting(0, |_, arcs| arcs <= from)?.max(end) };
        if begin == all {
            break;
        }
        end = match whole && i + 1 == many {
            true => all,
            false => graph.last_fitting(begin, |_, arcs| arcs <= RUN)?.min(all),
        };
        runs.push(begin..end);
    }
    Ok(runs)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn arcs_are_counted_where_their_heads_are() {
        let ranks = |locals: Range<u32>, heads: Range<u32>| Ranks { locals, heads };
        let all = [ranks(0..2, 0..2), ranks(2..6, 0..1), ranks(2..6, 1..6)];
        let lengths = [0, 1, 2, 3, 2, 3];
        let mut sums = vec![Work::default(); 3];
        add_row(&mut sums, &all, (1, &[0]), &lengths);
        add_row(&mut sums, &all, (5, &[0, 2, 3]), &lengths);
        let found: Vec<_> = sums.iter().map(|sum| (sum.sampled, sum.near, sum.near_probes)).collect();
        // Of 5: to 2 with one successor before it, to 3 with two.
        assert_eq!(found, [(1, 1, 0), (3, 1, 0), (3, 2, 3)]);
    }
}
