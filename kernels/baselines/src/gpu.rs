//! The GPU methods: what they share, and their implementation of the traits of `trimill-kernels`.
//!
//! Input: a partition as for `lstc`, its resident section in runs and then its row blocks. Output: [`Counted`]. All memory is from the
//! GPU's arena. Copies and kernels alternate and do not overlap, as in the papers.

mod both_ways;
pub(crate) mod machine;
pub mod polak;
pub(crate) mod primitives;
pub mod radix_binning;
pub mod reverse_edge;
mod rows;
pub mod skiff;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests;

use trimill_kernels::engine::Engine;
use trimill_kernels::{
    ALIGNMENT, ArenaLayout, Counted, Counter, Error, Footprint, Gpu, Method, ResidentSlices, Result, RowBlockSlices,
    Run, Scope, Share, Size, Source,
};

use crate::sources::{POLAK, RADIX_BINNING, REVERSE_EDGE, SKIFF};
use machine::Machine;

/// A method with its options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GpuMethod {
    /// One thread per edge merges two lists.
    Polak(polak::Options),
    /// One thread per edge merges two rows; vertices are in falling degree order.
    ReverseEdge(reverse_edge::Options),
    /// Hash tries.
    Skiff(skiff::Options),
    /// Bins candidate edges together with the edges.
    RadixBinning(radix_binning::Options),
}

/// The methods that are compared, each variant by its name.
pub fn gpu_methods() -> Vec<(&'static str, GpuMethod)> {
    use polak::Preprocess;
    use reverse_edge::STREAMS;
    use skiff::Organisation;
    let polak = |preprocess| GpuMethod::Polak(polak::Options { preprocess, ..polak::Options::default() });
    let queues =
        |streams| GpuMethod::ReverseEdge(reverse_edge::Options { streams, ..reverse_edge::Options::default() });
    let skiff = |organisation| GpuMethod::Skiff(skiff::Options { organisation, ..skiff::Options::default() });
    vec![
        ("polak", polak(Preprocess::Auto)),
        ("polak:cpu", polak(Preprocess::Cpu)),
        ("reverse-edge", queues(1)),
        ("reverse-edge:streams", queues(STREAMS)),
        ("skiff", skiff(Organisation::WarpIndex)),
        ("skiff:block-degree", skiff(Organisation::BlockDegree)),
        ("skiff:block-index", skiff(Organisation::BlockIndex)),
        ("radix-binning", GpuMethod::RadixBinning(radix_binning::Options::default())),
    ]
}

impl GpuMethod {
    /// The name of the method, whatever its options.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Polak(_) => "polak",
            Self::ReverseEdge(_) => "reverse-edge",
            Self::Skiff(_) => "skiff",
            Self::RadixBinning(_) => "radix-binning",
        }
    }

    /// What it can count.
    pub fn scope(&self) -> Scope {
        match self {
            Self::Polak(_) => Scope::SharesOfGraphs,
            Self::RadixBinning(_) => Scope::WholeGraphs,
            Self::ReverseEdge(_) | Self::Skiff(_) => Scope::Partitions,
        }
    }

    /// The device bytes that it takes; options that are not set are taken as for a device with enough memory.
    pub fn footprint(&self) -> Footprint {
        match self {
            Self::Polak(options) => polak::footprint(options),
            Self::ReverseEdge(_) => reverse_edge::FOOTPRINT,
            Self::Skiff(_) => skiff::FOOTPRINT,
            Self::RadixBinning(_) => radix_binning::FOOTPRINT,
        }
    }

    /// The same with blocks of `block_threads`, for methods with that option.
    pub fn with_block_threads(self, block_threads: u32) -> Self {
        match self {
            Self::Polak(options) => Self::Polak(polak::Options { block_threads, ..options }),
            Self::ReverseEdge(options) => Self::ReverseEdge(reverse_edge::Options { block_threads, ..options }),
            Self::Skiff(options) => Self::Skiff(skiff::Options { block_threads, ..options }),
            Self::RadixBinning(_) => self,
        }
    }

    fn source(&self) -> &'static Source {
        match self {
            Self::Polak(_) => &POLAK,
            Self::ReverseEdge(_) => &REVERSE_EDGE,
            Self::Skiff(_) => &SKIFF,
            Self::RadixBinning(_) => &RADIX_BINNING,
        }
    }

    /// The least device bytes with which it begins: no more than its footprint.
    fn least_bytes(&self, size: &Size) -> u64 {
        match self {
            Self::Polak(options) => polak::device_bytes(options, size),
            Self::ReverseEdge(_) => reverse_edge::device_bytes(size),
            Self::Skiff(options) => skiff::device_bytes(options, size),
            Self::RadixBinning(options) => radix_binning::device_bytes(options, size),
        }
    }

    fn work<E: Engine>(&self, machine: &mut Machine<'_, E>, size: Size, share: Share) -> Result<Box<dyn Work<E>>> {
        size.check()?;
        if self.scope() != Scope::Partitions && size.locals != u64::from(size.numbered) {
            return Err(Error::Whole { method: self.name(), bytes: self.least_bytes(&size) });
        }
        if self.scope() != Scope::SharesOfGraphs && share != Share::ALL {
            return Err(Error::Shape(format!("method {} does not count a share of the edges", self.name())));
        }
        machine.engine.layout().restart();
        Ok(match self {
            Self::Polak(options) => Box::new(polak::Polak::begin(machine, *options, size, share)?),
            Self::ReverseEdge(options) => Box::new(reverse_edge::ReverseEdge::begin(machine, *options, size)?),
            Self::Skiff(options) => Box::new(skiff::Skiff::begin(machine, *options, size)?),
            Self::RadixBinning(options) => Box::new(radix_binning::RadixBinning::begin(machine, *options, size)?),
        })
    }
}

impl<R: Run> Method<R> for GpuMethod {
    fn name(&self) -> &'static str {
        self.name()
    }

    fn scope(&self) -> Scope {
        self.scope()
    }

    fn footprint(&self) -> Footprint {
        self.footprint()
    }

    fn begin<'g>(&self, gpu: &'g mut Gpu, size: Size, share: Share) -> Result<Box<dyn Counter<R> + 'g>> {
        Ok(Box::new(Counting::begin(gpu, self, size, share)?))
    }
}

/// The part of a counter that is specific to a method.
trait Work<E: Engine>: Send {
    /// Takes a run of the resident section, which is checked already.
    fn resident(&mut self, machine: &mut Machine<'_, E>, run: &ResidentSlices<'_>, so_far: &mut Counted) -> Result<()>;

    /// Counts a row block, which is checked already; the resident section is complete. Not called for methods for whole graphs.
    fn row_block(
        &mut self,
        machine: &mut Machine<'_, E>,
        row_block: &RowBlockSlices<'_>,
        so_far: &mut Counted,
    ) -> Result<()> {
        let _ = (machine, row_block, so_far);
        Ok(())
    }

    /// Called after the last row block. Methods for whole graphs count here.
    fn finish(&mut self, machine: &mut Machine<'_, E>, so_far: &mut Counted) -> Result<()> {
        let _ = (machine, so_far);
        Ok(())
    }
}

/// A partition being counted: checks the input and calls the method.
struct Counting<'e, E: Engine> {
    machine: Machine<'e, E>,
    work: Box<dyn Work<E>>,
    partitions: bool,
    size: Size,
    locals: u64,
    arcs: u64,
    next: u32,
    so_far: Counted,
}

impl<'e, E: Engine> Counting<'e, E> {
    fn begin(engine: &'e mut E, method: &GpuMethod, size: Size, share: Share) -> Result<Self> {
        let mut machine = Machine::new(engine, method.source())?;
        let work = method.work(&mut machine, size, share)?;
        let peak_bytes = machine.engine.layout().used();
        let so_far = Counted { peak_bytes, ..Counted::default() };
        let partitions = method.scope() == Scope::Partitions;
        Ok(Self { machine, work, partitions, size, locals: 0, arcs: 0, next: 0, so_far })
    }

    fn complete(&self) -> Result<()> {
        if (self.locals, self.arcs) == (self.size.locals, self.size.arcs) {
            return Ok(());
        }
        let (locals, arcs) = (self.size.locals, self.size.arcs);
        Err(Error::Section(format!("{} rows of {locals}, {} successors of {arcs} came", self.locals, self.arcs)))
    }

    fn end(&mut self) -> Result<Counted> {
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

impl<R: Run, E: Engine + Send> Counter<R> for Counting<'_, E> {
    fn resident(&mut self, run: R) -> Result<Option<R>> {
        let slices = run.slices();
        slices.check(&self.size, self.locals, self.arcs)?;
        self.work.resident(&mut self.machine, &slices, &mut self.so_far)?;
        self.locals += slices.offsets.len() as u64 - 1;
        self.arcs += slices.successors.len() as u64;
        Ok(Some(run))
    }

    fn row_block(&mut self, row_block: &RowBlockSlices<'_>) -> Result<()> {
        self.complete()?;
        row_block.check(self.next, self.size.numbered, self.size.locals as u32)?;
        self.next = row_block.range.end;
        let (bytes, limit) = (row_block.bytes(), self.size.row_block_limit);
        if bytes > limit {
            return Err(Error::RowBlockTooLarge { bytes, limit });
        }
        if self.partitions && !row_block.range.is_empty() && self.size.arcs > 0 {
            self.work.row_block(&mut self.machine, row_block, &mut self.so_far)?;
            self.so_far.peak_bytes = self.so_far.peak_bytes.max(self.machine.engine.layout().used());
        }
        Ok(())
    }

    fn bytes(&self) -> u64 {
        self.so_far.peak_bytes
    }

    fn finish(mut self: Box<Self>) -> Result<Counted> {
        self.end()
    }
}

impl<E: Engine> Drop for Counting<'_, E> {
    fn drop(&mut self) {
        // If counting was given up, kernels may still run, and the next partition will use the same memory.
        self.machine.engine.settle();
        self.machine.engine.layout().restart();
    }
}

/// The bytes of the pieces that `lay` takes.
fn bytes_of<T>(lay: impl FnOnce(&mut ArenaLayout) -> Result<T>) -> u64 {
    let mut layout = ArenaLayout::new(u64::MAX / 2 / ALIGNMENT * ALIGNMENT);
    // An overflow is more than any device has, so the device will refuse it.
    lay(&mut layout).map_or(u64::MAX, |_| layout.used())
}

/// Padding, the scratch of small scans, and the rounding of tiles: part of each footprint.
const ROUNDING: u64 = 32 << 10;
