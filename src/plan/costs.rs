//! What each partition is expected to cost, so that shards of a plan are even.
//!
//! Input: a graph, its plan, the rates of a machine. Output: nanoseconds for each partition. Only their ratios matter, so they need not
//! be those of the machine that counts.

use super::sample::{SampledWork, sums};
use super::{GraphCut, Plan};
use crate::graph::OrientedGraph;
use crate::partition::ranks::LocalsAndHeads;
use crate::rates::{Rates, Speed};
use trimill_system::control::Control;
use trimill_system::error::Result;

/// What counts.
#[derive(Debug, Clone, Copy)]
pub enum CounterKind {
    Cpu,
    /// A GPU: its method's speed, and how many arcs are copied to it in a second.
    Gpu(Speed, f64),
}

/// What the CPU counter takes, in seconds of a core.
struct Core {
    near: f64,
    far: f64,
    near_probe: f64,
    far_probe: f64,
    read: f64,
}

/// Fitted to 16 partitions of GAP-kron 22 on a server, by least squares: each of them is within a fifth.
const CORE: Core = Core { near: 1.7e-8, far: 3.0e-7, near_probe: 1e-10, far_probe: 5e-10, read: 5e-9 };

impl CounterKind {
    /// A GPU, or the CPU, with these rates.
    pub fn new(rates: &Rates, on_gpu: bool) -> Self {
        if on_gpu { Self::Gpu(rates.packed(), rates.gpu_arcs) } else { Self::Cpu }
    }

    /// Seconds to count these arcs, where `read` arcs are read for that.
    pub(super) fn seconds(&self, work: &SampledWork, read: f64) -> f64 {
        let SampledWork { near, far, near_probes, far_probes, .. } = *work;
        match self {
            Self::Cpu => {
                CORE.near * near
                    + CORE.far * far
                    + CORE.near_probe * near_probes
                    + CORE.far_probe * far_probes
                    + CORE.read * read
            }
            // Rows are copied while others are counted.
            Self::Gpu(speed, copied) => {
                let counting = speed.arc * (near + far) + speed.probe * (near_probes + far_probes);
                (counting + speed.streamed * read).max(read / copied)
            }
        }
    }
}

/// The cost of each partition of `plan`. Runs in the current thread pool.
pub fn costs(graph: &OrientedGraph, plan: &Plan, counter: CounterKind, control: &Control) -> Result<Vec<u64>> {
    let parts = plan.parts() as usize;
    if parts == 1 {
        return Ok(vec![0]);
    }
    let work = sums(graph, parts, control, |sums, rank, row, lengths| match &plan.cut {
        GraphCut::Sets(locals) => {
            let sum = &mut sums[locals.part_of()[rank as usize] as usize];
            sum.rows += row.len() as f64;
            row.iter().enumerate().for_each(|(before, &b)| sum.add(b, before, lengths));
        }
        GraphCut::Ranges(all, _) => add_row(sums, all, rank, row, lengths),
    })?;
    let of = |(part, work): (usize, SampledWork)| {
        let (size, predicted) = (&plan.sizes[part], &plan.predictions[part]);
        // What the sample found, for all of the partition's rows.
        let work = work.times(if work.rows == 0.0 { 0.0 } else { size.resident_arcs as f64 / work.rows });
        let read = predicted.stream.get() as f64 / size_of::<u32>() as f64;
        let visits = match counter {
            CounterKind::Cpu => 0.0,
            CounterKind::Gpu(Speed { pass, visit, .. }, _) => {
                (pass + visit * size.locals as f64) * predicted.row_blocks as f64
            }
        };
        (1e9 * (counter.seconds(&work, read) + visits)) as u64
    };
    Ok(work.into_iter().enumerate().map(of).collect())
}

/// Adds a row to the partitions that have it: each counts the arcs to its own heads.
fn add_row(sums: &mut [SampledWork], all: &[LocalsAndHeads], rank: u32, row: &[u32], lengths: &[u32]) {
    let mut part = all.partition_point(|ranks| ranks.locals.end <= rank);
    let mut begin = 0;
    while let Some(ranks) = all.get(part).filter(|ranks| ranks.locals.contains(&rank)) {
        let end = begin + row[begin..].partition_point(|&b| b < ranks.heads.end);
        sums[part].rows += row.len() as f64;
        (begin..end).for_each(|before| sums[part].add(row[before], before, lengths));
        (begin, part) = (end, part + 1);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::ops::Range;

    use super::*;

    #[test]
    fn arcs_are_counted_where_their_heads_are() {
        let ranks = |locals: Range<u32>, heads: Range<u32>| LocalsAndHeads { locals, heads };
        let all = [ranks(0..2, 0..2), ranks(2..6, 0..1), ranks(2..6, 1..6)];
        let lengths = [0, 1, 2, 3, 2, 3];
        let mut sums = vec![SampledWork::default(); 3];
        add_row(&mut sums, &all, 1, &[0], &lengths);
        add_row(&mut sums, &all, 5, &[0, 2, 3], &lengths);
        let found: Vec<_> = sums.iter().map(|sum| (sum.rows, sum.near, sum.near_probes)).collect();
        // Of 5: to 2 with one successor before it, to 3 with two.
        assert_eq!(found, [(1.0, 1.0, 0.0), (3.0, 1.0, 0.0), (3.0, 2.0, 3.0)]);
    }
}
