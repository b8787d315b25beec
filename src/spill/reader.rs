//! Reads a spill.
//!
//! Enters: a file. Leaves: the resident section and any frame, in the caller's buffers. Opening checks the header, the
//! length of the file, the index and their checksums, so a reader exists only for a file that is whole; blocks are checked
//! when they are read. They are read and decoded in parallel, straight into their places. On an error the caller's
//! buffers are emptied: wrong rows never leave. Memory: the caller's buffers, and for each thread a block's stored bytes
//! and planes, at most 2 MiB (more only for rows longer than 1 MiB).

use std::fmt;
use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rayon::prelude::*;
use rustix::fs::{Advice, fadvise};
use xxhash_rust::xxh3::xxh3_64;

use super::block::{Numbers, Offset, RowsMut};
use super::codec::{Codec, Decoder};
use super::format::{HEADER_BYTES, Header, PartitionHeader, checksum, damaged};
use super::index::{Block, FrameInfo, Index};
use super::store::Store;
use super::writer::SpillSummary;
use crate::error::{Error, Result};
use crate::lock;
use crate::partition::section::{Frame, Resident};

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
}

/// A part of a spill, for messages.
#[derive(Debug, Clone, Copy)]
enum Section {
    Resident,
    Frame(usize),
}

impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Resident => write!(f, "resident section"),
            Self::Frame(i) => write!(f, "frame {i}"),
        }
    }
}

/// A block and where its rows go.
struct Job<'a, O> {
    number: usize,
    block: Block,
    into: RowsMut<'a, O>,
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

    /// Reads the resident section into `into`, whose memory is used again.
    ///
    /// # Errors
    /// When the file is damaged or the memory does not suffice; `into` is then empty.
    pub fn read_resident(&self, into: &mut Resident) -> Result<()> {
        self.read_resident_run(0..self.resident_blocks(), into)
    }

    /// The number of blocks of the resident section, for [`SpillReader::read_resident_run`].
    pub fn resident_blocks(&self) -> usize {
        self.index.resident_blocks
    }

    /// Reads some blocks of the resident section (of about 1 MiB each): a run of its rows, with offsets from 0.
    ///
    /// # Errors
    /// As [`SpillReader::read_resident`].
    pub fn read_resident_run(&self, blocks: Range<usize>, into: &mut Resident) -> Result<()> {
        let read = self.resident_run(blocks, into);
        if read.is_err() {
            *into = Resident::default();
        }
        read
    }

    fn resident_run(&self, blocks: Range<usize>, into: &mut Resident) -> Result<()> {
        into.stored.clear();
        let Resident { numbers, offsets, heads, .. } = into;
        let (rows, arcs) = self.index.sum(blocks.clone());
        *numbers = resized(std::mem::take(numbers), rows)?;
        *offsets = resized(std::mem::take(offsets), rows + 1)?;
        heads.resize(arcs)?;
        self.read(Section::Resident, blocks, Some(&mut numbers[..]), offsets, heads)?;
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

    /// Reads some blocks of frame `i`: a run of its rows, with offsets from 0.
    pub(super) fn read_frame_run(&self, i: usize, blocks: Range<usize>, into: &mut Frame) -> Result<()> {
        let (rows, arcs) = self.index.sum(blocks.clone());
        let (offsets, heads) = into.reset(self.index.frames[i].range.clone(), rows, arcs)?;
        let read = self.read(Section::Frame(i), blocks, None, offsets, heads);
        if read.is_err() {
            *into = Frame::default();
        }
        read
    }

    /// Reads and decodes blocks of one section, whose rows and arcs the slices are as long as.
    fn read<O: Offset>(
        &self,
        section: Section,
        blocks: Range<usize>,
        numbers: Option<&mut [u32]>,
        offsets: &mut [O],
        heads: &mut [u32],
    ) -> Result<()> {
        if let (Store::File(file), Some(first)) =
            (&self.store, self.index.blocks.get(blocks.start).filter(|_| !blocks.is_empty()))
        {
            // A hint; reading works without it.
            let length = std::num::NonZeroU64::new(self.index.stored(blocks.clone()));
            let _ = fadvise(file, first.offset, length, Advice::WillNeed);
        }
        let jobs = self.jobs(section, blocks, numbers, offsets, heads);
        jobs.into_par_iter().try_for_each(|job| self.run(section, job))
    }

    /// Gives each block its part of the output.
    fn jobs<'a, O: Offset>(
        &self,
        section: Section,
        blocks: Range<usize>,
        mut numbers: Option<&'a mut [u32]>,
        offsets: &'a mut [O],
        mut heads: &'a mut [u32],
    ) -> Vec<Job<'a, O>> {
        let start = match section {
            Section::Resident => 0,
            Section::Frame(i) => self.index.frames[i].blocks.start,
        };
        let end = match section {
            Section::Resident => 0,
            Section::Frame(i) => self.index.frames[i].range.end,
        };
        let mut jobs = Vec::with_capacity(blocks.len());
        let mut base = 0;
        let mut ends = match offsets {
            [first, ends @ ..] => {
                *first = O::default();
                ends
            }
            [] => return jobs,
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
            let (my_heads, rest) = heads.split_at_mut(block.arcs as usize);
            heads = rest;
            jobs.push(Job {
                number: number - start,
                block,
                into: RowsMut { numbers, ends: my_ends, heads: my_heads, base },
            });
            base += block.arcs;
        }
        jobs
    }

    /// Reads, checks and decodes one block.
    fn run<O: Offset>(&self, section: Section, job: Job<'_, O>) -> Result<()> {
        let Job { number, block, into } = job;
        let damaged = |found: String| damaged(&self.path, format!("{section}, block {number}: {found}"));
        let spare = lock(&self.slots).pop();
        let mut slot = match spare {
            Some(slot) => slot,
            None => Slot { decoder: Decoder::new()?, stored: Vec::new() },
        };
        slot.stored = resized(slot.stored, block.stored)?;
        self.store
            .read(&mut slot.stored, block.offset)
            .map_err(|error| damaged(format!("byte {} cannot be read ({error})", block.offset)))?;
        if xxh3_64(&slot.stored) != block.checksum {
            return Err(damaged(format!("the checksum of the {} bytes at {} is wrong", block.stored, block.offset)));
        }
        slot.decoder.decode(self.header.codec, &slot.stored, into).map_err(damaged)?;
        lock(&self.slots).push(slot);
        Ok(())
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
