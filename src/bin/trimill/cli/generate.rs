//! `trimill generate` as typed.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Subcommand};

use trimill::Bytes;
use trimill::Result;
use trimill::program::Job;
use trimill::program::execute::GenerateRequest;
use trimill::program::from_one;
use trimill::program::{Family, SUFFIXES, StarKind, parse_leaves};
use trimill::program::{InputTable, Tables};

/// `trimill generate`
#[derive(Debug, Args)]
pub(crate) struct GenerateCommand {
    /// What to make
    #[command(subcommand)]
    pub(crate) family: FamilyCommand,
}

/// Where the graph goes.
#[derive(Debug, Clone, Args)]
pub(crate) struct FileArgs {
    /// The file: .bin for pairs of u32, little-endian; .txt for text; .graph for a BVGraph, with .properties and .offsets beside it; .sg
    /// for GAP's format. The last two are symmetric, and take 8 bytes an edge of memory
    #[arg(short, long, value_name = "FILE", value_parser = edge_file, help_heading = "Output")]
    pub(crate) output: PathBuf,

    /// Replace a file that is there already
    #[arg(long, help_heading = "Output")]
    pub(crate) force: bool,

    /// CPU threads [default: all cores]
    #[arg(long, value_parser = from_one::<NonZeroUsize>, value_name = "N", help_heading = "Count")]
    pub(crate) threads: Option<NonZeroUsize>,

    /// Print one JSON object instead of text
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

fn edge_file(typed: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(typed);
    match path.extension().and_then(|suffix| suffix.to_str()) {
        Some("bin" | "txt" | "graph" | "sg") => Ok(path),
        _ => Err(format!("the suffix names no format; expected a name that ends in {SUFFIXES}")),
    }
}

/// The leaves of each star of a product, written `3-4-5`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Leaves(pub Vec<u64>);

impl FromStr for Leaves {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        parse_leaves(text).map(Self)
    }
}

/// A graph from which another one is made.
#[derive(Debug, Clone, Args)]
pub(crate) struct GraphArgs {
    /// The graph's file; it is cleaned first
    #[arg(value_name = "GRAPH")]
    pub(crate) graph: PathBuf,

    #[command(flatten)]
    pub(crate) input: InputTable,

    /// The most memory of the host for cleaning [default: half of the RAM]
    #[arg(long, value_name = "BYTES", help_heading = "Memory")]
    pub(crate) host_memory: Option<Bytes>,

    /// The directory for temporary files
    #[arg(long, value_name = "DIR", help_heading = "Cache and work")]
    pub(crate) work_dir: Option<PathBuf>,
}

/// The families.
#[derive(Debug, Subcommand)]
pub(crate) enum FamilyCommand {
    /// The Kronecker graph of the GAP Benchmark Suite: 16 * 2^scale draws
    GapKron {
        /// log2 of the number of vertices
        #[arg(long, value_name = "S", value_parser = clap::value_parser!(u32).range(1..=31))]
        scale: u32,
        #[command(flatten)]
        #[allow(missing_docs)]
        file: FileArgs,
    },
    /// The uniform random graph of the GAP Benchmark Suite: 16 * 2^scale draws
    GapUrand {
        /// log2 of the number of vertices
        #[arg(long, value_name = "S", value_parser = clap::value_parser!(u32).range(1..=31))]
        scale: u32,
        #[command(flatten)]
        #[allow(missing_docs)]
        file: FileArgs,
    },
    /// The Kronecker product of stars (Graph Challenge)
    Stars {
        /// The leaves of each star, such as 3-4-5
        #[arg(value_name = "LEAVES")]
        leaves: Leaves,
        /// No loops in the factors (Bk), one at each centre (B1k), one at each last leaf (B2k)
        #[arg(long, value_enum, default_value_t)]
        kind: StarKind,
        #[command(flatten)]
        #[allow(missing_docs)]
        file: FileArgs,
    },
    /// A given graph with every vertex replaced by independent copies: E times k^2, T times k^3
    Blowup {
        #[command(flatten)]
        #[allow(missing_docs)]
        graph: GraphArgs,
        /// Copies of each vertex
        #[arg(long, value_name = "K", value_parser = clap::value_parser!(u64).range(1..))]
        copies: u64,
        /// Permute the ids of the product with this seed; without it, copies of a vertex have consecutive ids
        #[arg(long, value_name = "SEED")]
        permute: Option<u64>,
        #[command(flatten)]
        #[allow(missing_docs)]
        file: FileArgs,
    },
    /// The tensor product of a given graph with a complete graph: E times q (q - 1), T times q (q - 1) (q - 2)
    TensorComplete {
        #[command(flatten)]
        #[allow(missing_docs)]
        graph: GraphArgs,
        /// Vertices of the complete graph
        #[arg(long, value_name = "Q", value_parser = clap::value_parser!(u64).range(1..))]
        order: u64,
        #[command(flatten)]
        #[allow(missing_docs)]
        file: FileArgs,
    },
    /// A ring where each vertex is joined to the K next ones
    RingLattice {
        /// Vertices; more than 3 * K for the known count
        #[arg(long, value_name = "N")]
        vertices: u64,
        /// Neighbours on each side
        #[arg(long, value_name = "K")]
        k: u64,
        #[command(flatten)]
        #[allow(missing_docs)]
        file: FileArgs,
    },
    /// A grid with both diagonals
    KingsGrid {
        /// Rows
        #[arg(long, value_name = "R")]
        rows: u64,
        /// Columns
        #[arg(long, value_name = "C")]
        columns: u64,
        #[command(flatten)]
        #[allow(missing_docs)]
        file: FileArgs,
    },
    /// The complete graph
    Complete {
        /// Vertices
        #[arg(long, value_name = "N")]
        vertices: u64,
        #[command(flatten)]
        #[allow(missing_docs)]
        file: FileArgs,
    },
    /// Cliques joined to a ring through different vertices
    RingOfCliques {
        /// Cliques, at least 3
        #[arg(long, value_name = "K", value_parser = clap::value_parser!(u64).range(3..))]
        cliques: u64,
        /// Vertices of a clique, at least 2
        #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(2..))]
        size: u64,
        #[command(flatten)]
        #[allow(missing_docs)]
        file: FileArgs,
    },
    /// The Hamming graph H(d, q): words of d letters that differ in one
    Hamming {
        /// Letters of a word
        #[arg(long, value_name = "D", value_parser = clap::value_parser!(u32).range(1..=32))]
        dimension: u32,
        /// Letters of the alphabet
        #[arg(long, value_name = "Q", value_parser = clap::value_parser!(u64).range(2..))]
        order: u64,
        #[command(flatten)]
        #[allow(missing_docs)]
        file: FileArgs,
    },
}

impl FamilyCommand {
    pub(crate) fn file(&self) -> &FileArgs {
        match self {
            Self::GapKron { file, .. }
            | Self::GapUrand { file, .. }
            | Self::Stars { file, .. }
            | Self::Blowup { file, .. }
            | Self::TensorComplete { file, .. }
            | Self::RingLattice { file, .. }
            | Self::KingsGrid { file, .. }
            | Self::Complete { file, .. }
            | Self::RingOfCliques { file, .. }
            | Self::Hamming { file, .. } => file,
        }
    }
}

impl GraphArgs {
    fn job(&self, threads: Option<NonZeroUsize>) -> Result<Box<Job>> {
        let mut tables = Tables { input: self.input.clone(), ..Tables::default() };
        tables.input.path = Some(self.graph.clone());
        (tables.memory.host, tables.count.threads) = (self.host_memory, threads);
        tables.work.dir.clone_from(&self.work_dir);
        Job::resolve(None, &tables, std::path::Path::new("")).map(Box::new)
    }
}

impl GenerateCommand {
    /// Also returns whether the result is printed as JSON.
    pub(crate) fn request(self) -> Result<(GenerateRequest, bool)> {
        use FamilyCommand as C;
        let mut base = None;
        let (family, file) = match self.family {
            C::GapKron { scale, file } => (Family::GapKron { scale }, file),
            C::GapUrand { scale, file } => (Family::GapUrand { scale }, file),
            C::Stars { leaves, kind, file } => (Family::Stars { leaves: leaves.0, kind }, file),
            C::Blowup { graph, copies, permute, file } => {
                base = Some(graph.job(file.threads)?);
                (Family::Blowup { copies, permute }, file)
            }
            C::TensorComplete { graph, order, file } => {
                base = Some(graph.job(file.threads)?);
                (Family::TensorComplete { q: order }, file)
            }
            C::RingLattice { vertices, k, file } => (Family::RingLattice { vertices, k }, file),
            C::KingsGrid { rows, columns, file } => (Family::KingsGrid { rows, columns }, file),
            C::Complete { vertices, file } => (Family::Complete { vertices }, file),
            C::RingOfCliques { cliques, size, file } => (Family::RingOfCliques { cliques, size }, file),
            C::Hamming { dimension, order, file } => (Family::Hamming { d: dimension, q: order }, file),
        };
        Ok((GenerateRequest { family, graph: base, output: file.output, threads: file.threads }, file.json))
    }
}
