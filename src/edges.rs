//! The triangles on each edge: its support.
//!
//! Input: the sum at each arc, in rank order ([`crate::sums`]). Output: the triangles at vertices that follow from it (module
//! `at_vertices`), and files ([`files`]) whose rows are in the order of the input's ids.

mod at_vertices;
pub mod files;
pub mod order;
#[cfg(feature = "parquet")]
mod parquet;
pub mod rows;
mod runs;
mod tsv;
