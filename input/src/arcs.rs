//! The interface of a source of arcs for the next stage. Files are such sources, and edges in memory (`memory.rs`).

pub mod column;
pub mod csr;
pub mod edges;
mod memory;
pub mod pairs;

pub use edges::EdgeSource;
pub use memory::{ArcList, checked};

use crate::rows::AdjacencyRows;
use crate::{ArcSink, NameSink, Source, VertexList};
use trimill_system::bytes::Bytes;
use trimill_system::control::Control;
use trimill_system::error::{Error, Result};

/// Delivers the arcs of a graph, any number of times unless [it is read once](Self::is_read_once).
pub trait ArcSource: Sync {
    /// Delivers every arc once, from any number of threads, and returns how many there were.
    fn scan(&self, sink: &dyn ArcSink, control: &Control) -> Result<u64>;

    /// The number of vertices, if the format declares one.
    fn declared_vertices(&self) -> Option<u64>;

    /// The lowest id of the declared vertices: 1 for formats that count from one.
    fn first_id(&self) -> u64;

    /// Whether each arc stands for its reverse, too, so that no reverse is missing.
    fn symmetric(&self) -> bool {
        false
    }

    /// As [`Source::is_ordered`].
    fn is_ordered(&self) -> bool {
        false
    }

    /// An upper bound of the arcs (an estimate if the format has none): used to size buckets, never for a result.
    fn arcs_at_most(&self) -> u64;

    /// The bytes that are read, or were read so far, as [`Source::bytes`]: for reports.
    fn bytes(&self) -> u64 {
        0
    }

    /// As [`Source::is_read_once`].
    fn is_read_once(&self) -> bool {
        false
    }

    /// As [`Source::has_rows`].
    fn has_rows(&self) -> bool {
        false
    }

    /// As [`Source::arcs_at_least`].
    fn arcs_at_least(&self) -> u64 {
        0
    }

    /// As [`Source::has_names`]: then [`Self::scan`] fails.
    fn has_names(&self) -> bool {
        false
    }

    /// As [`Source::scan_names`].
    fn scan_names(&self, sink: &dyn NameSink, control: &Control) -> Result<u64> {
        let _ = (sink, control);
        Err(Error::defect("an input without names"))
    }

    /// The rows, as [`Source::rows`].
    fn rows(&self, memory: Bytes, control: &Control) -> Result<Option<Box<dyn AdjacencyRows + '_>>> {
        let _ = (memory, control);
        Ok(None)
    }

    /// As [`Source::listed`].
    fn listed(&self) -> Option<&VertexList> {
        None
    }

    /// As [`Source::directed`].
    fn directed(&self) -> Option<bool> {
        None
    }

    /// As [`Source::unchanged`].
    fn unchanged(&self) -> Result<()> {
        Ok(())
    }
}

impl ArcSource for Source {
    fn scan(&self, sink: &dyn ArcSink, control: &Control) -> Result<u64> {
        Self::scan(self, sink, control)
    }

    fn declared_vertices(&self) -> Option<u64> {
        Self::declared_vertices(self)
    }

    fn first_id(&self) -> u64 {
        u64::from(self.one_based())
    }

    fn is_ordered(&self) -> bool {
        Self::is_ordered(self)
    }

    fn symmetric(&self) -> bool {
        Self::symmetric(self)
    }

    fn arcs_at_most(&self) -> u64 {
        Self::arcs_at_most(self)
    }

    fn bytes(&self) -> u64 {
        Self::bytes(self)
    }

    fn is_read_once(&self) -> bool {
        Self::is_read_once(self)
    }

    fn has_rows(&self) -> bool {
        Self::has_rows(self)
    }

    fn arcs_at_least(&self) -> u64 {
        Self::arcs_at_least(self)
    }

    fn has_names(&self) -> bool {
        Self::has_names(self)
    }

    fn scan_names(&self, sink: &dyn NameSink, control: &Control) -> Result<u64> {
        Self::scan_names(self, sink, control)
    }

    fn rows(&self, memory: Bytes, control: &Control) -> Result<Option<Box<dyn AdjacencyRows + '_>>> {
        Self::rows(self, memory, control)
    }

    fn listed(&self) -> Option<&VertexList> {
        Self::listed(self)
    }

    fn directed(&self) -> Option<bool> {
        Self::directed(self)
    }

    fn unchanged(&self) -> Result<()> {
        Self::unchanged(self)
    }
}
