//! Sequential passes over the rows of a graph, in blocks of bounded size.
//!
//! Input: an [`OrientedGraph`]. Output: [`RowRun`]s, runs of rows in memory, one after another in rising or falling rank
//! order. A block is read and decoded by all threads while the one before is processed. Cost: every stored byte is read once.
//! Memory: two row blocks, each within the limit or one file block.

use std::ops::Range;

use super::OrientedGraph;
use trimill_system::bytes::Bytes;
use trimill_system::control::Control;
use trimill_system::error::Result;

/// The order in which a pass goes through the ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Rank 0 first.
    Rising,
    /// The largest rank first.
    Falling,
}

#[derive(Debug, Clone, Copy)]
pub struct RowRun<'a> {
    first: u32,
    /// Where each row begins in `successors`; one more at the end.
    begins: &'a [u64],
    successors: &'a [u32],
    /// The first ranks of its file blocks, and the end of the last one.
    bounds: &'a [u32],
}

impl<'a> RowRun<'a> {
    pub fn ranks(&self) -> Range<u32> {
        self.first..self.first + self.begins.len() as u32 - 1
    }

    /// The row of `rank`, which is in the block.
    #[inline]
    pub fn row(&self, rank: u32) -> &'a [u32] {
        let i = (rank - self.first) as usize;
        &self.successors[self.begins[i] as usize..self.begins[i + 1] as usize]
    }

    /// Where the rows of a run of its ranks are among its arcs.
    pub fn arcs(&self, ranks: &Range<u32>) -> Range<u64> {
        let begin = |rank: u32| self.begins[(rank - self.first) as usize] - self.begins[0];
        begin(ranks.start)..begin(ranks.end)
    }

    /// The rows of the block in runs of about `arcs` arcs and rows, for several threads.
    pub fn runs(&self, arcs: u64) -> Vec<Range<u32>> {
        let (mut runs, mut first) = (Vec::new(), 0);
        let rows = self.begins.len() - 1;
        while first < rows {
            let weight = |i: usize| self.begins[i] + i as u64;
            let most = weight(first) + arcs;
            // Bisection: the weight rises with the row.
            let (mut low, mut high) = (first + 1, rows);
            while low < high {
                let middle = low + (high - low).div_ceil(2);
                if weight(middle) <= most { low = middle } else { high = middle - 1 }
            }
            runs.push(self.first + first as u32..self.first + low as u32);
            first = low;
        }
        runs
    }

    /// The ranks of each file block, for several threads: a division that depends on the graph alone.
    pub fn file_blocks(&self) -> impl Iterator<Item = Range<u32>> + 'a {
        self.bounds.windows(2).map(|pair| pair[0]..pair[1])
    }

    /// All rows, one after another.
    #[cfg(feature = "testing")]
    pub fn successors(&self) -> &'a [u32] {
        self.successors
    }
}

/// Memory for a run of rows.
#[derive(Default)]
struct Buffer {
    begins: Vec<u64>,
    successors: Vec<u32>,
}

impl OrientedGraph {
    /// Calls `each` with all rows, in blocks of at most `limit` bytes or one file block; runs in the current thread pool.
    pub fn pass(
        &self,
        limit: Bytes,
        direction: Direction,
        control: &Control,
        mut each: impl FnMut(RowRun<'_>) -> Result<()> + Send,
    ) -> Result<()> {
        let mut blocks = self.cut(limit);
        if direction == Direction::Falling {
            blocks.reverse();
        }
        let read = |i: usize, into: &mut Buffer| match blocks.get(i) {
            Some((ranks, arcs)) => {
                into.begins.resize(ranks.len() + 1, 0);
                into.successors.resize(*arcs as usize, 0);
                self.read(ranks.clone(), &mut into.begins, &mut into.successors)
            }
            None => Ok(()),
        };
        let (mut now, mut next) = (Buffer::default(), Buffer::default());
        read(0, &mut now)?;
        for (i, (ranks, _)) in blocks.iter().enumerate() {
            control.check()?;
            let file_blocks = self.index.block_of(ranks.start)..=self.index.block_of(ranks.end - 1);
            let bounds: Vec<u32> = file_blocks.map(|i| self.index.ranks(i).start).chain([ranks.end]).collect();
            let (begins, successors) = (&now.begins[..], &now.successors[..]);
            let block = RowRun { first: ranks.start, begins, successors, bounds: &bounds };
            let (done, read) = rayon::join(|| each(block), || read(i + 1, &mut next));
            done.and(read)?;
            std::mem::swap(&mut now, &mut next);
        }
        Ok(())
    }

    /// Joins file blocks to row blocks; returns their ranks and their numbers of arcs.
    fn cut(&self, limit: Bytes) -> Vec<(Range<u32>, u64)> {
        let mut blocks: Vec<(Range<u32>, u64)> = Vec::new();
        for block in 0..self.blocks() {
            let (ranks, arcs) = (self.index.ranks(block), self.index.arcs(block));
            let arcs = arcs.end - arcs.start;
            match blocks.last_mut() {
                Some((last, sum)) if 8 * (ranks.end - last.start) as u64 + 4 * (*sum + arcs) <= limit.get() => {
                    last.end = ranks.end;
                    *sum += arcs;
                }
                _ => blocks.push((ranks, arcs)),
            }
        }
        blocks
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::clean::Workspace;
    use crate::prepare::prepare;
    use trimill_input::arcs::ArcList;
    use trimill_system::memory::HostMemory;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        /// A pass returns every edge once, as a pair of ranks that fall with the degree, wherever the rows are stored and whatever
        /// the limit of a block is.
        #[test]
        fn a_pass_shows_every_edge_once(
            edges in prop::collection::btree_set((0u64..60, 0u64..60), 1..300),
            limit in 0u64..500,
            in_file in any::<bool>(),
            falling in any::<bool>(),
        ) {
            let edges: std::collections::BTreeSet<_> =
                edges.into_iter().filter(|(u, v)| u != v).map(|(u, v)| (u.min(v), u.max(v))).collect();
            prop_assume!(!edges.is_empty());
            let dir = tempfile::tempdir().unwrap();
            let source = ArcList { arcs: edges.iter().copied().collect(), declared: None };
            let graph = if in_file { Bytes::ZERO } else { Bytes::mib(8) };
            let space = Workspace { graph, ..Workspace::new(HostMemory::new(Bytes::mib(256), 2), dir.path()) };
            let control = Control::silent();
            let graph = prepare(&source, space, &control, &mut Vec::new()).unwrap();
            let direction = if falling { Direction::Falling } else { Direction::Rising };
            let (order, ids) = (graph.order().unwrap(), graph.ids().unwrap());
            let id = |rank: u32| ids.original(order[rank as usize]);
            let degree = |id: u64| edges.iter().filter(|&&(u, v)| u == id || v == id).count();
            let (mut found, mut ranks) = (std::collections::BTreeSet::new(), Vec::new());
            graph
                .pass(Bytes(limit), direction, &control, |block| {
                    let mut mine: Vec<u32> = block.ranks().collect();
                    assert_tiled(&block);
                    if falling {
                        mine.reverse();
                    }
                    for &rank in &mine {
                        let row = block.row(rank);
                        assert!(row.is_sorted_by(|a, b| a < b) && row.iter().all(|&successor| successor < rank));
                        // The same row, read by itself.
                        let arcs = graph.first_arc(rank)?..graph.first_arc(rank + 1)?;
                        let (mut begins, mut alone) = ([0u32; 2], vec![0; (arcs.end - arcs.start) as usize]);
                        graph.read(rank..rank + 1, &mut begins, &mut alone)?;
                        assert_eq!((row, begins), (&alone[..], [0, row.len() as u32]));
                        for &successor in row {
                            assert!((degree(id(successor)), id(successor)) > (degree(id(rank)), id(rank)));
                            found.insert((id(rank).min(id(successor)), id(rank).max(id(successor))));
                        }
                    }
                    ranks.extend(mine);
                    Ok(())
                })
                .unwrap();
            prop_assert_eq!(found, edges);
            if falling {
                ranks.reverse();
            }
            prop_assert_eq!(ranks, (0..graph.vertices()).collect::<Vec<_>>());
            let lengths = graph.out_degrees().unwrap();
            let ends = (0..=graph.vertices()).map(|rank| graph.first_arc(rank).unwrap());
            let sums = std::iter::once(0).chain(lengths.iter().scan(0, |sum, &length| { *sum += u64::from(length); Some(*sum) }));
            prop_assert!(ends.eq(sums));
            prop_assert_eq!(graph.size().longest_row, lengths.iter().copied().max().unwrap());
        }

        /// The result is that of a sum over the lengths.
        #[test]
        fn the_last_row_that_fits_is_found(n in 2u64..400, from in 0u32..400, rows in 0u64..300, arcs in 0u64..5000) {
            let dir = tempfile::tempdir().unwrap();
            let edges = (0..n).flat_map(|u| (0..u).filter(move |v| (u * 7 + v * v) % 5 < 2).map(move |v| (u, v)));
            let source = ArcList { arcs: edges.chain([(0, 1)]).collect(), declared: None };
            let space = Workspace::new(HostMemory::new(Bytes::mib(256), 2), dir.path());
            let graph = prepare(&source, space, &Control::silent(), &mut Vec::new()).unwrap();
            let from = from % graph.vertices();
            let to = graph.last_fitting(from, |r, a| r <= rows && a <= arcs).unwrap();
            let lengths = graph.out_degrees().unwrap();
            let sum = |to: u32| lengths[from as usize..to as usize].iter().map(|&length| u64::from(length)).sum::<u64>();
            let fits = |to: u32| u64::from(to - from) <= rows && sum(to) <= arcs;
            let expected = (from + 1..=graph.vertices()).take_while(|&to| fits(to)).last().unwrap_or(from + 1);
            prop_assert_eq!(to, expected);
        }
    }

    /// Runs of a block tile it.
    fn assert_tiled(block: &RowRun<'_>) {
        assert!(block.file_blocks().flatten().eq(block.ranks()));
        for arcs in [1, 7, 1 << 20] {
            let runs = block.runs(arcs);
            assert!(runs.iter().all(|run| !run.is_empty()));
            assert!(runs.into_iter().flatten().eq(block.ranks()));
        }
    }
}
