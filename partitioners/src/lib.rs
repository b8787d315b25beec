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
//! | file | `assignment::read` of `trimill-input` | the format of METIS and KaMinPar |
//!
//! An assignment is a `Vec<u32>`: entry `id` is the part of vertex `id`. Ids are `0..n` in the input's order, so a crawl's locality is kept. It
//! depends on its arguments only, never on the number of threads. A part may be empty. Only METIS takes a graph: [`RowsById`].

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod build;
mod contiguous;
pub mod metis;
pub mod partition;
mod random;
pub mod spill;

pub use contiguous::{contiguous_by_weight, contiguous_vertices};
pub use random::random;

use trimill_system::Bytes;

/// The most parts of an assignment.
pub const MAX_PARTS: u32 = 1 << 20;

/// A graph for METIS: the rows of an oriented graph, in which each undirected edge is stored once, at one of its ends.
#[derive(Debug)]
pub struct RowsById {
    /// Where the row of each vertex begins, and where the last one ends.
    pub begins: Vec<u64>,
    /// In any order within a row.
    pub successors: Vec<u32>,
}

impl RowsById {
    #[cfg(feature = "testing")]
    pub fn of(rows: &[Vec<u32>]) -> Self {
        let begins = trimill_system::starts_of(rows.iter().map(|row| row.len() as u64));
        Self { begins, successors: rows.concat() }
    }

    pub fn vertices(&self) -> u32 {
        (self.begins.len() - 1) as u32
    }

    pub fn bytes(vertices: u32, edges: u64) -> Bytes {
        Bytes::of::<u64>(u64::from(vertices) + 1) + Bytes::of::<u32>(edges)
    }

    pub fn edges(&self) -> u64 {
        self.successors.len() as u64
    }

    pub fn row(&self, id: u32) -> &[u32] {
        &self.successors[self.begins[id as usize] as usize..self.begins[id as usize + 1] as usize]
    }
}
