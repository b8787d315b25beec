//! Peels on the cores.
//!
//! A round takes the edges that fall, grouped by the end with the longer row. The triangles of an edge are found by looking up the
//! vertices of the shorter row in the longer one: where a group has enough of them, in a set of bits that is made of the longer row
//! once, else by galloping. Every triangle of edges that are left, or fall in this round, takes 1 from the values of those that are left.
//! A triangle with two or three edges that fall is counted for the one with the smallest number.
//!
//! Cost of a round: the shorter row of each edge that falls, a longer row for each group; together some three look-ups for each triangle
//! of the graph (docs/results/truss-h200.md). Memory: that of [`Neighbours`], 16 bytes for each edge that falls, and for each thread 12
//! bytes for 64 vertices.

use std::mem::take;
use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;

use rayon::prelude::*;

use super::neighbours::Neighbours;
use super::remaining::{FALLING, RemainingEdges, is_fallen, is_left};
use trimill_counting::{FALLEN, Peeling};
use trimill_system::error::Result;
use trimill_system::lock;

/// Fewer edges or look-ups than this are not worth several threads.
const FEW: usize = 1 << 11;
const FEW_PROBES: usize = 20_000;

/// Look-ups of a task, where the longer row is not much longer.
const PROBES: usize = 1 << 16;

/// An entry of a longer row goes into the set of bits as fast as this many look-ups by galloping, about a sixth.
const ENTRIES_PER_PROBE: usize = 6;

/// An edge that falls, by the end with the longer row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct FallingEdge {
    long: u32,
    short: u32,
    edge: u32,
}

/// Edges whose values fell to the level, and to the bound of those that are gathered.
#[derive(Default)]
struct Lowered {
    to_level: Vec<u32>,
    to_bound: Vec<u32>,
}

/// The set of the vertices of a row, and the place in the row of the first one of each word.
#[derive(Default)]
struct RowBits {
    words: Vec<u64>,
    firsts: Vec<u32>,
    /// What is to be taken from the value of each edge of the row.
    taken: Vec<u32>,
}

/// The edges that are left, on the cores.
pub(super) struct OnCores<'a> {
    edges: &'a RemainingEdges,
    neighbours: Neighbours,
    gathered: Vec<u32>,
    bound: u32,
    falling: Vec<u32>,
    /// Memory for the edges of a round.
    ends: Vec<FallingEdge>,
    /// Sets of bits that no thread uses at the moment; they are empty.
    idle: Mutex<Vec<RowBits>>,
}

impl<'a> OnCores<'a> {
    pub(super) fn new(edges: &'a RemainingEdges) -> Self {
        let neighbours = Neighbours::new(&edges.firsts, &edges.heads);
        Self { edges, neighbours, gathered: Vec::new(), bound: 0, falling: Vec::new(), ends: Vec::new(), idle: Mutex::default() }
    }

    /// Bytes that peeling so many vertices and edges takes on `threads` threads, besides the edges: their neighbours; edges that fall and
    /// are gathered, all of them at worst; the sets of bits, and what is taken from a row.
    pub(super) fn bytes(vertices: u64, edges: u64, threads: u64) -> u64 {
        Neighbours::bytes(vertices, edges) + 24 * edges + threads * (12 * (vertices / 64 + 1) + 4 * vertices)
    }

    /// Takes `by` from the value of an edge that is left.
    fn lower(&self, edge: u32, by: u32, level: u32, lowered: &mut Lowered) {
        let before = self.edges.values[edge as usize].fetch_sub(by, Relaxed);
        let after = before - by;
        if before > level && after <= level {
            lowered.to_level.push(edge);
        } else if before > self.bound && after <= self.bound {
            lowered.to_bound.push(edge);
        }
    }

    /// The triangle of a falling edge and two others, `by_short` on its shorter row; returns whether the value of the third is to be
    /// lowered, which the caller does.
    #[inline]
    fn triangle(&self, falling: u32, by_short: u32, by_long: u32, level: u32, lowered: &mut Lowered) -> bool {
        let (short, long) = (self.edges.value(by_short), self.edges.value(by_long));
        match (is_left(short), is_left(long)) {
            (true, true) => {
                self.lower(by_short, 1, level, lowered);
                true
            }
            (false, true) => !is_fallen(short) && falling < by_short,
            (true, false) => {
                if !is_fallen(long) && falling < by_long {
                    self.lower(by_short, 1, level, lowered);
                }
                false
            }
            (false, false) => false,
        }
    }

    /// Lowers the values of all edges in a triangle with edges of a group, which have their longer row in common.
    fn take_group(&self, group: &[FallingEdge], level: u32, bits: &mut RowBits, lowered: &mut Lowered) {
        let rows = &self.neighbours;
        let row = rows.row(group[0].long);
        let probes: usize = group.iter().map(|falling| rows.length(falling.short)).sum();
        if probes * ENTRIES_PER_PROBE < row.len() {
            group.iter().for_each(|falling| self.gallop(falling, level, lowered));
            return;
        }
        let RowBits { words, firsts, taken } = bits;
        words.resize(self.edges.vertices() / 64 + 1, 0);
        firsts.resize(words.len(), 0);
        taken.clear();
        taken.resize(row.len(), 0);
        for (i, vertex) in (0..).zip(&rows.vertices[row.clone()]) {
            let vertex = vertex.load(Relaxed);
            let word = &mut words[vertex as usize / 64];
            if *word == 0 {
                firsts[vertex as usize / 64] = i;
            }
            *word |= 1 << (vertex % 64);
        }
        for falling in group {
            for place in rows.row(falling.short) {
                let vertex = rows.vertices[place].load(Relaxed);
                let word = words[vertex as usize / 64];
                let bit = 1 << (vertex % 64);
                if word & bit == 0 {
                    continue;
                }
                let i = (firsts[vertex as usize / 64] + (word & (bit - 1)).count_ones()) as usize;
                let (short, long) = (rows.edges[place].load(Relaxed), rows.edges[row.start + i].load(Relaxed));
                taken[i] += u32::from(self.triangle(falling.edge, short, long, level, lowered));
            }
        }
        for (i, &by) in taken.iter().enumerate().filter(|(_, by)| **by > 0) {
            self.lower(rows.edges[row.start + i].load(Relaxed), by, level, lowered);
        }
        for vertex in &rows.vertices[row] {
            words[vertex.load(Relaxed) as usize / 64] = 0;
        }
    }

    /// The same for one edge, whose shorter row is far shorter than the other: vertices are searched from the last one found on.
    fn gallop(&self, falling: &FallingEdge, level: u32, lowered: &mut Lowered) {
        let rows = &self.neighbours;
        let row = rows.row(falling.long);
        let (long, mut from) = (&rows.vertices[row.clone()], 0);
        for place in rows.row(falling.short) {
            let vertex = rows.vertices[place].load(Relaxed);
            let mut step = 1;
            while from + step < long.len() && long[from + step].load(Relaxed) < vertex {
                from += step;
                step *= 2;
            }
            let within = &long[from..long.len().min(from + step + 1)];
            from += within.partition_point(|other| other.load(Relaxed) < vertex);
            match long.get(from) {
                None => return,
                Some(found) if found.load(Relaxed) == vertex => {
                    let (short, long) = (rows.edges[place].load(Relaxed), rows.edges[row.start + from].load(Relaxed));
                    if self.triangle(falling.edge, short, long, level, lowered) {
                        self.lower(long, 1, level, lowered);
                    }
                }
                Some(_) => {}
            }
        }
    }

    /// The falling edges with their ends, sorted.
    fn put_ends(&self, falling: &mut [u32], ends: &mut Vec<FallingEdge>) {
        let RemainingEdges { firsts, heads, .. } = &self.edges;
        let put = |(edges, ends): (&[u32], &mut [FallingEdge])| {
            // Edges ascend, and so do their tails.
            let mut tail = firsts.partition_point(|&first| first <= u64::from(edges[0])) - 1;
            for (&edge, end) in edges.iter().zip(ends) {
                if firsts[tail + 1] <= u64::from(edge) {
                    tail += firsts[tail..].partition_point(|&first| first <= u64::from(edge)) - 1;
                }
                let (tail, head) = (tail as u32, heads[edge as usize]);
                let (long, short) = match self.neighbours.length(tail) > self.neighbours.length(head) {
                    true => (tail, head),
                    false => (head, tail),
                };
                *end = FallingEdge { long, short, edge };
            }
        };
        ends.resize(falling.len(), FallingEdge::default());
        if falling.len() < FEW {
            falling.sort_unstable();
            if !falling.is_empty() {
                put((falling, ends));
            }
            ends.sort_unstable();
            return;
        }
        falling.par_sort_unstable();
        falling.par_chunks(FEW).zip(ends.par_chunks_mut(FEW)).for_each(put);
        ends.par_sort_unstable();
    }

    /// Cuts sorted edges into groups that have the longer row in common, and large groups into several; also returns all look-ups.
    fn groups<'f>(&self, falling: &'f [FallingEdge]) -> (Vec<&'f [FallingEdge]>, usize) {
        let (mut groups, mut all) = (Vec::new(), 0);
        for mut rest in falling.chunk_by(|a, b| a.long == b.long) {
            let row = self.neighbours.length(rest[0].long);
            all += row / ENTRIES_PER_PROBE;
            let most = PROBES.max(4 * row);
            while !rest.is_empty() {
                let (mut probes, mut edges) = (0, 0);
                while edges < rest.len() && probes <= most {
                    probes += self.neighbours.length(rest[edges].short);
                    edges += 1;
                }
                let (group, after) = rest.split_at(edges);
                groups.push(group);
                (rest, all) = (after, all + probes);
            }
        }
        (groups, all)
    }
}

/// Calls `each` with all items, by several threads if there are many.
fn for_all<T: Sync>(items: &[T], few: usize, each: impl Fn(&T) + Sync + Send) {
    if items.len() < few { items.iter().for_each(each) } else { items.par_iter().for_each(each) }
}

/// The items for which `is` holds.
fn those<T: Copy + Send + Sync>(items: &[T], is: impl Fn(&T) -> bool + Sync + Send) -> Vec<T> {
    match items.len() < FEW {
        true => items.iter().copied().filter(is).collect(),
        false => items.par_iter().copied().filter(|item| is(item)).collect(),
    }
}

impl Peeling for OnCores<'_> {
    fn least(&mut self) -> Result<Option<u32>> {
        let left = self.edges.values.par_iter().map(|value| value.load(Relaxed)).filter(|&value| is_left(value));
        Ok(left.min())
    }

    fn gather(&mut self, bound: u32) -> Result<()> {
        self.bound = bound;
        self.gathered =
            (0..self.edges.edges() as u32).into_par_iter().filter(|&edge| self.edges.value(edge) <= bound).collect();
        Ok(())
    }

    fn least_gathered(&mut self) -> Result<Option<u32>> {
        let gathered = take(&mut self.gathered);
        self.gathered = those(&gathered, |&edge| is_left(self.edges.value(edge)));
        Ok(self.gathered.iter().map(|&edge| self.edges.value(edge)).min())
    }

    fn begin(&mut self, level: u32) -> Result<u64> {
        self.falling = those(&self.gathered, |&edge| self.edges.value(edge) <= level);
        Ok(self.falling.len() as u64)
    }

    fn round(&mut self, level: u32) -> Result<u64> {
        let mut falling = take(&mut self.falling);
        let values = &self.edges.values;
        for_all(&falling, FEW, |&edge| values[edge as usize].store(FALLING | level, Relaxed));
        let mut ends = take(&mut self.ends);
        self.put_ends(&mut falling, &mut ends);
        let shorter = |falling: &FallingEdge| {
            let note = |vertex: u32| self.neighbours.note_fallen(vertex).then_some(vertex);
            [note(falling.long), note(falling.short)]
        };
        let shorter: Vec<u32> = match ends.len() < FEW {
            true => ends.iter().flat_map(shorter).flatten().collect(),
            false => ends.par_iter().flat_map_iter(shorter).flatten_iter().collect(),
        };
        let left = |falling: &FallingEdge| {
            self.neighbours.left(falling.long) > 0 || self.neighbours.left(falling.short) > 0
        };
        // An edge whose ends lose all their edges lowers no value.
        let lowering = those(&ends, left);
        let (groups, probes) = self.groups(&lowering);
        let lower = |groups: &[&[FallingEdge]]| {
            let (mut lowered, idle) = (Lowered::default(), lock(&self.idle).pop());
            let mut bits = idle.unwrap_or_default();
            groups.iter().for_each(|group| self.take_group(group, level, &mut bits, &mut lowered));
            lock(&self.idle).push(bits);
            lowered
        };
        let lowered: Vec<Lowered> = match probes < FEW_PROBES {
            true => vec![lower(&groups)],
            // A task of rayon that was begun is not divided; the first groups take longest.
            false => groups.par_chunks((groups.len() / 1024).max(1)).with_max_len(1).map(lower).collect(),
        };
        for_all(&ends, FEW, |falling| values[falling.edge as usize].store(FALLEN | level, Relaxed));
        for_all(&shorter, 16, |&vertex| self.neighbours.shorten(vertex, |edge| is_left(self.edges.value(edge))));
        for Lowered { to_level, to_bound } in lowered {
            self.falling.extend(to_level);
            self.gathered.extend(to_bound);
        }
        self.ends = ends;
        Ok(self.falling.len() as u64)
    }

    fn worth_leaving(&self, all: u64) -> u64 {
        all / 2
    }

    fn values(&mut self, into: &mut [u32]) -> Result<()> {
        into.par_iter_mut().zip(&self.edges.values).for_each(|(into, value)| *into = value.load(Relaxed));
        Ok(())
    }
}
