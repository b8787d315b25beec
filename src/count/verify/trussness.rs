//! The trussness of every edge by removing edges one by one on one thread: for each k, edges in fewer than k - 2 triangles, with their triangles.
//! Shares nothing with `crate::truss`. Cost: one merge of neighbourhoods for each edge, and a pass over all edges for each k; 5 bytes an arc.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU32;

use super::neighbourhoods::VerifiedEdges;
use crate::truss::by_k::{Truss, Trusses};
use trimill_system::{Control, Result};

impl VerifiedEdges {
    /// Replaces the triangles on each edge by its trussness; edges that are left at `until` get that. Returns the sizes of all trusses.
    pub fn peel(&mut self, until: Option<u32>, control: &Control) -> Result<Trusses> {
        let mut triangles: Vec<u32> = self.supports.iter_mut().map(|support| *support.get_mut()).collect();
        let mut gone = vec![false; triangles.len()];
        let mut trussness = vec![0u32; triangles.len()];
        let edges = self.edges();
        let (mut left, mut k) = (edges.len(), 3u32);
        while left > 0 && until.is_none_or(|until| k <= until) {
            control.check()?;
            let too_few = |&&(_, _, place): &&(usize, usize, usize)| !gone[place] && triangles[place] < k - 2;
            let mut waiting: Vec<(usize, usize, usize)> = edges.iter().filter(too_few).copied().collect();
            while let Some((u, v, place)) = waiting.pop() {
                if std::mem::replace(&mut gone[place], true) {
                    continue;
                }
                control.check()?;
                (trussness[place], left) = (k - 1, left - 1);
                for w in self.common(u, v) {
                    let sides = [self.place(u, w), self.place(v, w)];
                    if sides.iter().any(|&side| gone[side]) {
                        continue;
                    }
                    for (side, end) in sides.into_iter().zip([u, v]) {
                        triangles[side] -= 1;
                        if triangles[side] < k - 2 {
                            waiting.push((end.min(w), end.max(w), side));
                        }
                    }
                }
            }
            k += 1;
        }
        let mut sizes: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
        let mut of_vertices = vec![0u32; self.starts.len() - 1];
        for (u, v, place) in edges {
            let k = if gone[place] { trussness[place] } else { until.unwrap_or(k) };
            self.supports[place] = AtomicU32::new(k);
            sizes.entry(k).or_default().1 += 1;
            of_vertices[u] = of_vertices[u].max(k);
            of_vertices[v] = of_vertices[v].max(k);
        }
        of_vertices.iter().for_each(|k| sizes.entry(*k).or_default().0 += 1);
        let (mut vertices, mut all) = (0, 0);
        let larger = |(&k, &(more, fell)): (&u32, &(u64, u64))| {
            (vertices, all) = (vertices + more, all + fell);
            Truss { k, vertices, edges: all }
        };
        let mut by_k: Vec<Truss> = sizes.iter().rev().map(larger).collect();
        by_k.reverse();
        Ok(Trusses { largest_k: by_k.last().map_or(0, |truss| truss.k), by_k, until, ..Trusses::default() })
    }

    fn edges(&self) -> Vec<(usize, usize, usize)> {
        let of = |u: usize| {
            let places = self.starts[u]..self.starts[u + 1];
            places.map(move |place| (u, self.neighbours[place], place)).filter(|&(u, v, _)| u < v)
        };
        (0..self.starts.len() - 1).flat_map(of).collect()
    }

    fn common(&self, u: usize, v: usize) -> Vec<usize> {
        let (shorter, longer) = match self.neighbours_of(u).len() < self.neighbours_of(v).len() {
            true => (u, v),
            false => (v, u),
        };
        let of_longer = self.neighbours_of(longer);
        self.neighbours_of(shorter).iter().copied().filter(|w| of_longer.binary_search(w).is_ok()).collect()
    }

    fn place(&self, u: usize, v: usize) -> usize {
        let (smaller, larger) = (u.min(v), u.max(v));
        self.starts[smaller] + self.neighbours_of(smaller).partition_point(|&other| other < larger)
    }
}
