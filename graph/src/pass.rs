//! Sequential passes over a graph's rows in blocks of bounded size. Input: an [`OrientedGraph`]. Output: [`RowRun`]s, in ascending or descending rank
//! order. All threads read and decode a block while the previous one is processed. Memory: two blocks, each within the limit or one file block.

use std::ops::Range;

use bytemuck::Zeroable;

use super::OrientedGraph;
use trimill_system::mapped::zeros;
use trimill_system::{Bytes, Control, Result, first_where};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    Rising,
    Falling,
}

#[derive(Debug, Clone, Copy)]
pub struct RowRun<'a> {
    first: u32,
    begins: &'a [u64],
    successors: &'a [u32],
    /// The first rank of each of its file blocks, and the end of the last one.
    bounds: &'a [u32],
}

impl<'a> RowRun<'a> {
    pub fn ranks(&self) -> Range<u32> {
        self.first..self.first + self.begins.len() as u32 - 1
    }

    #[inline]
    pub fn row(&self, rank: u32) -> &'a [u32] {
        let i = (rank - self.first) as usize;
        &self.successors[self.begins[i] as usize..self.begins[i + 1] as usize]
    }

    /// Where the rows of `ranks` are in `successors`.
    pub fn arcs(&self, ranks: &Range<u32>) -> Range<u64> {
        let begin = |rank: u32| self.begins[(rank - self.first) as usize] - self.begins[0];
        begin(ranks.start)..begin(ranks.end)
    }

    /// Divides the rows into runs of about `arcs` arcs and rows, for several threads.
    pub fn runs(&self, arcs: u64) -> Vec<Range<u32>> {
        let (mut runs, mut first) = (Vec::new(), 0);
        let rows = self.begins.len() - 1;
        while first < rows {
            let weight = |i: usize| self.begins[i] + i as u64;
            let most = weight(first) + arcs;
            // At least one row; the weight increases with the row.
            let end = first_where(first as u64 + 2..rows as u64 + 1, |i| weight(i as usize) > most) as usize - 1;
            runs.push(self.first + first as u32..self.first + end as u32);
            first = end;
        }
        runs
    }

    /// The ranks of each file block, for several threads; the division depends on the graph alone.
    pub fn file_blocks(&self) -> impl Iterator<Item = Range<u32>> + 'a {
        self.bounds.windows(2).map(|pair| pair[0]..pair[1])
    }
}

#[derive(Default)]
struct Buffer {
    begins: Vec<u64>,
    successors: Vec<u32>,
}

/// Sets the length of `values` to `len`; all will be overwritten, and the threads that write are the first to touch new memory.
fn fit<T: Zeroable + Clone>(values: &mut Vec<T>, len: usize) {
    match values.capacity() < len {
        true => *values = zeros(len),
        false => values.resize(len, T::zeroed()),
    }
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
                fit(&mut into.begins, ranks.len() + 1);
                fit(&mut into.successors, *arcs as usize);
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

    /// Joins file blocks to larger blocks; returns their ranks and their numbers of arcs.
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
