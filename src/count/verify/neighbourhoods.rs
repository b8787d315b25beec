//! The full neighbourhoods of all vertices, which are merged on every edge.

use std::cmp::Ordering;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use rayon::prelude::*;

use trimill_system::{Control, Result, parallel};

/// Steps of a loop between two checks whether to stop.
pub(super) const STEPS: usize = 1 << 16;

/// The full neighbourhood of every vertex, vertices renamed in ascending order of their ids.
pub(super) struct Neighbourhoods {
    pub(super) ids: Vec<u64>,
    starts: Vec<usize>,
    neighbours: Vec<usize>,
}

impl Neighbourhoods {
    /// `arcs` is sorted, without loops and repetitions, and holds the reverse of each of its arcs.
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
        // Each head is a tail, too, so the count of the smaller ids is its place among them.
        let mut neighbours = vec![0; arcs.len()];
        parallel::try_each(arcs.chunks(STEPS).zip(neighbours.chunks_mut(STEPS)), |(arcs, places)| {
            control.check()?;
            for (&(_, head), place) in arcs.iter().zip(places) {
                *place = ids.partition_point(|&id| id < head);
            }
            Ok(())
        })?;
        Ok(Self { ids, starts, neighbours })
    }

    pub(super) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    pub(super) fn of(&self, vertex: usize) -> &[usize] {
        &self.neighbours[self.starts[vertex]..self.starts[vertex + 1]]
    }

    pub(super) fn edges(&self) -> u64 {
        self.neighbours.len() as u64 / 2
    }

    /// A count for each neighbour of each vertex.
    pub(super) fn supports(&self) -> Vec<AtomicU32> {
        self.neighbours.iter().map(|_| AtomicU32::new(0)).collect()
    }

    /// The triangles at each vertex; those on each edge go to `supports`, where these are not empty.
    pub(super) fn corners(&self, supports: &[AtomicU32], control: &Control) -> Result<Vec<u64>> {
        let twice: Vec<AtomicU64> = (0..self.len()).map(|_| AtomicU64::new(0)).collect();
        (0..self.len()).into_par_iter().try_for_each(|u| -> Result<()> {
            for (place, &v) in (self.starts[u]..).zip(self.of(u)).filter(|&(_, &v)| u < v) {
                let common = common(self.of(u), self.of(v), control)?;
                // A triangle at a vertex is found on both edges that it has there.
                twice[u].fetch_add(common, Relaxed);
                twice[v].fetch_add(common, Relaxed);
                if let Some(support) = supports.get(place) {
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

    /// The ids, and what was counted on edges.
    pub(super) fn into_edges(self, supports: Vec<AtomicU32>) -> (Vec<u64>, VerifiedEdges) {
        let Self { ids, starts, neighbours } = self;
        (ids, VerifiedEdges { starts, neighbours, supports })
    }
}

/// What was counted on each edge, where that was asked for. Vertices are in ascending order of their ids.
#[derive(Debug)]
pub struct VerifiedEdges {
    pub(super) starts: Vec<usize>,
    pub(super) neighbours: Vec<usize>,
    pub(super) supports: Vec<AtomicU32>,
}

impl VerifiedEdges {
    /// The edges of which `u` is the smaller end: the larger ends, ascending, and the triangles.
    pub fn of(&self, u: u32) -> impl Iterator<Item = (u32, u32)> {
        let places = self.starts[u as usize]..self.starts[u as usize + 1];
        let all = self.neighbours[places.clone()].iter().zip(&self.supports[places]);
        all.filter(move |&(&v, _)| v > u as usize).map(|(&v, support)| (v as u32, support.load(Relaxed)))
    }
}

/// How many numbers two sorted lists share.
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
