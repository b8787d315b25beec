//! Where a partition's sections come from.

use std::ops::Range;

use crate::bytes::Bytes;
use crate::error::Result;
use crate::graph::OrientedGraph;
use crate::mapped::zeros;
use crate::partition::section::{Frame, FrameSize, FrameView, Resident, ResidentSize};
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

/// A partition that is the whole graph: nothing to spill, one frame without rows. Rows are read from the graph's file, in
/// its order, when they are asked for.
pub struct Whole<'g> {
    graph: &'g OrientedGraph,
    /// The rank whose row is read next.
    next: u32,
}

impl<'g> Whole<'g> {
    /// All of `graph`.
    pub fn new(graph: &'g OrientedGraph) -> Self {
        Self { graph, next: 0 }
    }
}

impl PartitionSource<'_> for Whole<'_> {
    fn numbered(&self) -> u32 {
        self.graph.vertices()
    }

    fn frames(&self) -> usize {
        1
    }

    fn frame_size(&self, _: usize) -> FrameSize {
        FrameSize { range: self.numbered(), rows: 0, arcs: 0 }
    }

    fn resident_size(&self) -> ResidentSize {
        ResidentSize { locals: u64::from(self.graph.vertices()), arcs: self.graph.edges() }
    }

    fn read_resident(&mut self, limit: Option<Bytes>, into: &mut Resident) -> Result<bool> {
        let rest = self.next..self.graph.vertices();
        self.next += read_run(self.graph, rest, limit, into)?;
        let more = self.next < self.graph.vertices();
        if !more {
            // Nobody reads the graph's file any more.
            self.graph.release();
        }
        Ok(more)
    }

    fn read_frame(&mut self, _: usize, into: &mut Frame) -> Result<()> {
        into.reset(0..self.numbered(), 0, 0)?.0.fill(0);
        Ok(())
    }
}

/// Reads the rows of the first of `ranks` from the graph's file: about `limit` bytes, or one longer row; all without a limit. Returns
/// how many. Runs in the current thread pool.
///
/// # Errors
/// A file that cannot be read ([`crate::error::Kind::Data`]).
pub fn read_run(graph: &OrientedGraph, ranks: Range<u32>, limit: Option<Bytes>, into: &mut Resident) -> Result<u32> {
    let most = limit.map_or(u64::MAX, |limit| (limit.get() / 4).max(1));
    let begins = &graph.offsets()[ranks.start as usize..=ranks.end as usize];
    // No more rows than that, either: their places count, too.
    let rows = begins[1..].partition_point(|&end| end - begins[0] <= most).max(1).min(ranks.len());
    let rows = rows.min(usize::try_from(most).unwrap_or(usize::MAX));
    let ranks = ranks.start..ranks.start + rows as u32;
    let Resident { numbers, offsets, heads } = into;
    numbers.clear();
    numbers.extend(ranks.clone());
    offsets.clear();
    offsets.reserve_exact(rows + 1);
    offsets.extend(begins[..=rows].iter().map(|begin| begin - begins[0]));
    let arcs = offsets[rows] as usize;
    if heads.capacity() < arcs {
        // Fresh zeroed pages: they are touched first, in parallel, by those who fill them.
        *heads = Vec::new();
        *heads = zeros(arcs);
    }
    graph.read_rows(&ranks, heads)?;
    graph.relieve();
    Ok(rows as u32)
}
