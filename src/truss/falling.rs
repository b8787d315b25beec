//! What a round of peeling on the cores subtracts from the values of edges.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use trimill_counting::FALLEN;
use trimill_system::mapped::{prefetch, zeros};

/// Entries or edges that are processed together, so that their cache misses overlap.
pub(super) const TOGETHER: usize = 64;

/// The least number of edges that are collected before their values are lowered.
const COLLECTED: usize = 1 << 8;

/// The most edges of a row that are lowered together.
const TOUCHED: usize = 1 << 14;

#[derive(Clone, Copy)]
pub(super) struct EdgeValues<'a> {
    pub(super) values: &'a [AtomicU32],
    /// Edges with values up to this fall in the next round; up to the bound, they are gathered.
    pub(super) level: u32,
    pub(super) bound: u32,
}

/// Edges whose values reach the level and so fall in the next round, and edges whose values reach the bound and so are gathered.
#[derive(Default)]
pub(super) struct Reached {
    pub(super) falling: Vec<u32>,
    pub(super) gathered: Vec<u32>,
}

impl EdgeValues<'_> {
    #[inline(always)]
    pub(super) fn of_falling(&self, edge: u32) -> u32 {
        self.values[edge as usize].load(Relaxed) & !FALLEN
    }

    /// Lowers the values of edges that are left, each by its number.
    #[inline(always)]
    fn lower(&self, edges: &[(u32, u32)], reached: &mut Reached) {
        for edges in edges.chunks(TOGETHER) {
            edges.iter().for_each(|&(edge, _)| prefetch(self.values, edge as usize));
            for &(edge, by) in edges {
                let before = self.values[edge as usize].fetch_sub(by, Relaxed);
                let after = before - by;
                if before > self.level && after <= self.level {
                    reached.falling.push(edge);
                } else if before > self.bound && after <= self.bound {
                    reached.gathered.push(edge);
                }
            }
        }
    }
}

/// The triangles that a thread takes, buffered before they are subtracted from the values of edges.
pub(super) struct TakenTriangles {
    /// The triangles at each place of a row, and the places that have any.
    at_places: Vec<u32>,
    touched: Vec<u32>,
    from_edges: Vec<(u32, u32)>,
    pub(super) reached: Reached,
}

impl TakenTriangles {
    pub(super) fn bytes(vertices: u64) -> u64 {
        4 * vertices + 4 * TOUCHED as u64 + 16 * COLLECTED as u64
    }

    pub(super) fn new() -> Self {
        let (touched, from_edges) = (Vec::with_capacity(TOUCHED), Vec::with_capacity(2 * COLLECTED));
        Self { at_places: Vec::new(), touched, from_edges, reached: Reached::default() }
    }

    #[inline(always)]
    pub(super) fn fit(&mut self, length: usize) {
        if self.at_places.len() < length {
            self.at_places = zeros(length);
        }
    }

    #[inline(always)]
    pub(super) fn take_at(&mut self, place: usize) {
        if self.at_places[place] == 0 {
            self.touched.push(place as u32);
        }
        self.at_places[place] += 1;
    }

    #[inline(always)]
    pub(super) fn take_from(&mut self, edge: u32, by: u32) {
        self.from_edges.push((edge, by));
    }

    /// Subtracts what was taken from edges; unless `all`, only if there are many.
    #[inline(always)]
    pub(super) fn lower_edges(&mut self, values: EdgeValues<'_>, all: bool) {
        if all || self.from_edges.len() >= COLLECTED {
            values.lower(&self.from_edges, &mut self.reached);
            self.from_edges.clear();
        }
    }

    /// Subtracts what was taken at places of a row, whose edges `edge` gives; unless `all`, only if [`TOGETHER`] more may not fit.
    #[inline(always)]
    pub(super) fn lower_row(&mut self, values: EdgeValues<'_>, edge: impl Fn(usize) -> u32, all: bool) {
        if all || self.touched.len() > TOUCHED - TOGETHER {
            let mut edges = [(0, 0); TOGETHER];
            for touched in self.touched.chunks(TOGETHER) {
                for (to, &place) in edges.iter_mut().zip(touched) {
                    *to = (edge(place as usize), std::mem::take(&mut self.at_places[place as usize]));
                }
                values.lower(&edges[..touched.len()], &mut self.reached);
            }
            self.touched.clear();
        }
    }
}
