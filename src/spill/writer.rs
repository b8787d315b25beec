//! Writes a spill.
//!
//! Enters: the resident section in chunks, then the frames, both ascending. Leaves: one file under its final name, or
//! none: blocks go to a temporary file in the same directory, the header is written over the zeros at its start when all
//! else is there, and the file is renamed into place. Blocks are encoded in parallel, as many at a time as there are
//! threads, and written in order, so the bytes do not depend on the number of threads. Memory: up to 32 MiB of small
//! resident chunks that wait to be joined, and a block's planes and stored bytes a thread.
//!
//! Where many spills are written at the same time ([`SpillWriter::one_of_many`]), each holds no more than about a block:
//! sections come in pieces, and because their sizes are announced, the bytes are those that whole sections give.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

use super::block::{BLOCK_BYTES, Numbers, Offset, Rows, even, raw_bytes};
use super::codec::Codec;
use super::encoders::Encoders;
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
    /// Rows that wait to be encoded: of the resident section, or of the frame that is open.
    waiting: Resident,
    /// Raw bytes of waiting rows that are worth encoding.
    enough: u64,
    /// Where blocks of the resident section end, if its size was announced.
    resident_target: Option<u64>,
    open: Option<Open>,
    index: Index,
    last_number: Option<u32>,
    encoders: Encoders,
    /// Blocks that are encoded at a time.
    at_once: usize,
    durable: bool,
}

/// A frame that comes in pieces.
struct Open {
    range: Range<u32>,
    rows: u64,
    arcs: u64,
    /// Where its blocks end.
    target: u64,
    first_block: usize,
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
            enough: ENOUGH_BYTES,
            resident_target: None,
            open: None,
            index: Index::default(),
            last_number: None,
            encoders: Encoders::default(),
            at_once: rayon::current_num_threads().max(1),
            durable: false,
        })
    }

    /// Announces the arcs of the resident section: its blocks are then even over all of it, in whatever chunks it comes.
    #[must_use]
    pub fn resident_arcs(mut self, arcs: u64) -> Self {
        self.resident_target = Some(even(raw_bytes(true, self.header.locals.into(), arcs), BLOCK_BYTES));
        self
    }

    /// Makes this one of many that are written at the same time, with `threads` threads each: it holds and encodes as many blocks
    /// at a time, and takes encoders from those that all share.
    #[must_use]
    pub fn one_of_many(mut self, encoders: &Encoders, threads: usize) -> Self {
        (self.encoders, self.at_once) = (encoders.clone(), threads.max(1));
        self.enough = (self.at_once as u64 * BLOCK_BYTES).min(ENOUGH_BYTES);
        self
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
        self.resident_rows(&chunk.numbers, &chunk.offsets, &chunk.heads)
    }

    /// The same of rows in slices.
    ///
    /// # Errors
    /// As [`Self::resident`].
    ///
    /// # Panics
    /// As [`Self::resident`].
    pub fn resident_rows(&mut self, numbers: &[u32], offsets: &[u64], heads: &[u32]) -> Result<()> {
        assert!(self.index.frames.is_empty(), "the resident section comes before the frames");
        let Some((&first, &last)) = numbers.first().zip(numbers.last()) else { return Ok(()) };
        assert!(self.last_number.is_none_or(|before| before < first), "resident chunks ascend");
        assert!(last < self.header.numbered, "resident numbers are below the number of vertices");
        self.last_number = Some(last);
        self.append(numbers, offsets, heads)
    }

    /// Adds the next frame. The frames' ranges tile `0..numbered`.
    ///
    /// # Errors
    /// When the disk does not take it.
    ///
    /// # Panics
    /// When a range does not begin where the last one ended, or the rows are not what [`Frame`] promises.
    pub fn frame(&mut self, frame: &Frame) -> Result<()> {
        let view = frame.view();
        self.begin_frame(frame.range.clone(), view.offsets.len() as u64 - 1, view.heads.len() as u64)?;
        if let Some(open) = &self.open {
            let rows = Rows { numbers: Numbers::Below(open.range.end), offsets: view.offsets, heads: view.heads };
            let blocks = rows.cut_at(open.target);
            self.write(&rows, &blocks)?;
        }
        self.close_frame();
        Ok(())
    }

    /// Begins the next frame, whose rows follow in pieces: so many rows with so many arcs.
    ///
    /// # Errors
    /// When the disk does not take what comes before it.
    ///
    /// # Panics
    /// When the range does not begin where the last one ended, or the last frame was not ended.
    pub fn begin_frame(&mut self, range: Range<u32>, rows: u64, arcs: u64) -> Result<()> {
        assert!(self.open.is_none(), "a frame ends before the next one begins");
        let next = self.index.frames.last().map_or(0, |before| before.range.end);
        assert_eq!(range.start, next, "a frame begins where the one before it ended");
        assert!(range.end >= next && range.end <= self.header.numbered, "frames stay in the numbering");
        if self.index.frames.is_empty() {
            self.write_waiting(true)?;
            self.waiting = Resident::default();
        }
        let target = even(raw_bytes(false, rows, arcs), BLOCK_BYTES);
        self.open = Some(Open { range, rows, arcs, target, first_block: self.index.blocks.len() });
        Ok(())
    }

    /// Adds rows to the frame that was begun; offsets begin at 0 in each piece.
    ///
    /// # Errors
    /// When the disk does not take them.
    ///
    /// # Panics
    /// When no frame was begun.
    pub fn frame_rows(&mut self, offsets: &[u64], heads: &[u32]) -> Result<()> {
        assert!(self.open.is_some(), "a frame begins before its rows");
        self.append(&[], offsets, heads)
    }

    /// Ends the frame that was begun.
    ///
    /// # Errors
    /// When the disk does not take it.
    ///
    /// # Panics
    /// When its rows were not as announced.
    pub fn end_frame(&mut self) -> Result<()> {
        self.write_waiting(true)?;
        self.close_frame();
        Ok(())
    }

    fn close_frame(&mut self) {
        let Some(Open { range, rows, arcs, first_block, .. }) = self.open.take() else { return };
        let blocks = first_block..self.index.blocks.len();
        assert_eq!(self.index.sum(blocks.clone()), (rows, arcs), "the rows of a frame are as announced");
        self.index.frames.push(FrameInfo { range, rows: rows as u32, arcs, blocks });
    }

    /// Completes the file and gives it its name, replacing a file of that name.
    ///
    /// # Errors
    /// When the disk does not take it.
    ///
    /// # Panics
    /// When what was written is not the partition that the header announced: the locals, or the frames' ranges.
    pub fn finish(mut self) -> Result<SpillSummary> {
        assert!(self.open.is_none(), "the last frame was ended");
        if self.index.frames.is_empty() {
            self.write_waiting(true)?;
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

    /// Lets rows wait until they are enough.
    fn append(&mut self, numbers: &[u32], offsets: &[u64], heads: &[u32]) -> Result<()> {
        let Resident { numbers: all_numbers, offsets: all_offsets, heads: all_heads, .. } = &mut self.waiting;
        if all_offsets.is_empty() {
            all_offsets.push(0);
        }
        let base = all_heads.len() as u64;
        assert!(
            offsets.first() == Some(&0) && offsets.last() == Some(&(heads.len() as u64)),
            "offsets begin at 0 and end with the heads"
        );
        all_numbers.extend(numbers);
        all_offsets.extend(offsets[1..].iter().map(|offset| base + offset));
        all_heads.extend_from_slice(heads);
        let raw = raw_bytes(self.open.is_none(), all_offsets.len() as u64 - 1, all_heads.len() as u64);
        if raw > self.enough { self.write_waiting(false) } else { Ok(()) }
    }

    /// Writes the blocks of the rows that wait; the last one of them only if no more rows of their section come.
    fn write_waiting(&mut self, last: bool) -> Result<()> {
        let mut waiting = std::mem::take(&mut self.waiting);
        let numbers = match &self.open {
            None => Numbers::Each(&waiting.numbers[..]),
            Some(open) => Numbers::Below(open.range.end),
        };
        let rows = Rows { numbers, offsets: &waiting.offsets[..], heads: &waiting.heads[..] };
        let announced = self.open.as_ref().map(|open| open.target).or(self.resident_target);
        let raw = || raw_bytes(self.open.is_none(), rows.rows() as u64, rows.heads.len() as u64);
        let mut blocks = rows.cut_at(announced.unwrap_or_else(|| even(raw(), BLOCK_BYTES)));
        if !last && announced.is_some() {
            blocks.pop();
        }
        self.write(&rows, &blocks)?;
        if self.open.is_none() {
            self.index.resident_blocks = self.index.blocks.len();
        }
        waiting.drop_first(blocks.last().map_or(0, |block| block.end));
        self.waiting = waiting;
        Ok(())
    }

    /// Encodes blocks of rows and writes them.
    fn write<O: Offset>(&mut self, rows: &Rows<'_, O>, blocks: &[Range<usize>]) -> Result<()> {
        for batch in blocks.chunks(self.at_once) {
            let parts: Vec<_> = batch.iter().map(|block| rows.part(block.clone())).collect();
            let Self { encoders, codec, out, path, index, end, .. } = self;
            encoders.encode(*codec, &parts, |i, slot| {
                out.write(&slot.stored).map_err(|error| Error::write(&*path, error))?;
                index.blocks.push(Block {
                    offset: *end,
                    stored: slot.stored.len() as u64,
                    arcs: parts[i].heads.len() as u64,
                    checksum: slot.checksum,
                    rows: parts[i].rows() as u32,
                });
                *end += slot.stored.len() as u64;
                Ok(())
            })?;
        }
        Ok(())
    }
}
