//! Counting on GPUs: implements the interface of `trimill-counting`, and does not depend on the pipeline.
//!
//! [`find()`] lists this machine's GPUs, or returns a typed reason why there is none. It must be called before any other use of the driver, since
//! calls into a missing library panic; [`Gpu::open`] does so itself. [`Gpu::reserve`] allocates the budget's memory. A [`CountingMethod`] ([`Lstc`],
//! [`Packed`], or another crate's) then begins a [`trimill_counting::PartitionCounter`], which takes runs of resident rows and then row blocks.
//!
//! ```text
//! method -> counter -> engine (memory, streams, events, kernels) -> GPU
//!                                                             \-> test double
//! ```
#![allow(unsafe_code, reason = "the driver is a library of C")]

mod arena;
mod compact;
mod edges;
pub mod engine;
mod error;
mod find;
mod gpu;
pub mod images;
mod lstc;
mod method;
mod packed;
mod pinned;
pub mod prepare;
mod received;
mod sections;
mod source;
mod sources;
mod staging;
#[cfg(any(test, feature = "testing"))]
#[allow(clippy::unwrap_used, clippy::expect_used)]
pub mod testing;
pub mod truss;
mod vertices;
mod waiting;

pub use arena::{ALIGNMENT, ArenaLayout, padded};
pub use compact::scratch_bytes;
pub use error::{GpuError, GpuResult};
pub use find::{Absence, FoundGpus, GpuInfo, Version, find, has_driver};
pub use gpu::Gpu;
pub use images::ImageForm;
pub use lstc::Lstc;
pub use method::CountingMethod;
pub use packed::{Packed, takes as packed_takes};
pub use pinned::Pinned;
pub use received::{Received, all_memory};
pub use sections::{RowBlockPlaces, RowBlockSlices};
pub use source::{CudaSource, SourceFile};
pub use sources::{BLOCK, PACKED, SOURCES, UNPACK};
pub use staging::BYTES as STAGING_BYTES;
pub use waiting::{USUAL_LIMIT, any_abandoned};
