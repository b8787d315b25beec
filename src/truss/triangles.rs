//! The triangles of falling edges, if rows are lists. A triangle of a falling edge `(a, b)` and two edges to `c` takes 1 from `(a, c)` and from `(b,
//! c)`. It is found at one end, here `a`, whose neighbours are put into a table of bits, in which the row of `b` is looked up until all are found.
//! What is taken from edges of `a` is summed first. If two edges of a triangle fall, the third is lowered once, at its smaller end; if all, none is.

use std::sync::atomic::Ordering::Relaxed;

use super::ends::{FallingEnd, vertex};
use super::falling::{EdgeValues, TOGETHER, TakenTriangles};
use super::neighbours::{FALLS, FELL, Neighbours, VERTEX};
use trimill_counting::planes::each_bit;
use trimill_system::mapped::{prefetch, zeros};

/// Entries of a row that are put into the table, and removed again, in the time of one look-up by galloping.
const ENTRIES_PER_PROBE: usize = 20;

/// Entries of the other row that are read in the time that one entry of the own row takes in the table.
const READ_PER_ENTRY: f64 = 3.0;

pub(super) struct ListScratch {
    row: RowTable,
    pairs: Vec<FallingPair>,
}

impl ListScratch {
    pub(super) fn bytes(vertices: u64, group: u64) -> u64 {
        12 * vertices.div_ceil(64) + size_of::<FallingPair>() as u64 * group.min(vertices).next_power_of_two()
    }

    pub(super) fn new(vertices: usize) -> Self {
        let words = vertices.div_ceil(64);
        Self { row: RowTable { bits: zeros(words), places: zeros(words) }, pairs: Vec::new() }
    }
}

struct RowTable {
    /// For each 64 vertices: a bit for each that is in the row; and the place in the row of the first one.
    bits: Vec<u64>,
    places: Vec<u32>,
}

impl RowTable {
    #[inline(always)]
    fn put(&mut self, entries: impl Iterator<Item = u32>) {
        let (mut word, mut bits, mut first) = (u32::MAX, 0, 0);
        for (place, c) in (0..).zip(entries) {
            // Words are written for each entry, without a branch.
            let is_same = c / 64 == word;
            (bits, first) = (if is_same { bits } else { 0 }, if is_same { first } else { place });
            word = c / 64;
            bits |= 1 << (c % 64);
            (self.bits[word as usize], self.places[word as usize]) = (bits, first);
        }
    }

    #[inline(always)]
    fn clear(&mut self, entries: impl Iterator<Item = u32>) {
        entries.for_each(|c| self.bits[c as usize / 64] = 0);
    }

    /// A bit for each entry that is in the row and did not fall before.
    #[inline(always)]
    fn find(&self, entries: &[u32]) -> u64 {
        let is_found = |entry: u32| self.bits[(entry & VERTEX) as usize / 64] >> (entry % 64) & u64::from(!entry >> 31);
        (0..).zip(entries).fold(0, |found, (i, &entry)| found | is_found(entry) << i)
    }

    #[inline(always)]
    fn place(&self, c: u32) -> usize {
        let below = self.bits[c as usize / 64] & ((1 << (c % 64)) - 1);
        (self.places[c as usize / 64] + below.count_ones()) as usize
    }
}

#[derive(Clone, Copy)]
struct TriangleSearch<'a> {
    rows: &'a Neighbours,
    values: EdgeValues<'a>,
}

/// A falling edge, and the number of its triangles, which are found at `a`.
#[derive(Clone, Copy)]
struct FallingPair {
    a: u32,
    b: u32,
    triangles: u32,
}

/// Whether a triangle takes 1 from its remaining edge `(of, third)`: `(other, third)` must be left, too, or fall while `third` is larger than `of`.
#[inline(always)]
fn takes(edge: u32, third_edge: u32, of: u32, third: u32) -> bool {
    // Without branches, which would be mispredicted.
    (edge < FALLS) & ((third_edge < FALLS) | ((third_edge & FALLS != 0) & (of < third)))
}

/// Lowers the values of edges by the triangles found at these ends, all of one vertex. Compiled for several instruction sets.
#[multiversion::multiversion(targets("x86_64+avx2+bmi1+bmi2+lzcnt+popcnt", "x86_64+popcnt"))]
pub(super) fn take_group(
    rows: &Neighbours,
    ends: &[FallingEnd],
    values: EdgeValues<'_>,
    scratch: &mut ListScratch,
    taken: &mut TakenTriangles,
) {
    TriangleSearch { rows, values }.take_group(ends, scratch, taken);
}

impl TriangleSearch<'_> {
    #[inline(always)]
    fn take_group(self, ends: &[FallingEnd], scratch: &mut ListScratch, taken: &mut TakenTriangles) {
        let Self { rows, values } = self;
        let row = rows.row(vertex(ends[0]));
        let ListScratch { row: table, pairs } = scratch;
        pairs.clear();
        ends.chunks(TOGETHER).for_each(|ends| self.collect_pairs(ends, pairs));
        let probes: usize = pairs.iter().map(|pair| rows.length(pair.b)).sum();
        if probes * ENTRIES_PER_PROBE < row.len() {
            for &pair in &*pairs {
                self.gallop(pair, taken);
                taken.lower_edges(values, false);
            }
        } else {
            let entries = || rows.vertices[row.clone()].iter().map(|entry| entry.load(Relaxed) & VERTEX);
            table.put(entries());
            taken.fit(row.len());
            for (i, &pair) in pairs.iter().enumerate() {
                if let Some(next) = pairs.get(i + 1) {
                    rows.prefetch_row(next.b);
                }
                self.look_up(pair, row.start, table, taken);
            }
            taken.lower_row(values, self.edge_of(row.start), true);
            table.clear(entries());
        }
        taken.lower_edges(values, true);
    }

    #[inline(always)]
    fn edge_of(&self, start: usize) -> impl Fn(usize) -> u32 {
        move |place| self.rows.edges[start + place].load(Relaxed)
    }

    /// Adds to `pairs` the edges at these ends whose triangles are found here.
    #[inline(always)]
    fn collect_pairs(self, ends: &[FallingEnd], pairs: &mut Vec<FallingPair>) {
        let rows = self.rows;
        let a = vertex(ends[0]);
        let start = rows.row(a).start;
        let entry = |end: FallingEnd| {
            let at = start + end as u32 as usize;
            (rows.vertices[at].load(Relaxed) & VERTEX, rows.edges[at].load(Relaxed))
        };
        for &end in ends {
            let (b, edge) = entry(end);
            prefetch(self.values.values, edge as usize);
            rows.prefetch_place(b);
        }
        for &end in ends {
            let (b, edge) = entry(end);
            if self.is_found_at(a, b) && (rows.left(a) > 0 || rows.left(b) > 0) {
                pairs.push(FallingPair { a, b, triangles: self.values.of_falling(edge) });
            }
        }
    }

    /// Whether a falling edge's triangles are found at its end `a`, because that costs less than at `b`.
    #[inline(always)]
    fn is_found_at(self, a: u32, b: u32) -> bool {
        // A row is put into the table once for all edges that fall at its vertex.
        let cost = |a, b| {
            let (own, other) = (self.rows.length(a) as f64, self.rows.length(b) as f64);
            READ_PER_ENTRY * own / f64::from(self.rows.falling(a)) + other
        };
        let (at_a, at_b) = (cost(a, b), cost(b, a));
        at_a < at_b || at_a == at_b && a < b
    }

    /// Takes the triangles of an edge; the row of `a`, which begins at `start`, is in the table.
    #[inline(always)]
    fn look_up(self, pair: FallingPair, start: usize, table: &RowTable, taken: &mut TakenTriangles) {
        let FallingPair { a, b, triangles } = pair;
        let rows = self.rows;
        let row = rows.row(b);
        let mut missing = triangles;
        let (row_vertices, row_edges) = (&rows.vertices[row.clone()], &rows.edges[row]);
        for (vertices, edges) in row_vertices.chunks(TOGETHER).zip(row_edges.chunks(TOGETHER)) {
            let mut entries = [0; TOGETHER];
            for (to, entry) in entries.iter_mut().zip(vertices) {
                *to = entry.load(Relaxed);
            }
            let found = table.find(&entries[..vertices.len()]);
            each_bit(found, |i| prefetch(edges, i));
            each_bit(found, |i| {
                let by_b = entries[i];
                let c = by_b & VERTEX;
                let place = table.place(c);
                let by_a = rows.vertices[start + place].load(Relaxed);
                missing -= u32::from(by_a & FELL == 0);
                if takes(by_a, by_b, a, c) {
                    taken.take_at(place);
                }
                if takes(by_b, by_a, b, c) {
                    taken.take_from(edges[i].load(Relaxed), 1);
                }
            });
            taken.lower_row(self.values, self.edge_of(start), false);
            taken.lower_edges(self.values, false);
            if missing == 0 {
                break;
            }
        }
    }

    /// Takes the triangles of an edge without a table, by galloping through one row for the vertices of the other.
    #[inline(always)]
    fn gallop(self, FallingPair { a, b, triangles }: FallingPair, taken: &mut TakenTriangles) {
        let rows = self.rows;
        let (row, mut place, mut missing) = (rows.row(a), 0, triangles);
        for at_b in rows.row(b) {
            let by_b = rows.vertices[at_b].load(Relaxed);
            let c = by_b & VERTEX;
            place = rows.search(row.clone(), place, c);
            if place == row.len() {
                return;
            }
            let at_a = row.start + place;
            let by_a = rows.vertices[at_a].load(Relaxed);
            if by_a & VERTEX != c || (by_a | by_b) & FELL != 0 {
                continue;
            }
            if takes(by_a, by_b, a, c) {
                taken.take_from(rows.edges[at_a].load(Relaxed), 1);
            }
            if takes(by_b, by_a, b, c) {
                taken.take_from(rows.edges[at_b].load(Relaxed), 1);
            }
            missing -= 1;
            if missing == 0 {
                return;
            }
        }
    }
}
