//! The interface of a source of arcs for the next stage. Files are such sources, and edges in memory (`memory.rs`).

pub mod column;
pub mod csr;
pub mod edges;
mod memory;
pub mod pairs;

pub use edges::EdgeSource;
pub use memory::{ArcList, checked};

use crate::rows::AdjacencyRows;
use crate::{ArcSink, NameSink, VertexList};
use trimill_system::{Bytes, Control, Error, Result};

/// The task in which a source is [scanned](ArcSource::scan).
pub const READ: &str = "read";

/// Facts about a source that are known before it is read.
#[derive(Debug, Clone, Copy, Default)]
pub struct SourceFacts {
    /// The number of vertices, if the format declares it (BVGraph, Matrix Market, METIS, `.sg`, SciPy).
    pub declared_vertices: Option<u64>,
    /// The lowest id of the declared vertices: 1 for formats that count from one.
    pub first_id: u64,
    /// Whether each arc stands for its reverse, too: the entries of a symmetric matrix do.
    pub symmetric: bool,
    /// An upper bound of the number of arcs, from the header or the size; for compressed text an estimate: one arc per
    /// byte.
    pub arcs_at_most: u64,
    /// How many arcs between different vertices there are, as far as the header says it: 0 for formats that do not.
    pub arcs_at_least: u64,
    /// Whether it can be scanned only once, and how long it is, is not known before.
    pub is_read_once: bool,
    /// Whether the file has rows, which may hold every edge from both ends and can be read at any place.
    pub has_rows: bool,
    /// Whether its ids are names, which [`ArcSource::scan_names`] delivers; [`ArcSource::scan`] then fails.
    pub has_names: bool,
    /// Whether arcs have a direction, if the format says that (Graphalytics).
    pub directed: Option<bool>,
}

/// Delivers the arcs of a graph, any number of times unless [it is read once](SourceFacts::is_read_once).
pub trait ArcSource: Sync {
    fn facts(&self) -> SourceFacts;

    /// Delivers every arc once to `sink`, from the threads of rayon's current pool; returns their number.
    ///
    /// # Errors
    /// The first error in the data, with the line if there are lines; those of the sink; a stop.
    fn scan(&self, sink: &dyn ArcSink, control: &Control) -> Result<u64>;

    /// Whether arcs come in the order of their tails, most of them between near ids, and can be read twice in little time.
    fn is_ordered(&self) -> bool {
        false
    }

    /// The size of what is read, in bytes: all files as stored on disk; of a pipe what was read so far.
    fn bytes(&self) -> u64 {
        0
    }

    /// Delivers every arc of an input whose ids are names once to `sink`, as [`Self::scan`].
    ///
    /// # Errors
    /// As [`Self::scan`].
    fn scan_names(&self, sink: &dyn NameSink, control: &Control) -> Result<u64> {
        let _ = (sink, control);
        Err(Error::defect("an input without names"))
    }

    /// The rows, if the format stores rows that may hold every edge from both ends. Rows that must be decoded first may take
    /// `memory`. `None` if there are none, or too many, or the input is inconsistent, which [`Self::scan`] reports.
    fn rows(&self, memory: Bytes, control: &Control) -> Result<Option<Box<dyn AdjacencyRows + '_>>> {
        let _ = (memory, control);
        Ok(None)
    }

    /// The file that lists all vertices, if the format has one (Graphalytics): some may have no edge.
    fn listed(&self) -> Option<&VertexList> {
        None
    }

    /// Called when all was read: fails if a file changed meanwhile.
    fn unchanged(&self) -> Result<()> {
        Ok(())
    }
}
