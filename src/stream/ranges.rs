//! The in-place mode: a partition is a rank range, and the graph's rows below it are streamed.
//!
//! A triangle `a -> b, a -> c, b -> c` is counted where `a` is local, with the row block that has the row of `b`: once, because each vertex is local
//! once and each row is in one block. Successors have smaller ranks, so a range `lo..hi` needs no rows above its own. Its own rows are resident;
//! row blocks without rows cover their ranks, cut like the graph's, since a counter's tables grow with a block's range. So `P` ranges of equal rows
//! read `(P + 1) / 2` times the graph. The whole graph is the range `0..n`, with one block without rows, which is not cut.
//!
//! A range may be counted in chunks, by ranges of `b` ([`LocalsAndHeads`]): each reads the resident rows, and only the row blocks of its own `b`;
//! blocks with empty rows cover all other ranks, so counters need not know. Rows are read directly into the buffers from which the device copies.

use std::ops::Range;

use trimill_graph::OrientedGraph;
use trimill_partitioners::partition::ranks::LocalsAndHeads;
use trimill_partitioners::partition::totals::RowBlockTotals;
use trimill_system::mapped::zeros;
use trimill_system::{Bytes, Result};

use super::row_blocks::{LEAST_OF_WHOLE, RowBlocks};
use trimill_counting::{NumberRuns, PartitionOutline, PartitionSource, Resident, ResidentSize, RowBlock, RowBlockSize};

#[derive(Debug, Clone, PartialEq, Eq)]
struct Streamed {
    ranks: Range<u32>,
    size: RowBlockSize,
    is_read: bool,
}

#[derive(Debug)]
pub struct RankRange<'g> {
    graph: &'g OrientedGraph,
    blocks: &'g RowBlocks,
    ranks: Range<u32>,
    arcs: u64,
    streamed: Vec<Streamed>,
    next: u32,
    /// Whether rows are read without decoding them.
    encoded: bool,
}

impl<'g> RankRange<'g> {
    pub fn new(graph: &'g OrientedGraph, blocks: &'g RowBlocks, ranks: &LocalsAndHeads) -> Result<Self> {
        let LocalsAndHeads { locals, heads } = ranks.clone();
        let arcs = graph.first_arc(locals.end)? - graph.first_arc(locals.start)?;
        let whole = locals.start == 0 && heads == locals;
        let mut bounds: Vec<u32> = match whole {
            true => Vec::new(),
            false => blocks.starts.iter().map(|&(rank, _)| rank).take_while(|&rank| rank < locals.end).collect(),
        };
        bounds.extend([0, locals.start, locals.end, heads.start, heads.end]);
        bounds.sort_unstable();
        bounds.dedup();
        let mut streamed = Vec::with_capacity(bounds.len());
        for pair in bounds.windows(2) {
            // No bounds of locals or heads are inside a row block. Rows of ranks that are not heads are empty: their triangles are counted elsewhere.
            // Of heads, locals' rows are resident, so not in the row block; other rows are read.
            let (range, is_head, is_local) = (pair[1] - pair[0], heads.contains(&pair[0]), pair[0] >= locals.start);
            let is_read = is_head && !is_local;
            let arcs = if is_read { blocks.first_arc(graph, pair[1])? - blocks.first_arc(graph, pair[0])? } else { 0 };
            let rows = if is_head && is_local { 0 } else { u64::from(range) };
            streamed.push(Streamed { ranks: pair[0]..pair[1], size: RowBlockSize { range, rows, arcs }, is_read });
        }
        if streamed.is_empty() {
            let size = RowBlockSize { range: 0, rows: 0, arcs: 0 };
            streamed.push(Streamed { ranks: locals.clone(), size, is_read: false });
        }
        Ok(Self { graph, blocks, next: locals.start, arcs, ranks: locals, streamed, encoded: false })
    }

    /// Reads rows as stored, if the range is whole file blocks of at most `longest` stored bytes; `None`: the counter takes plain rows.
    #[must_use]
    pub fn encoded(mut self, longest: Option<Bytes>) -> Self {
        let [encoded, plain] = self.graph.largest_block();
        let whole = self.graph.begins_block(self.ranks.start) && self.graph.begins_block(self.ranks.end);
        let of_blocks = |block: &Streamed| {
            let Range { start, end } = block.ranks;
            !block.is_read || (self.graph.begins_block(start) && self.graph.begins_block(end))
        };
        let passes = (self.blocks.whole && self.streamed.iter().all(of_blocks)) || self.ranks.start == 0;
        self.encoded = longest.is_some_and(|longest| encoded <= longest) && plain <= LEAST_OF_WHOLE && whole && passes;
        self
    }

    pub fn totals(&self) -> RowBlockTotals {
        RowBlockTotals::of(self.streamed.iter().map(|block| block.size.bytes()))
    }

    fn row_block_words(&self, i: usize) -> u64 {
        let Streamed { ranks, size, is_read } = &self.streamed[i];
        if *is_read && self.encoded {
            ranks.len() as u64 + 1 + self.graph.stored_of(ranks).get().div_ceil(4)
        } else {
            size.words()
        }
    }

    fn buffer_words(&self) -> u64 {
        // Buffers are kept for later ranges, which may stream larger blocks; a range that streams no rows needs no such buffer.
        let own = (0..self.streamed.len()).map(|i| self.row_block_words(i)).max().unwrap_or(0);
        let passes = self.streamed.iter().any(|block| block.is_read);
        if passes { own.max(self.blocks.most_words(self.graph, self.encoded)) } else { own }
    }
}

impl PartitionSource for RankRange<'_> {
    fn outline(&self) -> PartitionOutline {
        PartitionOutline {
            numbered: self.ranks.end,
            locals_at: self.ranks.start,
            resident: ResidentSize { locals: self.ranks.len() as u64, arcs: self.arcs },
            row_blocks: self.streamed.len(),
            largest_row_block: self.streamed.iter().map(|block| block.size.bytes()).max().unwrap_or_default(),
            buffer_words: self.buffer_words(),
        }
    }

    fn ranks(&mut self) -> Result<Option<Vec<u32>>> {
        Ok(None)
    }

    fn read_resident(&mut self, limit: Option<Bytes>, into: &mut Resident) -> Result<bool> {
        let first = self.next;
        // The limit holds for rows, too, since their numbers and offsets take memory as well.
        let most = limit.map_or(u64::MAX, |limit| (limit.get() / 4).max(1));
        if limit.is_some() && first < self.ranks.end {
            let end = self.graph.last_fitting(first, self.encoded, |rows, arcs| rows.max(arcs) <= most)?;
            self.next = end.min(self.ranks.end);
        } else {
            self.next = self.ranks.end;
        }
        let ranks = first..self.next;
        into.numbers = NumberRuns::run(ranks.clone());
        // Room for the longest possible run, since the buffer is reused for later runs.
        let rows = most.min(self.ranks.len() as u64) as usize;
        if into.offsets.capacity() <= rows {
            // Zeroed by the system: each page is first touched by the thread that writes its offsets.
            into.offsets = zeros(rows + 1);
        }
        into.offsets.resize(ranks.len() + 1, 0);
        into.encoded.clear();
        if self.encoded {
            let bytes = self.graph.stored_of(&ranks).get();
            let before = self.graph.first_arc(first)? - self.graph.first_arc(self.ranks.start)?;
            into.successors.resize(bytes.div_ceil(4))?;
            let into_bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut into.successors);
            into.encoded =
                self.graph.read_stored(ranks, before, &mut into.offsets, &mut into_bytes[..bytes as usize])?;
        } else {
            into.successors.resize(self.graph.first_arc(self.next)? - self.graph.first_arc(first)?)?;
            self.graph.read(ranks, &mut into.offsets, &mut into.successors)?;
        }
        Ok(self.next < self.ranks.end)
    }

    fn read_row_block(&mut self, i: usize, into: &mut RowBlock) -> Result<()> {
        let Streamed { ranks, size, is_read } = self.streamed[i].clone();
        let encoded = is_read && self.encoded;
        let bytes = if encoded { self.graph.stored_of(&ranks).get() } else { 4 * size.arcs };
        let (offsets, words, parts) = into.reset(ranks.clone(), size.rows, bytes.div_ceil(4))?;
        if encoded {
            let words: &mut [u8] = bytemuck::cast_slice_mut(words);
            *parts = self.graph.read_stored(ranks, 0, offsets, &mut words[..bytes as usize])?;
        } else if is_read {
            self.graph.read(ranks, offsets, words)?;
        } else {
            offsets.fill(0);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
