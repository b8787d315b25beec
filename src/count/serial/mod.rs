//! The CPU methods that the paper on reverse-edge forward compares, each on one thread, as there.
//!
//! | method | lists | an edge is kept | sorted |
//! | --- | --- | --- | --- |
//! | `forward` (Schank, Wagner 2005) | a vector a vertex, and one that grows while counting | once | no |
//! | `compact-forward` (Latapy 2008) | a vector a vertex | twice | yes |
//! | `reverse-edge` | a vector a vertex | once, at its end of larger number | yes |
//! | `reverse-edge-serial` (there 'serial CUDA') | the GPU's three arrays | once | yes |
//!
//! Enters: rows by number in falling degree, as all of them want. Leaves: the triangles that start at locals.
//! Intersections are merges, as in the paper, which measured them faster than bisection. Bytes are declared in
//! `Method::terms`; the resident section that the lists are made from stays in memory beside them and is declared, too.
//!
//! `forward` and `compact-forward` look at neighbours on both sides of a vertex, so they count whole graphs only and say so
//! before anything is built. The other two ask for the rows of successors and nothing else: they count partitions, whose
//! proxies' rows are read in the row block.

mod compact_forward;
mod forward;
mod reverse_edge;
mod reverse_edge_serial;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests;

use std::cmp::Ordering;

use rayon::ThreadPool;

use super::successors::SuccessorRows;
use super::{Backend, CounterMemory, PartitionCount, PartitionCounter, Terms};
use crate::bytes::Bytes;
use crate::error::{Error, Result};
use crate::partition::section::{Resident, ResidentSize, RowBlockView};
use compact_forward::CompactForward;
use forward::Forward;
use reverse_edge::ReverseEdge;
use reverse_edge_serial::Edges;

/// One of the methods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Lists that grow while vertices are met in falling degree.
    Forward,
    /// Sorted lists of all neighbours, merged up to the smaller end of an edge.
    CompactForward,
    /// Sorted lists of the neighbours of smaller number.
    ReverseEdge,
    /// The same as one loop over the edges, in the arrays of the GPU.
    ReverseEdgeSerial,
}

/// Bytes of the header of a vector, and of what the allocator adds to its elements.
const VECTOR: u64 = size_of::<Vec<u32>>() as u64 + 16;

impl Method {
    fn name(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::CompactForward => "compact-forward",
            Self::ReverseEdge => "reverse-edge",
            Self::ReverseEdgeSerial => "reverse-edge-serial",
        }
    }

    /// Whether it needs the whole graph.
    fn whole(self) -> bool {
        matches!(self, Self::Forward | Self::CompactForward)
    }

    /// Bytes of its own lists: for each arc, and for each vertex.
    fn lists(self) -> (u64, u64) {
        match self {
            Self::Forward => (2 * 4, 2 * VECTOR),
            Self::CompactForward => (2 * 4, VECTOR),
            Self::ReverseEdge => (4, VECTOR),
            Self::ReverseEdgeSerial => (4, 0),
        }
    }

    fn terms(self) -> Terms {
        let (per_arc, per_vertex) = self.lists();
        Terms {
            per_resident_arc: 4 + per_arc,
            per_local: 4 + 8 + per_vertex,
            tables: |_, _| Bytes::ZERO,
            workers: 1,
            slots: |row_blocks| row_blocks.min(2),
            preferred: None,
            // The offsets of the resident section are one more than its rows.
            fixed: Bytes(8),
            scratch: Bytes::ZERO,
        }
    }
}

/// The CPU backend with one of these methods.
#[derive(Debug, Clone, Copy)]
pub struct Serial(pub Method);

/// What a method makes of the resident section, and counts with.
trait Lists: Send {
    /// Triangles whose middle corner the row block's range covers; for methods that need the whole graph all triangles.
    fn count(&mut self, resident: &Resident, row_block: &RowBlockView<'_>, successors: &SuccessorRows<'_>) -> u64;

    /// Bytes of the lists at their largest.
    fn bytes(&self) -> Bytes;
}

impl Serial {
    fn lists(self, resident: &Resident) -> Box<dyn Lists> {
        match self.0 {
            Method::Forward => Box::new(Forward::new(resident)),
            Method::CompactForward => Box::new(CompactForward::new(resident)),
            Method::ReverseEdge => Box::new(ReverseEdge::new(resident)),
            Method::ReverseEdgeSerial => Box::new(Edges::new(resident)),
        }
    }
}

impl Backend for Serial {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn method(&self) -> &'static str {
        self.0.name()
    }

    fn terms(&self) -> Terms {
        self.0.terms()
    }

    fn whole(&self) -> bool {
        self.0.whole()
    }

    fn begin<'a>(&'a mut self, size: ResidentSize, numbered: u32, _: Bytes) -> Result<Box<dyn PartitionCounter + 'a>> {
        if self.0.whole() && size.locals != u64::from(numbered) {
            let found = format!("{} of {numbered} vertices for method {}", size.locals, self.0.name());
            return Err(Error::resource(found).expected("all of them").advice("use --parts 1 or another --method"));
        }
        Ok(Box::new(Counting { method: *self, resident: Resident::default(), lists: None, triangles: 0 }))
    }
}

struct Counting {
    method: Serial,
    /// All of the resident section, once it is there.
    resident: Resident,
    /// Made for the first row block.
    lists: Option<Box<dyn Lists>>,
    triangles: u64,
}

impl PartitionCounter for Counting {
    fn resident(&mut self, run: Resident, _: &ThreadPool) -> Result<Option<Resident>> {
        if self.resident.offsets.is_empty() {
            self.resident = run;
            return Ok(None);
        }
        self.resident.append(&run);
        Ok(Some(run))
    }

    fn row_block(&mut self, row_block: &RowBlockView<'_>, pool: &ThreadPool) -> Result<()> {
        if self.lists.is_some() && self.method.0.whole() {
            // All was counted with the first row block.
            return Ok(());
        }
        let Self { method, resident, lists, triangles } = self;
        let lists = lists.get_or_insert_with(|| method.lists(resident));
        let successors = pool.install(|| SuccessorRows::new(resident, row_block));
        *triangles += lists.count(resident, row_block, &successors);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<PartitionCount> {
        Ok(PartitionCount { triangles: self.triangles, device: None })
    }

    fn memory(&self) -> CounterMemory {
        CounterMemory::BesidesSections(self.lists.as_ref().map_or(Bytes::ZERO, |lists| lists.bytes()))
    }
}

/// What two ascending rows have in common, by a merge.
fn common(mut left: &[u32], mut right: &[u32]) -> u64 {
    let mut count = 0;
    while let (Some((l, after_l)), Some((r, after_r))) = (left.split_first(), right.split_first()) {
        match l.cmp(r) {
            Ordering::Less => left = after_l,
            Ordering::Greater => right = after_r,
            Ordering::Equal => {
                count += 1;
                (left, right) = (after_l, after_r);
            }
        }
    }
    count
}

/// The entries of an ascending row that lie in the row block's range.
fn covered<'r>(row: &'r [u32], row_block: &RowBlockView<'_>) -> &'r [u32] {
    let start = row.partition_point(|&b| b < row_block.range.start);
    let end = row.partition_point(|&b| b < row_block.range.end);
    &row[start..end]
}

/// Bytes of the vectors of a list.
fn vectors(list: &[Vec<u32>]) -> Bytes {
    Bytes(list.iter().map(|row| VECTOR + 4 * row.capacity() as u64).sum())
}
