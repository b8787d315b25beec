//! Where a partition's sections come from.

use crate::bytes::Bytes;
use crate::error::Result;
use crate::partition::prune::Pruned;
use crate::partition::section::{Frame, FrameSize, FrameView, Resident, ResidentSize};
use crate::partition::sections::Sections;
use crate::spill::SpillReader;

/// Delivers a partition's sections in their order. Frames that lie in memory as they are live for `'f`.
pub trait PartitionSource<'f>: Send {
    /// The vertices of the numbering: locals and kept proxies together, or all of the graph.
    fn numbered(&self) -> u32;

    /// The number of frames, at least one.
    fn frames(&self) -> usize;

    /// The size of frame `i`.
    fn frame_size(&self, i: usize) -> FrameSize;

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

    /// Frame `i` where it lies, if it can be lent: then it need not be read.
    fn lent(&self, _i: usize) -> Option<FrameView<'f>> {
        None
    }

    /// Reads frame `i`; called in ascending order, once each, for those that are not [lent](Self::lent).
    ///
    /// # Errors
    /// When it is damaged or cannot be read.
    fn read_frame(&mut self, i: usize, into: &mut Frame) -> Result<()>;
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

impl PartitionSource<'_> for Spilled {
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

/// A partition that is the whole graph: nothing to spill, one frame without rows. Rows are gathered when they are asked for.
pub struct Whole<'p, 'g> {
    sections: Sections<'p, 'g>,
    /// The local whose row is read next.
    next: usize,
}

impl<'p, 'g> Whole<'p, 'g> {
    /// Of `pruned`, whose vertices are all local. Lists them in the current thread pool.
    pub fn new(pruned: &'p Pruned<'g>) -> Self {
        Self { sections: Sections::new(pruned), next: 0 }
    }
}

impl PartitionSource<'_> for Whole<'_, '_> {
    fn numbered(&self) -> u32 {
        self.sections.numbered()
    }

    fn frames(&self) -> usize {
        1
    }

    fn frame_size(&self, _: usize) -> FrameSize {
        FrameSize { range: self.numbered(), rows: 0, arcs: 0 }
    }

    fn resident_size(&self) -> ResidentSize {
        self.sections.resident_size()
    }

    fn read_resident(&mut self, limit: Option<Bytes>, into: &mut Resident) -> Result<bool> {
        let most = limit.map_or(u64::MAX, |limit| (limit.get() / 4).max(1));
        self.next += self.sections.resident_run(self.next, most, into);
        let more = self.next < self.numbered() as usize;
        if !more {
            // Nobody reads the graph's file any more.
            self.sections.graph().release();
        }
        Ok(more)
    }

    fn read_frame(&mut self, _: usize, into: &mut Frame) -> Result<()> {
        into.reset(0..self.numbered(), 0, 0)?.0.fill(0);
        Ok(())
    }
}
