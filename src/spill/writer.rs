//! Writes a spill.
//!
//! Enters: the resident section in chunks, then the frames, both ascending. Leaves: one file under its final name, or
//! none: blocks go to a temporary file in the same directory, the header is written over the zeros at its start when all
//! else is there, and the file is renamed into place. Blocks are encoded in parallel, as many at a time as there are
//! threads, and written in order, so the bytes do not depend on the number of threads. Memory: up to 32 MiB of small
//! resident chunks that wait to be joined, and a block's planes and stored bytes a thread.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;
use xxhash_rust::xxh3::xxh3_64;

use super::block::{BLOCK_BYTES, Numbers, Offset, Rows, raw_bytes};
use super::codec::{Codec, Encoder};
use super::format::{HEADER_BYTES, Header, PartitionHeader, checksum};
use super::index::{Block, FrameInfo, Index};
use super::store::{Pieces, Sink};
use crate::error::{Error, Result};
use crate::partition::section::{Frame, Resident};

/// Resident chunks wait until together they have so many raw bytes: enough blocks for many threads.
const ENOUGH_BYTES: u64 = 32 * BLOCK_BYTES;

/// A spill being written. Dropped without [`SpillWriter::finish`], it leaves nothing behind.
pub struct SpillWriter {
    path: PathBuf,
    out: Sink,
    end: u64,
    codec: Codec,
    header: PartitionHeader,
    waiting: Resident,
    index: Index,
    last_number: Option<u32>,
    slots: Vec<Slot>,
    durable: bool,
}

/// What a thread encodes with, and what it made.
struct Slot {
    encoder: Encoder,
    stored: Vec<u8>,
}

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpillSummary {
    /// The file; for a spill in memory the name that it would have.
    pub path: PathBuf,
    /// The bytes of a spill in memory.
    pub memory: Option<Arc<Pieces>>,
    /// Its length.
    pub bytes: u64,
    /// The header's checksum, which through the index's vouches for every byte of the file.
    pub checksum: u64,
    /// The header.
    pub header: PartitionHeader,
    /// Arcs of the resident section.
    pub resident_arcs: u64,
    /// Arcs of all frames.
    pub frame_arcs: u64,
    /// The number of frames.
    pub frames: u32,
    /// Bytes of the largest frame once decoded, see [`FrameInfo::decoded_bytes`].
    pub largest_frame_bytes: u64,
    /// Bytes of all rows before coding: 4 for each local's number, each row's length and each head.
    pub raw_bytes: u64,
}

impl SpillWriter {
    /// Begins the spill `dir/name`.
    ///
    /// # Errors
    /// When the directory does not take a file, or its space is used up.
    pub fn create(dir: &Path, name: &str, header: PartitionHeader, codec: Codec) -> Result<Self> {
        let path = dir.join(name);
        let out = Sink::beside(&path, dir, name)?;
        Self::begin(path, out, header, codec)
    }

    /// Begins a spill in memory; `name` stands in messages.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn in_memory(name: &str, header: PartitionHeader, codec: Codec) -> Result<Self> {
        Self::begin(PathBuf::from(name), Sink::Memory(Pieces::default()), header, codec)
    }

    fn begin(path: PathBuf, mut out: Sink, header: PartitionHeader, codec: Codec) -> Result<Self> {
        out.write(&[0; HEADER_BYTES]).map_err(|error| Error::write(&path, error))?;
        Ok(Self {
            path,
            out,
            end: HEADER_BYTES as u64,
            codec,
            header,
            waiting: Resident::default(),
            index: Index::default(),
            last_number: None,
            slots: Vec::new(),
            durable: false,
        })
    }

    /// Asks [`SpillWriter::finish`] to wait until the disk has the file, for spills that are to outlive the job.
    #[must_use]
    pub fn durable(mut self) -> Self {
        self.durable = true;
        self
    }

    /// Adds rows of local vertices, in ascending order of numbers. Offsets begin at 0 in each chunk.
    ///
    /// # Errors
    /// When the disk does not take them.
    ///
    /// # Panics
    /// After the first frame, or when the rows are not what [`Resident`] promises.
    pub fn resident(&mut self, chunk: &Resident) -> Result<()> {
        assert!(self.index.frames.is_empty(), "the resident section comes before the frames");
        let Some((&first, &last)) = chunk.numbers.first().zip(chunk.numbers.last()) else { return Ok(()) };
        assert!(self.last_number.is_none_or(|before| before < first), "resident chunks ascend");
        assert!(last < self.header.numbered, "resident numbers are below the number of vertices");
        self.last_number = Some(last);
        let raw = |rows: &Resident| raw_bytes(true, rows.numbers.len() as u64, rows.heads.len() as u64);
        if raw(chunk) >= ENOUGH_BYTES {
            self.write_waiting()?;
            return self.write_resident(chunk);
        }
        if self.waiting.offsets.is_empty() {
            self.waiting.offsets.push(0);
        }
        let base = self.waiting.heads.len() as u64;
        self.waiting.numbers.extend(&chunk.numbers);
        self.waiting.offsets.extend(chunk.offsets[1..].iter().map(|offset| base + offset));
        self.waiting.heads.extend(&chunk.heads);
        if raw(&self.waiting) >= ENOUGH_BYTES { self.write_waiting() } else { Ok(()) }
    }

    /// Adds the next frame. The frames' ranges tile `0..numbered`.
    ///
    /// # Errors
    /// When the disk does not take it.
    ///
    /// # Panics
    /// When a range does not begin where the last one ended, or the rows are not what [`Frame`] promises.
    pub fn frame(&mut self, frame: &Frame) -> Result<()> {
        let next = self.index.frames.last().map_or(0, |before| before.range.end);
        assert_eq!(frame.range.start, next, "a frame begins where the one before it ended");
        assert!(frame.range.end >= next && frame.range.end <= self.header.numbered, "frames stay in the numbering");
        if self.index.frames.is_empty() {
            self.write_waiting()?;
            self.waiting = Resident::default();
        }
        let view = frame.view();
        let rows = Rows { numbers: Numbers::Below(frame.range.end), offsets: view.offsets, heads: view.heads };
        let start = self.index.blocks.len();
        self.write(&rows)?;
        self.index.frames.push(FrameInfo {
            range: frame.range.clone(),
            rows: rows.rows() as u32,
            arcs: view.heads.len() as u64,
            blocks: start..self.index.blocks.len(),
        });
        Ok(())
    }

    /// Completes the file and gives it its name, replacing a file of that name.
    ///
    /// # Errors
    /// When the disk does not take it.
    ///
    /// # Panics
    /// When what was written is not the partition that the header announced: the locals, or the frames' ranges.
    pub fn finish(mut self) -> Result<SpillSummary> {
        if self.index.frames.is_empty() {
            self.write_waiting()?;
        }
        let failed = |error| Error::write(&self.path, error);
        let Index { resident_blocks, frames, blocks } = &self.index;
        let (rows, resident_arcs) = self.index.sum(0..*resident_blocks);
        let proxies: u64 = frames.iter().map(|frame| u64::from(frame.rows)).sum();
        assert_eq!(rows, u64::from(self.header.locals), "the resident section holds all locals");
        assert_eq!(rows + proxies, u64::from(self.header.numbered), "the frames hold all kept proxies");
        assert!(frames.last().is_none_or(|last| last.range.end == self.header.numbered), "frames cover the numbering");
        let raw_bytes = blocks.iter().enumerate().map(|(i, b)| raw_bytes(i < *resident_blocks, b.rows.into(), b.arcs));
        let index = self.index.to_bytes();
        let header = Header {
            codec: self.codec,
            partition: self.header.clone(),
            frames: frames.len() as u32,
            resident_arcs,
            frame_arcs: frames.iter().map(|frame| frame.arcs).sum(),
            raw_bytes: raw_bytes.sum(),
            index_offset: self.end,
            index_bytes: index.len() as u64,
            index_checksum: xxh3_64(&index),
        };
        self.out.write(&index).map_err(failed)?;
        let bytes = header.to_bytes();
        let memory = self.out.finish(&bytes, &self.path, self.durable)?;
        Ok(SpillSummary {
            bytes: self.end + index.len() as u64,
            checksum: checksum(&bytes),
            resident_arcs,
            frame_arcs: header.frame_arcs,
            frames: header.frames,
            largest_frame_bytes: frames.iter().map(FrameInfo::decoded_bytes).max().unwrap_or(0),
            raw_bytes: header.raw_bytes,
            header: self.header,
            path: self.path,
            memory,
        })
    }

    /// Writes the resident rows that wait.
    fn write_waiting(&mut self) -> Result<()> {
        let mut rows = std::mem::take(&mut self.waiting);
        let written = self.write_resident(&rows);
        rows.numbers.clear();
        rows.offsets.clear();
        rows.heads.clear();
        self.waiting = rows;
        written
    }

    fn write_resident(&mut self, chunk: &Resident) -> Result<()> {
        let numbers = Numbers::Each(&chunk.numbers[..]);
        self.write(&Rows { numbers, offsets: &chunk.offsets[..], heads: &chunk.heads[..] })?;
        self.index.resident_blocks = self.index.blocks.len();
        Ok(())
    }

    /// Encodes rows and writes their blocks.
    fn write<O: Offset>(&mut self, rows: &Rows<'_, O>) -> Result<()> {
        let (first, last) = (rows.offsets.first().map_or(0, |o| o.get()), rows.offsets.last().map_or(0, |o| o.get()));
        assert!(first == 0 && last == rows.heads.len() as u64, "offsets begin at 0 and end with the heads");
        let blocks = rows.cut();
        let threads = rayon::current_num_threads().max(1);
        while self.slots.len() < threads.min(blocks.len()) {
            self.slots.push(Slot { encoder: Encoder::new()?, stored: Vec::new() });
        }
        for batch in blocks.chunks(threads) {
            let codec = self.codec;
            let slots = &mut self.slots[..batch.len()];
            let checksums = slots
                .par_iter_mut()
                .zip(batch)
                .map(|(Slot { encoder, stored }, block)| {
                    encoder.encode(codec, &rows.part(block.clone()), stored)?;
                    Ok(xxh3_64(stored))
                })
                .collect::<Result<Vec<_>>>()?;
            for ((slot, checksum), block) in self.slots.iter().zip(checksums).zip(batch) {
                self.out.write(&slot.stored).map_err(|error| Error::write(&self.path, error))?;
                let offsets = &rows.offsets;
                self.index.blocks.push(Block {
                    offset: self.end,
                    stored: slot.stored.len() as u64,
                    arcs: offsets[block.end].get() - offsets[block.start].get(),
                    checksum,
                    rows: block.len() as u32,
                });
                self.end += slot.stored.len() as u64;
            }
        }
        Ok(())
    }
}
