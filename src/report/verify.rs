//! The report of `trimill verify`.

use serde::{Deserialize, Serialize};

use super::InputReport;
use crate::truss::by_k::Trusses;
use crate::vertices::summary::Clustering;

/// What the slow independent counter found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct VerifyReport {
    /// Triangles.
    pub triangles: u128,
    /// Vertices with an edge.
    pub vertices: u64,
    /// Edges.
    pub edges: u64,
    /// Paths of two edges.
    pub wedges: u128,
    /// `3 * triangles / wedges`; 0 without wedges.
    pub transitivity: f64,
    /// The input, and what cleaning did to it.
    pub input: InputReport,
    /// Time for everything.
    pub seconds: f64,
    /// The summary of the triangles at all vertices; null where they were not asked for.
    pub clustering: Option<Clustering>,
    /// The sizes of all trusses; null where they were not asked for.
    pub truss: Option<Trusses>,
}

impl VerifyReport {
    /// Fills in the versions, and the transitivity from the counts.
    #[must_use]
    pub fn complete(self) -> Self {
        Self { transitivity: super::transitivity(self.triangles, self.wedges), ..self }
    }
}
