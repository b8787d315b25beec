//! What cleaning found in the input: part of the graph's file.

use serde::{Deserialize, Serialize};

/// Counts of the input, and of what was removed and added. `2 * edges = arcs - loops_removed - duplicates_removed + arcs_added`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CleanReport {
    /// Vertices that the input declares; for lists of arcs, the distinct ids that occur.
    pub vertices_declared: u64,
    pub arcs: u64,
    /// Arcs from a vertex to itself.
    pub loops_removed: u64,
    /// Arcs that occurred before, in the same direction.
    pub duplicates_removed: u64,
    pub arcs_added: u64,
    /// Distinct arcs whose reverse is not in the input. If the input was meant to be undirected and lists both
    /// directions, this is 0.
    pub arcs_without_reverse: u64,
}
