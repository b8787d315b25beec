//! Inputs whose arcs stand in rows: all successors of a vertex together, the vertices in the order of their ids.
//!
//! An input that lists every edge from both ends, with ascending rows, is clean already, and can be oriented row by row
//! without sorting arcs first ([`crate::orient::rows`]). Nothing is promised here but the form: whether rows ascend, lead to
//! vertices and have their reverse is for the reader of the rows to find out. An input that contradicts itself has no
//! rows; [`super::ArcSource::scan`](super::arcs::ArcSource::scan) then says what is wrong.

use crate::control::Control;
use crate::error::Result;

/// The rows of a graph, readable at any place from many threads.
pub trait AdjacencyRows: Sync {
    /// The length of the row of each id from 0 on; nothing where the input contradicts itself.
    ///
    /// # Errors
    /// Files that cannot be read; the wish to stop.
    fn lengths(&self, control: &Control) -> Result<Option<Vec<u32>>>;

    /// Fills `into` with successors from place `first` on, where place 0 is the first head of the first row.
    ///
    /// # Errors
    /// Files that cannot be read.
    fn successors(&self, first: u64, into: &mut [u32]) -> Result<()>;
}

impl<T: AdjacencyRows + ?Sized> AdjacencyRows for &T {
    fn lengths(&self, control: &Control) -> Result<Option<Vec<u32>>> {
        (**self).lengths(control)
    }

    fn successors(&self, first: u64, into: &mut [u32]) -> Result<()> {
        (**self).successors(first, into)
    }
}
