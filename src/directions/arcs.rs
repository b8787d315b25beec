//! The rows of some consecutive ranks, and in which directions the input has each edge. An arc's place is found by binary search in the row of its
//! larger rank. Rows exceed the caches, so each step would stall on memory: searches are interleaved, and prefetch what their next steps read.

use std::ops::Range;
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use rayon::prelude::*;

use trimill_graph::{Ids, OrientedGraph};
use trimill_input::{ArcSink, changed};
use trimill_system::mapped::{prefetch, zeros};
use trimill_system::{Error, Result};

/// Edges with marks in a word: two bits each, the lower one for the arc to the smaller rank.
const IN_WORD: u64 = 32;

const LOWER: u64 = u64::MAX / 3;

const NONE: u32 = u32::MAX;

const TOGETHER: usize = 32;

/// Decoded rows of a band of ranks, and a mark for each direction of each edge.
pub(super) struct MarkedRows {
    pub(super) ranks: Range<u32>,
    begins: Vec<u64>,
    /// Successors: smaller ranks, ascending.
    heads: Vec<u32>,
    marks: Vec<AtomicU64>,
}

#[derive(Default, Clone, Copy)]
struct ArcToMark {
    below: u32,
    bits: u64,
    /// The remaining interval of the search: `many` places of `heads` from here on.
    first: usize,
    many: usize,
}

impl MarkedRows {
    pub(super) fn read(graph: &OrientedGraph, ranks: Range<u32>) -> Result<Self> {
        let edges = graph.first_arc(ranks.end)? - graph.first_arc(ranks.start)?;
        let mut begins: Vec<u64> = zeros(ranks.len() + 1);
        let mut heads: Vec<u32> = zeros(edges as usize);
        graph.read(ranks.clone(), &mut begins, &mut heads)?;
        Ok(Self { ranks, begins, heads, marks: zeros(edges.div_ceil(IN_WORD) as usize) })
    }

    pub(super) fn places(&self, rank: u32) -> Range<usize> {
        let row = (rank - self.ranks.start) as usize;
        self.begins[row] as usize..self.begins[row + 1] as usize
    }

    /// The successors in some places, each with whether its edge has both directions.
    pub(super) fn heads(&self, places: Range<usize>) -> impl Iterator<Item = (u32, bool)> {
        let mutual = |place: usize| {
            self.marks[place / IN_WORD as usize].load(Relaxed) >> (2 * (place as u64 % IN_WORD)) & 3 == 3
        };
        places.map(move |place| (self.heads[place], mutual(place)))
    }

    /// How many edges have a mark, and how many have both.
    pub(super) fn marked(&self) -> [u64; 2] {
        let of_word = |word: &AtomicU64| {
            let word = word.load(Relaxed);
            [(word | word >> 1) & LOWER, word & word >> 1 & LOWER].map(|marks| u64::from(marks.count_ones()))
        };
        self.marks.par_iter().map(of_word).reduce(|| [0; 2], |a, b| [a[0] + b[0], a[1] + b[1]])
    }

    /// Marks the edges of some arcs, each somewhere in a row that is not empty; `false` if one is not there.
    fn mark(&self, arcs: &mut [ArcToMark]) -> bool {
        let mut longest = arcs.iter().map(|arc| arc.many).max().unwrap_or(0);
        while longest > 1 {
            for arc in &mut *arcs {
                let half = arc.many / 2;
                arc.first += half * usize::from(self.heads[arc.first + half] <= arc.below);
                arc.many -= half;
                prefetch(&self.heads, arc.first + arc.many / 2);
            }
            longest -= longest / 2;
        }
        for arc in &*arcs {
            prefetch(&self.marks, arc.first / IN_WORD as usize);
        }
        arcs.iter().all(|arc| {
            let (place, bits) = (arc.first / IN_WORD as usize, arc.bits << (2 * (arc.first as u64 % IN_WORD)));
            if self.marks[place].load(Relaxed) & bits != bits {
                self.marks[place].fetch_or(bits, Relaxed);
            }
            self.heads[arc.first] == arc.below
        })
    }
}

/// The error for an input that is not what the graph was made of.
pub(super) fn other_arcs(input: &Path) -> Error {
    changed(input, "its arcs are not those of the graph")
}

pub(super) enum RankFinder {
    /// The first id; the rank of each id, indexed by its offset from the first.
    ById(u64, Vec<u32>),
    /// All ids; the rank of each, indexed by its position among them.
    ByPlace(Ids, Vec<u32>),
}

impl RankFinder {
    /// Takes at most 16 bytes a vertex.
    pub(super) fn of(graph: &OrientedGraph) -> Result<Self> {
        let (ids, order) = (graph.ids()?, graph.order()?);
        let ends = order.len().checked_sub(1).map(|last| (ids.original(0), ids.original(last as u32)));
        let (first, last) = ends.unwrap_or_default();
        // If ids are not too sparse, no table is needed; a table entry takes twice as many bytes as a rank.
        let by_id = last - first < 2 * order.len() as u64;
        let mut ranks = vec![NONE; if by_id { (last - first) as usize + 1 } else { order.len() }];
        for (rank, &vertex) in (0..).zip(&order) {
            ranks[if by_id { (ids.original(vertex) - first) as usize } else { vertex as usize }] = rank;
        }
        Ok(if by_id { Self::ById(first, ranks) } else { Self::ByPlace(ids, ranks) })
    }

    #[inline]
    fn prefetch(&self, id: u64) {
        if let Self::ById(first, ranks) = self {
            prefetch(ranks, id.wrapping_sub(*first) as usize);
        }
    }

    #[inline]
    fn rank(&self, id: u64) -> Option<u32> {
        match self {
            Self::ById(first, ranks) => {
                ranks.get(usize::try_from(id.checked_sub(*first)?).ok()?).copied().filter(|&rank| rank != NONE)
            }
            Self::ByPlace(ids, ranks) => ids.vertex_of(id).map(|vertex| ranks[vertex as usize]),
        }
    }
}

pub(super) struct Marking<'a> {
    pub(super) rows: &'a MarkedRows,
    pub(super) ranks: &'a RankFinder,
    /// Whether each arc stands for its reverse, too.
    pub(super) both: bool,
    pub(super) input: &'a Path,
}

impl Marking<'_> {
    /// The ranks of an arc of the band, the larger one first, and its marks.
    #[inline]
    fn of_band(&self, tail: u64, head: u64) -> Result<Option<(u32, u32, u64)>> {
        if tail == head {
            return Ok(None);
        }
        let (tail, head) = self.ranks.rank(tail).zip(self.ranks.rank(head)).ok_or_else(|| other_arcs(self.input))?;
        let bits = if self.both {
            3
        } else if tail > head {
            1
        } else {
            2
        };
        let above = tail.max(head);
        Ok(self.rows.ranks.contains(&above).then_some((above, tail.min(head), bits)))
    }
}

impl ArcSink for Marking<'_> {
    fn arcs(&self, batch: &[(u64, u64)]) -> Result<()> {
        let MarkedRows { ranks, begins, heads, .. } = self.rows;
        let (mut found, mut arcs) = ([(0, 0, 0); TOGETHER], [ArcToMark::default(); TOGETHER]);
        for (i, chunk) in batch.chunks(TOGETHER).enumerate() {
            for &(tail, head) in batch.iter().skip((i + 1) * TOGETHER).take(TOGETHER) {
                self.ranks.prefetch(tail);
                self.ranks.prefetch(head);
            }
            let mut many = 0;
            for &(tail, head) in chunk {
                if let Some((above, below, bits)) = self.of_band(tail, head)? {
                    prefetch(begins, (above - ranks.start) as usize);
                    found[many] = (above, below, bits);
                    many += 1;
                }
            }
            for (arc, (above, below, bits)) in arcs.iter_mut().zip(&found[..many]) {
                let row = self.rows.places(*above);
                if row.is_empty() {
                    return Err(other_arcs(self.input));
                }
                *arc = ArcToMark { below: *below, bits: *bits, first: row.start, many: row.len() };
                prefetch(heads, row.start + row.len() / 2);
            }
            if !self.rows.mark(&mut arcs[..many]) {
                return Err(other_arcs(self.input));
            }
        }
        Ok(())
    }
}
