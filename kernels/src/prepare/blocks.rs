//! From edges and ranks to rows in rank order, and their file blocks.

use std::ops::Range;

use bytemuck::{cast_slice, cast_slice_mut};

use super::constants::ENCODE_THREADS;
use super::edges::{DeviceEdges, EdgePlace, bits_below, each_range};
use super::runs::Runs;
use super::work::{PrepareSpace, SortBuffers};
use crate::engine::{HostWords, Stream};
use crate::error::{GpuError, GpuResult};

/// Rows in rank order: keys `rank << bits | rank of the successor`.
pub struct RankedRows<'e> {
    work: PrepareSpace<'e>,
    place: EdgePlace,
    count: u64,
    bits: u32,
    vertices: u64,
    lengths: u64,
    /// Where the memory begins that groups of file blocks use in turn.
    begin: u64,
}

/// Bytes for a file block of fewer than 2^13 arcs: 8 per arc, a bit for each of 2^17 rows, ends of sequences. Others: under 8 per arc.
const LEAST_OUT: u64 = 96 << 10;

impl<'e> RankedRows<'e> {
    /// Makes the rows of `vertices` vertices from the rank of each id. Panics if there is not one rank for each id.
    pub fn new(edges: DeviceEdges<'e>, ranks: &[u32], vertices: u64) -> GpuResult<Self> {
        assert!(ranks.len() as u64 == edges.ids, "a rank for each id");
        // Ranks overwrite the degrees, and lengths of rows overwrite the ranks.
        let (count, rank_of, lengths, of_ids) = (edges.edges, edges.degrees, edges.degrees, edges.bits);
        let (place, mut work) = (edges.place, edges.work);
        let bits = bits_below(vertices).max(1);
        let wide = u64::from(bits);
        work.send(rank_of, cast_slice(ranks))?;
        let place = match place {
            EdgePlace::Device { buffers, bytes } => {
                work.for_each("orient", count, &[buffers.keys, count, of_ids.into(), rank_of, wide])?;
                EdgePlace::Device { buffers: work.sort(buffers, count, 0, 2 * bits)?, bytes }
            }
            EdgePlace::Host(mut runs) => {
                let mut oriented = Runs::new(runs.store().cloned());
                each_range(&mut work, &mut runs, |work, found| {
                    let values = [found.kept.keys, found.edges, of_ids.into(), rank_of, wide];
                    work.for_each("orient", found.edges, &values)?;
                    let sorted = work.sort(found.kept, found.edges, 0, 2 * bits)?;
                    oriented.fetch(work, sorted, found.edges)
                })?;
                EdgePlace::Host(oriented)
            }
        };
        work.fill(lengths, 0, 4 * vertices)?;
        if let EdgePlace::Device { buffers, .. } = &place {
            work.for_each("add_lengths", count, &[buffers.keys, count, wide, lengths])?;
        }
        let begin = work.next();
        Ok(Self { work, place, count, bits, vertices, lengths, begin })
    }

    /// The length of each row, after all file blocks were cut. Panics if `lengths` does not have one for each vertex.
    pub fn lengths(&mut self, lengths: &mut [u32]) -> GpuResult<()> {
        assert!(lengths.len() as u64 == self.vertices, "a length for each vertex");
        self.work.engine.read(Stream::Compute, self.lengths, cast_slice_mut(lengths))
    }

    /// Cuts file blocks from `first` on, as many as memory holds; call for all, in order. `ranks`: each block's first rank, then the vertex count.
    pub fn cut(&mut self, ranks: &[u32], first: usize) -> GpuResult<FileBlocks<'_, 'e>> {
        let Self { work, place, count, bits, lengths, begin, .. } = self;
        let wide = u64::from(*bits);
        work.release(*begin);
        let (buffers, count, end, bytes) = match place {
            EdgePlace::Device { buffers, bytes } => (*buffers, *count, ranks.len() - 1, *bytes),
            EdgePlace::Host(runs) => {
                let most = work.most_keys();
                let first_key = |block: u64| u64::from(ranks[block as usize]) << wide;
                let from = runs.below(first_key(first as u64))?;
                let fits = runs.largest_fitting(first as u64..ranks.len() as u64, &from, most, first_key)? as usize;
                if fits == first && first + 1 < ranks.len() {
                    return Err(GpuError::Budget { asked: 16 * (most + 1), used: 0, capacity: 16 * most });
                }
                let to = runs.below(first_key(fits as u64))?;
                let (buffers, count) = runs.load(work, &from, &to)?;
                let sorted = work.sort(buffers, count, 0, 2 * *bits)?;
                work.for_each("add_lengths", count, &[sorted.keys, count, wide, *lengths])?;
                (sorted, count, fits, 8 * count)
            }
        };
        let SortBuffers { keys: at, free } = buffers;
        let ranks = &ranks[first..=end];
        let many = ranks.len() as u64;
        let (table, firsts, positions) = (work.take(4 * many)?, work.take(8 * many)?, work.take(8 * many)?);
        let headers = work.take(16 * many)?;
        let out = work.at_least(LEAST_OUT, free..free + bytes)?;
        work.send(table, cast_slice(ranks))?;
        work.for_each("first_arcs", many, &[at, count, wide, table, many, firsts])?;
        let sources = [at, wide, *lengths, table, firsts, positions, headers];
        if many > 1 {
            work.launch("measure", many - 1, ENCODE_THREADS, &sources)?;
        }
        work.scan(positions, many - 1)?;
        let (mut first_arcs, mut begins) = (vec![0; ranks.len()], vec![0; ranks.len()]);
        work.engine.read(Stream::Compute, firsts, cast_slice_mut(&mut first_arcs))?;
        work.engine.read(Stream::Compute, positions, cast_slice_mut(&mut begins))?;
        Ok(FileBlocks { work, sources, blocks: first..end, first_arcs, positions: begins, out })
    }
}

/// Consecutive file blocks, to be encoded.
pub struct FileBlocks<'r, 'e> {
    work: &'r mut PrepareSpace<'e>,
    sources: [u64; 7],
    /// Which blocks of the graph these are.
    pub blocks: Range<usize>,
    /// The first arc of each block, counted within these blocks, and then the number of their arcs.
    pub first_arcs: Vec<u64>,
    /// The first byte of each block, counted within these blocks, and then the number of their bytes.
    pub positions: Vec<u64>,
    out: Range<u64>,
}

impl FileBlocks<'_, '_> {
    /// A page-locked buffer of `words` words.
    pub fn buffer(&mut self, words: usize) -> GpuResult<HostWords> {
        self.work.engine.host_words(words)
    }

    /// The most bytes of blocks that can be encoded at a time.
    pub fn most_bytes(&self) -> u64 {
        self.out.end - self.out.start
    }

    /// Encodes consecutive blocks, counted within these, into `bytes`, of their exact size (or it panics), at most [`Self::most_bytes`].
    pub fn encode(&mut self, blocks: Range<usize>, bytes: &mut [u8]) -> GpuResult<()> {
        let length = self.positions[blocks.end] - self.positions[blocks.start];
        assert!(length == bytes.len() as u64 && length <= self.most_bytes(), "{length} bytes of blocks");
        let values = [&self.sources[..], &[blocks.start as u64, self.out.start]].concat();
        self.work.launch("encode", blocks.len() as u64, ENCODE_THREADS, &values)?;
        self.work.engine.read(Stream::Compute, self.out.start, bytes)
    }
}
