//! The full neighbourhoods of all vertices, which are merged on every edge.

use std::cmp::Ordering;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use rayon::prelude::*;

use trimill_system::{Control, Result, parallel};

/// Steps of a loop between two checks whether to stop.
pub(super) const STEPS: usize = 1 << 16;

/// The full neighbourhood of every vertex, renumbered by ascending id; and, if wanted, the count on each edge.
#[derive(Debug)]
pub struct VerifiedEdges {
    pub(super) ids: Vec<u64>,
    pub(super) starts: Vec<usize>,
    pub(super) neighbours: Vec<usize>,
    /// The triangles on the edge to each larger neighbour.
    pub(super) supports: Vec<AtomicU32>,
}

impl VerifiedEdges {
    /// `arcs` must be sorted, without loops and repetitions, and hold the reverse of each arc.
    pub(super) fn new(arcs: &[(u64, u64)], control: &Control) -> Result<Self> {
        let vertices = arcs.chunk_by(|one, other| one.0 == other.0).count();
        let (mut ids, mut starts) = (Vec::with_capacity(vertices), Vec::with_capacity(vertices + 1));
        for (at, &(tail, _)) in arcs.iter().enumerate() {
            if at % STEPS == 0 {
                control.check()?;
            }
            if ids.last() != Some(&tail) {
                ids.push(tail);
                starts.push(at);
            }
        }
        starts.push(arcs.len());
        // Each head is also a tail, so its number is the count of smaller ids.
        let mut neighbours = vec![0; arcs.len()];
        parallel::try_each(arcs.chunks(STEPS).zip(neighbours.chunks_mut(STEPS)), |(arcs, places)| {
            control.check()?;
            for (&(_, head), place) in arcs.iter().zip(places) {
                *place = ids.partition_point(|&id| id < head);
            }
            Ok(())
        })?;
        Ok(Self { ids, starts, neighbours, supports: Vec::new() })
    }

    pub(super) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    pub(super) fn neighbours_of(&self, vertex: usize) -> &[usize] {
        &self.neighbours[self.starts[vertex]..self.starts[vertex + 1]]
    }

    /// The triangles at each vertex; if `per_edge`, those on each edge are kept.
    pub(super) fn corners(&mut self, per_edge: bool, control: &Control) -> Result<Vec<u64>> {
        if per_edge {
            self.supports = self.neighbours.iter().map(|_| AtomicU32::new(0)).collect();
        }
        let twice: Vec<AtomicU64> = (0..self.len()).map(|_| AtomicU64::new(0)).collect();
        (0..self.len()).into_par_iter().try_for_each(|u| -> Result<()> {
            for (place, &v) in (self.starts[u]..).zip(self.neighbours_of(u)).filter(|&(_, &v)| u < v) {
                let common = common(self.neighbours_of(u), self.neighbours_of(v), control)?;
                // A triangle at a vertex is found on both of its edges there.
                twice[u].fetch_add(common, Relaxed);
                twice[v].fetch_add(common, Relaxed);
                if let Some(support) = self.supports.get(place) {
                    support.store(common as u32, Relaxed);
                }
            }
            Ok(())
        })?;
        Ok(twice
            .into_iter()
            .map(|twice| {
                let twice = twice.into_inner();
                assert_eq!(twice % 2, 0, "a triangle has two edges at each corner");
                twice / 2
            })
            .collect())
    }

    /// The edges whose smaller end is `u`: the larger ends, ascending, and the triangles.
    pub fn of(&self, u: u32) -> impl Iterator<Item = (u32, u32)> {
        let places = self.starts[u as usize]..self.starts[u as usize + 1];
        let all = self.neighbours[places.clone()].iter().zip(&self.supports[places]);
        all.filter(move |&(&v, _)| v > u as usize).map(|(&v, support)| (v as u32, support.load(Relaxed)))
    }
}

pub(super) fn common(a: &[usize], b: &[usize], control: &Control) -> Result<u64> {
    let (mut i, mut j, mut found) = (0, 0, 0);
    loop {
        control.check()?;
        for _ in 0..STEPS {
            if i == a.len() || j == b.len() {
                return Ok(found);
            }
            match a[i].cmp(&b[j]) {
                Ordering::Less => i += 1,
                Ordering::Greater => j += 1,
                Ordering::Equal => (i, j, found) = (i + 1, j + 1, found + 1),
            }
        }
    }
}
