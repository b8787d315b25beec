//! The edges that are left while a graph is peeled, and their values: the triangles that an edge forms with others of them or, for an edge
//! that falls or fell, its level with a mark. Memory: 8 bytes an edge and 8 a vertex; 4 more an edge once some are gone.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use rayon::prelude::*;

use super::neighbours::ROWS;
use trimill_counting::FALLEN;
use trimill_system::mapped::zeros;

pub(super) fn is_left(value: u32) -> bool {
    value & FALLEN == 0
}

pub(super) fn plain(numbers: Vec<AtomicU32>) -> Vec<u32> {
    numbers.into_iter().map(AtomicU32::into_inner).collect()
}

/// An oriented graph. Vertices and edges are numbered in rank order.
pub(super) struct RemainingEdges {
    pub(super) firsts: Vec<u64>,
    pub(super) heads: Vec<u32>,
    /// The index of each edge in the given graph; `None` if no edge of that graph is gone.
    places: Option<Vec<u32>>,
}

impl RemainingEdges {
    pub(super) fn all(firsts: Vec<u64>, heads: Vec<u32>) -> Self {
        Self { firsts, heads, places: None }
    }

    /// Bytes if some edges of the given graph may be gone.
    pub(super) fn bytes(vertices: u64, edges: u64) -> u64 {
        8 * vertices + 12 * edges
    }

    pub(super) fn vertices(&self) -> usize {
        self.firsts.len() - 1
    }

    pub(super) fn edges(&self) -> usize {
        self.heads.len()
    }

    /// Whether edges of the given graph are gone.
    pub(super) fn is_part(&self) -> bool {
        self.places.is_some()
    }

    fn place(&self, edge: usize) -> usize {
        self.places.as_ref().map_or(edge, |places| places[edge] as usize)
    }

    /// Writes the value of each edge to its place among all edges of the given graph. Runs in the current thread pool.
    pub(super) fn put_values(&self, values: &[u32], state: &[AtomicU32]) {
        values.par_iter().enumerate().for_each(|(edge, &value)| state[self.place(edge)].store(value, Relaxed));
    }

    /// The edges that are left, with their values, and the vertices that have any. Runs in the current thread pool.
    pub(super) fn without_fallen(&self, values: &[u32]) -> (Self, Vec<u32>) {
        let left = |edge: usize| is_left(values[edge]);
        let row = |v: usize| self.firsts[v] as usize..self.firsts[v + 1] as usize;
        let each = || (0..self.vertices()).into_par_iter().with_min_len(ROWS);
        let used: Vec<AtomicU32> = zeros(self.vertices());
        let lengths: Vec<u32> = each()
            .map(|v| {
                let heads = row(v).filter(|&edge| left(edge)).map(|edge| self.heads[edge]);
                // Checked first, since writing an unchanged value would cause contention.
                let use_head = |&head: &u32| {
                    if used[head as usize].load(Relaxed) == 0 {
                        used[head as usize].store(1, Relaxed);
                    }
                };
                let length = heads.inspect(use_head).count();
                if length > 0 {
                    used[v].store(1, Relaxed);
                }
                length as u32
            })
            .collect();
        let (mut firsts, mut end) = (Vec::new(), 0);
        for (used, &length) in used.iter().zip(&lengths).filter(|(used, _)| used.load(Relaxed) > 0) {
            used.store(firsts.len() as u32, Relaxed);
            firsts.push(end);
            end += u64::from(length);
        }
        firsts.push(end);
        let edges = end as usize;
        let (heads, kept, places): (Vec<AtomicU32>, Vec<AtomicU32>, Vec<AtomicU32>) =
            (zeros(edges), zeros(edges), zeros(edges));
        each().filter(|&v| lengths[v] > 0).for_each(|v| {
            let first = firsts[used[v].load(Relaxed) as usize] as usize;
            for (to, edge) in (first..).zip(row(v).filter(|&edge| left(edge))) {
                heads[to].store(used[self.heads[edge] as usize].load(Relaxed), Relaxed);
                kept[to].store(values[edge], Relaxed);
                places[to].store(self.place(edge) as u32, Relaxed);
            }
        });
        (Self { firsts, heads: plain(heads), places: Some(plain(places)) }, plain(kept))
    }
}
