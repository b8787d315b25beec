//! Where everything in a graph file lies ([`super::file`]), and the counts that decide it.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::bytes::Bytes;
use crate::clean::CleanReport;

/// Sections begin at multiples of this.
pub(super) const PAGE: u64 = 4096;
/// What to do about a file that cannot be used.
pub(super) const REMAKE: &str = "remove it (trimill cache remove), and it is made again";

/// Counts and places: everything about a graph file but the sections themselves.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Layout {
    /// Vertices with an edge.
    pub vertices: u32,
    /// Edges.
    pub edges: u64,
    /// Whether the input's ids are stored.
    pub has_ids: bool,
    /// Where they are not: the input's id of vertex 0; the others follow without a gap.
    pub offset_of_ids: u64,
    /// The id of the first declared vertex.
    pub first_id: u64,
    /// How many vertices single-column assignment files name, where ids are not sparse.
    pub declared_lines: Option<u64>,
    /// What cleaning removed and added.
    pub report: CleanReport,
    /// The identity of the input that this was made from.
    pub source: String,
}

impl Layout {
    /// Bytes of the offsets.
    pub fn offsets(&self) -> Range<usize> {
        section(PAGE, (u64::from(self.vertices) + 1) * 8)
    }

    /// Bytes of the heads.
    pub fn heads(&self) -> Range<usize> {
        section(self.offsets().end as u64, self.edges * 4)
    }

    /// Bytes of the degrees.
    pub fn degrees(&self) -> Range<usize> {
        section(self.heads().end as u64, u64::from(self.vertices) * 4)
    }

    /// Bytes of the input's ids, where they are stored.
    pub fn ids(&self) -> Option<Range<usize>> {
        self.has_ids.then(|| section(self.degrees().end as u64, u64::from(self.vertices) * 8))
    }

    /// Bytes of all sections.
    pub fn sections_bytes(&self) -> Bytes {
        Bytes(self.end() - PAGE)
    }

    pub(super) fn end(&self) -> u64 {
        self.ids().unwrap_or_else(|| self.degrees()).end as u64
    }
}

fn section(after: u64, len: u64) -> Range<usize> {
    let start = after.next_multiple_of(PAGE) as usize;
    start..start + len as usize
}
