//! Sequential passes over the rows of a graph, in blocks of bounded size.
//!
//! Enters: an [`OrientedGraph`], whose rows stand in rank order. Leaves: [`RowBlock`]s, runs of rows in memory, one after
//! another in rising or falling rank order. From a file a block is read (`pread`, several threads) while the one before is at
//! work; where the rows are in memory, blocks are slices of them. Cost: every byte of the rows is read once. Memory: two
//! blocks, each within the limit or one longer row.

use std::ops::Range;

use super::OrientedGraph;
use super::oriented::Storage;
use crate::bytes::Bytes;
use crate::control::Control;
use crate::error::Result;

/// Which end of the ranks a pass begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Rank 0 first.
    Rising,
    /// The largest rank first.
    Falling,
}

/// A run of rows.
#[derive(Debug, Clone, Copy)]
pub struct RowBlock<'a> {
    first: u32,
    /// Where each row begins among all arcs of the graph; one more at the end.
    offsets: &'a [u64],
    successors: &'a [u32],
}

impl<'a> RowBlock<'a> {
    /// The ranks whose rows these are.
    pub fn ranks(&self) -> Range<u32> {
        self.first..self.first + self.offsets.len() as u32 - 1
    }

    /// The row of `rank`, which is in the block.
    #[inline]
    pub fn row(&self, rank: u32) -> &'a [u32] {
        let (i, before) = ((rank - self.first) as usize, self.offsets[0]);
        &self.successors[(self.offsets[i] - before) as usize..(self.offsets[i + 1] - before) as usize]
    }

    /// All rows, one after another.
    pub fn successors(&self) -> &'a [u32] {
        self.successors
    }
}

impl OrientedGraph {
    /// Shows all rows to `each`, in blocks of at most `limit` bytes or one longer row; runs in the current thread pool.
    ///
    /// # Errors
    /// A file that cannot be read ([`crate::error::Kind::Data`]); a stop; what `each` reports.
    pub fn pass(
        &self,
        limit: Bytes,
        direction: Direction,
        control: &Control,
        mut each: impl FnMut(RowBlock<'_>) -> Result<()> + Send,
    ) -> Result<()> {
        let mut blocks = self.blocks(limit);
        if direction == Direction::Falling {
            blocks.reverse();
        }
        let Storage::File { .. } = self.storage else {
            return blocks.into_iter().try_for_each(|ranks| {
                control.check()?;
                let arcs = self.arcs_of(&ranks);
                each(self.block(&ranks, &self.heads()[arcs.start as usize..arcs.end as usize]))
            });
        };
        let (mut now, mut next) = (Vec::new(), Vec::new());
        let read = |i: usize, into: &mut Vec<u32>| {
            control.check()?;
            blocks.get(i).map_or(Ok(()), |ranks| self.read_rows(ranks, into))
        };
        read(0, &mut now)?;
        for (i, ranks) in blocks.iter().enumerate() {
            let (done, read) = rayon::join(|| each(self.block(ranks, &now)), || read(i + 1, &mut next));
            done.and(read)?;
            std::mem::swap(&mut now, &mut next);
            // The offsets are read where they are mapped.
            self.relieve();
        }
        Ok(())
    }

    /// Reads the successors of the vertices of `ranks` into `into`.
    ///
    /// # Errors
    /// [`crate::error::Kind::Data`] when the file cannot be read.
    pub fn read_rows(&self, ranks: &Range<u32>, into: &mut Vec<u32>) -> Result<()> {
        let arcs = self.arcs_of(ranks);
        into.resize((arcs.end - arcs.start) as usize, 0);
        self.read_successors(arcs.start, into)
    }

    /// Reads successors into `into`, from arc `first` of all on.
    ///
    /// # Errors
    /// [`crate::error::Kind::Data`] when the file cannot be read.
    pub fn read_successors(&self, first: u64, into: &mut [u32]) -> Result<()> {
        match &self.storage {
            Storage::File { file, .. } => file.read(into, self.layout.heads().start as u64 + 4 * first),
            Storage::Memory(arrays) => {
                into.copy_from_slice(&arrays.heads[first as usize..first as usize + into.len()]);
                Ok(())
            }
        }
    }

    fn arcs_of(&self, ranks: &Range<u32>) -> Range<u64> {
        let offsets = self.offsets();
        offsets[ranks.start as usize]..offsets[ranks.end as usize]
    }

    fn block<'a>(&'a self, ranks: &Range<u32>, successors: &'a [u32]) -> RowBlock<'a> {
        let offsets = &self.offsets()[ranks.start as usize..=ranks.end as usize];
        RowBlock { first: ranks.start, offsets, successors }
    }

    /// Cuts the ranks into blocks.
    fn blocks(&self, limit: Bytes) -> Vec<Range<u32>> {
        let (offsets, most) = (self.offsets(), (limit.get() / 4).max(1));
        let (mut blocks, mut first) = (Vec::new(), 0);
        while first < self.vertices() {
            let rest = &offsets[first as usize + 1..];
            let rows = rest.partition_point(|&end| end - offsets[first as usize] <= most).max(1) as u32;
            blocks.push(first..first + rows);
            first += rows;
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
    use crate::input::arcs::ArcList;
    use crate::prepare::prepare;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        /// The edges come back, each once and as a pair of ranks that fall with the degree, wherever the rows are and however
        /// they are cut.
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
            let space = Workspace {
                memory: Bytes::mib(8),
                dir: dir.path(),
                graph: if in_file { Bytes::ZERO } else { Bytes::mib(8) },
            };
            let control = Control::silent();
            let graph = prepare(&source, None, Bytes::ZERO, space, None, &control, &mut Vec::new()).unwrap();
            let direction = if falling { Direction::Falling } else { Direction::Rising };
            let degree = |id: u64| edges.iter().filter(|&&(u, v)| u == id || v == id).count();
            let (mut found, mut ranks) = (std::collections::BTreeSet::new(), Vec::new());
            graph
                .pass(Bytes(limit), direction, &control, |block| {
                    assert!(4 * block.successors().len() as u64 <= limit.max(4) || block.ranks().len() == 1);
                    let mut mine: Vec<u32> = block.ranks().collect();
                    if falling {
                        mine.reverse();
                    }
                    for &rank in &mine {
                        let row = block.row(rank);
                        assert!(row.is_sorted_by(|a, b| a < b) && row.iter().all(|&successor| successor < rank));
                        assert_eq!(row, graph.row(rank));
                        let id = |rank: u32| graph.original_id(graph.numbering().id_of[rank as usize]);
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
            prop_assert_eq!(graph.edges(), (0..graph.vertices()).map(|rank| u64::from(graph.out_degree(rank))).sum::<u64>());
        }
    }
}
