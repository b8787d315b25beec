//! The rows of a graph, and in which directions the arcs of its input have each edge.

use std::ops::Range;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use rayon::prelude::*;

use trimill_graph::{Ids, OrientedGraph};
use trimill_input::ArcSink;
use trimill_input::arcs::ArcSource;
use trimill_system::mapped::zeros;
use trimill_system::{Control, Error, Result};

/// Edges whose marks are in a word: two bits each, the lower one for the arc to the smaller rank.
const IN_WORD: u64 = 32;

/// The lower bit of each edge of a word.
const LOWER: u64 = u64::MAX / 3;

const NONE: u32 = u32::MAX;

/// Decoded rows, and a mark for each direction of each edge, by its place in rank order.
pub(super) struct DirectedRows {
    /// Where each row begins, and the end.
    pub(super) firsts: Vec<u64>,
    /// Successors: smaller ranks, ascending.
    pub(super) heads: Vec<u32>,
    marks: Vec<AtomicU64>,
    /// Whether an edge of each row is there in both directions.
    pub(super) has_mutual: Vec<bool>,
}

impl DirectedRows {
    /// Of a graph and the input that it was made of. Errors: an arc whose edge the graph lacks, or an edge without an arc: the input is
    /// another one now.
    pub(super) fn read(graph: &OrientedGraph, source: &dyn ArcSource, control: &Control) -> Result<Self> {
        let mut firsts: Vec<u64> = zeros(graph.vertices() as usize + 1);
        let mut heads: Vec<u32> = zeros(graph.edges() as usize);
        graph.read(0..graph.vertices(), &mut firsts, &mut heads)?;
        let marks = zeros(graph.edges().div_ceil(IN_WORD) as usize);
        let mut rows = Self { firsts, heads, marks, has_mutual: Vec::new() };
        let sink = Marking { rows: &rows, ranks: RankFinder::of(graph)?, both: source.symmetric() };
        source.scan(&sink, control)?;
        source.unchanged()?;
        if rows.edges_marked() != graph.edges() {
            return Err(changed());
        }
        let has_mutual = (0..graph.vertices()).into_par_iter().map(|rank| {
            let mut any = false;
            rows.each_mutual(rows.row(rank), |_| any = true);
            any
        });
        rows.has_mutual = has_mutual.collect();
        Ok(rows)
    }

    /// Calls `each` with those of some consecutive places whose edges are there in both directions.
    #[inline]
    pub(super) fn each_mutual(&self, places: Range<usize>, mut each: impl FnMut(usize)) {
        let mut first = places.start as u64;
        while first < places.end as u64 {
            let (word, skipped) = (first / IN_WORD, 2 * (first % IN_WORD));
            let marks = self.marks[word as usize].load(Relaxed);
            let mut both = (marks & marks >> 1 & LOWER) >> skipped << skipped;
            while both != 0 {
                let place = (word * IN_WORD) as usize + both.trailing_zeros() as usize / 2;
                if place >= places.end {
                    return;
                }
                each(place);
                both &= both - 1;
            }
            first = (word + 1) * IN_WORD;
        }
    }

    pub(super) fn row(&self, rank: u32) -> Range<usize> {
        self.firsts[rank as usize] as usize..self.firsts[rank as usize + 1] as usize
    }

    /// Whether the edge in this place is there in both directions.
    #[inline]
    pub(super) fn is_mutual(&self, place: usize) -> bool {
        let place = place as u64;
        self.marks[(place / IN_WORD) as usize].load(Relaxed) >> (2 * (place % IN_WORD)) & 3 == 3
    }

    fn edges_marked(&self) -> u64 {
        let any = |word: &AtomicU64| word.load(Relaxed);
        self.marks.par_iter().map(any).map(|word| u64::from(((word | word >> 1) & LOWER).count_ones())).sum()
    }

    /// Marks bits of the edge between two ranks, of which `above` is the larger; `None` if there is none.
    #[inline]
    fn mark(&self, above: u32, below: u32, bits: u64) -> Option<()> {
        let row = self.row(above);
        let place = (row.start + self.heads[row].binary_search(&below).ok()?) as u64;
        let (word, bits) = (&self.marks[(place / IN_WORD) as usize], bits << (2 * (place % IN_WORD)));
        if word.load(Relaxed) & bits != bits {
            word.fetch_or(bits, Relaxed);
        }
        Some(())
    }
}

fn changed() -> Error {
    Error::usage("the input changed while the job ran").advice("run again when it is complete")
}

/// Finds the rank of an id of the input.
enum RankFinder {
    /// By the id, less the first one.
    ById(u64, Vec<u32>),
    /// By the place of the id among all.
    ByPlace(Ids, Vec<u32>),
}

impl RankFinder {
    /// At most 16 bytes a vertex.
    fn of(graph: &OrientedGraph) -> Result<Self> {
        let (ids, order) = (graph.ids()?, graph.order()?);
        let ends = order.len().checked_sub(1).map(|last| (ids.original(0), ids.original(last as u32)));
        let (first, last) = ends.unwrap_or_default();
        // Ids that are not too sparse need no table, which takes twice as many bytes as a rank.
        let by_id = last - first < 2 * order.len() as u64;
        let mut ranks = vec![NONE; if by_id { (last - first) as usize + 1 } else { order.len() }];
        for (rank, &vertex) in (0..).zip(&order) {
            ranks[if by_id { (ids.original(vertex) - first) as usize } else { vertex as usize }] = rank;
        }
        Ok(if by_id { Self::ById(first, ranks) } else { Self::ByPlace(ids, ranks) })
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

/// Takes the arcs of the input.
struct Marking<'a> {
    rows: &'a DirectedRows,
    ranks: RankFinder,
    /// Whether each arc stands for its reverse, too.
    both: bool,
}

impl ArcSink for Marking<'_> {
    fn arcs(&self, batch: &[(u64, u64)]) -> Result<()> {
        for &(tail, head) in batch.iter().filter(|(tail, head)| tail != head) {
            let marked = self.ranks.rank(tail).zip(self.ranks.rank(head)).and_then(|(tail, head)| {
                let bits = if self.both {
                    3
                } else if tail > head {
                    1
                } else {
                    2
                };
                self.rows.mark(tail.max(head), tail.min(head), bits)
            });
            marked.ok_or_else(changed)?;
        }
        Ok(())
    }
}
