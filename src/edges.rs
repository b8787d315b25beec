//! The triangles on each edge (its support). Input: sums at arcs by rank ([`crate::sums`]). Output: the triangles at vertices (`at_vertices`), and
//! rows in the order of the input's ids ([`rows`]).

mod at_vertices;
pub mod order;
pub mod rows;
pub(crate) mod runs;
