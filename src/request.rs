//! What the commands ask the stations for, beside [`crate::job::Job`].
//!
//! The stations themselves stand behind [`crate::commands::engine::Engine`].

use std::fmt;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;

use crate::bytes::Bytes;
use crate::generate::StarKind;
use crate::job::Job;

/// A graph to be made.
#[derive(Debug, Clone, PartialEq)]
pub struct GenerateRequest {
    /// Which.
    pub family: Family,
    /// The file.
    pub output: PathBuf,
    /// How edges are written to it.
    pub format: EdgeFormat,
    /// CPU threads; none: all cores.
    pub threads: Option<NonZeroUsize>,
}

/// How edges are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EdgeFormat {
    /// Pairs of `u32`, little-endian.
    BinU32,
    /// Lines of two numbers.
    Text,
}

/// The families of graphs.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum Family {
    /// Kronecker graph of the GAP Benchmark Suite with `2^scale` vertices.
    GapKron { scale: u32 },
    /// Uniform random graph of the GAP Benchmark Suite with `2^scale` vertices.
    GapUrand { scale: u32 },
    /// Kronecker product of stars.
    Stars { leaves: Leaves, kind: StarKind },
    /// Every vertex of the cleaned `graph` as `copies` independent ones.
    Blowup { graph: Box<Job>, copies: u32 },
    /// Tensor product of the cleaned `graph` with the complete graph of `order` vertices.
    TensorComplete { graph: Box<Job>, order: u32 },
    /// Ring of `vertices` where each touches the `k` next ones.
    RingLattice { vertices: u32, k: u32 },
    /// Grid with both diagonals.
    KingsGrid { rows: u32, columns: u32 },
    /// Complete graph.
    Complete { vertices: u32 },
    /// `cliques` cliques of `size` vertices, joined to a ring through different vertices.
    RingOfCliques { cliques: u32, size: u32 },
    /// Words of `dimension` letters out of `order` that differ in one.
    Hamming { dimension: u32, order: u32 },
}

/// The leaves of each star of a product, written `3-4-5`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leaves(pub Vec<u32>);

impl fmt::Display for Leaves {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<String> = self.0.iter().map(u32::to_string).collect();
        f.pad(&texts.join("-"))
    }
}

impl FromStr for Leaves {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let leaves: Option<Vec<u32>> =
            text.split('-').map(|leaves| leaves.parse().ok().filter(|leaves| *leaves > 0)).collect();
        leaves.map(Self).ok_or_else(|| format!("'{text}' names no stars; expected their leaves, such as 3-4-5"))
    }
}

/// A spill to be looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InspectRequest {
    /// A spilled partition, or a directory with a manifest.
    pub path: PathBuf,
    /// Whether everything is decoded and every checksum compared.
    pub verify: bool,
}

/// What is to be removed from the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoveRequest {
    /// Keys (a unique beginning will do), or files that graphs were made of. One that the cache has nothing of is an
    /// error of the data.
    pub which: Vec<String>,
    /// Afterwards, what was not used for longest goes until the rest takes at most so much.
    pub max: Option<Bytes>,
}
