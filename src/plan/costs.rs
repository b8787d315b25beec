//! The expected cost of each partition in nanoseconds, to make shards even. Only ratios matter, so any machine's costs will do.

use super::cost::{Machine, PassingRows};
use super::predict::PlannedPartition;
use super::sample::{CellSums, SampledWork, add_to, sums};
use super::{GraphCut, Plan};
use trimill_graph::OrientedGraph;
use trimill_partitioners::partition::ranks::LocalsAndHeads;
use trimill_system::{Control, Result};

/// Runs in the current thread pool.
pub fn costs(graph: &OrientedGraph, plan: &Plan, machine: &Machine, control: &Control) -> Result<Vec<u64>> {
    let parts = plan.parts() as usize;
    if parts == 1 {
        return Ok(vec![0]);
    }
    let work = sums(graph, parts, control, |sums, rank, row, lengths| match &plan.cut {
        GraphCut::Sets(locals) => {
            add_to(sums, locals.part_of()[rank as usize] as usize, SampledWork::of(row, 0..row.len(), lengths));
        }
        GraphCut::Ranges(all) => add_row(sums, all, rank, row, lengths),
    })?;
    let of = |(part, work): (usize, SampledWork)| {
        let PlannedPartition { size, predicted } = plan.partitions[part];
        // The sample's sum, extrapolated to all rows of the partition.
        let passes = predicted.passes as f64;
        let work = work.times(if work.rows == 0.0 { 0.0 } else { passes * size.resident_arcs as f64 / work.rows });
        let row_blocks = passes * predicted.row_blocks as f64;
        let arcs = predicted.stream.get() as f64 / size_of::<u32>() as f64;
        let past = PassingRows { arcs, row_blocks, visits: size.locals as f64 * row_blocks };
        (1e9 * machine.counting(&work, past)) as u64
    };
    Ok(work.into_iter().enumerate().map(of).collect())
}

/// Adds a row to all partitions that have it; each counts only the arcs to its own heads.
fn add_row(sums: &mut CellSums, all: &[LocalsAndHeads], rank: u32, row: &[u32], lengths: &[u32]) {
    let mut part = all.partition_point(|ranks| ranks.locals.end <= rank);
    let mut begin = 0;
    while let Some(ranks) = all.get(part).filter(|ranks| ranks.locals.contains(&rank)) {
        let end = begin + row[begin..].partition_point(|&b| b < ranks.heads.end);
        let work = SampledWork { rows: row.len() as f64, ..SampledWork::of(row, begin..end, lengths) };
        add_to(sums, part, work);
        (begin, part) = (end, part + 1);
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::*;

    #[test]
    fn arcs_are_counted_where_their_heads_are() {
        let ranks = |locals: Range<u32>, heads: Range<u32>| LocalsAndHeads { locals, heads };
        let all = [ranks(0..2, 0..2), ranks(2..6, 0..1), ranks(2..6, 1..6)];
        let lengths = [0, 1, 2, 3, 2, 3];
        let mut sums = CellSums::new();
        add_row(&mut sums, &all, 1, &[0], &lengths);
        add_row(&mut sums, &all, 5, &[0, 2, 3], &lengths);
        let found: Vec<_> = sums.iter().map(|(part, sum)| (*part, sum.rows, sum.near, sum.near_probes)).collect();
        assert_eq!(found, [(0, 1.0, 1.0, 0.0), (1, 3.0, 1.0, 0.0), (2, 3.0, 2.0, 3.0)]);
    }
}
