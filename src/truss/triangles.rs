//! The triangles of edges that fall, on the cores: what they take from the values of other edges.
//!
//! Edges come in groups that have the longer row in common. Their shorter rows are looked up in it: where a group has enough of them, in a set
//! of bits that is made of the longer row once, else by galloping. Every triangle of edges that are left, or fall in this round, takes 1
//! from the values of those that are left; one with two or three edges that fall is taken once, for the one with the smallest number. The
//! values are not changed here: what is to be taken from them is noted in lists, each of which one thread applies later.

use std::sync::atomic::Ordering::Relaxed;

use super::neighbours::Neighbours;
use super::states::EdgeStates;

/// Entries of a longer row that are put into the set of bits in the time of one look-up by galloping.
pub(super) const ENTRIES_PER_PROBE: usize = 6;

/// Vertices of a shorter row that are looked up together.
const AT_A_TIME: usize = 256;

/// Lists of edges whose values are lowered.
pub(super) const LISTS: usize = 64;

/// Neighbouring edges, which are in the same list.
const VALUES: usize = 1 << 10;

/// An edge that falls, by the end with the longer row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FallingEdge {
    pub(super) long: u32,
    pub(super) short: u32,
    pub(super) edge: u32,
}

/// The buffers of a thread.
pub(super) struct PeelingScratch {
    /// The set of the vertices of a row, empty but while a group is treated, and the place in the row of the first vertex of each word.
    words: Vec<u64>,
    firsts: Vec<u32>,
    /// How much is to be taken from the value of each edge of the row.
    taken: Vec<u32>,
    /// The lists: edges, in the high half, and what is to be taken from their values.
    pub(super) lowered: Vec<Vec<u64>>,
}

/// A vertex of both rows: its place and the vertex, then the edges to it; its place in the longer row.
#[derive(Debug, Clone, Copy, Default)]
struct RowHit {
    short: u32,
    long: u32,
    i: u32,
}

impl PeelingScratch {
    pub(super) fn new(vertices: usize) -> Self {
        let words = vertices / 64 + 1;
        Self { words: vec![0; words], firsts: vec![0; words], taken: Vec::new(), lowered: vec![Vec::new(); LISTS] }
    }
}

/// Where triangles are searched.
#[derive(Clone, Copy)]
pub(super) struct TriangleSearch<'a> {
    pub(super) states: &'a EdgeStates,
    pub(super) neighbours: &'a Neighbours,
}

impl TriangleSearch<'_> {
    /// Notes the values that the triangles of a group lower.
    pub(super) fn take_group(&self, group: &[FallingEdge], scratch: &mut PeelingScratch) {
        let PeelingScratch { words, firsts, taken, lowered } = scratch;
        let rows = self.neighbours;
        let long = &rows.entries[rows.row(group[0].long)];
        let probes: usize = group.iter().map(|falling| rows.length(falling.short)).sum();
        if probes * ENTRIES_PER_PROBE < long.len() {
            group.iter().filter(|falling| self.lowers(falling)).for_each(|falling| self.gallop(falling, lowered));
            return;
        }
        let mut hits = [RowHit::default(); AT_A_TIME + 1];
        taken.clear();
        taken.resize(long.len(), 0);
        for (i, entry) in (0..).zip(long) {
            let vertex = (entry.load(Relaxed) >> 32) as u32;
            let word = &mut words[vertex as usize / 64];
            if *word == 0 {
                firsts[vertex as usize / 64] = i;
            }
            *word |= 1 << (vertex % 64);
        }
        for falling in group.iter().filter(|falling| self.lowers(falling)) {
            for short in rows.entries[rows.row(falling.short)].chunks(AT_A_TIME) {
                // In three steps, so that the processor waits for many values at the same time.
                let mut many = 0;
                for entry in short {
                    let entry = entry.load(Relaxed);
                    let vertex = (entry >> 32) as u32;
                    hits[many] = RowHit { short: entry as u32, long: vertex, i: 0 };
                    many += (words[vertex as usize / 64] >> (vertex % 64) & 1) as usize;
                }
                for hit in &mut hits[..many] {
                    let (word, below) = (hit.long as usize / 64, (1 << (hit.long % 64)) - 1);
                    hit.i = firsts[word] + (words[word] & below).count_ones();
                    hit.long = long[hit.i as usize].load(Relaxed) as u32;
                    self.states.prefetch(hit.short);
                    self.states.prefetch(hit.long);
                }
                for hit in &hits[..many] {
                    taken[hit.i as usize] += u32::from(self.triangle(falling.edge, hit.short, hit.long, lowered));
                }
            }
        }
        for (entry, &by) in long.iter().zip(&*taken).filter(|(_, by)| **by > 0) {
            lower(entry.load(Relaxed) as u32, by, lowered);
        }
        for entry in long {
            words[(entry.load(Relaxed) >> 32) as usize / 64] = 0;
        }
    }

    /// The same for one edge, whose shorter row is far shorter than the other: vertices are searched from the last one found on.
    fn gallop(&self, falling: &FallingEdge, lowered: &mut [Vec<u64>]) {
        let rows = self.neighbours;
        let (long, mut from) = (&rows.entries[rows.row(falling.long)], 0);
        for entry in &rows.entries[rows.row(falling.short)] {
            let (entry, mut step) = (entry.load(Relaxed), 1);
            let is_before = |place: usize| long[place].load(Relaxed) >> 32 < entry >> 32;
            while from + step < long.len() && is_before(from + step) {
                from += step;
                step *= 2;
            }
            let within = &long[from..long.len().min(from + step + 1)];
            from += within.partition_point(|other| other.load(Relaxed) >> 32 < entry >> 32);
            let Some(found) = long.get(from).map(|found| found.load(Relaxed)) else { return };
            if found >> 32 == entry >> 32 && self.triangle(falling.edge, entry as u32, found as u32, lowered) {
                lower(found as u32, 1, lowered);
            }
        }
    }

    /// Whether an edge that falls may lower a value: not if all other edges of its ends fall, too.
    fn lowers(&self, falling: &FallingEdge) -> bool {
        self.neighbours.left(falling.long) > 0 || self.neighbours.left(falling.short) > 0
    }

    /// The triangle of a falling edge and two others, `by_short` on its shorter row. Returns whether the value of the third is to be
    /// lowered, which the caller does.
    #[inline]
    fn triangle(&self, falling: u32, by_short: u32, by_long: u32, lowered: &mut [Vec<u64>]) -> bool {
        let states = self.states;
        match (states.is_left(by_short), states.is_left(by_long)) {
            (true, true) => {
                lower(by_short, 1, lowered);
                true
            }
            (false, true) => !states.is_fallen(by_short) && falling < by_short,
            (true, false) => {
                if !states.is_fallen(by_long) && falling < by_long {
                    lower(by_short, 1, lowered);
                }
                false
            }
            (false, false) => false,
        }
    }
}

/// Notes that `by` is to be taken from the value of an edge that is left. Neighbouring edges, which are often lowered together, are in
/// the same list, and all lists become about as long.
#[inline]
fn lower(edge: u32, by: u32, lowered: &mut [Vec<u64>]) {
    lowered[edge as usize / VALUES % LISTS].push(u64::from(edge) << 32 | u64::from(by));
}
