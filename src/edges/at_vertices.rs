//! The triangles at vertices, from those on edges: half the sum over a vertex's edges, as each triangle is on two of these.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rayon::ThreadPool;
use rayon::prelude::*;

use super::order::EdgesOfGraph;
use super::runs::{EdgeRun, HUBS, RunScratch, in_runs, pass_bytes};
use crate::sums::{ByRank, CountedKeys, Sums};
use trimill_system::mapped::zeros;
use trimill_system::{Bytes, Error, Result, parallel};

const AT_A_TIME: usize = 1 << 18;

impl EdgesOfGraph<'_> {
    /// Adds the triangles at all vertices to `totals`, which are zeros. Windows of ranks and the passes take `memory` bytes, 8 a rank; each window is
    /// a pass over the graph and the sums. Not to be called from `pool`. Errors: the graph or sums are unreadable or inconsistent; when stopped.
    pub fn at_vertices(&self, totals: &Sums<ByRank>, pool: &ThreadPool) -> Result<()> {
        let Self { graph, sums, memory, control, .. } = *self;
        let pass = pass_bytes(memory);
        let window =
            (memory.saturating_sub(Bytes(2 * pass.get())).get() / 8).clamp(1 << 16, u64::from(u32::MAX)) as u32;
        for first in (0..graph.vertices()).step_by(window as usize) {
            let ranks = first..graph.vertices().min(first.saturating_add(window));
            let twice: Vec<AtomicU64> = zeros(ranks.len());
            let add = |rank: u32, triangles: u64| {
                if ranks.contains(&rank) {
                    twice[(rank - ranks.start) as usize].fetch_add(triangles, Relaxed);
                }
            };
            parallel::within(pool, || {
                in_runs(graph, pass, control, |run, scratch| {
                    // Successors have smaller ranks.
                    if run.ranks.end <= ranks.start {
                        return Ok(());
                    }
                    scratch.read(sums, run)?;
                    add_run(run, scratch, add);
                    Ok(())
                })
            })?;
            for (some, from) in twice.chunks(AT_A_TIME).zip((u64::from(first)..).step_by(AT_A_TIME)) {
                let half = |twice: &AtomicU64| match twice.load(Relaxed) {
                    twice if twice % 2 == 0 => Ok(twice / 2),
                    odd => Err(Error::defect(format!("{odd} triangles on the edges of a vertex, which is odd"))),
                };
                parallel::within(pool, || {
                    let counts: Vec<u64> = some.par_iter().map(half).collect::<Result<_>>()?;
                    totals.add(CountedKeys::From(from), &counts)
                })?;
            }
        }
        Ok(())
    }
}

fn add_run(run: &EdgeRun<'_>, scratch: &mut RunScratch, add: impl Fn(u32, u64)) {
    let RunScratch { sums, hubs, .. } = scratch;
    for (rank, row, sums) in run.rows(sums) {
        for (&head, &triangles) in row.iter().zip(sums) {
            match hubs.get_mut(head as usize) {
                Some(hub) => *hub += u64::from(triangles),
                None => add(head, triangles.into()),
            }
        }
        add(rank, sums.iter().map(|&triangles| u64::from(triangles)).sum());
    }
    (0..HUBS).zip(hubs).filter(|(_, hub)| **hub > 0).for_each(|(rank, hub)| add(rank, *hub));
}
