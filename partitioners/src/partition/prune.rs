//! How much is pruned. A triangle is counted where its corner of the largest rank is local, so both other corners are successors of a local vertex.
//! Vertices and arcs that cannot be part of a triangle with a local corner of the largest rank need not be spilled and streamed.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How much of an induced subgraph is kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema, clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Prune {
    /// The whole induced subgraph.
    None,
    /// Algorithm 2 of LSTC: removes proxies without an in-arc, and their out-arcs, until no such proxy remains.
    ZeroIndegree,
    /// Keeps a proxy only if a local vertex points at it, and an arc out of a proxy only if a local vertex also points at its head.
    #[default]
    Direct,
}

impl fmt::Display for Prune {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}
