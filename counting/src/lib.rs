//! The interface of a counting method on any device: its input (the rows of a partition), its memory, and the counts that it returns. The crates of
//! methods and the pipeline depend on this one.

mod bits;
mod counter;
mod detail;
mod encoded;
mod footprint;
mod numbers;
mod peeling;
pub mod planes;
mod sections;
mod words;

pub use bits::{VertexSet, VertexSetBuilder};
pub use counter::{
    CountBackend, CounterMemory, Device, DeviceTimes, PartitionCount, PartitionCounter, PartitionOutline,
    PartitionSource, VertexCounts,
};
pub use detail::{COUNTER_BYTES, Detail, EDGE_COUNTER_BYTES, EdgeShare, Scope, VertexCounters};
pub use encoded::{EncodedPart, EncodedRows};
pub use footprint::{Footprint, PartitionExtent, RowBlockRoom};
pub use numbers::NumberRuns;
pub use peeling::{FALLEN, GraphToPeel, Peeling};
pub use sections::{
    Resident, ResidentSize, RowBlock, RowBlockSize, RowBlockView, RowPlace, RowsLocation, longest_row_block_range,
    smallest_row_block_limit,
};
pub use words::{Lent, WordBuffer};
