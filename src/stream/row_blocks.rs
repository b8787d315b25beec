//! The rows of a graph, cut into row blocks, which are streamed with rank ranges.

use trimill_counting::RowBlockSize;
use trimill_graph::OrientedGraph;
use trimill_system::{Bytes, Result};

/// The most arcs of a block: 32-bit offsets cannot address more.
const MOST_ARCS: u64 = u32::MAX as u64;

/// All rows of a graph, cut into row blocks, which tile the ranks; none takes more than the limit unless it is a single row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowBlocks {
    /// The first rank of each, and the arcs before it; and the end.
    pub(super) starts: Vec<(u32, u64)>,
    /// Whether each begins with a file block: then they can be sent encoded.
    pub(super) whole: bool,
}

/// Row blocks from this size on consist of whole file blocks.
pub(super) const LEAST_OF_WHOLE: Bytes = Bytes::mib(4);

impl RowBlocks {
    pub fn new(graph: &OrientedGraph, limit: Bytes) -> Result<Self> {
        let fits = |rows: u64, arcs: u64| {
            let range = u32::try_from(rows).unwrap_or(u32::MAX);
            arcs <= MOST_ARCS && RowBlockSize { range, rows, arcs }.bytes() <= limit
        };
        let whole = limit >= LEAST_OF_WHOLE && graph.largest_block()[1] <= LEAST_OF_WHOLE;
        let mut starts = vec![(0, 0)];
        let mut first = 0;
        while first < graph.vertices() {
            first = graph.last_fitting(first, whole, fits)?;
            starts.push((first, graph.first_arc(first)?));
        }
        Ok(Self { starts, whole })
    }

    /// Words of the largest block, with rows and arcs decoded or as stored.
    pub(super) fn most_words(&self, graph: &OrientedGraph, encoded: bool) -> u64 {
        let words = |pair: &[(u32, u64)]| {
            let (ranks, arcs) = (pair[0].0..pair[1].0, pair[1].1 - pair[0].1);
            let successors = if encoded { graph.stored_of(&ranks).get().div_ceil(4) } else { arcs };
            ranks.len() as u64 + 1 + successors
        };
        self.starts.windows(2).map(words).max().unwrap_or(0)
    }

    /// The arcs before the row of `rank`; known where a block begins.
    pub(super) fn first_arc(&self, graph: &OrientedGraph, rank: u32) -> Result<u64> {
        match self.starts.binary_search_by_key(&rank, |&(first, _)| first) {
            Ok(block) => Ok(self.starts[block].1),
            Err(_) => graph.first_arc(rank),
        }
    }
}
