//! Where a partition's sections come from.

use crate::bytes::Bytes;
use crate::control::Control;
use crate::error::Result;
use crate::partition::prune::Pruned;
use crate::partition::section::{Frame, FrameSize, FrameView, Resident};
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

    /// Reads the resident section. Called once, first.
    ///
    /// # Errors
    /// When it is damaged or cannot be read.
    fn read_resident(&mut self, into: &mut Resident) -> Result<()>;

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

impl PartitionSource<'_> for SpillReader {
    fn numbered(&self) -> u32 {
        self.header().numbered
    }

    fn frames(&self) -> usize {
        Self::frames(self)
    }

    fn frame_size(&self, i: usize) -> FrameSize {
        let frame = self.frame_info(i);
        FrameSize { range: frame.range.len() as u32, rows: u64::from(frame.rows), arcs: frame.arcs }
    }

    fn read_resident(&mut self, into: &mut Resident) -> Result<()> {
        Self::read_resident(self, into)
    }

    fn read_frame(&mut self, i: usize, into: &mut Frame) -> Result<()> {
        Self::read_frame(self, i, into)
    }
}

/// A partition that is the whole graph: nothing to spill, one frame without rows.
pub struct Whole {
    resident: Resident,
    numbered: u32,
}

impl Whole {
    /// Takes the rows of `pruned`, whose vertices are all local.
    ///
    /// # Errors
    /// When stopped.
    pub fn new(pruned: &Pruned<'_>, control: &Control) -> Result<Self> {
        let graph = pruned.graph;
        let mut resident = Resident {
            numbers: Vec::with_capacity(graph.vertices() as usize),
            offsets: Vec::with_capacity(graph.vertices() as usize + 1),
            heads: Vec::with_capacity(graph.edges() as usize),
        };
        resident.offsets.push(0);
        let sections = Sections::new(pruned);
        sections.resident(control, |chunk| {
            let base = resident.heads.len() as u64;
            resident.numbers.extend_from_slice(&chunk.numbers);
            resident.offsets.extend(chunk.offsets[1..].iter().map(|offset| offset + base));
            resident.heads.extend_from_slice(&chunk.heads);
            Ok(())
        })?;
        Ok(Self { resident, numbered: sections.numbered() })
    }
}

impl PartitionSource<'_> for Whole {
    fn numbered(&self) -> u32 {
        self.numbered
    }

    fn frames(&self) -> usize {
        1
    }

    fn frame_size(&self, _: usize) -> FrameSize {
        FrameSize { range: self.numbered, rows: 0, arcs: 0 }
    }

    fn read_resident(&mut self, into: &mut Resident) -> Result<()> {
        *into = std::mem::take(&mut self.resident);
        Ok(())
    }

    fn read_frame(&mut self, _: usize, into: &mut Frame) -> Result<()> {
        *into = Frame { range: 0..self.numbered, offsets: vec![0], heads: Vec::new() };
        Ok(())
    }
}
