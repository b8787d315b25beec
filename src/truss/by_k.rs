//! The sizes of all trusses, from the trussness of every edge.

use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::edges::runs::in_runs;
use crate::sums::{ByArc, Sums};
use crate::table::new_text;
use trimill_graph::OrientedGraph;
use trimill_system::disk::Output;
use trimill_system::mapped::zeros;
use trimill_system::{Bytes, Control, Result};

/// Counts of smaller trussness, which most edges and vertices have, are summed by block first, to avoid contention at shared counters.
const SMALL_K: usize = 1 << 11;

const VERTICES: usize = 1 << 16;

/// What a truss decomposition found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Trusses {
    /// The largest k whose truss has an edge, or the k at which peeling ended; 0 without edges.
    pub largest_k: u32,
    /// The trusses, by rising k; if several k have the same truss, it is listed once, with the largest of them.
    pub by_k: Vec<Truss>,
    /// Distinct numbers of triangles at which edges fell, since the last start of the job.
    pub levels: u32,
    /// Rounds of removal, since the last start of the job.
    pub rounds: u64,
    /// The k at whose truss peeling ended; null where all edges fell.
    pub until: Option<u32>,
}

fn add_counts(of_block: impl Iterator<Item = u32>, counters: &[AtomicU64]) {
    let mut small = [0u32; SMALL_K];
    for k in of_block {
        match small.get_mut(k as usize) {
            Some(count) => *count += 1,
            None => _ = counters[k as usize].fetch_add(1, Relaxed),
        }
    }
    counters.iter().zip(small).filter(|(_, more)| *more > 0).for_each(|(counter, more)| {
        counter.fetch_add(more.into(), Relaxed);
    });
}

/// The size of a truss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Truss {
    /// Each edge is in k - 2 triangles of the truss at least.
    pub k: u32,
    /// The vertices with an edge.
    pub vertices: u64,
    /// The edges.
    pub edges: u64,
}

impl Trusses {
    /// Memory: 4 bytes a vertex, and two blocks of a pass over the graph. Runs in the current thread pool.
    pub(super) fn new(graph: &OrientedGraph, trussness: &Sums<ByArc>, block: Bytes, control: &Control) -> Result<Self> {
        let of_vertices: Vec<AtomicU32> = zeros(graph.vertices() as usize);
        in_runs(graph, block, control, |run, scratch| {
            scratch.read(trussness, run)?;
            for (rank, row, of_row) in run.rows(&scratch.sums) {
                for (&head, &k) in row.iter().zip(of_row) {
                    let head = &of_vertices[head as usize];
                    if head.load(Relaxed) < k {
                        head.fetch_max(k, Relaxed);
                    }
                }
                of_vertices[rank as usize].fetch_max(of_row.iter().copied().max().unwrap_or(0), Relaxed);
            }
            Ok(())
        })?;
        let largest_k = of_vertices.par_iter().map(|k| k.load(Relaxed)).max().unwrap_or(0);
        let (vertices, edges): (Vec<AtomicU64>, Vec<AtomicU64>) =
            (zeros(largest_k as usize + 1), zeros(largest_k as usize + 1));
        let blocks = of_vertices.par_chunks(VERTICES);
        blocks.for_each(|of_vertices| add_counts(of_vertices.iter().map(|k| k.load(Relaxed)), &vertices));
        trussness.each_block(|_, of_edges| {
            add_counts(of_edges.iter().copied(), &edges);
            Ok(())
        })?;
        let (mut by_k, mut all) = (Vec::new(), (0, 0));
        for k in (1..=largest_k).rev() {
            let fell = edges[k as usize].load(Relaxed);
            all = (all.0 + vertices[k as usize].load(Relaxed), all.1 + fell);
            if fell > 0 {
                by_k.push(Truss { k, vertices: all.0, edges: all.1 });
            }
        }
        by_k.reverse();
        Ok(Self { largest_k, by_k, ..Self::default() })
    }

    /// The truss of the largest k.
    pub fn largest(&self) -> Option<&Truss> {
        self.by_k.last()
    }

    /// Writes the sizes of all trusses; the file appears once it is finished. Runs in the current thread pool.
    pub(crate) fn write(&self, path: &Path) -> Result<Output> {
        new_text(path, &["k", "vertices", "edges"], self.by_k.len(), |place, then, text| {
            let Truss { k, vertices, edges } = self.by_k[place];
            let _ = writeln!(text, "{k}{then}{vertices}{then}{edges}");
        })
    }
}
