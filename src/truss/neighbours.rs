//! The neighbours of every vertex by the remaining edges. A row holds all neighbours of its vertex, ascending, each with the number of the
//! edge and marks whether it falls or fell. When a quarter of a row fell, it is compacted in place. Memory: 16 bytes an edge and 20 a vertex;
//! 12 more an edge while rows are made, which rounds use later for edges that fall or are gathered.

use std::ops::Range;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use rayon::prelude::*;

use super::arcs_by_head::ArcsByHead;
use super::ends::{FallingEnd, vertex};
use trimill_system::mapped::{prefetch, zeros};
use trimill_system::starts_of;

/// The fewest rows that a thread takes at a time.
pub(super) const ROWS: usize = 256;

const LINE: usize = 16;

/// The parts of an entry: the vertex; the mark that the edge falls in this round; the mark that it fell before.
pub(super) const VERTEX: u32 = FALLS - 1;
pub(super) const FALLS: u32 = 1 << 30;
pub(super) const FELL: u32 = 1 << 31;

/// Two bits of an entry are marks.
pub(super) const MOST_VERTICES: u64 = 1 << 30;

struct RowState {
    /// The number of entries, and of those whose edges are falling or fell.
    length: AtomicU32,
    fallen: AtomicU32,
    falling: AtomicU32,
}

pub(super) struct Neighbours {
    starts: Vec<u64>,
    rows: Vec<RowState>,
    /// The neighbour of each entry, with marks.
    pub(super) vertices: Vec<AtomicU32>,
    pub(super) edges: Vec<AtomicU32>,
}

impl Neighbours {
    /// Vertex `v` has the row `heads[firsts[v]..firsts[v + 1]]` of smaller vertices, ascending; an edge's number is its index. In the current pool.
    pub(super) fn new(firsts: &[u64], heads: &[u32]) -> Self {
        let many = firsts.len() - 1;
        let arcs = ArcsByHead::new(firsts, heads);
        // The number of larger neighbours of each vertex; below, how many were put into its row. One thread has all arcs of a vertex.
        let larger: Vec<AtomicU32> = zeros(many);
        let next = |v: usize| {
            let before = larger[v].load(Relaxed);
            larger[v].store(before + 1, Relaxed);
            before as usize
        };
        arcs.each(|head, _, _| _ = next(head));
        let length = |(row, larger): (&[u64], &AtomicU32)| row[1] - row[0] + u64::from(larger.swap(0, Relaxed));
        let starts = starts_of(firsts.windows(2).zip(&larger).map(length));
        let state = |length| RowState { length, fallen: AtomicU32::new(0), falling: AtomicU32::new(0) };
        let rows = starts.windows(2).map(|row| state(AtomicU32::new((row[1] - row[0]) as u32))).collect();
        let entries = 2 * heads.len();
        let all = Self { starts, rows, vertices: zeros(entries), edges: zeros(entries) };
        (0..many).into_par_iter().with_min_len(ROWS).for_each(|v| {
            for (place, edge) in (all.starts[v] as usize..).zip(firsts[v]..firsts[v + 1]) {
                all.put(place, heads[edge as usize], edge as u32);
            }
        });
        let after = |v: usize| all.starts[v] as usize + (firsts[v + 1] - firsts[v]) as usize;
        arcs.each(|head, tail, edge| all.put(after(head) + next(head), tail, edge));
        all
    }

    pub(super) fn bytes(vertices: u64, edges: u64) -> u64 {
        20 * vertices + 16 * edges
    }

    fn put(&self, at: usize, vertex: u32, edge: u32) {
        self.vertices[at].store(vertex, Relaxed);
        self.edges[at].store(edge, Relaxed);
    }

    pub(super) fn length(&self, vertex: u32) -> usize {
        self.rows[vertex as usize].length.load(Relaxed) as usize
    }

    pub(super) fn row(&self, vertex: u32) -> Range<usize> {
        let start = self.starts[vertex as usize] as usize;
        start..start + self.length(vertex)
    }

    /// Prefetches the bounds of the row of a vertex.
    #[inline(always)]
    pub(super) fn prefetch_place(&self, vertex: u32) {
        prefetch(&self.starts, vertex as usize);
        prefetch(&self.rows, vertex as usize);
    }

    #[inline(always)]
    pub(super) fn prefetch_row(&self, vertex: u32) {
        let start = self.starts[vertex as usize] as usize;
        prefetch(&self.vertices, start);
        prefetch(&self.vertices, start + LINE);
    }

    pub(super) fn vertices_of_rows(&self) -> u32 {
        self.rows.len() as u32
    }

    pub(super) fn into_edges(self) -> (Vec<u64>, Vec<AtomicU32>) {
        (self.starts, self.edges)
    }

    pub(super) fn falling(&self, vertex: u32) -> u32 {
        self.rows[vertex as usize].falling.load(Relaxed)
    }

    pub(super) fn left(&self, vertex: u32) -> u32 {
        let RowState { length, fallen, .. } = &self.rows[vertex as usize];
        length.load(Relaxed) - fallen.load(Relaxed)
    }

    /// The place in a row, from `place` on, of the first vertex not smaller than `vertex`.
    pub(super) fn search(&self, row: Range<usize>, place: usize, vertex: u32) -> usize {
        gallop(&self.vertices[row], place, |entry| entry.load(Relaxed) & VERTEX < vertex)
    }

    /// Marks falling edges in the row of one end, given these sorted ends, which get their places. No other thread may change the row meanwhile.
    pub(super) fn mark(&self, ends: &mut [FallingEnd]) {
        let (vertex, mut place) = (vertex(ends[0]), 0);
        let row = self.row(vertex);
        let RowState { fallen, falling, .. } = &self.rows[vertex as usize];
        fallen.fetch_add(ends.len() as u32, Relaxed);
        falling.store(ends.len() as u32, Relaxed);
        for end in ends {
            place = self.search(row.clone(), place, *end as u32);
            let entry = &self.vertices[row.start + place];
            entry.store(entry.load(Relaxed) | FALLS, Relaxed);
            *end = u64::from(vertex) << 32 | place as u64;
        }
    }

    /// Turns the marked edges into fallen ones; shortens the row if many fell. No other thread may use it meanwhile.
    pub(super) fn settle(&self, ends: &[FallingEnd]) {
        let vertex = vertex(ends[0]);
        let row = self.row(vertex);
        if self.rows[vertex as usize].fallen.load(Relaxed) as usize > row.len() / 4 {
            return self.shorten(vertex, row);
        }
        for &end in ends {
            let entry = &self.vertices[row.start + end as u32 as usize];
            entry.store(entry.load(Relaxed) & VERTEX | FELL, Relaxed);
        }
    }

    fn shorten(&self, vertex: u32, row: Range<usize>) {
        let mut end = row.start;
        for at in row.clone() {
            let entry = self.vertices[at].load(Relaxed);
            if entry < FALLS {
                self.put(end, entry, self.edges[at].load(Relaxed));
                end += 1;
            }
        }
        self.rows[vertex as usize].length.store((end - row.start) as u32, Relaxed);
        self.rows[vertex as usize].fallen.store(0, Relaxed);
    }
}

/// Galloping search for the first place, from `place` on, whose item is not before the sought one.
#[inline(always)]
pub(super) fn gallop<T>(row: &[T], mut place: usize, is_before: impl Fn(&T) -> bool) -> usize {
    let mut step = 1;
    while place + step < row.len() && is_before(&row[place + step]) {
        place += step;
        step *= 2;
    }
    place + row[place..row.len().min(place + step + 1)].partition_point(is_before)
}
