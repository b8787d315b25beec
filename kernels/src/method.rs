//! A counting method on a GPU: its memory, and the counter that it begins for a partition. `lstc` and `packed` are here, others in other crates.

use std::fmt::Debug;

use trimill_counting::{Detail, Footprint, PartitionCounter, PartitionExtent};

use crate::engine::Engine;
use crate::error::GpuResult;

pub trait CountingMethod: Debug + Send {
    fn name(&self) -> &'static str;

    fn footprint(&self) -> Footprint;

    /// As [`Self::footprint`], if triangles are counted on arcs, too.
    fn footprint_with_edges(&self) -> Footprint {
        self.footprint()
    }

    /// Whether it takes rows as the graph file encodes them ([`trimill_counting::EncodedRows`]).
    fn takes_encoded_rows(&self) -> bool {
        false
    }

    /// Begins a partition in the engine's arena; counters of vertices are in the memory of [`Engine::counters`]. Errors: [`crate::GpuError::Budget`]
    /// when the arena is too small; [`crate::GpuError::Shape`]: the method does not count such a partition or detail;
    /// [`crate::GpuError::TooLarge`], [`crate::GpuError::Section`]: invalid sizes; errors of the device.
    fn begin<'g>(
        &self,
        engine: &'g mut dyn Engine,
        size: PartitionExtent,
        detail: Detail,
    ) -> GpuResult<Box<dyn PartitionCounter + 'g>>;
}

#[cfg(test)]
mod tests;
