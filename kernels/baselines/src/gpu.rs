//! The GPU methods: what they share, and their implementation of the traits of `trimill-kernels`. Input: a partition as for `lstc`, its resident
//! section in runs and then its row blocks. All memory is from the GPU's arena. Copies and kernels alternate and do not overlap, as in the papers.

mod both_ways;
pub(crate) mod machine;
pub mod polak;
pub(crate) mod primitives;
pub mod radix_binning;
pub mod reverse_edge;
mod rows;
pub mod skiff;
#[cfg(test)]
mod tests;

use rayon::ThreadPool;
use trimill_counting::{
    CounterMemory, Detail, EdgeShare, Footprint, PartitionCount, PartitionCounter, PartitionExtent, Resident,
    RowBlockView,
};
use trimill_kernels::engine::Engine;
use trimill_kernels::{
    ALIGNMENT, ArenaLayout, CountingMethod, CudaSource, GpuResult, Received, RowBlockSlices, all_memory,
};

use trimill_system::Result;

use crate::refused::check;
use crate::sources::{POLAK, RADIX_BINNING, REVERSE_EDGE, SKIFF};
use machine::BaselineDevice;
use polak::PolakOptions;
use radix_binning::RadixBinningOptions;
use reverse_edge::{ReverseEdgeOptions, STREAMS};
use skiff::{Organisation, SkiffOptions};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GpuMethod {
    /// One thread per edge merges two lists.
    Polak(PolakOptions),
    /// One thread per edge merges two rows; vertices are in descending degree order.
    ReverseEdge(ReverseEdgeOptions),
    /// Each row as a hash trie, probed with the entries of another row.
    Skiff(SkiffOptions),
    /// Bins candidate edges together with the edges.
    RadixBinning(RadixBinningOptions),
}

/// The methods that are compared, each variant by its name.
pub fn gpu_methods() -> Vec<(&'static str, GpuMethod)> {
    let polak = |on_cpu| GpuMethod::Polak(PolakOptions { on_cpu, ..PolakOptions::default() });
    let streams = |streams| GpuMethod::ReverseEdge(ReverseEdgeOptions { streams, ..ReverseEdgeOptions::default() });
    let skiff = |organisation| GpuMethod::Skiff(SkiffOptions { organisation, ..SkiffOptions::default() });
    vec![
        ("polak", polak(false)),
        ("polak:cpu", polak(true)),
        ("reverse-edge", streams(1)),
        ("reverse-edge:streams", streams(STREAMS)),
        ("skiff", skiff(Organisation::WarpIndex)),
        ("skiff:block-degree", skiff(Organisation::BlockDegree)),
        ("skiff:block-index", skiff(Organisation::BlockIndex)),
        ("radix-binning", GpuMethod::RadixBinning(RadixBinningOptions::default())),
    ]
}

impl GpuMethod {
    /// With blocks of `block_threads`, for methods with that option.
    pub fn with_block_threads(self, block_threads: u32) -> Self {
        match self {
            Self::Polak(options) => Self::Polak(PolakOptions { block_threads, ..options }),
            Self::ReverseEdge(options) => Self::ReverseEdge(ReverseEdgeOptions { block_threads, ..options }),
            Self::Skiff(options) => Self::Skiff(SkiffOptions { block_threads, ..options }),
            Self::RadixBinning(_) => self,
        }
    }

    fn source(&self) -> &'static CudaSource {
        match self {
            Self::Polak(_) => &POLAK,
            Self::ReverseEdge(_) => &REVERSE_EDGE,
            Self::Skiff(_) => &SKIFF,
            Self::RadixBinning(_) => &RADIX_BINNING,
        }
    }

    fn work(
        &self,
        machine: &mut BaselineDevice<'_>,
        size: PartitionExtent,
        share: EdgeShare,
    ) -> GpuResult<Box<dyn BaselineWork>> {
        machine.engine.layout().restart();
        Ok(match self {
            Self::Polak(options) => Box::new(polak::Polak::begin(machine, *options, size, share)?),
            Self::ReverseEdge(options) => Box::new(reverse_edge::ReverseEdgeGpu::begin(machine, *options, size)?),
            Self::Skiff(options) => Box::new(skiff::Skiff::begin(machine, *options, size)?),
            Self::RadixBinning(options) => Box::new(radix_binning::RadixBinning::begin(machine, *options, size)?),
        })
    }
}

impl CountingMethod for GpuMethod {
    fn name(&self) -> &'static str {
        match self {
            Self::Polak(_) => "polak",
            Self::ReverseEdge(_) => "reverse-edge",
            Self::Skiff(_) => "skiff",
            Self::RadixBinning(_) => "radix-binning",
        }
    }

    /// The device bytes that it takes; unset options get the values for a device with enough memory.
    fn footprint(&self) -> Footprint {
        match self {
            Self::Polak(options) => polak::footprint(options),
            Self::ReverseEdge(_) => reverse_edge::FOOTPRINT,
            Self::Skiff(_) => skiff::FOOTPRINT,
            Self::RadixBinning(_) => radix_binning::FOOTPRINT,
        }
    }

    fn begin<'g>(
        &self,
        engine: &'g mut dyn Engine,
        size: PartitionExtent,
        detail: Detail,
    ) -> GpuResult<Box<dyn PartitionCounter + 'g>> {
        check(self.name(), self.footprint().scope, &size, &detail)?;
        let share = if let Detail::Share(share) = detail { share } else { EdgeShare::ALL };
        let received = Received::new(size)?;
        let mut machine = BaselineDevice::new(engine, self.source())?;
        let work = self.work(&mut machine, size, share)?;
        machine.peak_bytes = machine.engine.layout().used();
        Ok(Box::new(GpuBaselineCounter { machine, work, received }))
    }
}

/// The part of a counter that is specific to a method.
trait BaselineWork: Send {
    /// Takes a run of the resident section, already checked.
    fn resident(&mut self, machine: &mut BaselineDevice<'_>, run: &Resident) -> GpuResult<()>;

    /// Counts a row block, already checked, after the whole resident section. Methods for whole graphs need none.
    fn row_block(&mut self, machine: &mut BaselineDevice<'_>, row_block: &RowBlockSlices<'_>) -> GpuResult<()> {
        let _ = (machine, row_block);
        Ok(())
    }

    /// Called after the last row block. Methods for whole graphs count here.
    fn finish(&mut self, machine: &mut BaselineDevice<'_>) -> GpuResult<()> {
        let _ = machine;
        Ok(())
    }
}

/// A partition being counted: checks the input and calls the method.
struct GpuBaselineCounter<'e> {
    machine: BaselineDevice<'e>,
    work: Box<dyn BaselineWork>,
    received: Received,
}

impl PartitionCounter for GpuBaselineCounter<'_> {
    fn resident(&mut self, mut run: Resident, _: &ThreadPool) -> Result<Option<Resident>> {
        self.received.run(&mut run)?;
        self.work.resident(&mut self.machine, &run)?;
        Ok(Some(run))
    }

    fn row_block(&mut self, row_block: &RowBlockView<'_>, pool: &ThreadPool) -> Result<()> {
        let location = self.received.location(row_block, pool);
        let row_block = RowBlockSlices::new(row_block, &location);
        self.received.row_block(&row_block)?;
        if !row_block.range.is_empty() && self.received.arcs() > 0 {
            self.work.row_block(&mut self.machine, &row_block)?;
            let BaselineDevice { engine, peak_bytes, .. } = &mut self.machine;
            *peak_bytes = engine.layout().used().max(*peak_bytes);
        }
        Ok(())
    }

    fn memory(&self) -> CounterMemory {
        all_memory(self.machine.engine, self.machine.peak_bytes)
    }

    fn finish(mut self: Box<Self>) -> Result<PartitionCount> {
        let Self { machine, work, received } = &mut *self;
        received.finish()?;
        if received.arcs() > 0 {
            work.finish(machine)?;
        }
        Ok(PartitionCount { triangles: machine.triangles, device: Some(machine.times) })
    }
}

impl Drop for GpuBaselineCounter<'_> {
    fn drop(&mut self) {
        // The next partition will use the same memory. If counting was given up, kernels may still run.
        self.machine.engine.settle();
        self.machine.engine.layout().restart();
    }
}

/// Whether a block may have this many threads: whole warps.
fn is_block(threads: u32) -> bool {
    threads.is_multiple_of(32) && (32..=1024).contains(&threads)
}

type TakePiece<'a> = dyn FnMut(u64) -> GpuResult<u64> + 'a;

fn bytes_of<T>(lay: impl FnOnce(&mut TakePiece<'_>) -> GpuResult<T>) -> u64 {
    let mut layout = ArenaLayout::new(u64::MAX / 2 / ALIGNMENT * ALIGNMENT);
    let laid = lay(&mut |bytes| layout.take(bytes));
    // An overflow is more than any device has, so the device will refuse it.
    laid.map_or(u64::MAX, |_| layout.used())
}

/// Padding, the scratch of small scans, and the rounding of tiles: part of each footprint.
const ROUNDING: u64 = 32 << 10;
