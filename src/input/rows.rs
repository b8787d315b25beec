//! Inputs that store rows: all successors of a vertex together, the vertices in the order of their ids.
//!
//! An input that lists every edge from both ends, with ascending rows, is clean already, and can be oriented row by row
//! without sorting arcs first ([`crate::orient::rows`]). Only the form is guaranteed here: the reader of the rows has to check
//! that they ascend, that successors are vertices and that arcs have their reverse. An inconsistent input has no rows;
//! [`super::ArcSource::scan`](super::arcs::ArcSource::scan) then reports what is wrong.

use crate::control::Control;
use crate::error::Result;

/// The rows of a graph, readable at any position from many threads.
pub trait AdjacencyRows: Sync {
    /// The length of the row of each id from 0 on; `None` if the input is inconsistent.
    ///
    /// # Errors
    /// Files that cannot be read; a stop.
    fn lengths(&self, control: &Control) -> Result<Option<Vec<u32>>>;

    /// Fills `into` with successors from position `first` on, where position 0 is the first successor of the first row.
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
