//! The interface between the truss decomposition, which chooses the level at which edges are removed, and the code that removes them.

use trimill_system::Result;

/// The remaining edges of a graph, on the cores or a device; each round removes some. An edge's value is the number of its triangles with remaining
/// edges. Edges with values up to a bound are gathered in a list, which is searched for the next level.
pub trait Peeling {
    /// The smallest value of a remaining edge; `None` if there is none.
    fn least(&mut self) -> Result<Option<u32>>;

    /// Gathers the remaining edges with values up to `bound`, and from now on those whose values decrease to it.
    fn gather(&mut self, bound: u32) -> Result<()>;

    fn least_gathered(&mut self) -> Result<Option<u32>>;

    /// How many gathered edges have values up to `level`: the next round removes them.
    fn begin(&mut self, level: u32) -> Result<u64>;

    /// Removes these edges; returns how many others decrease to `level` or less and are removed in the next round.
    fn round(&mut self, level: u32) -> Result<u64>;

    /// Once at most this many of `all` edges remain, it is faster to continue with a new graph of only these.
    fn worth_leaving(&self, all: u64) -> u64;

    /// The value of each edge; of a removed edge, the level at which it was removed, marked by [`FALLEN`]. To be called between levels.
    fn values(&mut self) -> Result<Vec<u32>>;
}

/// Marks the value of a removed edge.
pub const FALLEN: u32 = 1 << 31;

/// A graph to be peeled. An edge's number is its place in `heads`.
#[derive(Debug, Clone, Copy)]
pub struct GraphToPeel<'a> {
    /// The first edge of each vertex's row, and the end of the last row.
    pub firsts: &'a [u64],
    /// Smaller vertices, ascending in each row.
    pub heads: &'a [u32],
    /// The triangles on each edge.
    pub values: &'a [u32],
}
