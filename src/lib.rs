//! `trimill` counts the triangles of a graph exactly, also when the graph is far larger than the memory of the device that counts:
//! a GPU, or the CPU within a budget.
//!
//! ```
//! use trimill::{Bytes, Graph, Options};
//!
//! // A complete graph of 50 vertices.
//! let edges = (0..50).flat_map(|u| (0..u).map(move |v| (u, v)));
//! let counted = Graph::from_edges(edges).count(&Options::new().device_memory(Bytes::mib(64)))?;
//! assert_eq!(counted.triangles, 50 * 49 * 48 / 6);
//! assert_eq!(counted.transitivity, 1.0);
//! for partition in &counted.partitions {
//!     assert!(partition.peak_bytes <= counted.device_memory);
//! }
//! # Ok::<(), trimill::Error>(())
//! ```
//!
//! A [`Graph`] is files or edges in memory, [`Options`] say how it is counted, and the answer is a [`RunResult`]: the count, and what
//! each partition took ([`PartitionResult`]). A [`Control`] stops a count from outside and tells an [`Observer`] how far it is. What
//! fails is an [`Error`] of some [`Kind`].
//!
//! The library prints nothing, sets no signal handlers and no limits of the process. It counts with all cores unless told otherwise,
//! keeps prepared graphs in the user's cache directory unless told otherwise, and writes temporary files.
//!
//! The program of the same name stands on the same stages; `ARCHITECTURE.md` is their tour.

mod front;

/// The README's example compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

pub use bytes::Bytes;
pub use control::{Control, Observer, Unit};
pub use error::{Error, Kind, Result};
pub use front::{Graph, Options};
pub use input::format::Format;
pub use job::{Backend, Devices, Partitioner, Prune};
pub use report::{DeviceResult, PartitionResult, PlanReport, RunResult};

#[doc(hidden)]
pub mod assign;
#[doc(hidden)]
pub mod bench;
#[doc(hidden)]
pub mod bytes;
#[doc(hidden)]
pub mod cache;
#[doc(hidden)]
pub mod clean;
#[doc(hidden)]
pub mod control;
#[doc(hidden)]
pub mod count;
#[doc(hidden)]
pub mod disk;
#[doc(hidden)]
pub mod engine;
#[doc(hidden)]
pub mod error;
#[doc(hidden)]
pub mod execute;
#[doc(hidden)]
pub mod generate;
#[doc(hidden)]
pub mod graph;
mod hex;
#[doc(hidden)]
pub mod input;
#[doc(hidden)]
pub mod job;
#[doc(hidden)]
pub mod mapped;
#[doc(hidden)]
pub mod memory;
#[doc(hidden)]
pub mod orient;
#[doc(hidden)]
pub mod partition;
mod path_text;
#[doc(hidden)]
pub mod pipeline;
#[doc(hidden)]
pub mod plan;
#[doc(hidden)]
pub mod prepare;
#[doc(hidden)]
pub mod rates;
#[doc(hidden)]
pub mod report;
#[doc(hidden)]
pub mod request;
#[doc(hidden)]
pub mod run_dir;
#[doc(hidden)]
pub mod sealed;
#[doc(hidden)]
pub mod spill;
#[doc(hidden)]
pub mod stream;
#[doc(hidden)]
pub mod text;
#[doc(hidden)]
pub mod threads;

/// The target of log lines that the program shows without `-v` though nothing is wrong; see `main.rs`.
#[doc(hidden)]
pub const NOTE: &str = "trimill::note";

/// Locks a mutex. A thread that panicked while it held the lock makes the job fail as a whole, so what it left behind
/// is never used for a result and the poison needs no handling of its own.
pub(crate) fn lock<T>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
