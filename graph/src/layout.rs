//! The positions of the sections of a graph file ([`super::file`]), and the counts that determine them.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::CleanReport;
use trimill_system::bytes::Bytes;
use trimill_system::error::{Error, Result};

/// Sections begin at multiples of this.
pub(super) const PAGE: u64 = 4096;
/// What to do about a file that cannot be used.
pub(super) const REMAKE: &str = "remove it (trimill cache remove), and it is made again";
/// Bytes of an index entry, and of a run of equal degrees.
pub(super) const ENTRY: u64 = 32;
pub(super) const RUN: u64 = 8;

/// Counts and positions: everything in a graph file but the sections themselves.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Layout {
    /// Vertices with an edge.
    pub vertices: u32,
    pub edges: u64,
    /// Whether the input's ids are stored.
    pub has_ids: bool,
    /// Where ids are not stored: the input's id of vertex 0; the others follow without a gap.
    pub offset_of_ids: u64,
    /// The id of the first declared vertex.
    pub first_id: u64,
    /// How many lines a single-column assignment file has; `None` if ids are sparse.
    pub declared_lines: Option<u64>,
    pub report: CleanReport,
    /// The identity of the input that this was made from.
    pub source: String,
    /// The most successors of a vertex.
    pub longest_row: u32,
    /// The sum over all arcs of the number of successors of the arc's head.
    pub probes: u64,
    /// Bytes of all file blocks.
    pub block_bytes: u64,
    pub blocks: u64,
    pub degree_runs: u64,
}

impl Layout {
    /// The bytes of the file that hold the vertex of each rank.
    pub fn order(&self) -> Range<u64> {
        section(PAGE, u64::from(self.vertices) * 4)
    }

    /// The bytes of the file that hold the input's ids, if they are stored.
    pub fn ids(&self) -> Range<u64> {
        section(self.order().end, if self.has_ids { u64::from(self.vertices) * 8 } else { 0 })
    }

    pub fn rows(&self) -> Range<u64> {
        section(self.ids().end, self.block_bytes)
    }

    pub fn index(&self) -> Range<u64> {
        section(self.rows().end, self.blocks * ENTRY)
    }

    pub fn degrees(&self) -> Range<u64> {
        section(self.index().end, self.degree_runs * RUN)
    }

    /// Checks that the ids in use, from `first` to `last`, are among those declared: arrays over the declared ids have their length.
    pub(super) fn check_declared(&self, first: u64, last: u64) -> Result<()> {
        let Some(lines) = self.declared_lines else { return Ok(()) };
        if first >= self.first_id && last - self.first_id < lines {
            return Ok(());
        }
        let found = format!(
            "its vertices have the ids {first} to {last}, and it declares {lines} ids from {} on",
            self.first_id
        );
        Err(Error::data("", found).expected("ids that are declared").advice(REMAKE))
    }

    pub(super) fn end(&self) -> u64 {
        self.degrees().end
    }

    /// The least bytes of the file of a graph of so many vertices and edges: a row and an arc take a byte each, or more.
    pub fn file_at_least(&self) -> Bytes {
        let rows = section(self.ids().end, u64::from(self.vertices) + self.edges);
        Bytes(rows.end)
    }

    /// The bytes of all sections.
    pub fn sections_bytes(&self) -> Bytes {
        Bytes(self.end() - PAGE)
    }
}

fn section(after: u64, len: u64) -> Range<u64> {
    let start = after.next_multiple_of(PAGE);
    start..start + len
}
