//! The names of the input formats.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A format that a reader exists for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// WebGraph's compressed web crawls: `.graph` with `.properties`.
    Bvgraph,
    /// Text edge lists, plain or compressed.
    Text,
    /// Matrix Market coordinate files.
    MatrixMarket,
    /// METIS adjacency files.
    Metis,
    /// Serialised graphs of the GAP Benchmark Suite.
    GapbsSg,
    /// Packed edges of Graph500.
    Graph500,
    /// Pairs of little-endian `u32`.
    #[serde(rename = "bin-u32")]
    #[value(name = "bin-u32")]
    BinU32,
    /// Pairs of little-endian `u64`.
    #[serde(rename = "bin-u64")]
    #[value(name = "bin-u64")]
    BinU64,
}

impl Format {
    /// All formats, in the order of the documentation.
    pub const ALL: [Self; 8] = [
        Self::Bvgraph,
        Self::Text,
        Self::MatrixMarket,
        Self::Metis,
        Self::GapbsSg,
        Self::Graph500,
        Self::BinU32,
        Self::BinU64,
    ];

    /// The name in commands, job files and results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bvgraph => "bvgraph",
            Self::Text => "text",
            Self::MatrixMarket => "matrix-market",
            Self::Metis => "metis",
            Self::GapbsSg => "gapbs-sg",
            Self::Graph500 => "graph500",
            Self::BinU32 => "bin-u32",
            Self::BinU64 => "bin-u64",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|format| format.name() == text).ok_or_else(|| {
            format!("'{text}' is not a format; expected one of {}", Self::ALL.map(Self::name).join(", "))
        })
    }
}
