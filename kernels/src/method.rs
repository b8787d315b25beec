//! A counting method on a GPU: the memory that it takes, and the counter that it begins for a partition.
//!
//! `lstc` and `packed` are methods of this crate. Others, such as those of `trimill-baselines`, use the same trait.

use std::fmt::Debug;
use std::time::Duration;

use trimill_counting::{
    Detail, DeviceTimes, EdgeShare, Footprint, PartitionCount, PartitionCounter, PartitionExtent, Scope,
};

use crate::Gpu;
use crate::error::GpuResult;

/// The count, and the time and memory that it took. Seconds are by the device's clock.
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

impl From<MethodCount> for PartitionCount {
    fn from(counted: MethodCount) -> Self {
        let [kernels, copies, preprocessing] =
            [counted.kernel_seconds + counted.sum_seconds, counted.copy_seconds, counted.prepare_seconds]
                .map(Duration::from_secs_f64);
        Self { triangles: counted.triangles, device: Some(DeviceTimes { kernels, copies, preprocessing }) }
    }
}

/// A method, with its settings.
pub trait CountingMethod: Debug + Send {
    fn name(&self) -> &'static str;

    fn scope(&self) -> Scope {
        Scope::Partitions
    }

    /// The device bytes that it takes.
    fn footprint(&self) -> Footprint;

    /// The device bytes that the method takes if triangles are counted on arcs, too.
    fn footprint_with_edges(&self) -> Footprint {
        self.footprint()
    }

    /// Whether it takes rows as the graph's file stores them ([`trimill_counting::EncodedRows`]).
    fn takes_encoded_rows(&self) -> bool {
        false
    }

    /// Begins a partition: takes its memory from the GPU's arena. Counters of vertices are in the memory that
    /// [`Gpu::reserve_counters`] reserved.
    ///
    /// # Errors
    /// [`crate::GpuError::Budget`] when the arena is too small; [`crate::GpuError::Whole`], [`crate::GpuError::Shape`],
    /// [`crate::GpuError::Section`]; [`crate::GpuError::Total`] from a method that counts the total only; what the device fails with.
    fn begin<'g>(
        &self,
        gpu: &'g mut Gpu,
        size: PartitionExtent,
        share: EdgeShare,
        detail: Detail,
    ) -> GpuResult<Box<dyn PartitionCounter + 'g>>;
}
