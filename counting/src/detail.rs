//! What is counted: which part of a graph, and whether triangles at vertices or on edges, too.
//!
//! A triangle adds 1 to the counter of each corner: number `j` has counter `j`. For the corner with the largest number, a local, a device knows only
//! its index among the locals: local `i` has counter `locals_at + i`. If locals have consecutive numbers, this is the counter of its number; else
//! locals have second counters, after those of all numbers, and both are added when read. Counters have 64 bits. If they do not all fit, a partition
//! is counted several times, each time with another window of them.

use std::ops::Range;

use crate::PartitionExtent;

pub const COUNTER_BYTES: u64 = size_of::<u64>() as u64;

/// 32 bits suffice, since an arc has fewer triangles than its ends have neighbours.
pub const EDGE_COUNTER_BYTES: u64 = size_of::<u32>() as u64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    Partitions,
    /// Whole graphs: each vertex local, all rows resident.
    WholeGraphs,
    /// Whole graphs, and an [`EdgeShare`] of their edges.
    SharesOfGraphs,
}

/// One of `of` equal parts of a whole graph's edges. Several devices that hold the graph count one each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EdgeShare {
    pub index: u32,
    pub of: u32,
}

impl EdgeShare {
    pub const ALL: Self = Self { index: 0, of: 1 };
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Detail {
    #[default]
    Total,
    Share(EdgeShare),
    /// The triangles at the vertices of a window, too.
    Vertices(VertexCounters),
    /// The triangles on each arc, too.
    Edges,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VertexCounters {
    /// The counters that are on the device during this pass.
    pub window: Range<u64>,
    /// The counter of the first local.
    pub locals_at: u64,
}

impl VertexCounters {
    /// How many counters the partition has.
    pub fn all(size: &PartitionExtent, locals_at: u64) -> u64 {
        u64::from(size.numbered).max(locals_at + size.locals)
    }

    pub fn held(&self) -> u64 {
        self.window.end - self.window.start
    }
}
