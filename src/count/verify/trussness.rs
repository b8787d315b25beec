//! The trussness of every edge, on one thread: for each k, edges in fewer than k - 2 triangles are removed one by one, with their triangles. Shares
//! nothing with `crate::truss`. Cost: for each edge a search in one neighbourhood for each vertex of the shorter one; for each k a pass over all.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;

use super::neighbourhoods::VerifiedEdges;
use crate::truss::by_k::{Truss, Trusses};
use trimill_system::{Control, Result};

impl VerifiedEdges {
    /// Replaces the triangles on each edge by its trussness, or by `until` for edges that remain at that level. Returns the sizes of all trusses.
    pub fn peel(&mut self, until: Option<u32>, control: &Control) -> Result<Trusses> {
        let mut triangles: Vec<u32> = self.supports.iter_mut().map(|support| *support.get_mut()).collect();
        let mut gone = vec![false; triangles.len()];
        let mut trussness = vec![0u32; triangles.len()];
        let (mut left, mut k) = (self.edges().count(), 3u32);
        while left > 0 && until.is_none_or(|until| k <= until) {
            control.check()?;
            let too_few = |&(_, place): &(usize, usize)| !gone[place] && triangles[place] < k - 2;
            let mut waiting: Vec<usize> = self.edges().filter(too_few).map(|(_, place)| place).collect();
            while let Some(place) = waiting.pop() {
                control.check()?;
                (gone[place], trussness[place], left) = (true, k - 1, left - 1);
                let (u, v) = (self.starts.partition_point(|&start| start <= place) - 1, self.neighbours[place]);
                for w in self.common(u, v) {
                    let sides = [self.place(u, w), self.place(v, w)];
                    if sides.iter().any(|&side| gone[side]) {
                        continue;
                    }
                    for side in sides {
                        triangles[side] -= 1;
                        // An edge with fewer triangles is already queued.
                        if triangles[side] == k - 3 {
                            waiting.push(side);
                        }
                    }
                }
            }
            k += 1;
        }
        let mut sizes: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
        let mut of_vertices = vec![0u32; self.len()];
        for (u, place) in self.edges() {
            let k = if gone[place] { trussness[place] } else { until.unwrap_or(k) };
            self.supports[place].store(k, Relaxed);
            sizes.entry(k).or_default().1 += 1;
            for end in [u, self.neighbours[place]] {
                of_vertices[end] = of_vertices[end].max(k);
            }
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

    /// Each edge by its smaller end and the place of the larger one.
    fn edges(&self) -> impl Iterator<Item = (usize, usize)> {
        let of = |u: usize| (self.starts[u]..self.starts[u + 1]).map(move |place| (u, place));
        (0..self.len()).flat_map(of).filter(|&(u, place)| u < self.neighbours[place])
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
