//! The ends of the edges that fall in a round, sorted by vertex.

use std::ops::Range;

use rayon::prelude::*;

use trimill_system::first_where;
use trimill_system::mapped::zeros;

/// An end of a falling edge: the vertex in the high half; in the low one the other end, later its place in the row of the vertex.
pub(super) type FallingEnd = u64;

pub(super) fn vertex(end: FallingEnd) -> u32 {
    (end >> 32) as u32
}

/// Both ends of edges: 32 bytes an edge; untouched pages take no memory.
#[derive(Default)]
pub(super) struct FallingEnds {
    /// At the larger vertex of each edge, and at the smaller one.
    pub(super) of_tails: Vec<FallingEnd>,
    pub(super) of_heads: Vec<FallingEnd>,
    /// All of them, once they are [merged](EndsPart::merge).
    pub(super) all: Vec<FallingEnd>,
}

impl FallingEnds {
    pub(super) fn new(edges: usize) -> Self {
        Self { of_tails: zeros(edges), of_heads: zeros(edges), all: zeros(2 * edges) }
    }

    /// Sorts the ends into up to `parts` even parts. Chunk `i` begins at `i * each` of both arrays, with `put[i]` ends; those at tails ascend.
    pub(super) fn sort(&mut self, each: usize, put: &[usize], parts: usize) -> Vec<EndsPart> {
        let edges = close_gaps(&mut self.of_tails, each, put);
        close_gaps(&mut self.of_heads, each, put);
        let (of_tails, of_heads) = (&self.of_tails[..edges], &mut self.of_heads[..edges]);
        if parts > 1 {
            of_heads.par_sort_unstable()
        } else {
            of_heads.sort_unstable()
        }
        let before = |vertex: u64| [of_tails, of_heads].map(|ends| ends.partition_point(|&end| end >> 32 < vertex));
        let mut cuts = vec![[0; 2]];
        for part in 1..parts {
            let wanted = 2 * edges * part / parts;
            let has_enough_before = |vertex| before(vertex).iter().sum::<usize>() >= wanted;
            cuts.push(before(first_where(0..1 << 32, has_enough_before)));
        }
        cuts.push([edges; 2]);
        let part = |cut: &[[usize; 2]]| EndsPart { of_tails: cut[0][0]..cut[1][0], of_heads: cut[0][1]..cut[1][1] };
        cuts.windows(2).map(part).filter(|part| !part.all().is_empty()).collect()
    }
}

fn close_gaps(ends: &mut [FallingEnd], each: usize, put: &[usize]) -> usize {
    let mut to = 0;
    for (chunk, &many) in put.iter().enumerate() {
        let from = chunk * each;
        if from > to {
            ends.copy_within(from..from + many, to);
        }
        to += many;
    }
    to
}

#[derive(Clone)]
pub(super) struct EndsPart {
    of_tails: Range<usize>,
    of_heads: Range<usize>,
}

impl EndsPart {
    pub(super) fn all(&self) -> Range<usize> {
        self.of_tails.start + self.of_heads.start..self.of_tails.end + self.of_heads.end
    }

    /// Writes the part in order: each vertex with its smaller neighbours, then the larger ones.
    pub(super) fn merge(&self, of_tails: &[FallingEnd], of_heads: &[FallingEnd], merged: &mut [FallingEnd]) {
        let (mut tails, mut heads) = (&of_tails[self.of_tails.clone()], &of_heads[self.of_heads.clone()]);
        for to in merged {
            let of_tail = heads.first().is_none_or(|head| tails.first().is_some_and(|tail| tail < head));
            let from = if of_tail { &mut tails } else { &mut heads };
            *to = from[0];
            *from = &from[1..];
        }
    }
}
