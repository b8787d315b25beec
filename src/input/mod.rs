//! Readers: files of many formats in, arcs out.
//!
//! Enters: one or several files, or standard input. Leaves: every arc that the files hold, once each, as pairs of ids
//! (`u64`), loops and duplicates included, delivered in batches from many threads.

pub mod arcs;
pub mod format;

use crate::error::Result;

/// Receives arcs from a reader.
pub trait ArcSink: Sync {
    /// Takes a batch of arcs `(tail, head)` in the ids of the input. Called from many threads at once; batches of
    /// 4,096 to 65,536 arcs cost least.
    ///
    /// # Errors
    /// What the receiving station reports; the reader stops at once and hands it on.
    fn arcs(&self, batch: &[(u64, u64)]) -> Result<()>;
}
