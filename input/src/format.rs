//! The names of the formats that are read.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use trimill_system::Error;

/// A format of graph files. Its name is the same on the command line, in job files and in results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema, clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Format {
    /// WebGraph's `.graph` and `.properties`.
    Bvgraph,
    /// An edge list as text: SNAP, KONECT, Graph Challenge, GAPBS `.el`, CSV; plain, `.gz`, `.bz2` or `.zst`.
    Text,
    /// Matrix Market, coordinate.
    MatrixMarket,
    /// METIS `.graph`.
    Metis,
    /// The serialized graph of the GAP Benchmark Suite, `.sg`.
    GapbsSg,
    /// Packed edges of the Graph500 generator, 12 bytes each.
    Graph500,
    /// Pairs of little-endian `u32`.
    BinU32,
    /// Pairs of little-endian `u64`.
    BinU64,
    /// NumPy `.npy`: an array of integers of two columns.
    Npy,
    /// SciPy `.npz`: a sparse matrix (CSR, CSC, COO).
    ScipyNpz,
    /// Apache Parquet: two columns of integers; in builds with the feature `parquet`.
    Parquet,
    /// Apache Arrow: files (Feather) and streams with two columns of integers; in builds with the feature `parquet`.
    Arrow,
    /// LDBC Graphalytics: `.v`, `.e` and `.properties`.
    Graphalytics,
}

impl Format {
    /// The name of each format, in the order of the declaration, which is also that of help texts.
    const KNOWN: [(Self, &'static str); 13] = [
        (Self::Bvgraph, "bvgraph"),
        (Self::Text, "text"),
        (Self::MatrixMarket, "matrix-market"),
        (Self::Metis, "metis"),
        (Self::GapbsSg, "gapbs-sg"),
        (Self::Graph500, "graph500"),
        (Self::BinU32, "bin-u32"),
        (Self::BinU64, "bin-u64"),
        (Self::Npy, "npy"),
        (Self::ScipyNpz, "scipy-npz"),
        (Self::Parquet, "parquet"),
        (Self::Arrow, "arrow"),
        (Self::Graphalytics, "graphalytics"),
    ];

    /// All formats, in the order of help texts.
    pub fn all() -> [Self; 13] {
        Self::KNOWN.map(|(format, _)| format)
    }

    /// Its name on the command line, in job files and in results.
    pub const fn name(self) -> &'static str {
        Self::KNOWN[self as usize].1
    }

    /// Whether one graph may be spread over several files.
    pub const fn takes_several_files(self) -> bool {
        matches!(self, Self::Text | Self::Graph500 | Self::BinU32 | Self::BinU64 | Self::Npy) || self.is_table()
    }

    pub(crate) const fn is_table(self) -> bool {
        matches!(self, Self::Parquet | Self::Arrow)
    }

    /// Whether files are read in few long ranges, as a server sends them.
    pub(crate) const fn comes_in_ranges(self) -> bool {
        self.takes_several_files() || matches!(self, Self::MatrixMarket)
    }

    pub(crate) fn names(is: impl Fn(Self) -> bool) -> String {
        let names: Vec<&str> = Self::all().into_iter().filter(|&format| is(format)).map(Self::name).collect();
        names.join(", ")
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::all()
            .into_iter()
            .find(|format| format.name() == text)
            .ok_or_else(|| Error::usage(format!("'{text}' is not a format; expected one of {}", Self::names(|_| true))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_has_one_name_everywhere() {
        let schema = serde_json::to_string(&schemars::schema_for!(Format)).unwrap();
        for format in Format::all() {
            let name = format.to_string();
            assert_eq!(name.parse::<Format>().unwrap(), format);
            assert_eq!(serde_json::to_value(format).unwrap(), serde_json::Value::String(name.clone()));
            assert_eq!(serde_json::from_str::<Format>(&format!("\"{name}\"")).unwrap(), format);
            assert!(schema.contains(&format!("\"{name}\"")), "{name} in {schema}");
        }
        assert!("edgelist".parse::<Format>().unwrap_err().to_string().contains("matrix-market"));
    }
}
