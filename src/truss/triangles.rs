//! The triangles of edges that fall, on the cores: what they take from the values of other edges.
//!
//! A triangle of a falling edge `(a, b)` and two edges to `c` takes 1 from `(a, c)`, which is counted at `a`, and 1 from `(b, c)`, counted
//! at `b`: each time a row is read from the other end, and what is taken from the edges of the own row adds up in the core's cache. Where
//! one row is much longer, its end counts both. If two edges of a triangle fall, the third is lowered once, by the smaller of its
//! ends; if three fall, nothing is.

use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

use super::falling::{EdgeValues, FallingEnd, Reached, TOGETHER, vertex};
use super::neighbours::{FALLS, FELL, Neighbours, VERTEX};
use trimill_system::mapped::zeros;

/// With a row so many times as long as the other, the end with the longer row counts for both.
const MUCH_LONGER: usize = 2;

/// Entries of a row that are put into the table, and taken out again, in the time of one look-up by galloping.
const ENTRIES_PER_PROBE: usize = 20;

/// In the table: the vertex is in the row.
const IN_ROW: u32 = 1 << 31;

/// The buffers of a thread.
pub(super) struct PeelingScratch {
    /// For each vertex: 0; while a row is treated, for its vertices what is to be taken from the edge, with [`IN_ROW`] and [`FALLS`].
    table: Vec<u32>,
    pairs: Vec<FallingPair>,
    pub(super) reached: Reached,
}

impl PeelingScratch {
    /// Bytes for so many vertices, and groups of at most so many edges.
    pub(super) fn bytes(vertices: u64, group: u64) -> u64 {
        4 * vertices + size_of::<FallingPair>() as u64 * group.min(vertices).next_power_of_two()
    }

    pub(super) fn new(vertices: usize) -> Self {
        Self { table: zeros(vertices), pairs: Vec::new(), reached: Reached::default() }
    }
}

/// Where triangles are searched, and what they are taken from.
#[derive(Clone, Copy)]
pub(super) struct TriangleSearch<'a> {
    pub(super) neighbours: &'a Neighbours,
    pub(super) values: EdgeValues<'a>,
}

/// The triangles of an edge that falls, as its end `a` sees them.
#[derive(Clone, Copy)]
struct FallingPair {
    a: u32,
    b: u32,
    /// Whether `a` also counts what is taken from the edges of `b`.
    for_both: bool,
}

/// Whether a triangle takes 1 from its edge `(of, third)`: that has to be left, and so has the third edge, `(other, third)`; if that falls,
/// too, it takes the 1 if it is at the larger end.
fn takes(edge: u32, third_edge: u32, of: u32, third: u32) -> bool {
    // Without branches: the processor could not guess them.
    (edge < FALLS) & ((third_edge < FALLS) | ((third_edge & FALLS != 0) & (of < third)))
}

/// The row entries that are read at the end `a` of an edge: none where the other end counts for both.
pub(super) fn entries_read(rows: &Neighbours, a: u32, b: u32) -> usize {
    let (of_a, of_b) = (rows.length(a), rows.length(b));
    if of_b > MUCH_LONGER * of_a { 0 } else { of_b }
}

impl TriangleSearch<'_> {
    /// What is counted at `a` for the edge at a place of its row; none where `b` counts for both, or no edge is left that could be lowered.
    fn pair(&self, end: FallingEnd) -> Option<FallingPair> {
        let rows = self.neighbours;
        let a = vertex(end);
        let b = rows.vertices[rows.row(a).start + end as u32 as usize].load(Relaxed) & VERTEX;
        let (of_a, of_b) = (rows.length(a), rows.length(b));
        let for_both = of_a > MUCH_LONGER * of_b;
        let lowers = rows.left(a) > 0 || for_both && rows.left(b) > 0;
        (lowers && of_b <= MUCH_LONGER * of_a).then_some(FallingPair { a, b, for_both })
    }

    /// Lowers the values of edges at the vertex that is the end of these edges, and of others where it counts for both.
    pub(super) fn take_group(&self, ends: &[FallingEnd], scratch: &mut PeelingScratch) {
        let rows = self.neighbours;
        let row = rows.row(vertex(ends[0]));
        let mut pairs = std::mem::take(&mut scratch.pairs);
        pairs.clear();
        pairs.extend(ends.iter().filter_map(|&end| self.pair(end)));
        let probes: usize = pairs.iter().map(|pair| rows.length(pair.b).min(row.len())).sum();
        if probes * ENTRIES_PER_PROBE < row.len() {
            pairs.iter().for_each(|&pair| self.gallop(pair, scratch));
        } else {
            self.take_by_table(row, &pairs, scratch);
        }
        scratch.pairs = pairs;
    }

    /// The same, where reading the row of the vertex pays.
    fn take_by_table(&self, row: Range<usize>, pairs: &[FallingPair], scratch: &mut PeelingScratch) {
        let rows = self.neighbours;
        for entry in &rows.vertices[row.clone()] {
            let entry = entry.load(Relaxed);
            scratch.table[(entry & VERTEX) as usize] = (entry & (FALLS | FELL)) ^ IN_ROW;
        }
        for &pair in pairs {
            match pair.for_both {
                true => self.look_up_for_both(pair, scratch),
                false => self.look_up(pair, &mut scratch.table),
            }
        }
        let (row_vertices, row_edges) = (&rows.vertices[row.clone()], &rows.edges[row]);
        for (vertices, edges) in row_vertices.chunks(TOGETHER).zip(row_edges.chunks(TOGETHER)) {
            let (mut lowered, mut many) = ([(0, 0); TOGETHER], 0);
            for (entry, edge) in vertices.iter().zip(edges) {
                let entry = entry.load(Relaxed);
                let by = std::mem::take(&mut scratch.table[(entry & VERTEX) as usize]) & !IN_ROW;
                lowered[many] = (edge.load(Relaxed), by);
                many += usize::from(entry & (FALLS | FELL) == 0 && by > 0);
            }
            self.values.lower(&lowered[..many], &mut scratch.reached);
        }
    }

    /// Adds what the triangles of an edge take from the edges in the table. There are no branches to guess.
    fn look_up(&self, FallingPair { a, b, .. }: FallingPair, table: &mut [u32]) {
        for entry in &self.neighbours.vertices[self.neighbours.row(b)] {
            let entry = entry.load(Relaxed);
            let by = u32::from(entry < FALLS) | u32::from(entry & FALLS != 0) & u32::from(a < entry & VERTEX);
            let taken = &mut table[(entry & VERTEX) as usize];
            *taken += by & (*taken >> 31);
        }
    }

    /// The same where the row in the table is the longer one by far: what is taken from the edges of the shorter one is lowered at once.
    fn look_up_for_both(&self, FallingPair { a, b, .. }: FallingPair, scratch: &mut PeelingScratch) {
        let row = self.neighbours.row(b);
        let (row_vertices, row_edges) = (&self.neighbours.vertices[row.clone()], &self.neighbours.edges[row]);
        for (vertices, edges) in row_vertices.chunks(TOGETHER).zip(row_edges.chunks(TOGETHER)) {
            let (mut lowered, mut many) = ([(0, 1); TOGETHER], 0);
            for (by_b, edge) in vertices.iter().zip(edges) {
                let by_b = by_b.load(Relaxed);
                let c = by_b & VERTEX;
                let taken = &mut scratch.table[c as usize];
                let (is_triangle, by_a) = (*taken & IN_ROW != 0, *taken & FALLS);
                *taken += u32::from(is_triangle & takes(by_a, by_b, a, c));
                lowered[many].0 = edge.load(Relaxed);
                many += usize::from(is_triangle & takes(by_b, by_a, b, c));
            }
            self.values.lower(&lowered[..many], &mut scratch.reached);
        }
    }

    /// The same without a table: the vertices of the shorter row are searched in the other one, each from the last one found on.
    fn gallop(&self, FallingPair { a, b, for_both }: FallingPair, scratch: &mut PeelingScratch) {
        let rows = self.neighbours;
        let a_is_short = rows.length(a) < rows.length(b);
        let (short, long) = if a_is_short { (a, b) } else { (b, a) };
        let (long, mut place) = (rows.row(long), 0);
        for at in rows.row(short) {
            let by_short = rows.vertices[at].load(Relaxed);
            let c = by_short & VERTEX;
            place = rows.search(long.clone(), place, c);
            if place == long.len() {
                return;
            }
            let by_long = rows.vertices[long.start + place].load(Relaxed);
            if by_long & VERTEX != c || (by_short | by_long) & FELL != 0 {
                continue;
            }
            let (at_short, at_long) = ((by_short, at), (by_long, long.start + place));
            let ((by_a, at_a), (by_b, at_b)) = if a_is_short { (at_short, at_long) } else { (at_long, at_short) };
            if takes(by_a, by_b, a, c) {
                self.values.lower(&[(rows.edges[at_a].load(Relaxed), 1)], &mut scratch.reached);
            }
            if for_both && takes(by_b, by_a, b, c) {
                self.values.lower(&[(rows.edges[at_b].load(Relaxed), 1)], &mut scratch.reached);
            }
        }
    }
}
