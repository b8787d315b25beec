//! The triangles on each edge. Input: sums at arcs ([`crate::sums`]). Output: those at vertices (`at_vertices`), rows in order of ids ([`rows`]).

mod at_vertices;
pub mod order;
pub mod rows;
pub(crate) mod runs;
