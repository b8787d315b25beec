//! The interface of a counting method on a device: the memory that it takes, and a counter for one partition.
//!
//! `lstc` and `packed` are methods of this crate. Others, such as those of `trimill-baselines`, use the same traits.

use std::fmt::Debug;

use crate::Gpu;
use crate::error::GpuResult;
use crate::sections::{PartitionExtent, ResidentSlices, RowBlockSlices};
use crate::vertices::VertexCounters;

/// A run of resident rows, as a type that owns them.
pub trait ResidentRun: Send + 'static {
    fn slices(&self) -> ResidentSlices<'_>;
}

/// The device bytes that a method takes: linear in the size of a partition, and never exceeded.
#[derive(Debug, Clone, Copy)]
pub struct DeviceFootprint {
    pub per_resident_arc: u64,
    pub per_local: u64,
    pub per_numbered: u64,
    /// For any partition.
    pub fixed: u64,
    /// Number of row blocks that must fit.
    pub row_blocks: u64,
    /// The bytes that it takes of an arena of a given size, where it can use more than the least; `None`: it never takes more.
    pub of_budget: Option<fn(&PartitionExtent, u64) -> u64>,
}

impl DeviceFootprint {
    /// The least bytes with which a partition can be counted.
    pub fn least(&self, size: &PartitionExtent) -> u64 {
        let &PartitionExtent { locals, arcs, numbered, row_block_limit } = size;
        self.per_resident_arc * arcs
            + self.per_local * locals
            + self.per_numbered * u64::from(numbered)
            + self.row_blocks * row_block_limit
            + self.fixed
    }

    /// The bytes that it takes of an arena of `budget` bytes.
    pub fn taken(&self, size: &PartitionExtent, budget: u64) -> u64 {
        let least = self.least(size);
        self.of_budget.map_or(least, |of_budget| least.max(of_budget(size, budget)))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    Partitions,
    /// Whole graphs: each vertex local, all rows resident.
    WholeGraphs,
    /// Whole graphs, and a [`EdgeShare`] of their edges.
    SharesOfGraphs,
}

/// Which part of the edges of a whole graph is counted: one of `of` equal parts. Several devices that hold the graph take one each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EdgeShare {
    /// Which part, from 0 on.
    pub index: u32,
    /// How many there are.
    pub of: u32,
}

impl EdgeShare {
    pub const ALL: Self = Self { index: 0, of: 1 };
}

/// What is counted besides the triangles of a partition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Detail {
    /// Nothing.
    #[default]
    Total,
    /// The triangles at the vertices of a window.
    Vertices(VertexCounters),
    /// The triangles on each arc.
    Edges,
}

/// What was counted, and what it took. Seconds are by the device's clock.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct MethodCount {
    /// Triangles whose corner of largest number is local.
    pub triangles: u64,
    /// Seconds of the counting kernels.
    pub kernel_seconds: f64,
    /// Seconds of what the method does with its input on the device before it counts, such as packing.
    pub prepare_seconds: f64,
    /// Seconds of adding up sums, where that is not part of a counting kernel.
    pub sum_seconds: f64,
    /// Seconds from the beginning to the end of each section's copy; waiting for the host to fill the page-locked buffers is part
    /// of it.
    pub copy_seconds: f64,
    pub copied_bytes: u64,
    /// The most bytes of the arena that were in use.
    pub peak_bytes: u64,
}

/// A method, with its settings, that counts runs `R` on a GPU.
pub trait CountingMethod<R: ResidentRun>: Debug + Send {
    fn name(&self) -> &'static str;

    fn scope(&self) -> Scope;

    /// The device bytes that it takes.
    fn footprint(&self) -> DeviceFootprint;

    /// Whether it takes compact rows ([`crate::CompactSlices`]).
    fn takes_stored_rows(&self) -> bool {
        false
    }

    /// Whether it is faster where [`RowBlockSlices::arcs_into`] is known.
    fn needs_arcs_into(&self) -> bool {
        false
    }

    /// Begins a partition: takes its memory from the GPU's arena.
    ///
    /// # Errors
    /// [`crate::GpuError::Budget`] when the arena is too small; [`crate::GpuError::Whole`], [`crate::GpuError::Shape`],
    /// [`crate::GpuError::Section`]; what the device fails with.
    fn begin<'g>(
        &self,
        gpu: &'g mut Gpu,
        size: PartitionExtent,
        share: EdgeShare,
    ) -> GpuResult<Box<dyn GpuCounter<R> + 'g>>;

    /// The device bytes that it takes if triangles are counted on arcs, too.
    fn footprint_with_edges(&self) -> DeviceFootprint {
        self.footprint()
    }

    /// Begins a partition of which more than the triangles is counted. Counters of vertices are in the memory that
    /// [`Gpu::reserve_counters`] reserved. Those of a row block's arcs are read ([`GpuCounter::row_block_edges`]) before the next one but one
    /// is given; those of resident arcs in the end ([`GpuCounter::resident_edges`]).
    ///
    /// # Errors
    /// As [`Self::begin`]; [`crate::GpuError::Total`] from a method that counts the total only.
    fn begin_with<'g>(
        &self,
        gpu: &'g mut Gpu,
        size: PartitionExtent,
        detail: Detail,
    ) -> GpuResult<Box<dyn GpuCounter<R> + 'g>> {
        match detail {
            Detail::Total => self.begin(gpu, size, EdgeShare::ALL),
            Detail::Vertices(_) | Detail::Edges => Err(crate::GpuError::Total(self.name())),
        }
    }
}

/// A partition being counted.
pub trait GpuCounter<R: ResidentRun>: Send {
    /// Takes a run of the resident section. All runs come before the first row block, in order. Returns a run that is no longer
    /// needed: this one, or the one before.
    ///
    /// # Errors
    /// [`crate::GpuError::Section`], or what the device fails with.
    fn resident(&mut self, run: R) -> GpuResult<Option<R>>;

    /// Counts the triangles whose middle corner is in the row block's range. Row blocks come in ascending order and leave no gap.
    /// The slices may be changed once this returns.
    ///
    /// # Errors
    /// [`crate::GpuError::RowBlockTooLarge`], [`crate::GpuError::Section`], [`crate::GpuError::Budget`] (a row that the method cannot hold),
    /// or what the device fails with, which may be due to an earlier row block.
    fn row_block(&mut self, row_block: &RowBlockSlices<'_>) -> GpuResult<()>;

    /// How many successors of the resident rows are in each of [`crate::BINS`] bins, where the rows were compact and the method
    /// [uses these numbers](CountingMethod::needs_arcs_into). To be called after the last run.
    fn bins(&mut self) -> GpuResult<Vec<u64>> {
        Ok(Vec::new())
    }

    /// Waits for the last row blocks and copies the counters of the window, from the first one on. Called before
    /// [`Self::finish`] where the partition was begun with counters.
    fn vertices(&mut self, into: &mut [u64]) -> GpuResult<()> {
        into.fill(0);
        Ok(())
    }

    /// Waits for the oldest row block whose counters were not read, and copies the triangles on its arcs. At most two row blocks are
    /// waiting for that, if the partition was begun with edges.
    ///
    /// # Errors
    /// [`crate::GpuError::Section`] if there is none, or `into` is not as long as it has arcs; what the device fails with.
    fn row_block_edges(&mut self, into: &mut [u32]) -> GpuResult<()> {
        into.fill(0);
        Ok(())
    }

    /// Waits for the last row block, and copies the triangles on resident arcs from `first` on. Called before [`Self::finish`] if the
    /// partition was begun with edges.
    ///
    /// # Errors
    /// [`crate::GpuError::Section`] if there are fewer; what the device fails with.
    fn resident_edges(&mut self, first: u64, into: &mut [u32]) -> GpuResult<()> {
        let _ = first;
        into.fill(0);
        Ok(())
    }

    /// Bytes of the arena in use.
    fn bytes(&self) -> u64;

    /// Waits for the last row blocks and gives the result.
    ///
    /// # Errors
    /// [`crate::GpuError::Section`] when row blocks are missing, or what the device fails with.
    fn finish(self: Box<Self>) -> GpuResult<MethodCount>;
}
