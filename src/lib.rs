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
//!     assert!(partition.counted().peak_bytes <= counted.device_memory);
//! }
//! # Ok::<(), trimill::Error>(())
//! ```
//!
//! A [`Graph`] is files, or edges in memory: a list, the caller's own arrays ([`Pairs`], [`Csr`]) or any [`EdgeSource`]. [`Options`] say
//! how it is counted, and the result is a [`RunResult`]: the count, and what each partition took ([`PartitionFigures`]). A
//! [`PreparedGraph`] answers several questions, also for the triangles at each vertex ([`VertexColumns`]) and on each edge
//! ([`EdgeColumns`]). A [`Control`] stops a count from outside and reports its progress to an [`Observer`]. A failure is an [`Error`] of
//! some [`Kind`].
//!
//! The library prints nothing, sets no signal handlers and no limits of the process. It counts with all cores unless told otherwise,
//! keeps prepared graphs of files in the user's cache directory unless told otherwise ([`Options::without_cache`]), and writes temporary files.
//!
//! The program of the same name runs the same stages, which `ARCHITECTURE.md` describes. Run the program to count in shards, on a cluster
//! or by several processes, and merge them; to verify a count; to cut a graph without counting; to look into partitions and the cache; to
//! generate graphs; and to compare methods: the library has none of these.
//!
//! # Features
//!
//! - `cli`, a default: what only the program needs. A library's user takes `default-features = false`.
//! - `parquet`: reads and writes Parquet files, and reads those of Arrow.
//! - `remote`: reads inputs from servers, by http, https and S3.
//! - `baselines`, part of `cli`: published methods, for comparison.
//!
//! Counting on a GPU needs no feature: the driver is looked for when a count begins.

// The stages are public to this package's tests alone.
#![cfg_attr(not(feature = "testing"), allow(unreachable_pub))]
// Only what the package offers must be documented.
#![cfg_attr(not(feature = "testing"), warn(missing_docs))]

mod front;

pub use front::{Column, Csr, EdgeSource, Graph, Options, Pairs, PreparedGraph, Setting, TakeArcs, metis_child};
pub use job::{Backend, Devices, Partitioner, Prune};
pub use outputs::arrays::{EdgeColumns, VertexColumns};
pub use report::{CountedFigures, DeviceResult, PartitionFigures, PlanReport, RunResult};
pub use trimill_input::ColumnNames;
pub use trimill_input::format::Format;
pub use trimill_system::bytes::Bytes;
pub use trimill_system::control::{Control, Observer, Unit};
pub use trimill_system::error::{Error, Kind, Result};
pub use trimill_system::expected::{ExpectedStage, JobShare};
pub use trimill_system::timeline::{Span, Timeline, Track, TrackKind};
pub use truss::by_k::{Truss, Trusses};
pub use vertices::degrees::DegreeBin;
pub use vertices::summary::{Clustering, LccSummary, Quantile};

/// What [`RunResult`] and [`PlanReport`] are made of, besides the types of the crate's root.
pub mod reports {
    pub use crate::job::Mode;
    pub use crate::report::plan::{
        Alternative, DiskNeed, DiskNeeds, Estimates, MemoryBudget, MoreMemory, PartsReason, PreparingFigures,
    };
    pub use crate::report::result::MethodEstimate;
    pub use crate::report::{InputReport, Stage};
    pub use trimill_system::memory::{FloorPart, HostFloor};
}

mod bench;
mod cache;
mod clean;
mod cluster;
mod count;
mod directions;
mod edges;
mod execute;
mod job;
mod names;
mod orient;
mod outputs;
mod paths;
mod plan;
mod prepare;
mod rates;
mod report;
mod run_dir;
mod shards;
mod stream;
mod sums;
mod table;
mod truss;
mod vertices;

#[doc(hidden)]
pub mod program;
#[cfg(feature = "testing")]
#[doc(hidden)]
pub mod testing;
