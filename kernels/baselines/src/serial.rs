//! The CPU methods that the paper on reverse-edge forward compares, each on one thread, as in the paper.
//!
//! | method | lists | an edge is stored | sorted |
//! | --- | --- | --- | --- |
//! | `forward` (Schank, Wagner 2005) | a vector per vertex, and one that grows while counting | once | no |
//! | `compact-forward` (Latapy 2008) | a vector per vertex | twice | yes |
//! | `reverse-edge` | a vector per vertex | once, at its end of larger number | yes |
//! | `reverse-edge-serial` (in the paper 'serial CUDA') | the GPU's three arrays | once | yes |
//!
//! Input: rows in descending degree order; the resident section in one run. Output: the triangles whose corner of largest number is local.
//! Intersections are merges, which the paper measured to be faster than binary search. The footprint includes the resident section.
//!
//! `forward` and `compact-forward` use neighbours of smaller and of larger number, so they count whole graphs only. The other two use
//! only the rows of successors: they count partitions, and read the rows of proxies from the row block.

mod compact_forward;
mod forward;
mod reverse_edge;
mod reverse_edge_serial;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;

use rayon::ThreadPool;
use trimill_counting::{
    CountBackend, CounterMemory, Detail, Footprint, PartitionCount, PartitionCounter, PartitionExtent, Resident,
    RowBlockRoom, RowBlockView, RowPlace, RowsLocation, Scope,
};
use trimill_kernels::GpuError;
use trimill_system::{Bytes, Result};

use crate::refused::check;

use compact_forward::CompactForward;
use forward::Forward;
use reverse_edge::ReverseEdgeSerial;
use reverse_edge_serial::EdgeArrays;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SerialMethod {
    /// Lists that grow while vertices are visited in descending degree order.
    Forward,
    /// Sorted lists of all neighbours, merged up to the smaller end of an edge.
    CompactForward,
    /// Sorted lists of the neighbours of smaller number.
    ReverseEdge,
    /// As [`Self::ReverseEdge`], in one loop over the edges, on the arrays of the GPU program.
    ReverseEdgeSerial,
}

/// Bytes of the header of a vector, and of what the allocator adds to its elements.
const VECTOR: u64 = size_of::<Vec<u32>>() as u64 + 16;

impl SerialMethod {
    pub const ALL: [Self; 4] = [Self::Forward, Self::CompactForward, Self::ReverseEdge, Self::ReverseEdgeSerial];

    pub fn name(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::CompactForward => "compact-forward",
            Self::ReverseEdge => "reverse-edge",
            Self::ReverseEdgeSerial => "reverse-edge-serial",
        }
    }

    fn lists(self, resident: &Resident) -> Box<dyn ResidentLists> {
        match self {
            Self::Forward => Box::new(Forward::new(resident)),
            Self::CompactForward => Box::new(CompactForward::new(resident)),
            Self::ReverseEdge => Box::new(ReverseEdgeSerial::new(resident)),
            Self::ReverseEdgeSerial => Box::new(EdgeArrays::new(resident)),
        }
    }
}

impl CountBackend for SerialMethod {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn method(&self) -> &'static str {
        Self::name(*self)
    }

    /// Of the host's memory; the resident section is included.
    fn footprint(&self) -> Footprint {
        // For its own lists.
        let (scope, per_arc, per_vertex) = match self {
            Self::Forward => (Scope::WholeGraphs, 2 * 4, 2 * VECTOR),
            Self::CompactForward => (Scope::WholeGraphs, 2 * 4, VECTOR),
            Self::ReverseEdge => (Scope::Partitions, 4, VECTOR),
            Self::ReverseEdgeSerial => (Scope::Partitions, 4, 0),
        };
        Footprint {
            scope,
            per_resident_arc: 4 + per_arc,
            per_local: 4 + 8 + per_vertex,
            // The resident section has one offset more than rows.
            fixed: Bytes(8),
            row_blocks: RowBlockRoom::UpTo(2),
            ..Footprint::NOTHING
        }
    }

    fn begin<'a>(&'a mut self, size: PartitionExtent, detail: Detail) -> Result<Box<dyn PartitionCounter + 'a>> {
        check(Self::name(*self), self.footprint().scope, &size, &detail)?;
        Ok(Box::new(SerialCounter { method: *self, resident: None, lists: None, triangles: 0 }))
    }
}

/// The lists that a method makes of the resident section.
trait ResidentLists: Send {
    /// Triangles whose middle corner is in the row block's range; for methods that need the whole graph, all triangles.
    fn count(&mut self, resident: &Resident, row_block: &RowBlockView<'_>, location: &RowsLocation) -> u64;

    /// Bytes of the lists at their largest.
    fn bytes(&self) -> u64;
}

struct SerialCounter {
    method: SerialMethod,
    resident: Option<Resident>,
    /// Made for the first row block.
    lists: Option<Box<dyn ResidentLists>>,
    triangles: u64,
}

impl PartitionCounter for SerialCounter {
    fn resident(&mut self, run: Resident, _: &ThreadPool) -> Result<Option<Resident>> {
        if self.resident.is_some() || run.encoded_rows().is_some() {
            let text = format!("method {} takes plain rows, all resident ones at once", self.method.name());
            return Err(GpuError::Section(text).into());
        }
        self.resident = Some(run);
        Ok(None)
    }

    fn row_block(&mut self, row_block: &RowBlockView<'_>, pool: &ThreadPool) -> Result<()> {
        if self.lists.is_some() && self.method.footprint().scope != Scope::Partitions {
            // The first row block has counted everything.
            return Ok(());
        }
        let Self { method, resident, lists, triangles } = self;
        let Some(resident) = resident else {
            return Err(GpuError::Section("a row block before the resident section".into()).into());
        };
        let location = Resident::rows_in(&resident.numbers, row_block, Some(pool));
        *triangles += lists.get_or_insert_with(|| method.lists(resident)).count(resident, row_block, &location);
        Ok(())
    }

    /// Bytes of the lists; the caller accounts for the resident section.
    fn memory(&self) -> CounterMemory {
        CounterMemory::BesidesSections(Bytes(self.lists.as_ref().map_or(0, |lists| lists.bytes())))
    }

    fn finish(self: Box<Self>) -> Result<PartitionCount> {
        Ok(PartitionCount { triangles: self.triangles, device: None })
    }
}

/// The row of `b`, a number in the row block's range; `resident` has the rows of locals.
fn row_of<'a>(
    row_block: &RowBlockView<'a>,
    location: &RowsLocation,
    b: u32,
    resident: impl FnOnce(usize) -> &'a [u32],
) -> &'a [u32] {
    match location.place(b - row_block.range.start) {
        RowPlace::Resident(local) => resident(local),
        RowPlace::RowBlock(row) => row_block.row(row),
    }
}

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

fn vectors(list: &[Vec<u32>]) -> u64 {
    list.iter().map(|row| VECTOR + 4 * row.capacity() as u64).sum()
}
