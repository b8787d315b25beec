//! The number of probes for the arcs of a graph, from a sample of its rows. The probes of an arc `a -> b` are the successors of `a` before `b`, or
//! those of `b`, whichever are fewer; costs are about proportional. On the CPU, arcs to hubs cost words of bits, and others a cache miss, too.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Mutex;

use trimill_graph::OrientedGraph;
use trimill_system::{Control, Result, lock, parallel, unpoisoned};

/// A large graph is sampled by runs of rows, evenly spread over its arcs (number, and arcs of each); a small graph is read as a whole.
const RUNS: u64 = 1 << 11;
const RUN: u64 = 1 << 13;

/// Approximate number of ranks that are hubs of the CPU counter, whose rows are bits.
const HUBS: u32 = 1 << 14;

/// Arcs of a sample, and their probes: of arcs to hubs, and of all others.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(super) struct SampledWork {
    /// All arcs of the sampled rows, even if they are not counted below because of their heads: the sample is scaled by this.
    pub(super) rows: f64,
    pub(super) near: f64,
    pub(super) far: f64,
    pub(super) near_probes: f64,
    pub(super) far_probes: f64,
}

impl SampledWork {
    /// The work of some arcs of a row, those at the places `arcs`.
    pub(super) fn of(row: &[u32], arcs: Range<usize>, lengths: &[u32]) -> Self {
        let mut sum = Self { rows: arcs.len() as f64, ..Self::default() };
        for before in arcs {
            let b = row[before];
            let probes = f64::from(lengths[b as usize]).min(before as f64);
            if b < HUBS {
                sum.near += 1.0;
                sum.near_probes += probes;
            } else {
                sum.far += 1.0;
                sum.far_probes += probes;
            }
        }
        sum
    }

    #[must_use]
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            rows: self.rows + other.rows,
            near: self.near + other.near,
            far: self.far + other.far,
            near_probes: self.near_probes + other.near_probes,
            far_probes: self.far_probes + other.far_probes,
        }
    }

    #[must_use]
    pub(super) fn times(self, factor: f64) -> Self {
        let Self { rows, near, far, near_probes, far_probes } = self;
        let [rows, near, far, near_probes, far_probes] =
            [rows, near, far, near_probes, far_probes].map(|sum| sum * factor);
        Self { rows, near, far, near_probes, far_probes }
    }
}

/// The sums of cells, by number: of those that the rows of a run add to.
pub(super) type CellSums = BTreeMap<usize, SampledWork>;

pub(super) fn add_to(sums: &mut CellSums, cell: usize, work: SampledWork) {
    let sum = sums.entry(cell).or_default();
    *sum = sum.and(work);
}

/// Adds up `cells` sums [over a sample](over_sample), in one copy: `add` gets those of a run, a rank, its row, and the lengths of all rows.
pub(super) fn sums(
    graph: &OrientedGraph,
    cells: usize,
    control: &Control,
    add: impl Fn(&mut CellSums, u32, &[u32], &[u32]) + Sync,
) -> Result<Vec<SampledWork>> {
    let lengths = graph.out_degrees()?;
    let all = vec![SampledWork::default(); cells];
    let add = |of_run: &mut CellSums, rank: u32, row: &[u32]| add(of_run, rank, row, &lengths);
    over_sample(graph, control, all, add, |all, of_run: CellSums| {
        of_run.into_iter().for_each(|(cell, work)| all[cell] = all[cell].and(work));
    })
}

/// Adds to `all` a sample of at most 16 million arcs, or one row per run: `add` gets the part of a run, a rank and its row; `join` adds a part.
pub(super) fn over_sample<S: Send, P: Default>(
    graph: &OrientedGraph,
    control: &Control,
    all: S,
    add: impl Fn(&mut P, u32, &[u32]) + Sync,
    join: impl Fn(&mut S, P) + Sync,
) -> Result<S> {
    let all = Mutex::new(all);
    parallel::try_each(runs(graph)?, |run: Range<u32>| {
        control.check()?;
        let arcs = graph.first_arc(run.end)? - graph.first_arc(run.start)?;
        let (mut begins, mut successors) = (vec![0u64; run.len() + 1], vec![0; arcs as usize]);
        graph.read(run.clone(), &mut begins, &mut successors)?;
        let mut part = P::default();
        for (rank, ends) in run.zip(begins.windows(2)) {
            add(&mut part, rank, &successors[ends[0] as usize..ends[1] as usize]);
        }
        join(&mut lock(&all), part);
        Ok(())
    })?;
    Ok(unpoisoned(all.into_inner()))
}

/// A small graph is sampled whole.
fn runs(graph: &OrientedGraph) -> Result<Vec<Range<u32>>> {
    let (arcs, all) = (graph.edges(), graph.vertices());
    let whole = arcs <= RUNS * RUN;
    let (mut runs, mut end) = (Vec::new(), 0);
    let most = if whole { u64::from(all) } else { RUNS };
    for i in 0..most {
        let from = (u128::from(arcs) * u128::from(i) / u128::from(RUNS)) as u64;
        let begin = if whole { end } else { graph.last_fitting(0, false, |_, arcs| arcs <= from)?.max(end) };
        if begin == all {
            break;
        }
        end = graph.last_fitting(begin, false, |rows, arcs| rows.max(arcs) <= RUN)?;
        runs.push(begin..end);
    }
    Ok(runs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prepare::graph_of;

    /// Of a complete graph, the row of rank r has r arcs.
    #[test]
    fn all_rows_of_a_small_graph_are_in_short_runs() {
        let graph = graph_of((0..700).flat_map(|u| (0..u).map(move |v| (u, v))).collect());
        let runs = runs(&graph).unwrap();
        assert!(runs.iter().all(|run| run.clone().map(u64::from).sum::<u64>() <= RUN), "{runs:?}");
        assert_eq!(runs.into_iter().flatten().collect::<Vec<u32>>(), (0..700).collect::<Vec<u32>>());
    }
}
