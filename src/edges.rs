//! The triangles on each edge: its support.
//!
//! Input: what devices counted at the arcs of partitions, in rank order. Output: the sum at each arc ([`sums`]), the triangles at
//! vertices that follow from it (module `at_vertices`), and files ([`files`]) whose rows are in the order of the input's ids. Every triangle
//! adds 1 on each of its three edges, in the one partition where it is counted, so the sums add up to three times the triangles.

mod at_vertices;
pub mod files;
pub mod order;
#[cfg(feature = "parquet")]
mod parquet;
pub mod part;
pub mod rows;
mod runs;
pub mod sums;
mod tsv;

pub use sums::EdgeSums;
