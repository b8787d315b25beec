//! Readers: files of many formats in, arcs out.
//!
//! Input: files, or standard input. Output: every arc that they hold, once each, loops and duplicates included, as pairs of `u64` ids, in batches
//! from many threads. Ids are those of the file: 1-based in Matrix Market and METIS, 0-based in BVGraph, `.sg` and SciPy, as stored in edge lists.
//!
//! Opening a [`Source`] detects the format (`detect`) and reads the header; [`arcs::ArcSource::scan`] reads all, and may be called
//! again. Memory: threads x (a window of 8 MiB and a batch), for a file of any size.

mod archive;
pub mod arcs;
#[cfg(feature = "parquet")]
mod arrow;
pub mod assignment;
mod batch;
mod binary;
mod bvgraph;
mod column_names;
mod columns;
mod compressed_rows;
mod compression;
mod contents;
mod dataset;
mod detect;
mod ends;
mod file;
pub mod format;
mod frames;
mod gapbs;
mod graphalytics;
mod graphar;
mod head;
mod header;
mod hints;
pub mod identity;
mod java_properties;
mod lines;
mod matrix_market;
mod metis;
mod metis_rows;
mod names;
mod npy;
mod number;
mod pairs;
mod parallel;
#[cfg(feature = "parquet")]
mod parquet;
mod part_list;
mod part_names;
mod pipe;
mod preamble;
#[cfg(feature = "remote")]
mod remote;
mod row_store;
pub mod rows;
mod scipy;
mod settings;
mod source;
mod spool;
mod spooled;
mod stat;
mod storage;
#[cfg(feature = "parquet")]
mod tables;
mod text;
mod text_blocks;

#[cfg(test)]
#[path = "far/tests.rs"]
mod far;
#[cfg(test)]
mod tests;

pub use bvgraph::{companions, name_without_dots};
pub use column_names::ColumnNames;
pub use dataset::{InputPattern, files_of};
pub use graphalytics::VertexList;
pub use header::Header;
pub use identity::{FileIdentity, Identity};
pub use names::{NameSink, NamedArcs};
pub use settings::InputSettings;
pub use source::Source;
pub use stat::changed;

use arcs::SourceFacts;
use graphalytics::GraphalyticsFiles;
use rows::AdjacencyRows;

use std::path::{Path, PathBuf};

use trimill_system::control::{Control, Task};
use trimill_system::text::plural;
use trimill_system::{Bytes, Error, Result};

/// The most vertices: ids have 32 bits internally, and two values are reserved as marks.
pub const MOST_VERTICES: u64 = u32::MAX as u64 - 1;

/// The most arcs of a batch made of rows: 64 KiB, which the allocator reuses.
const LARGEST_BATCH: usize = 1 << 12;

pub trait ArcSink: Sync {
    /// Takes a batch of arcs `(tail, head)` in the input's ids (best 4,096 to 65,536), by many threads. An error stops the reader, which returns it.
    fn arcs(&self, batch: &[(u64, u64)]) -> Result<()>;

    /// Takes consecutive rows, as [`Self::arcs`]: `rows` has each row's tail and where its heads, which ascend strictly, end in `heads`.
    fn rows(&self, rows: &[(u64, usize)], heads: &[u32]) -> Result<()> {
        expand(self, rows, heads)
    }
}

#[cfg(any(test, feature = "testing"))]
impl ArcSink for std::sync::Mutex<Vec<(u64, u64)>> {
    fn arcs(&self, batch: &[(u64, u64)]) -> Result<()> {
        trimill_system::lock(self).extend_from_slice(batch);
        Ok(())
    }
}

/// The files that are read together with `path`, whether or not they exist.
pub fn read_together(path: &Path) -> Vec<PathBuf> {
    let graphalytics = GraphalyticsFiles::of(path, false).map(GraphalyticsFiles::paths);
    companions(path).into_iter().chain(graphalytics.into_iter().flatten()).collect()
}

/// Splits a row: the heads below the tail, whether the tail is one of the heads, the heads above it.
pub fn around_tail(tail: u64, heads: &[u32]) -> (&[u32], bool, &[u32]) {
    let (below, rest) = heads.split_at(heads.partition_point(|&head| u64::from(head) < tail));
    match rest {
        [head, above @ ..] if u64::from(*head) == tail => (below, true, above),
        _ => (below, false, rest),
    }
}

/// Hands rows over as batches of arcs; a row is its tail and where its heads end in `heads`.
pub fn expand<S: ArcSink + ?Sized>(sink: &S, rows: &[(u64, usize)], heads: &[u32]) -> Result<()> {
    let mut batch = Vec::with_capacity(heads.len().min(LARGEST_BATCH));
    let mut begin = 0;
    for &(tail, end) in rows {
        for part in heads[begin..end].chunks(LARGEST_BATCH) {
            if batch.len() + part.len() > LARGEST_BATCH {
                sink.arcs(&batch)?;
                batch.clear();
            }
            batch.extend(part.iter().map(|&head| (tail, u64::from(head))));
        }
        begin = end;
    }
    sink.arcs(&batch)
}

/// A reader with an open file and a checked header. What is not described here is as in [`arcs::ArcSource`].
trait Reader: Send + Sync {
    fn facts(&self) -> SourceFacts;

    /// The bytes that a scan reads, if not those of all files; of a pipe those read so far.
    fn bytes(&self) -> u64 {
        0
    }

    fn is_ordered(&self) -> bool {
        false
    }

    fn listed(&self) -> Option<&VertexList> {
        None
    }

    /// Delivers every arc once and returns their number; advances `task` by the bytes read.
    fn scan(&self, sink: &dyn ArcSink, control: &Control, task: &Task) -> Result<u64>;

    fn scan_names(&self, sink: &dyn NameSink, control: &Control, task: &Task) -> Result<u64> {
        let _ = (sink, control, task);
        Err(Error::defect("an input without names"))
    }

    /// Rows that must be decoded first may take `memory`; `None` if that is too little, or if the rows contradict each other.
    fn rows(&self, memory: Bytes, control: &Control) -> Result<Option<Box<dyn AdjacencyRows + '_>>> {
        let _ = (memory, control);
        Ok(None)
    }
}

/// The error for a matrix that is no graph; it does not name the file.
fn not_square(rows: u64, columns: u64) -> Error {
    let (rows, columns) = (plural(rows, "row", "rows"), plural(columns, "column", "columns"));
    Error::data("", format!("a matrix of {rows} and {columns}"))
        .expected("a square matrix")
        .advice("a rectangular matrix is not a graph; give its rows and columns different ids")
}

/// Refuses a number of declared vertices that needs ids of more than 32 bits.
fn check_vertices(vertices: u64) -> Result<()> {
    if vertices <= MOST_VERTICES {
        return Ok(());
    }
    Err(Error::data("", format!("{vertices} vertices")).expected(format!("at most {MOST_VERTICES} (2^32 - 2)")))
}
