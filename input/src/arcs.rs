//! The interface of a source of arcs: files, and edges in memory (`memory.rs`).

pub mod column;
pub mod csr;
pub mod edges;
mod memory;
pub mod pairs;

pub use edges::EdgeSource;
pub use memory::{ArcList, checked};

use std::path::Path;

use crate::rows::AdjacencyRows;
use crate::{ArcSink, NameSink, VertexList};
use trimill_system::{Bytes, Control, Error, Result};

/// The name of the task that [scans](ArcSource::scan) a source.
pub const READ: &str = "read";

/// The facts about a source that are known before it is read.
#[derive(Debug, Clone, Copy, Default)]
pub struct SourceFacts {
    /// The number of vertices, if the format declares it (BVGraph, Matrix Market, METIS, `.sg`, SciPy).
    pub declared_vertices: Option<u64>,
    /// The lowest id of the declared vertices: 1 for formats that count from one.
    pub first_id: u64,
    /// Whether each arc stands for its reverse, too: the entries of a symmetric matrix do.
    pub symmetric: bool,
    /// An upper bound of the number of arcs, from the header or the size; for compressed text an estimate, one arc per byte.
    pub arcs_at_most: u64,
    /// A lower bound of the arcs between different vertices, from the header; 0 if the header does not say.
    pub arcs_at_least: u64,
    /// Whether it can be scanned only once; its length is then unknown before the scan.
    pub is_read_once: bool,
    /// Whether the file stores rows, readable at any place, that may hold every edge from both ends.
    pub has_rows: bool,
    /// Whether its ids are names, which [`ArcSource::scan_names`] delivers; [`ArcSource::scan`] then fails.
    pub has_names: bool,
    /// Whether arcs have a direction, where the format says so (Graphalytics).
    pub directed: Option<bool>,
}

/// Delivers the arcs of a graph, any number of times unless it [can be read only once](SourceFacts::is_read_once).
pub trait ArcSource: Sync {
    fn facts(&self) -> SourceFacts;

    /// What errors call it: its first file, if it has one.
    fn name(&self) -> &Path {
        Path::new("input")
    }

    /// Delivers each arc once to `sink`, from the current pool's threads; returns their number. Errors: the first in the data, the sink's, a stop.
    fn scan(&self, sink: &dyn ArcSink, control: &Control) -> Result<u64>;

    /// Whether arcs come in the order of their tails, mostly between near ids, and can be read twice in little time.
    fn is_ordered(&self) -> bool {
        false
    }

    /// The bytes of the input: all files as stored on disk; for a pipe, the bytes read so far.
    fn bytes(&self) -> u64 {
        0
    }

    /// As [`Self::scan`], for an input whose ids are names.
    fn scan_names(&self, sink: &dyn NameSink, control: &Control) -> Result<u64> {
        let _ = (sink, control);
        Err(Error::defect("an input without names"))
    }

    /// The rows, if the format stores rows that may hold every edge from both ends. Rows that must be decoded first may take
    /// `memory`. `None` if there are none, or too many, or the input is inconsistent, which [`Self::scan`] then reports.
    fn rows(&self, memory: Bytes, control: &Control) -> Result<Option<Box<dyn AdjacencyRows + '_>>> {
        let _ = (memory, control);
        Ok(None)
    }

    /// The file that lists all vertices, also those without edges, if the format has one (Graphalytics).
    fn listed(&self) -> Option<&VertexList> {
        None
    }

    /// To be called when all was read: fails if a file changed meanwhile.
    fn unchanged(&self) -> Result<()> {
        Ok(())
    }
}
