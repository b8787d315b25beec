//! Reads a spill.
//!
//! Enters: a file. Leaves: the resident section and any frame, in the caller's buffers. Opening checks the header, the
//! length of the file, the index and their checksums, so a reader exists only for a file that is whole; blocks are checked
//! when they are read. They are read and decoded in parallel, straight into their places; for a device that unpacks rows by itself
//! they are only decompressed. On an error the caller's buffers are emptied: wrong rows never leave. Memory: the caller's buffers,
//! and for each thread a block, compressed and not, at most 3 MiB (more only for longer rows).

use std::fmt;
use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rayon::prelude::*;
use rustix::fs::{Advice, fadvise};
use xxhash_rust::xxh3::xxh3_64;

use super::block::{self, Numbers, Offset, Packed, RowsMut};
use super::codec::{Codec, Decoder};
use super::format::{HEADER_BYTES, Header, PartitionHeader, checksum, damaged};
use super::index::{Block, FrameInfo, Index};
use super::store::Store;
use super::writer::SpillSummary;
use crate::error::{Error, Result};
use crate::lock;
use crate::partition::section::{Frame, Resident};
use trimill_kernels::CompactPart;

/// An open spill. Can be read from many threads at once.
pub struct SpillReader {
    pub(super) path: PathBuf,
    store: Store,
    pub(super) header: Header,
    checksum: u64,
    pub(super) bytes: u64,
    pub(super) index: Index,
    slots: Mutex<Vec<Slot>>,
}

/// What a thread decodes with.
struct Slot {
    decoder: Decoder,
    stored: Vec<u8>,
    block: Vec<u8>,
    lengths: Vec<u32>,
}

/// A part of a spill, for messages.
#[derive(Debug, Clone, Copy)]
enum Section {
    Ranks,
    Resident,
    Frame(usize),
}

impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ranks => write!(f, "ranks"),
            Self::Resident => write!(f, "resident section"),
            Self::Frame(i) => write!(f, "frame {i}"),
        }
    }
}

/// A block and where its rows go.
struct Job<'a, O> {
    number: usize,
    block: Block,
    numbers: Numbers<&'a mut [u32]>,
    ends: &'a mut [O],
    into: Into<'a>,
    /// Rows and arcs before it.
    base: (u64, u64),
}

/// Where the successors of a block go.
enum Into<'a> {
    /// Decoded.
    Plain(&'a mut [u32]),
    /// All of the block, for a device to unpack; and how many bytes come before it.
    Packed(&'a mut [u8], u64),
}

impl SpillReader {
    /// Opens a spill and checks all of it but the blocks. With a `fingerprint`, only a spill of that job is accepted.
    ///
    /// # Errors
    /// When the file is missing, not a spill, of another version or job, cut or damaged.
    pub fn open(path: &Path, fingerprint: Option<u128>) -> Result<Self> {
        let file = File::open(path).map_err(|error| Error::read(path, error))?;
        Self::of(path, Store::File(file), fingerprint)
    }

    /// Opens a spill that was just written, where it is; a file is checked as by [`SpillReader::open`].
    ///
    /// # Errors
    /// As [`SpillReader::open`].
    pub fn reopen(spill: &SpillSummary) -> Result<Self> {
        let fingerprint = Some(spill.header.fingerprint);
        match &spill.memory {
            Some(memory) => Self::of(&spill.path, Store::Memory(Arc::clone(memory)), fingerprint),
            None => Self::open(&spill.path, fingerprint),
        }
    }

    fn of(path: &Path, store: Store, fingerprint: Option<u128>) -> Result<Self> {
        let unreadable = |error| Error::read(path, error);
        let bytes = store.len().map_err(unreadable)?;
        if bytes < HEADER_BYTES as u64 {
            return Err(damaged(path, format!("{bytes} bytes")).expected(format!("a header of {HEADER_BYTES} bytes")));
        }
        let mut head = [0; HEADER_BYTES];
        store.read(&mut head, 0).map_err(unreadable)?;
        let header = Header::parse(path, &head)?;
        let found = header.partition.fingerprint;
        if let Some(fingerprint) = fingerprint.filter(|&fingerprint| fingerprint != found) {
            return Err(Error::data(path, format!("a spill of another job, with fingerprint {found:032x}"))
                .expected(format!("{fingerprint:032x}"))
                .advice("name the directory of this job, or delete the spill and build it again"));
        }
        let length = header.index_offset.checked_add(header.index_bytes);
        if length != Some(bytes) {
            let expected = length.map_or_else(|| "less".into(), |length| format!("{length}, as the header says"));
            return Err(damaged(path, format!("the file has {bytes} bytes")).expected(expected));
        }
        let mut index = resized(Vec::new(), header.index_bytes)?;
        store.read(&mut index, header.index_offset).map_err(unreadable)?;
        if xxh3_64(&index) != header.index_checksum {
            return Err(damaged(path, "index: the checksum does not match, so the index is damaged"));
        }
        let index = Index::parse(path, &index, &header)?;
        Ok(Self {
            path: path.to_path_buf(),
            store,
            header,
            checksum: checksum(&head),
            bytes,
            index,
            slots: Mutex::default(),
        })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the header says of the partition.
    pub fn header(&self) -> &PartitionHeader {
        &self.header.partition
    }

    /// The codec of all blocks.
    pub fn codec(&self) -> Codec {
        self.header.codec
    }

    /// The length of the file.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The header's checksum, which through the index's vouches for every byte of the file; as in
    /// [`super::SpillSummary::checksum`].
    pub fn checksum(&self) -> u64 {
        self.checksum
    }

    /// What the writer of this spill had to say of it.
    pub fn summary(&self) -> SpillSummary {
        SpillSummary {
            path: self.path.clone(),
            memory: match &self.store {
                Store::File(_) => None,
                Store::Memory(pieces) => Some(Arc::clone(pieces)),
            },
            bytes: self.bytes,
            checksum: self.checksum,
            header: self.header.partition.clone(),
            resident_arcs: self.header.resident_arcs,
            frame_arcs: self.header.frame_arcs,
            frames: self.header.frames,
            largest_frame_bytes: self.largest_frame_bytes(),
            raw_bytes: self.header.raw_bytes,
        }
    }

    /// Arcs of the resident section.
    pub fn resident_arcs(&self) -> u64 {
        self.header.resident_arcs
    }

    /// Bytes of the decoded resident section in host memory: numbers, offsets and heads.
    pub fn resident_decoded_bytes(&self) -> u64 {
        let locals = u64::from(self.header.partition.locals);
        4 * locals + 8 * (locals + 1) + 4 * self.header.resident_arcs
    }

    /// The number of frames.
    pub fn frames(&self) -> usize {
        self.index.frames.len()
    }

    /// What the index says of frame `i` (below [`SpillReader::frames`]).
    pub fn frame_info(&self, i: usize) -> &FrameInfo {
        &self.index.frames[i]
    }

    /// Bytes of the largest frame once decoded.
    pub fn largest_frame_bytes(&self) -> u64 {
        self.index.frames.iter().map(FrameInfo::decoded_bytes).max().unwrap_or(0)
    }

    /// The rank in the graph of each vertex of the partition, by its local number: 4 bytes each, read in the current thread pool.
    ///
    /// # Errors
    /// When the file is damaged, or there is no memory.
    pub fn ranks(&self) -> Result<Vec<u32>> {
        let mut ranks = resized(Vec::new(), self.header.partition.numbered.into())?;
        let (mut left, mut jobs) = (&mut ranks[..], Vec::new());
        for i in self.index.ranks() {
            let (mine, after) = std::mem::take(&mut left).split_at_mut(self.index.blocks[i].rows as usize);
            jobs.push((i, mine));
            left = after;
        }
        let damaged = |i: usize, found: String| damaged(&self.path, format!("{}, block {i}: {found}", Section::Ranks));
        jobs.into_par_iter().try_for_each(|(i, into)| {
            self.with_slot(|slot| {
                let Slot { decoder, stored, block, .. } = slot;
                let bytes = self.plain_block(&self.index.blocks[i], (decoder, stored), block);
                let decoded = bytes.and_then(|bytes| block::ascending(bytes, u32::MAX, into).map_err(String::from));
                decoded.map_err(|found| damaged(i, found))
            })
        })?;
        if !ranks.is_sorted_by(|a, b| a < b) {
            return Err(damaged(0, "they do not ascend strictly".into()));
        }
        Ok(ranks)
    }

    /// Reads the resident section into `into`, whose memory is used again.
    ///
    /// # Errors
    /// When the file is damaged or the memory does not suffice; `into` is then empty.
    pub fn read_resident(&self, into: &mut Resident) -> Result<()> {
        self.read_resident_run(0..self.resident_blocks(), false, into)
    }

    /// The number of blocks of the resident section, for [`SpillReader::read_resident_run`].
    pub fn resident_blocks(&self) -> usize {
        self.index.resident_blocks
    }

    /// Bytes of a block of the resident section once decoded: numbers, offsets and successors.
    pub fn resident_block_bytes(&self, i: usize) -> u64 {
        let Block { rows, arcs, .. } = self.index.blocks[self.index.rank_blocks + i];
        12 * u64::from(rows) + 4 * arcs
    }

    /// The most bytes of a block before it was compressed.
    pub fn longest_block(&self) -> u64 {
        self.index.blocks.iter().map(|block| block.plain).max().unwrap_or(0)
    }

    /// Reads some blocks of the resident section: a run of its rows, with offsets from 0; their successors decoded, or `packed`.
    ///
    /// # Errors
    /// As [`SpillReader::read_resident`].
    pub fn read_resident_run(&self, blocks: Range<usize>, packed: bool, into: &mut Resident) -> Result<()> {
        let read = self.resident_run(blocks, packed, into);
        if read.is_err() {
            *into = Resident::default();
        }
        read
    }

    fn resident_run(&self, blocks: Range<usize>, packed: bool, into: &mut Resident) -> Result<()> {
        let first = self.index.rank_blocks;
        let blocks = first + blocks.start..first + blocks.end;
        into.stored.clear();
        let Resident { numbers, offsets, heads, stored } = into;
        let (rows, arcs) = self.index.sum(blocks.clone());
        *numbers = resized(std::mem::take(numbers), rows)?;
        *offsets = resized(std::mem::take(offsets), rows + 1)?;
        heads.resize(if packed { self.index.plain(blocks.clone()).div_ceil(4) } else { arcs })?;
        *stored = self.read(Section::Resident, blocks, packed, Some(&mut numbers[..]), offsets, heads)?;
        let bound = self.header.partition.numbered;
        let ascending = numbers.windows(2).all(|pair| pair[0] < pair[1]);
        if !ascending || numbers.last().is_some_and(|&last| last >= bound) {
            let found = format!("{}: its numbers do not ascend strictly below {bound}", Section::Resident);
            return Err(damaged(&self.path, found));
        }
        Ok(())
    }

    /// Reads frame `i` (below [`SpillReader::frames`]) into `into`, whose memory is used again.
    ///
    /// # Errors
    /// When the file is damaged or the memory does not suffice; `into` is then empty.
    pub fn read_frame(&self, i: usize, into: &mut Frame) -> Result<()> {
        self.read_frame_run(i, self.index.frames[i].blocks.clone(), into)
    }

    /// Words of the rows of frame `i` when they are read packed.
    pub fn packed_words(&self, i: usize) -> u64 {
        let frame = &self.index.frames[i];
        u64::from(frame.rows) + 1 + self.index.plain(frame.blocks.clone()).div_ceil(4)
    }

    /// The same with rows for a device to unpack.
    ///
    /// # Errors
    /// As [`SpillReader::read_frame`].
    pub fn read_packed_frame(&self, i: usize, into: &mut Frame) -> Result<()> {
        let FrameInfo { range, rows, blocks, .. } = self.index.frames[i].clone();
        let words = self.index.plain(blocks.clone()).div_ceil(4);
        let (offsets, words, parts) = into.reset_stored(range, rows.into(), words)?;
        let read = self.read(Section::Frame(i), blocks, true, None, offsets, words);
        read.map(|read| *parts = read).inspect_err(|_| *into = Frame::default())
    }

    /// Reads some blocks of frame `i`: a run of its rows, with offsets from 0.
    pub(super) fn read_frame_run(&self, i: usize, blocks: Range<usize>, into: &mut Frame) -> Result<()> {
        let (rows, arcs) = self.index.sum(blocks.clone());
        let (offsets, heads) = into.reset(self.index.frames[i].range.clone(), rows, arcs)?;
        let read = self.read(Section::Frame(i), blocks, false, None, offsets, heads);
        if read.is_err() {
            *into = Frame::default();
        }
        read.map(drop)
    }

    /// Reads blocks of one section, whose rows the slices are as long as; `words` as their arcs, or as their bytes where they stay
    /// packed: then what a device has to know of each block is returned.
    fn read<O: Offset>(
        &self,
        section: Section,
        blocks: Range<usize>,
        packed: bool,
        numbers: Option<&mut [u32]>,
        offsets: &mut [O],
        words: &mut [u32],
    ) -> Result<Vec<CompactPart>> {
        if let (Store::File(file), [first, .., last]) = (&self.store, &self.index.blocks[blocks.clone()]) {
            // A hint; reading works without it.
            let length = std::num::NonZeroU64::new(last.offset + last.stored - first.offset);
            let _ = fadvise(file, first.offset, length, Advice::WillNeed);
        }
        let jobs = self.jobs(section, blocks, packed, numbers, offsets, words);
        let parts: Result<Vec<_>> = jobs.into_par_iter().map(|job| self.run(section, job)).collect();
        Ok(parts?.into_iter().flatten().collect())
    }

    /// Gives each block its part of the output.
    fn jobs<'a, O: Offset>(
        &self,
        section: Section,
        blocks: Range<usize>,
        packed: bool,
        mut numbers: Option<&'a mut [u32]>,
        offsets: &'a mut [O],
        words: &'a mut [u32],
    ) -> Vec<Job<'a, O>> {
        let (start, end) = match section {
            Section::Ranks | Section::Resident => (self.index.rank_blocks, 0),
            Section::Frame(i) => (self.index.frames[i].blocks.start, self.index.frames[i].range.end),
        };
        let mut jobs = Vec::with_capacity(blocks.len());
        let (mut base, mut begin) = ((0, 0), 0);
        let mut ends = match offsets {
            [first, ends @ ..] => {
                *first = O::default();
                ends
            }
            [] => return jobs,
        };
        let (mut heads, mut bytes): (&mut [u32], &mut [u8]) = match packed {
            true => (&mut [], bytemuck::cast_slice_mut(words)),
            false => (words, &mut []),
        };
        for number in blocks {
            let block = self.index.blocks[number];
            let rows = block.rows as usize;
            let numbers = match numbers.take() {
                Some(all) => {
                    let (mine, rest) = all.split_at_mut(rows);
                    numbers = Some(rest);
                    Numbers::Each(mine)
                }
                None => Numbers::Below(end),
            };
            let (my_ends, rest) = ends.split_at_mut(rows);
            ends = rest;
            let into = if packed {
                let (mine, rest) = bytes.split_at_mut(block.plain as usize);
                bytes = rest;
                Into::Packed(mine, begin)
            } else {
                let (mine, rest) = heads.split_at_mut(block.arcs as usize);
                heads = rest;
                Into::Plain(mine)
            };
            jobs.push(Job { number: number - start, block, numbers, ends: my_ends, into, base });
            base = (base.0 + u64::from(block.rows), base.1 + block.arcs);
            begin += block.plain;
        }
        jobs
    }

    /// Reads and checks one block, and decodes what is not to stay packed.
    fn run<O: Offset>(&self, section: Section, job: Job<'_, O>) -> Result<Option<CompactPart>> {
        let Job { number, block: of, numbers, ends, into, base: (row, base) } = job;
        let damaged = |found: String| damaged(&self.path, format!("{section}, block {number}: {found}"));
        self.with_slot(|slot| {
            let Slot { decoder, stored, block, lengths } = slot;
            match into {
                Into::Plain(heads) => {
                    let bytes = self.plain_block(&of, (decoder, stored), block).map_err(damaged)?;
                    let into = RowsMut { numbers, ends, heads, base };
                    block::decode(bytes, into, lengths).map_err(|wrong| damaged(wrong.into()))?;
                    Ok(None)
                }
                Into::Packed(bytes, begin) => {
                    self.fill(&of, (decoder, stored), bytes).map_err(damaged)?;
                    let rows = ends.len() as u32;
                    let of_rows = (ends, base, of.arcs);
                    let Packed { begin: first, bound } = block::decode_lengths(bytes, numbers, of_rows, lengths)
                        .map_err(|wrong| damaged(wrong.into()))?;
                    Ok(Some(CompactPart {
                        begin: (begin + first as u64) as u32,
                        end: (begin + of.plain) as u32,
                        row: row as u32,
                        rows,
                        arc: base as u32,
                        arcs: of.arcs as u32,
                        bound,
                        bound_step: 0,
                    }))
                }
            }
        })
    }

    /// Lends what a thread decodes with.
    fn with_slot<T>(&self, work: impl FnOnce(&mut Slot) -> Result<T>) -> Result<T> {
        let spare = lock(&self.slots).pop();
        let mut slot = match spare {
            Some(slot) => slot,
            None => Slot { decoder: Decoder::new()?, stored: Vec::new(), block: Vec::new(), lengths: Vec::new() },
        };
        let done = work(&mut slot);
        lock(&self.slots).push(slot);
        done
    }

    /// The bytes of a block, in memory that is used again.
    fn plain_block<'b>(
        &self,
        block: &Block,
        with: (&mut Decoder, &mut Vec<u8>),
        into: &'b mut Vec<u8>,
    ) -> Result<&'b [u8], String> {
        let room = resized(std::mem::take(into), block.plain).map_err(|error| error.to_string())?;
        *into = room;
        self.fill(block, with, into)?;
        Ok(into)
    }

    /// Fills `into` with the bytes of a block, which are checked and decompressed.
    fn fill(
        &self,
        block: &Block,
        (decoder, stored): (&mut Decoder, &mut Vec<u8>),
        into: &mut [u8],
    ) -> Result<(), String> {
        let unreadable = |error| format!("byte {} cannot be read ({error})", block.offset);
        let checked = |bytes: &[u8]| match xxh3_64(bytes) == block.checksum {
            true => Ok(()),
            false => Err(format!("the checksum of the {} bytes at {} is wrong", block.stored, block.offset)),
        };
        match self.header.codec {
            Codec::Plain => {
                self.store.read(into, block.offset).map_err(unreadable)?;
                checked(into)
            }
            Codec::Zstd => {
                let read = resized(std::mem::take(stored), block.stored).map_err(|error| error.to_string())?;
                *stored = read;
                self.store.read(stored, block.offset).map_err(unreadable)?;
                checked(stored)?;
                decoder.decode(stored, into)
            }
        }
    }
}

/// A buffer of `length` elements, or an error instead of an abort where that is more than memory.
fn resized<T: Clone + Default>(mut buffer: Vec<T>, length: u64) -> Result<Vec<T>> {
    let more = usize::try_from(length).map(|length| length.saturating_sub(buffer.len()));
    let reserved = more.is_ok_and(|more| buffer.try_reserve_exact(more).is_ok());
    if !reserved {
        return Err(Error::resource(format!("no memory for {length} elements of {} bytes", size_of::<T>()))
            .advice("raise the memory limit, or build the spill again with smaller frames or more partitions"));
    }
    buffer.resize(length as usize, T::default());
    Ok(buffer)
}
