//! A clean graph, and what was removed and added to make it.

use std::time::Duration;

use trimill_graph::CleanReport;

use super::buckets::Buckets;
use trimill_system::Bytes;

/// How the ids of the clean graph relate to those of the input.
#[derive(Debug)]
pub enum InputIds {
    /// The ids are the input's own.
    Plain,
    /// The ids are positions in this ascending table of the input's ids.
    Ranked(Vec<u64>),
}

/// A clean graph on its way to be oriented.
pub struct CleanGraph {
    /// Each edge once, as `min << 32 | max`; the buckets are in no order, each is sorted.
    pub pairs: Buckets,
    /// The degree of each id; 0 for ids that do not occur or whose arcs were all dropped.
    pub degrees: Vec<u32>,
    pub ids: InputIds,
    pub edges: u64,
    /// The id of the first declared vertex: single-column assignment files count from here.
    pub first_id: u64,
    /// How many lines a single-column assignment file has: one for each declared vertex, or, in a list of arcs, for
    /// each id up to the largest. `None` where ids are sparse.
    pub declared_lines: Option<u64>,
    pub report: CleanReport,
    /// Bytes written to bucket files while the input was read.
    pub bytes_distributed: Bytes,
    /// Bytes written to bucket files afterwards.
    pub bytes_written: Bytes,
    /// How long the stage 'input' took: reading, and the distribution to buckets.
    pub reading: Duration,
}
