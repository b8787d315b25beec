//! From edges and ranks to rows in rank order, and their file blocks.

use std::ops::Range;

use bytemuck::{cast_slice, cast_slice_mut};

use super::constants::{ENCODE_THREADS, SCAN_THREADS};
use super::edges::bits_below;
use super::ranks::Ranks;
use super::work::Work;
use crate::engine::{Engine, HostWords, Mark, Queue};
use crate::error::Result;

/// Orders kernels behind the copy of the table of file blocks.
const COPIED: Mark = 0;

/// Rows in rank order: keys `rank << bits | rank of the successor`, sorted.
pub struct Rows<'e, E: Engine + ?Sized> {
    work: Work<'e, E>,
    at: u64,
    edges: u64,
    bits: u32,
    lengths: u64,
    /// Memory for encoded rows.
    out: Range<u64>,
    probes: u64,
    longest: u32,
}

impl<'e, E: Engine + ?Sized> Rows<'e, E> {
    /// Makes the rows. What is to be read of the ranks must have been read.
    ///
    /// # Errors
    /// What the device fails with.
    pub fn new(ranks: Ranks<'e, E>) -> Result<Self> {
        let Ranks { edges, vertices, keys, most, lengths, .. } = ranks;
        let count = edges.edges();
        let (pairs, free, bytes) = (edges.at, edges.free, edges.bytes);
        let (rank_of, of_ids, mut work) = (edges.degrees, u64::from(edges.bits), edges.work);
        let bits = bits_below(vertices).max(1);
        work.for_each("orient", count, &[pairs, count, of_ids, rank_of, bits.into()])?;
        let (at, free) = work.sort((pairs, free), count, 0, 2 * bits)?;
        work.fill(lengths, 0, 4 * vertices)?;
        work.for_each("add_lengths", count, &[at, count, bits.into(), lengths])?;
        let sums = work.take(16)?;
        work.fill(sums, 0, 16)?;
        work.for_each_by("sum_rows", (vertices, SCAN_THREADS), &[lengths, vertices, keys, most, sums])?;
        let (probes, longest) = (work.number(sums)?, work.number(sums + 8)? as u32);
        let out = free..free + bytes;
        Ok(Self { work, at, edges: count, bits, lengths, out, probes, longest })
    }

    /// The most successors of a vertex.
    pub fn longest_row(&self) -> u32 {
        self.longest
    }

    /// The sum over all arcs of the number of successors of the arc's head.
    pub fn probes(&self) -> u64 {
        self.probes
    }

    /// Cuts the rows into file blocks: `ranks` holds the first rank of each, and the number of vertices behind them.
    ///
    /// # Errors
    /// [`crate::Error::Budget`]: too little memory for so many blocks. What the device fails with.
    pub fn cut(self, ranks: &[u32]) -> Result<Blocks<'e, E>> {
        let Self { mut work, at, edges, bits, lengths, out, .. } = self;
        let (many, wide) = (ranks.len() as u64, u64::from(bits));
        let (table, first, positions) = (work.take(4 * many)?, work.take(8 * many)?, work.take(8 * many)?);
        // SAFETY: the table is not page-locked, so it is read before this returns.
        unsafe { work.engine.copy(table, &[cast_slice(ranks)]) }?;
        work.engine.sent()?;
        work.engine.record(Queue::Copy, COPIED)?;
        work.engine.wait(Queue::Compute, COPIED)?;
        work.for_each("first_arcs", many, &[at, edges, wide, table, many, first])?;
        if many > 1 {
            work.launch("measure", (many - 1, ENCODE_THREADS), &[at, wide, lengths, table, first, positions])?;
        }
        work.scan(positions, many - 1)?;
        let (mut first_arcs, mut begins) = (vec![0; ranks.len()], vec![0; ranks.len()]);
        work.engine.read(Queue::Compute, first, cast_slice_mut(&mut first_arcs))?;
        work.engine.read(Queue::Compute, positions, cast_slice_mut(&mut begins))?;
        let out_bytes = out.end - out.start;
        let sources = [at, wide, lengths, table, first, positions];
        Ok(Blocks { work, sources, first_arcs, positions: begins, out: out.start, out_bytes })
    }
}

/// File blocks, to be encoded.
pub struct Blocks<'e, E: Engine + ?Sized> {
    work: Work<'e, E>,
    sources: [u64; 6],
    /// The first arc of each block, and the number of arcs behind them.
    pub first_arcs: Vec<u64>,
    /// Where each block begins among the bytes of all, and their bytes behind them.
    pub positions: Vec<u64>,
    out: u64,
    out_bytes: u64,
}

impl<E: Engine + ?Sized> Blocks<'_, E> {
    /// A buffer of so many words, to which copies are fastest.
    ///
    /// # Errors
    /// [`crate::Error::HostMemory`].
    pub fn buffer(&mut self, words: usize) -> Result<HostWords> {
        self.work.engine.host_words(words)
    }

    /// The most bytes of blocks that can be encoded at a time.
    pub fn most_bytes(&self) -> u64 {
        self.out_bytes
    }

    /// Encodes consecutive blocks of at most [`Self::most_bytes`] into `bytes`, which is as long as they are together.
    ///
    /// # Errors
    /// What the device fails with.
    ///
    /// # Panics
    /// If `bytes` has another length.
    pub fn encode(&mut self, blocks: Range<usize>, bytes: &mut [u8]) -> Result<()> {
        let length = self.positions[blocks.end] - self.positions[blocks.start];
        assert!(length == bytes.len() as u64 && length <= self.out_bytes, "{length} bytes of blocks");
        let [at, wide, lengths, table, first, positions] = self.sources;
        let values = [at, wide, lengths, table, first, positions, blocks.start as u64, self.out];
        self.work.launch("encode", (blocks.len() as u64, ENCODE_THREADS), &values)?;
        self.work.engine.read(Queue::Compute, self.out, bytes)
    }
}
