//! Where a partition's sections come from.

use crate::bytes::Bytes;
use crate::error::Result;
use crate::partition::section::{Frame, FrameSize, Resident, ResidentSize};
use crate::spill::SpillReader;

/// Delivers a partition's sections in their order.
pub trait PartitionSource: Send {
    /// The vertices of the numbering: locals and kept proxies together, or all of the graph.
    fn numbered(&self) -> u32;

    /// The number of frames, at least one.
    fn frames(&self) -> usize;

    /// The size of frame `i`.
    fn frame_size(&self, i: usize) -> FrameSize;

    /// Words of memory that reading frame `i` takes.
    fn frame_words(&self, i: usize) -> u64 {
        self.frame_size(i).words()
    }

    /// Bytes of the largest frame.
    fn largest_frame(&self) -> Bytes {
        (0..self.frames()).map(|i| self.frame_size(i).bytes()).max().unwrap_or_default()
    }

    /// The size of the resident section.
    fn resident_size(&self) -> ResidentSize;

    /// Reads the next run of the resident section: rows of about `limit` bytes, or all that are left. Returns whether there
    /// are more. Called first, and until there are no more.
    ///
    /// # Errors
    /// When it is damaged or cannot be read.
    fn read_resident(&mut self, limit: Option<Bytes>, into: &mut Resident) -> Result<bool>;

    /// Reads frame `i`; called in ascending order, once each.
    ///
    /// # Errors
    /// When it is damaged or cannot be read.
    fn read_frame(&mut self, i: usize, into: &mut Frame) -> Result<()>;
}

impl<S: PartitionSource + ?Sized> PartitionSource for Box<S> {
    fn numbered(&self) -> u32 {
        (**self).numbered()
    }

    fn frames(&self) -> usize {
        (**self).frames()
    }

    fn frame_size(&self, i: usize) -> FrameSize {
        (**self).frame_size(i)
    }

    fn frame_words(&self, i: usize) -> u64 {
        (**self).frame_words(i)
    }

    fn resident_size(&self) -> ResidentSize {
        (**self).resident_size()
    }

    fn read_resident(&mut self, limit: Option<Bytes>, into: &mut Resident) -> Result<bool> {
        (**self).read_resident(limit, into)
    }

    fn read_frame(&mut self, i: usize, into: &mut Frame) -> Result<()> {
        (**self).read_frame(i, into)
    }
}

/// A partition that was spilled.
pub struct Spilled {
    spill: SpillReader,
    /// The block of the resident section that is read next.
    next: usize,
}

impl Spilled {
    /// From the first block on.
    pub fn new(spill: SpillReader) -> Self {
        Self { spill, next: 0 }
    }
}

impl PartitionSource for Spilled {
    fn numbered(&self) -> u32 {
        self.spill.header().numbered
    }

    fn frames(&self) -> usize {
        self.spill.frames()
    }

    fn frame_size(&self, i: usize) -> FrameSize {
        let frame = self.spill.frame_info(i);
        FrameSize { range: frame.range.len() as u32, rows: u64::from(frame.rows), arcs: frame.arcs }
    }

    fn resident_size(&self) -> ResidentSize {
        ResidentSize { locals: u64::from(self.spill.header().locals), arcs: self.spill.resident_arcs() }
    }

    fn read_resident(&mut self, limit: Option<Bytes>, into: &mut Resident) -> Result<bool> {
        let all = self.spill.resident_blocks();
        // Blocks have about a MiB each.
        let many = limit.map_or(all, |limit| (limit.get() >> 20).max(1) as usize);
        let blocks = self.next..all.min(self.next.saturating_add(many));
        self.next = blocks.end;
        self.spill.read_resident_run(blocks, into)?;
        Ok(self.next < all)
    }

    fn read_frame(&mut self, i: usize, into: &mut Frame) -> Result<()> {
        self.spill.read_frame(i, into)
    }
}
