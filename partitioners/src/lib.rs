//! LSTC's partitions: assignments, induced subgraphs with proxies ([`partition`]), pruning, building ([`build`]) and spilling ([`spill`]).
//!
//! An assignment says for every vertex the partition in which it is local:
//!
//! | assignment | function | source |
//! | --- | --- | --- |
//! | random | [`random()`] | LSTC: an independent, uniform part for every vertex |
//! | contiguous, by vertices | [`contiguous_vertices`] | LSTC: chunks of equal numbers of vertices |
//! | contiguous, by weight | [`contiguous_by_weight`] | the same with chunks of equal weight, such as arcs |
//! | METIS | [`metis::assign`] | Karypis and Kumar, 'A fast and high quality multilevel scheme', 1998 |
//! | file | [`file::read`] | the format of METIS and KaMinPar |
//!
//! An assignment is a `Vec<u32>`: entry `id` is the part of vertex `id`. Ids are `0..n` in the input's order, so a crawl's locality is kept. It
//! depends on its arguments only, never on the number of threads. A part may be empty. A graph is accessed only through [`PartitionInput`].

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod build;
mod contiguous;
pub mod file;
pub mod metis;
pub mod partition;
mod random;
pub mod spill;

pub use contiguous::{contiguous_by_weight, contiguous_vertices};
pub use random::random;

/// The most parts that [`metis::assign`] and [`file::read`] allow.
pub const MAX_PARTS: u32 = 1 << 20;

/// A graph for a partitioner: the rows of an oriented graph, in which each undirected edge is stored once, at one of its ends.
pub trait PartitionInput: Sync {
    fn vertices(&self) -> u32;

    /// The number of undirected edges: the length of all rows together.
    fn edges(&self) -> u64;

    fn out_degree(&self, id: u32) -> u32;

    /// Calls `each` with every successor in the row of `id`, in any order.
    fn successors_of(&self, id: u32, each: &mut dyn FnMut(u32));
}
