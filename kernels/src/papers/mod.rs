//! The GPU methods of the papers beside `lstc`, each after its paper: what they share, and the counter that callers see.
//!
//! | method | module | partitions |
//! | --- | --- | --- |
//! | `polak` | [`polak`] | whole graphs only |
//! | `reverse-edge` | [`reverse_edge`] | yes |
//! | `skiff` | [`skiff`] | yes |
//! | `radix-binning` | [`radix_binning`] | whole graphs only |
//!
//! Enters: a partition as for `lstc`, its resident section in runs and then its row blocks. Leaves: [`Counted`]. All memory is of the
//! GPU's arena; [`Method::device_bytes`] says before anything is begun how much of it is needed. Copies and kernels take turns, as
//! in the papers: nothing is overlapped.

mod both_ways;
pub(crate) mod machine;
pub mod polak;
mod primitives;
mod program;
pub mod radix_binning;
pub mod reverse_edge;
mod rows;
pub mod skiff;
mod terms;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
pub(crate) mod tests;

use crate::arena::{ALIGNMENT, Layout};
use crate::error::{Error, Result};
use crate::lstc::sections::{ResidentSlices, RowBlockSlices, Size};
use crate::{Gpu, Source};
use machine::Machine;
use program::Lane;
pub use program::Program;
pub use terms::PaperTerms;

/// A method, and how it is to count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// A thread an edge, merging.
    Polak(polak::Options),
    /// A thread an edge, merging, on rows in falling degree.
    ReverseEdge(reverse_edge::Options),
    /// Hash tries.
    Skiff(skiff::Options),
    /// Candidate edges binned with the edges.
    RadixBinning(radix_binning::Options),
}

/// What was counted, and what it took. Seconds are by the device's clock.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Counted {
    /// Triangles whose lowest corner is local.
    pub triangles: u64,
    /// Seconds of copying to the device.
    pub copy_seconds: f64,
    /// Seconds of what the method makes on the device of its input: sorting, hashing.
    pub preprocess_seconds: f64,
    /// Seconds of counting.
    pub kernel_seconds: f64,
    /// Bytes copied to the device.
    pub copied_bytes: u64,
    /// The most bytes of the arena that were in use.
    pub peak_bytes: u64,
    /// Rounds of counting: batches of candidates, slices of rows whose tries are on the device together.
    pub rounds: u64,
}

impl Method {
    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Polak(_) => "polak",
            Self::ReverseEdge(_) => "reverse-edge",
            Self::Skiff(_) => "skiff",
            Self::RadixBinning(_) => "radix-binning",
        }
    }

    /// The source of its kernels.
    pub fn source(&self) -> &'static Source {
        match self {
            Self::Polak(_) => &crate::compile::POLAK,
            Self::ReverseEdge(_) => &crate::compile::REVERSE_EDGE,
            Self::Skiff(_) => &crate::compile::SKIFF,
            Self::RadixBinning(_) => &crate::compile::RADIX_BINNING,
        }
    }

    /// Whether it needs the whole graph: each vertex local, all rows resident.
    pub fn whole(&self) -> bool {
        matches!(self, Self::Polak(_) | Self::RadixBinning(_))
    }

    /// The bytes of device memory without which it does not begin. With more, some methods need fewer rounds.
    pub fn device_bytes(&self, size: &Size) -> u64 {
        match self {
            Self::Polak(options) => polak::device_bytes(options, size),
            Self::ReverseEdge(options) => reverse_edge::device_bytes(options, size),
            Self::Skiff(options) => skiff::device_bytes(options, size),
            Self::RadixBinning(options) => radix_binning::device_bytes(options, size),
        }
    }

    fn begin<M: Machine>(&self, machine: &mut M, size: Size) -> Result<Box<dyn Work<M>>> {
        size.check()?;
        if self.whole() && size.locals != u64::from(size.numbered) {
            return Err(Error::Whole { method: self.name(), bytes: self.device_bytes(&size) });
        }
        machine.layout().restart();
        Ok(match self {
            Self::Polak(options) => Box::new(polak::Polak::begin(machine, *options, size)?),
            Self::ReverseEdge(options) => Box::new(reverse_edge::ReverseEdge::begin(machine, *options, size)?),
            Self::Skiff(options) => Box::new(skiff::Skiff::begin(machine, *options, size)?),
            Self::RadixBinning(options) => Box::new(radix_binning::RadixBinning::begin(machine, *options, size)?),
        })
    }
}

/// A partition being counted by a method.
trait Work<M>: Send {
    /// A run of the resident section, which was checked.
    fn resident(&mut self, machine: &mut M, run: &ResidentSlices<'_>, so_far: &mut Counted) -> Result<()>;

    /// A row block, which was checked; the resident section is complete. Methods for whole graphs are not asked.
    fn row_block(&mut self, machine: &mut M, row_block: &RowBlockSlices<'_>, so_far: &mut Counted) -> Result<()> {
        let _ = (machine, row_block, so_far);
        Ok(())
    }

    /// All row blocks have passed. Methods for whole graphs count here.
    fn finish(&mut self, machine: &mut M, so_far: &mut Counted) -> Result<()> {
        let _ = (machine, so_far);
        Ok(())
    }
}

/// A partition being counted on a GPU.
pub struct PaperCounter<'g>(Counting<Lane<'g>>);

impl<'g> PaperCounter<'g> {
    /// Begins a partition; `program` has the method's kernels on this GPU.
    ///
    /// # Errors
    /// [`Error::Budget`] when the arena is smaller than [`Method::device_bytes`]; [`Error::Whole`]; [`Error::Shape`].
    pub fn begin(gpu: &'g mut Gpu, program: &'g Program, method: &Method, size: Size) -> Result<Self> {
        Counting::begin(program.on(gpu, method)?, method, size).map(Self)
    }

    /// Takes a run of the resident section. All runs come before the first row block, in their order.
    ///
    /// # Errors
    /// [`Error::Section`], or what the device fails with.
    pub fn resident(&mut self, run: &ResidentSlices<'_>) -> Result<()> {
        self.0.resident(run)
    }

    /// Counts the triangles whose middle corner the row block's range covers. Row blocks come in ascending order and leave no gap.
    ///
    /// # Errors
    /// [`Error::RowBlockTooLarge`], [`Error::Section`], [`Error::Budget`] (a row that the method cannot hold), or what the device
    /// fails with.
    pub fn row_block(&mut self, row_block: &RowBlockSlices<'_>) -> Result<()> {
        self.0.row_block(row_block)
    }

    /// Bytes of the arena in use so far.
    pub fn bytes(&self) -> u64 {
        self.0.so_far.peak_bytes
    }

    /// The result.
    ///
    /// # Errors
    /// [`Error::Section`] when runs or row blocks are missing, or what the device fails with.
    pub fn finish(self) -> Result<Counted> {
        self.0.finish()
    }
}

/// The same for any machine: checks what comes, and leaves the rest to the method.
struct Counting<M> {
    machine: M,
    work: Box<dyn Work<M>>,
    whole: bool,
    size: Size,
    locals: u64,
    arcs: u64,
    next: u32,
    so_far: Counted,
}

impl<M: Machine> Counting<M> {
    fn begin(mut machine: M, method: &Method, size: Size) -> Result<Self> {
        let work = method.begin(&mut machine, size)?;
        let peak_bytes = machine.layout().used();
        let so_far = Counted { peak_bytes, ..Counted::default() };
        Ok(Self { machine, work, whole: method.whole(), size, locals: 0, arcs: 0, next: 0, so_far })
    }

    fn resident(&mut self, run: &ResidentSlices<'_>) -> Result<()> {
        run.check(&self.size, self.locals, self.arcs)?;
        self.work.resident(&mut self.machine, run, &mut self.so_far)?;
        self.locals += run.offsets.len() as u64 - 1;
        self.arcs += run.successors.len() as u64;
        Ok(())
    }

    fn complete(&self) -> Result<()> {
        if (self.locals, self.arcs) == (self.size.locals, self.size.arcs) {
            return Ok(());
        }
        let (locals, arcs) = (self.size.locals, self.size.arcs);
        Err(Error::Section(format!("{} rows of {locals}, {} successors of {arcs} came", self.locals, self.arcs)))
    }

    fn row_block(&mut self, row_block: &RowBlockSlices<'_>) -> Result<()> {
        self.complete()?;
        row_block.check(self.next, self.size.numbered, self.size.locals as u32)?;
        self.next = row_block.range.end;
        let (bytes, limit) = (row_block.bytes(), self.size.row_block_limit);
        if bytes > limit {
            return Err(Error::RowBlockTooLarge { bytes, limit });
        }
        if !self.whole && !row_block.range.is_empty() && self.size.arcs > 0 {
            self.work.row_block(&mut self.machine, row_block, &mut self.so_far)?;
            self.so_far.peak_bytes = self.so_far.peak_bytes.max(self.machine.layout().used());
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Counted> {
        self.finish_in_place()
    }

    fn finish_in_place(&mut self) -> Result<Counted> {
        self.complete()?;
        if self.next != self.size.numbered {
            return Err(Error::Section(format!("row blocks end at {} of {} vertices", self.next, self.size.numbered)));
        }
        if self.size.arcs > 0 {
            self.work.finish(&mut self.machine, &mut self.so_far)?;
        }
        Ok(self.so_far)
    }
}

/// The bytes of an arena that `lay` takes pieces from.
fn bytes_of<T>(lay: impl FnOnce(&mut Layout) -> Result<T>) -> u64 {
    let mut layout = Layout::new(u64::MAX / 2 / ALIGNMENT * ALIGNMENT);
    // More than any device has: what overflows that is refused there.
    lay(&mut layout).map_or(u64::MAX, |_| layout.used())
}
