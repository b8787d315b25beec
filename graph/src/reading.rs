//! Reads rows of an oriented graph, decoded or encoded, and their lengths.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use trimill_counting::EncodedPart;
use xxhash_rust::xxh3::xxh3_64;

use super::layout::damaged;
use super::oriented::OrientedGraph;
use super::recent::DecodedBlock;
use super::rows::{self, Offset};
use trimill_system::{Bytes, Error, Result, parallel};

#[derive(Default)]
struct DecodeScratch {
    bytes: Vec<u8>,
    lengths: Vec<u32>,
}

struct RowsOfBlock<'a, O> {
    block: usize,
    rows: Range<u32>,
    /// How many arcs of the requested rows precede these.
    base: u64,
    ends: &'a mut [O],
    successors: &'a mut [u32],
}

impl OrientedGraph {
    /// The number of successors of each rank's vertex: 4 bytes each. Reads all rows once, in the current thread pool.
    pub fn out_degrees(&self) -> Result<Vec<u32>> {
        let mut lengths = trimill_system::mapped::zeros(self.vertices() as usize);
        let blocks = 0..self.index.len();
        let parts = parallel::cut(&mut lengths, blocks.clone().map(|block| self.index.ranks(block).len()));
        parallel::try_each_with(blocks.zip(parts), Vec::new, |buffer, (block, lengths)| {
            let bytes = self.block(block, buffer)?;
            let arcs = self.index.arcs(block);
            rows::split(bytes, lengths, arcs.end - arcs.start).map_err(|wrong| self.wrong(block, wrong))?;
            Ok(())
        })?;
        Ok(lengths)
    }

    /// The number of arcs in all rows before `rank`, which is at most `n`. Reads a block unless `rank` begins one.
    pub fn first_arc(&self, rank: u32) -> Result<u64> {
        if rank >= self.vertices() {
            return Ok(self.edges());
        }
        let block = self.index.block_of(rank);
        let (first, arcs) = (self.index.ranks(block).start, self.index.arcs(block));
        match rank - first {
            0 => Ok(arcs.start),
            rows => Ok(arcs.start + self.decoded(block)?.ends[rows as usize - 1]),
        }
    }

    /// The largest `to` above `from` such that `fits` accepts the numbers of rows and arcs of `from..to`; `from + 1` if not even one row fits. With
    /// `whole`, `from..to` ends with a file block, and has at least one. `fits` must be monotonic: it accepts all numbers smaller than accepted ones.
    /// Reads one or two blocks; nothing if `to` and `from` begin blocks.
    pub fn last_fitting(&self, from: u32, whole: bool, fits: impl Fn(u64, u64) -> bool) -> Result<u32> {
        let before = self.first_arc(from)?;
        let holds = |rank: u32, arc: u64| fits(u64::from(rank - from), arc - before);
        if holds(self.vertices(), self.edges()) {
            return Ok(self.vertices());
        }
        let first_block = self.index.block_of(from);
        let block = self.index.last_where(first_block, holds);
        if whole {
            return Ok(self.index.ranks(if block == first_block { block } else { block - 1 }).end);
        }
        let (first, arcs) = (self.index.ranks(block).start, self.index.arcs(block).start);
        if self.index.ranks(block).len() == 1 {
            return Ok(first.max(from + 1));
        }
        let decoded = self.decoded(block)?;
        let skipped = (from.max(first) - first) as usize;
        let rows = decoded.ends[skipped..].iter().zip(first + skipped as u32 + 1..);
        let fitting = rows.take_while(|&(end, rank)| holds(rank, arcs + end)).count();
        Ok((first + (skipped + fitting) as u32).max(from + 1))
    }

    /// The decoded rows of a block of which only some are needed; cached, since the next request is likely to be for the others.
    fn decoded(&self, block: usize) -> Result<Arc<DecodedBlock>> {
        if let Some(decoded) = self.recent.get(block) {
            return Ok(decoded);
        }
        self.recent.make_room();
        let (ranks, arcs) = (self.index.ranks(block), self.index.arcs(block));
        let (mut ends, mut successors) = (vec![0; ranks.len()], vec![0; (arcs.end - arcs.start) as usize]);
        let rows = RowsOfBlock { block, rows: ranks, base: 0, ends: &mut ends, successors: &mut successors };
        self.decode(rows, &mut DecodeScratch::default())?;
        let decoded = Arc::new(DecodedBlock { ends, successors });
        self.recent.insert(block, Arc::clone(&decoded));
        Ok(decoded)
    }

    /// Reads the rows of `ranks`: offsets, from 0 to the number of arcs, into `begins`, and successors ([`Self::first_arc`] gives their number) into
    /// `successors`. All threads of the pool read and decode blocks, in place. `O(rows + arcs)` time, a block per thread.
    pub fn read<O: Offset>(&self, ranks: Range<u32>, begins: &mut [O], successors: &mut [u32]) -> Result<()> {
        begins[0] = O::of(0);
        if ranks.is_empty() {
            return Ok(());
        }
        let (begin, end) = (self.first_arc(ranks.start)?, self.first_arc(ranks.end)?);
        let (mut ends_left, mut successors_left) = (&mut begins[1..], successors);
        let mut parts = Vec::new();
        for block in self.index.block_of(ranks.start)..=self.index.block_of(ranks.end - 1) {
            let (rows, arcs) = (self.index.ranks(block), self.index.arcs(block));
            let rows = rows.start.max(ranks.start)..rows.end.min(ranks.end);
            let arcs = arcs.start.max(begin)..arcs.end.min(end);
            let (ends, after) = std::mem::take(&mut ends_left).split_at_mut(rows.len());
            let (mine, rest) = std::mem::take(&mut successors_left).split_at_mut((arcs.end - arcs.start) as usize);
            parts.push(RowsOfBlock { block, rows, base: arcs.start - begin, ends, successors: mine });
            (ends_left, successors_left) = (after, rest);
        }
        parallel::try_each_with(parts, DecodeScratch::default, |scratch, part| {
            if part.rows == self.index.ranks(part.block) { self.decode(part, scratch) } else { self.copy(part) }
        })
    }

    fn decode<O: Offset>(&self, of: RowsOfBlock<'_, O>, scratch: &mut DecodeScratch) -> Result<()> {
        let bytes = self.block(of.block, &mut scratch.bytes)?;
        let lengths = &mut scratch.lengths;
        lengths.resize(of.ends.len(), 0);
        rows::decode(bytes, of.rows.start, self.layout.longest_row, lengths, of.successors)
            .map_err(|wrong| self.wrong(of.block, wrong))?;
        rows::put_ends(lengths, of.base, of.ends);
        Ok(())
    }

    fn copy<O: Offset>(&self, of: RowsOfBlock<'_, O>) -> Result<()> {
        let (decoded, first) = (self.decoded(of.block)?, self.index.ranks(of.block).start);
        let (from, to) = ((of.rows.start - first) as usize, (of.rows.end - first) as usize);
        let begin = if from == 0 { 0 } else { decoded.ends[from - 1] };
        of.ends.iter_mut().zip(&decoded.ends[from..to]).for_each(|(place, end)| *place = O::of(of.base + end - begin));
        of.successors.copy_from_slice(&decoded.successors[begin as usize..decoded.ends[to - 1] as usize]);
        Ok(())
    }

    /// Whether `rank` is the first of a file block, or `n`.
    pub fn begins_block(&self, rank: u32) -> bool {
        rank >= self.vertices() || self.index.ranks(self.index.block_of(rank)).start == rank
    }

    /// The largest file block: in stored bytes, and in bytes as plain rows with offsets of 64 bits.
    pub fn largest_block(&self) -> [Bytes; 2] {
        let blocks = || 0..self.index.len();
        let stored = |i| self.index.bytes(i).end - self.index.bytes(i).start;
        let plain =
            |i| 8 * (self.index.ranks(i).len() as u64 + 1) + 4 * (self.index.arcs(i).end - self.index.arcs(i).start);
        [blocks().map(stored).max(), blocks().map(plain).max()].map(|most| Bytes(most.unwrap_or(0)))
    }

    /// The stored bytes of the rows of `ranks`, which must be whole file blocks.
    pub fn stored_of(&self, ranks: &Range<u32>) -> Bytes {
        let position = |rank| match rank < self.vertices() {
            true => self.index.bytes(self.index.block_of(rank)).start,
            false => self.layout.block_bytes,
        };
        Bytes(position(ranks.end) - position(ranks.start))
    }

    /// Reads the rows of `ranks`, whole file blocks, as stored: the bytes ([`Self::stored_of`] gives their number) into `bytes`, and the offset of
    /// each row, counted from `before`, into `begins`. Returns what a device needs to decode them. Only the lengths of rows are decoded.
    pub fn read_stored<O: Offset>(
        &self,
        ranks: Range<u32>,
        before: u64,
        begins: &mut [O],
        bytes: &mut [u8],
    ) -> Result<Vec<EncodedPart>> {
        begins[0] = O::of(before);
        if ranks.is_empty() {
            return Ok(Vec::new());
        }
        let blocks = self.index.block_of(ranks.start)..self.index.block_of(ranks.end - 1) + 1;
        let (first_byte, first_arc) = (self.index.bytes(blocks.start).start, self.index.arcs(blocks.start).start);
        let first_rank = ranks.start;
        let length = |block| (self.index.bytes(block).end - self.index.bytes(block).start) as usize;
        let ends = parallel::cut(&mut begins[1..], blocks.clone().map(|block| self.index.ranks(block).len()));
        let stored = parallel::cut(bytes, blocks.clone().map(length));
        let parts = blocks.zip(ends.into_iter().zip(stored));
        let read = |lengths: &mut Vec<u32>, (block, (ends, mine)): (usize, (&mut [O], &mut [u8]))| {
            self.store.read(self.index.bytes(block), mine)?;
            self.check(block, mine)?;
            let (ranks, arcs) = (self.index.ranks(block), self.index.arcs(block));
            let wrong = |wrong| self.wrong(block, wrong);
            lengths.resize(ranks.len(), 0);
            let distances = rows::split(mine, lengths, arcs.end - arcs.start).map_err(wrong)?;
            let (control, data) = (distances.control.len() as u64, distances.data.len() as u64);
            if (ranks.start..).zip(&*lengths).any(|(rank, &length)| length > rank.min(self.layout.longest_row)) {
                return Err(wrong("rows that do not ascend to smaller ranks"));
            }
            rows::put_ends(lengths, before + (arcs.start - first_arc), ends);
            let end_of_bytes = self.index.bytes(block).end - first_byte;
            Ok(EncodedPart {
                begin: (end_of_bytes - data - control) as u32,
                data: (end_of_bytes - data) as u32,
                end: end_of_bytes as u32,
                groups: distances.groups.first | distances.groups.more << 8,
                row: ranks.start - first_rank,
                rows: ranks.len() as u32,
                arc: (arcs.start - first_arc) as u32,
                arcs: (arcs.end - arcs.start) as u32,
                bound: ranks.start,
                bound_step: 1,
            })
        };
        parallel::try_map_with(parts, Vec::new, read)
    }

    fn block<'a>(&'a self, block: usize, buffer: &'a mut Vec<u8>) -> Result<&'a [u8]> {
        let bytes = self.store.bytes(self.index.bytes(block), buffer)?;
        self.check(block, bytes)?;
        Ok(bytes)
    }

    /// Checks the bytes of a block if they come from a file; blocks in memory were made by this process.
    fn check(&self, block: usize, bytes: &[u8]) -> Result<()> {
        match self.path().is_some() && xxh3_64(bytes) != self.index.checksum(block) {
            true => Err(self.wrong(block, "another checksum than the index says: it is damaged")),
            false => Ok(()),
        }
    }

    fn wrong(&self, block: usize, what: &str) -> Error {
        let path = self.path().unwrap_or(Path::new("the graph in memory"));
        damaged(path, format!("file block {block} of {} has {what}", self.index.len()))
    }
}
