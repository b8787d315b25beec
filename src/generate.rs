//! Graphs of any size whose answer is known: GAP's random graphs, products of stars, blow-ups, regular families.
//!
//! Enters: a [`Family`], and for the two products of a given graph that graph as a [`BaseGraph`]. Leaves: a file of
//! edges (`.bin`: pairs of little-endian `u32`; `.txt`: lines `u v`) and a [`Generated`] that says what it holds.
//!
//! Every family is a *sequence*: the number of its edges is known beforehand and any block of 2^18 consecutive
//! edges can be made alone. So blocks are made in parallel and the bytes of a file depend on the family only, never on
//! the number of threads. Ids are those of the construction, dense from 0. All families but GAP's give every edge once
//! and no loops; GAP's are draws with loops and repetitions, which are to be cleaned.
//!
//! Cost: `O(1)` time an edge (GAP: `scale` random numbers an edge), 4 to 12 MiB a thread.

mod base;
mod gap;
mod lattices;
mod output;
mod permuted;
mod regular;
mod stars;

use std::ops::Range;
use std::path::Path;

use serde::Serialize;

use crate::control::Control;
use crate::error::{Error, Result};

pub use base::BaseGraph;
use permuted::{Permutation, Permuted};
pub use stars::{StarKind, parse_leaves};

/// Edges that are made at once; also the block of the GAP Benchmark Suite that has a seed of its own.
const BLOCK: u64 = 1 << 18;

/// What to generate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Family {
    /// The Kronecker graph of the GAP Benchmark Suite: `2^scale` vertices, 16 draws a vertex, not permuted.
    GapKron {
        /// Binary logarithm of the number of vertices, 1 to 31.
        scale: u32,
    },
    /// The uniform random graph of the GAP Benchmark Suite: `2^scale` vertices, 16 draws a vertex.
    GapUrand {
        /// Binary logarithm of the number of vertices, 1 to 31.
        scale: u32,
    },
    /// A Kronecker product of stars (Kepner et al., arXiv:1803.01281).
    Stars {
        /// The number of leaves of each star, the most significant factor first.
        leaves: Vec<u64>,
        /// Which loops the factors have.
        kind: StarKind,
    },
    /// `C_n(1..k)`: vertex `v` meets `v + 1, ..., v + k`, modulo `n`.
    RingLattice {
        /// `n`, more than `2 k`.
        vertices: u64,
        /// How far the edges reach.
        k: u64,
    },
    /// A chess board on which a king moves: both diagonals.
    KingsGrid {
        /// Rows of the board.
        rows: u64,
        /// Columns of the board.
        columns: u64,
    },
    /// The complete graph.
    Complete {
        /// Its vertices.
        vertices: u64,
    },
    /// Cliques in a ring, the last vertex of each joined to the first of the next.
    RingOfCliques {
        /// How many cliques, at least 3.
        cliques: u64,
        /// Vertices of a clique, at least 2.
        size: u64,
    },
    /// The Hamming graph: words of `d` letters of an alphabet of `q`, adjacent when they differ in one letter.
    Hamming {
        /// Letters of a word.
        d: u32,
        /// Letters of the alphabet.
        q: u64,
    },
    /// A given graph with every vertex `v` replaced by independent copies `v * copies + x` and every edge by a complete
    /// bipartite graph.
    Blowup {
        /// Copies of a vertex.
        copies: u64,
        /// The seed by which the ids of the product are permuted: copies of a vertex are then no neighbours of each other.
        permute: Option<u64>,
    },
    /// The tensor product of a given graph with `K_q`: `(u, x)` meets `(v, y)` when `u` meets `v` and `x != y`. The id
    /// of `(v, x)` is `v * q + x`.
    TensorComplete {
        /// Vertices of the complete factor, at least 2.
        q: u64,
    },
}

/// What is known beforehand of a graph once it is cleaned.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Known {
    /// Vertices that have an edge.
    pub vertices: Option<u64>,
    /// Undirected edges.
    pub edges: Option<u128>,
    /// Triangles.
    pub triangles: Option<u128>,
}

/// What was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Generated {
    /// Pairs in the file (GAP: draws, with loops and repetitions).
    pub edges_written: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// Ids are below this number.
    pub vertices_declared: u64,
    /// What is known of the cleaned graph.
    pub known: Known,
}

/// A list of edges of which any block can be made alone.
trait Sequence: Sync {
    /// Ids are below this number.
    fn vertices(&self) -> u64;

    /// How many edges there are.
    fn edges(&self) -> u64;

    /// What is known of the graph.
    fn known(&self) -> Known;

    /// Appends the edges of `range`, which begins at a multiple of [`BLOCK`], is no longer than one, and lies within
    /// `0..self.edges()`.
    fn append(&self, range: Range<u64>, out: &mut Vec<[u64; 2]>);
}

impl Family {
    /// Its name on the command line.
    pub fn name(&self) -> &'static str {
        match self {
            Self::GapKron { .. } => "gap-kron",
            Self::GapUrand { .. } => "gap-urand",
            Self::Stars { .. } => "stars",
            Self::RingLattice { .. } => "ring-lattice",
            Self::KingsGrid { .. } => "kings-grid",
            Self::Complete { .. } => "complete",
            Self::RingOfCliques { .. } => "ring-of-cliques",
            Self::Hamming { .. } => "hamming",
            Self::Blowup { .. } => "blowup",
            Self::TensorComplete { .. } => "tensor-complete",
        }
    }

    /// Whether it is made of a given graph.
    pub fn needs_base(&self) -> bool {
        matches!(self, Self::Blowup { .. } | Self::TensorComplete { .. })
    }

    fn sequence<'a>(&self, base: Option<&'a dyn BaseGraph>, control: &Control) -> Result<Box<dyn Sequence + 'a>> {
        let given =
            || base.ok_or_else(|| Error::usage(format!("{} is made of a given graph and none was named", self.name())));
        if base.is_some() && !self.needs_base() {
            return Err(Error::usage(format!("{} is not made of another graph, but one was named", self.name())));
        }
        Ok(match *self {
            Self::GapKron { scale } => Box::new(gap::Kron::new(scale)?),
            Self::GapUrand { scale } => Box::new(gap::Urand::new(scale)?),
            Self::Stars { ref leaves, kind } => Box::new(stars::Stars::new(leaves, kind)?),
            Self::RingLattice { vertices, k } => Box::new(lattices::RingLattice::new(vertices, k)?),
            Self::KingsGrid { rows, columns } => Box::new(lattices::KingsGrid::new(rows, columns)?),
            Self::Complete { vertices } => Box::new(regular::complete(vertices)?),
            Self::RingOfCliques { cliques, size } => Box::new(regular::RingOfCliques::new(cliques, size)?),
            Self::Hamming { d, q } => Box::new(regular::Hamming::new(d, q)?),
            Self::Blowup { copies, permute } => {
                let of = base::Product::blowup(given()?, copies, control)?;
                match permute.map(|seed| Permutation::new(of.vertices(), seed)) {
                    Some(permutation) => Box::new(Permuted { of, permutation }),
                    None => Box::new(of),
                }
            }
            Self::TensorComplete { q } => Box::new(base::Product::tensor_complete(given()?, q, control)?),
        })
    }
}

/// Writes the graph of `family` to `output`: `.bin`, `.txt`, or `-` for text on standard output.
///
/// The file is written beside under another name and renamed when it is complete; after an error or an interruption
/// nothing is left of it, and a file that was there before is untouched.
///
/// # Errors
/// - [`Usage`](crate::error::Kind::Usage): parameters that make no graph or one too big for its ids; another suffix.
/// - [`Resource`](crate::error::Kind::Resource): too little free space (found out before anything is written), or
///   writing fails.
/// - [`Interrupted`](crate::error::Kind::Interrupted): `control` was stopped.
pub fn generate(family: &Family, base: Option<&dyn BaseGraph>, output: &Path, control: &Control) -> Result<Generated> {
    let format = output::Format::of(output)?;
    let sequence = family.sequence(base, control)?;
    if sequence.edges() == 0 {
        return Err(Error::usage(format!("this {} has no edges, and an empty file is no graph", family.name())));
    }
    let bytes = output::write(&*sequence, format, output, control)?;
    Ok(Generated {
        edges_written: sequence.edges(),
        bytes,
        vertices_declared: sequence.vertices(),
        known: sequence.known(),
    })
}

/// The number that a checked computation gave, or the error that the graph is too big.
fn sized(number: Option<u128>, what: &str) -> Result<u64> {
    number.and_then(|number| u64::try_from(number).ok()).ok_or_else(|| {
        Error::usage(format!("the {what} of this graph cannot be numbered"))
            .expected("less than 2^64")
            .advice("take smaller parameters")
    })
}

#[cfg(test)]
mod tests;
