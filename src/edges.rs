//! The triangles on each edge: its support.
//!
//! Input: the sum at each arc, in rank order ([`crate::sums`]). Output: the triangles at vertices that follow from it (module
//! `at_vertices`), and rows in the order of the input's ids ([`rows`]).

mod at_vertices;
pub mod order;
pub mod rows;
pub(crate) mod runs;
