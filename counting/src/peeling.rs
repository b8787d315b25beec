//! The interface between the truss decomposition, which chooses the levels at which edges fall, and what removes them.

use trimill_system::Result;

/// The edges of a graph that are left, fewer round by round, on the cores or a device. An edge's value is its number of triangles among the edges
/// left. Edges are gathered while their values are at most a bound; the next level is searched among those.
pub trait Peeling {
    /// The smallest value of an edge that is left; `None` if there is no edge.
    fn least(&mut self) -> Result<Option<u32>>;

    /// Gathers the edges left with values up to `bound`; from now on also those whose values fall to it.
    fn gather(&mut self, bound: u32) -> Result<()>;

    fn least_gathered(&mut self) -> Result<Option<u32>>;

    /// How many gathered edges have values up to `level`: they fall in the next round.
    fn begin(&mut self, level: u32) -> Result<u64>;

    /// Removes the falling edges; returns how many fall in the next round because of it.
    fn round(&mut self, level: u32) -> Result<u64>;

    /// The most edges left, of `all`, with which a new graph of these alone is peeled faster than this one.
    fn worth_leaving(&self, all: u64) -> u64;

    /// The value of each edge; for one that fell, the level at which it fell, marked by [`FALLEN`]. To be called between levels.
    fn values(&mut self) -> Result<Vec<u32>>;
}

/// Marks the value of an edge that fell.
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
