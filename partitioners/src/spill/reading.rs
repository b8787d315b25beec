//! Reads the blocks of a spill: ranks, the resident section, row blocks. Input: an open [`SpillReader`]. Output: rows in the caller's buffers,
//! decoded, or encoded for a device. Blocks are read, checked and decoded in parallel, directly into the buffers, which an error empties. Memory: the
//! buffers, and per thread a block in both forms, usually at most 3 MiB.

use std::ops::Range;

use bytemuck::cast_slice_mut;
use rustix::fs::{Advice, fadvise};
use trimill_counting::{EncodedPart, NumberRuns, Resident, RowBlock};
use xxhash_rust::xxh3::xxh3_64;
use zstd::bulk::Decompressor;

use super::block::{self, Offset, RowEndsMut, RowNumbers};
use super::codec::{Codec, DecodeSlot, decompress};
use super::format::damaged;
use super::index::SpillBlock;
use super::reader::{SpillReader, resized};
use super::store::SpillStore;
use trimill_system::{Result, parallel};

struct SectionToRead<'a, O> {
    /// The section's first block.
    start: usize,
    blocks: Range<usize>,
    numbers: RowNumbers<&'a mut [u32]>,
    offsets: &'a mut [O],
    /// Where successors go, decoded or still encoded.
    words: &'a mut [u32],
    encoded: bool,
}

struct BlockToRead<'a, O> {
    number: usize,
    block: SpillBlock,
    rows: RowEndsMut<'a, O>,
    /// A word per successor, or the whole block, for a device to decode.
    into: &'a mut [u8],
    rows_before: u64,
    bytes_before: u64,
}

impl SpillReader {
    /// The rank of each vertex of the partition, by local number: 4 bytes each, read in the current thread pool.
    pub fn ranks(&self) -> Result<Vec<u32>> {
        let mut ranks = resized(Vec::new(), self.header().numbered.into())?;
        let parts = parallel::cut(&mut ranks, self.index.ranks().map(|i| self.index.blocks[i].rows as usize));
        let damaged = |i: usize, found: String| damaged(self.path(), format!("ranks, block {i}: {found}"));
        parallel::try_each(self.index.ranks().zip(parts), |(i, into)| {
            self.slots.try_with(DecodeSlot::new, |slot| {
                let DecodeSlot { decoder, stored, block, .. } = slot;
                let bytes = self.plain_block(&self.index.blocks[i], decoder, stored, block);
                let decoded = bytes.and_then(|bytes| block::ascending(bytes, u32::MAX, into).map_err(String::from));
                decoded.map_err(|found| damaged(i, found))
            })
        })?;
        if !ranks.is_sorted_by(|a, b| a < b) {
            return Err(damaged(0, "they do not ascend strictly".into()));
        }
        Ok(ranks)
    }

    #[cfg(feature = "testing")]
    /// Reads the resident section into `into`, reusing its memory. Errors: a damaged file, or no memory; `into` is then empty.
    pub fn read_resident(&self, into: &mut Resident) -> Result<()> {
        self.read_resident_run(self.resident_blocks(), false, into)
    }

    pub fn resident_blocks(&self) -> Range<usize> {
        self.index.resident()
    }

    /// Bytes of a block of the resident section once decoded: numbers, offsets and successors.
    pub fn resident_block_bytes(&self, i: usize) -> u64 {
        let SpillBlock { rows, arcs, .. } = self.index.blocks[i];
        12 * u64::from(rows) + 4 * arcs
    }

    /// The most bytes of a block before compression.
    pub fn longest_block(&self) -> u64 {
        self.index.blocks.iter().map(|block| block.plain).max().unwrap_or(0)
    }

    /// Reads some blocks of the resident section: a run of its rows, with offsets from 0; successors are decoded, or stay `encoded`.
    pub fn read_resident_run(&self, blocks: Range<usize>, encoded: bool, into: &mut Resident) -> Result<()> {
        self.resident_run(blocks, encoded, into).inspect_err(|_| *into = Resident::default())
    }

    fn resident_run(&self, blocks: Range<usize>, encoded: bool, into: &mut Resident) -> Result<()> {
        into.encoded.clear();
        let Resident { numbers, offsets, successors: words, encoded: parts } = into;
        let (rows, arcs) = self.index.sum(blocks.clone());
        let mut list = resized(std::mem::take(numbers).into_list(), rows)?;
        *offsets = resized(std::mem::take(offsets), rows + 1)?;
        words.resize(if encoded { self.index.encoded_words(blocks.clone()) } else { arcs })?;
        let (start, numbers_into) = (self.index.rank_blocks, RowNumbers::Each(&mut list[..]));
        let section = SectionToRead { start, blocks, numbers: numbers_into, offsets, words, encoded };
        *parts = self.read("resident section", section)?;
        let bound = self.header().numbered;
        let ascending = list.windows(2).all(|pair| pair[0] < pair[1]);
        if !ascending || list.last().is_some_and(|&last| last >= bound) {
            let found = format!("resident section: its numbers do not ascend strictly below {bound}");
            return Err(damaged(self.path(), found));
        }
        *numbers = NumberRuns::of(list);
        Ok(())
    }

    /// Reads row block `i` into `into`, reusing its memory; successors are decoded, or stay `encoded`. Errors: a damaged file, or too little
    /// memory; `into` is then empty.
    pub fn read_row_block(&self, i: usize, encoded: bool, into: &mut RowBlock) -> Result<()> {
        self.read_blocks(i, self.index.row_blocks[i].blocks.clone(), encoded, into)
    }

    /// Words of the rows of row block `i` when they are read encoded.
    pub fn encoded_words(&self, i: usize) -> u64 {
        let row_block = &self.index.row_blocks[i];
        u64::from(row_block.rows) + 1 + self.index.encoded_words(row_block.blocks.clone())
    }

    /// Reads some blocks of row block `i`: a run of its rows, with offsets from 0.
    pub(super) fn read_blocks(&self, i: usize, blocks: Range<usize>, encoded: bool, into: &mut RowBlock) -> Result<()> {
        let (rows, arcs) = self.index.sum(blocks.clone());
        let words = if encoded { self.index.encoded_words(blocks.clone()) } else { arcs };
        let of = &self.index.row_blocks[i];
        let (offsets, words, parts) = into.reset(of.range.clone(), rows, words)?;
        let (start, numbers) = (of.blocks.start, RowNumbers::UpTo(of.range.end.saturating_sub(1)));
        let section = SectionToRead { start, blocks, numbers, offsets, words, encoded };
        let read = self.read(&format!("row block {i}"), section);
        read.map(|read| *parts = read).inspect_err(|_| *into = RowBlock::default())
    }

    /// Reads blocks of one section. For blocks that stay encoded, returns what a device needs to know of each.
    fn read<O: Offset>(&self, name: &str, of: SectionToRead<'_, O>) -> Result<Vec<EncodedPart>> {
        if let (SpillStore::File(file), [first, .., last]) = (&self.store, &self.index.blocks[of.blocks.clone()]) {
            // A hint for readahead; reading works without it. Another program may have written blocks in another order.
            let length = std::num::NonZeroU64::new((last.offset + last.stored).saturating_sub(first.offset));
            let _ = fadvise(file, first.offset, length, Advice::WillNeed);
        }
        let encoded = of.encoded;
        let parts = parallel::try_map(self.jobs(of), |job| self.run(name, encoded, job))?;
        Ok(parts.into_iter().flatten().collect())
    }

    fn jobs<'a, O: Offset>(&self, of: SectionToRead<'a, O>) -> Vec<BlockToRead<'a, O>> {
        let SectionToRead { start, blocks, numbers, offsets, words, encoded } = of;
        let [first, ends @ ..] = offsets else { return Vec::new() };
        *first = O::default();
        let its = &self.index.blocks[blocks.clone()];
        let rows = || its.iter().map(|block| block.rows as usize);
        let numbers: Vec<_> = match numbers {
            RowNumbers::Each(all) => parallel::cut(all, rows()).into_iter().map(RowNumbers::Each).collect(),
            RowNumbers::UpTo(last) => its.iter().map(|_| RowNumbers::UpTo(last)).collect(),
        };
        let bytes: &mut [u8] = cast_slice_mut(words);
        let length = |block: &SpillBlock| if encoded { block.plain } else { 4 * block.arcs };
        let into = parallel::cut(bytes, its.iter().map(|block| length(block) as usize));
        let (mut rows_before, mut bytes_before, mut base) = (0, 0, 0);
        let parts = numbers.into_iter().zip(parallel::cut(ends, rows())).zip(into);
        let jobs = blocks.zip(its).zip(parts).map(|((number, &block), ((numbers, ends), into))| {
            let rows = RowEndsMut { numbers, ends, base };
            let job = BlockToRead { number: number - start, block, rows, into, rows_before, bytes_before };
            (rows_before, bytes_before) = (rows_before + u64::from(block.rows), bytes_before + block.plain);
            base += block.arcs;
            job
        });
        jobs.collect()
    }

    fn run<O: Offset>(&self, name: &str, encoded: bool, job: BlockToRead<'_, O>) -> Result<Option<EncodedPart>> {
        let BlockToRead { number, block: of, rows, into, rows_before, bytes_before } = job;
        let damaged = |found: String| damaged(self.path(), format!("{name}, block {number}: {found}"));
        self.slots.try_with(DecodeSlot::new, |slot| {
            let DecodeSlot { decoder, stored, block, lengths } = slot;
            if !encoded {
                let bytes = self.plain_block(&of, decoder, stored, block).map_err(damaged)?;
                block::decode(bytes, rows, cast_slice_mut(into), lengths).map_err(|wrong| damaged(wrong.into()))?;
                return Ok(None);
            }
            self.fill(&of, decoder, stored, into).map_err(damaged)?;
            let arc = rows.base as u32;
            let decoded = block::decode_lengths(into, rows, of.arcs, lengths);
            let (begin, bound) = decoded.map_err(|wrong| damaged(wrong.into()))?;
            Ok(Some(EncodedPart {
                begin: (bytes_before + begin as u64) as u32,
                data: (bytes_before + of.plain) as u32,
                end: (bytes_before + of.plain) as u32,
                groups: 0,
                row: rows_before as u32,
                rows: of.rows,
                arc,
                arcs: of.arcs as u32,
                bound,
                bound_step: 0,
            }))
        })
    }

    fn plain_block<'b>(
        &self,
        block: &SpillBlock,
        decoder: &mut Decompressor<'_>,
        stored: &mut Vec<u8>,
        into: &'b mut Vec<u8>,
    ) -> Result<&'b [u8], String> {
        *into = resized(std::mem::take(into), block.plain).map_err(|error| error.to_string())?;
        self.fill(block, decoder, stored, into)?;
        Ok(into)
    }

    fn fill(
        &self,
        block: &SpillBlock,
        decoder: &mut Decompressor<'_>,
        stored: &mut Vec<u8>,
        into: &mut [u8],
    ) -> Result<(), String> {
        let unreadable = |error| format!("byte {} cannot be read ({error})", block.offset);
        let checked = |bytes: &[u8]| match xxh3_64(bytes) == block.checksum {
            true => Ok(()),
            false => Err(format!("the checksum of the {} bytes at {} is wrong", block.stored, block.offset)),
        };
        match self.summary.header.codec {
            Codec::Plain => {
                self.store.read(into, block.offset).map_err(unreadable)?;
                checked(into)
            }
            Codec::Zstd => {
                *stored = resized(std::mem::take(stored), block.stored).map_err(|error| error.to_string())?;
                self.store.read(stored, block.offset).map_err(unreadable)?;
                checked(stored)?;
                decompress(decoder, stored, into)
            }
        }
    }
}
