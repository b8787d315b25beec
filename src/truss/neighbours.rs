//! The neighbours of every vertex, as far as the edges between them are left.
//!
//! A row holds all neighbours of its vertex, ascending, each with the number of the edge. Edges that fell stay in it until they are a
//! quarter of it; then the row is made shorter where it lies. Memory: 16 bytes an edge and 16 a vertex.

use std::ops::Range;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use rayon::prelude::*;

use super::remaining::plain;
use trimill_system::mapped::zeros;

/// Rows of vertices that a thread takes at a time, at least.
const ROWS: usize = 256;

/// Longer rows are sorted by several threads.
const LONG: usize = 1 << 16;

/// Each edge in the rows of both of its ends.
pub(super) struct Neighbours {
    /// Where each row begins, and the end.
    pub(super) starts: Vec<u64>,
    /// The entries of each row.
    pub(super) lengths: Vec<AtomicU32>,
    /// How many entries of each row are edges that fell.
    fallen: Vec<AtomicU32>,
    pub(super) vertices: Vec<AtomicU32>,
    pub(super) edges: Vec<AtomicU32>,
}

impl Neighbours {
    /// Of the oriented graph whose row of vertex `v` is `heads[firsts[v]..firsts[v + 1]]`: smaller vertices, ascending. An edge's number
    /// is its place in `heads`. Runs in the current thread pool.
    pub(super) fn new(firsts: &[u64], heads: &[u32]) -> Self {
        let many = firsts.len() - 1;
        let lengths: Vec<AtomicU32> = zeros(many);
        heads.par_iter().for_each(|&head| _ = lengths[head as usize].fetch_add(1, Relaxed));
        let mut starts = Vec::with_capacity(many + 1);
        starts.push(0);
        starts.extend(firsts.windows(2).zip(&lengths).scan(0, |end, (row, larger)| {
            *end += row[1] - row[0] + u64::from(larger.load(Relaxed));
            Some(*end)
        }));
        let all = Self {
            starts,
            lengths,
            fallen: zeros(many),
            vertices: zeros(2 * heads.len()),
            edges: zeros(2 * heads.len()),
        };
        let own = |vertex: usize| firsts[vertex]..firsts[vertex + 1];
        let each = || (0..many).into_par_iter().with_min_len(ROWS);
        // Smaller neighbours are the oriented row; larger ones come in any order and are sorted.
        each().for_each(|v| all.lengths[v].store((firsts[v + 1] - firsts[v]) as u32, Relaxed));
        each().for_each(|tail| {
            for (place, edge) in (all.starts[tail] as usize..).zip(own(tail)) {
                let head = heads[edge as usize];
                all.put(place, head, edge as u32);
                let after = all.lengths[head as usize].fetch_add(1, Relaxed);
                all.put(all.starts[head as usize] as usize + after as usize, tail as u32, edge as u32);
            }
        });
        each().for_each_init(Vec::new, |larger: &mut Vec<u64>, v| {
            let places = (all.starts[v] + firsts[v + 1] - firsts[v]) as usize..all.starts[v + 1] as usize;
            larger.clear();
            // The order of edges is that of their tails.
            larger.extend(places.clone().map(|place| {
                u64::from(all.edges[place].load(Relaxed)) << 32 | u64::from(all.vertices[place].load(Relaxed))
            }));
            if larger.len() > LONG { larger.par_sort_unstable() } else { larger.sort_unstable() }
            places.zip(larger.iter()).for_each(|(place, &both)| all.put(place, both as u32, (both >> 32) as u32));
        });
        all
    }

    /// Where rows begin, their vertices, and the edges to these.
    pub(super) fn into_rows(self) -> (Vec<u64>, Vec<u32>, Vec<u32>) {
        (self.starts, plain(self.vertices), plain(self.edges))
    }

    /// Bytes of the neighbours of so many vertices and edges.
    pub(super) fn bytes(vertices: u64, edges: u64) -> u64 {
        16 * (vertices + edges)
    }

    fn put(&self, place: usize, vertex: u32, edge: u32) {
        self.vertices[place].store(vertex, Relaxed);
        self.edges[place].store(edge, Relaxed);
    }

    /// How many entries the row of a vertex has.
    pub(super) fn length(&self, vertex: u32) -> usize {
        self.lengths[vertex as usize].load(Relaxed) as usize
    }

    /// Where the row of a vertex is.
    pub(super) fn row(&self, vertex: u32) -> Range<usize> {
        let start = self.starts[vertex as usize] as usize;
        start..start + self.length(vertex)
    }

    /// How many edges of a vertex are left.
    pub(super) fn left(&self, vertex: u32) -> u32 {
        self.lengths[vertex as usize].load(Relaxed) - self.fallen[vertex as usize].load(Relaxed)
    }

    /// Notes that an edge of a vertex fell; whether the row is now to be made shorter, which is said once.
    pub(super) fn note_fallen(&self, vertex: u32) -> bool {
        let fallen = self.fallen[vertex as usize].fetch_add(1, Relaxed) + 1;
        fallen == self.lengths[vertex as usize].load(Relaxed) / 4 + 1
    }

    /// Keeps of a row the edges that are `left`.
    pub(super) fn shorten(&self, vertex: u32, left: impl Fn(u32) -> bool) {
        let row = self.row(vertex);
        let (start, mut end) = (row.start, row.start);
        for place in row {
            let edge = self.edges[place].load(Relaxed);
            if left(edge) {
                self.put(end, self.vertices[place].load(Relaxed), edge);
                end += 1;
            }
        }
        self.lengths[vertex as usize].store((end - start) as u32, Relaxed);
        self.fallen[vertex as usize].store(0, Relaxed);
    }
}
