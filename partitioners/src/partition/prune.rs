//! How much is pruned. A triangle is counted where its corner of the largest rank is local, so both other corners are successors of a local vertex.
//! Vertices and arcs that cannot be part of a triangle with a local corner of the largest rank need not be spilled and streamed.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What is kept of an induced subgraph.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema, clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Prune {
    /// The whole induced subgraph.
    None,
    /// What Algorithm 2 of LSTC leaves: proxies without an in-arc go, with their out-arcs, until none is left.
    ZeroIndegree,
    /// A proxy only if a local vertex points at it; an arc out of a proxy only if a local vertex also points at its
    /// head.
    #[default]
    Direct,
}

impl fmt::Display for Prune {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}
