//! The CPU methods that the paper on reverse-edge forward compares, each on one thread, as in the paper.
//!
//! | method | lists | an edge is stored | sorted |
//! | --- | --- | --- | --- |
//! | `forward` (Schank, Wagner 2005) | a vector a vertex, and one that grows while counting | once | no |
//! | `compact-forward` (Latapy 2008) | a vector a vertex | twice | yes |
//! | `reverse-edge` | a vector a vertex | once, at its end of larger number | yes |
//! | `reverse-edge-serial` (in the paper 'serial CUDA') | the GPU's three arrays | once | yes |
//!
//! Input: rows in falling degree order, which all methods need; the resident section in one run. Output: the triangles whose corner
//! of largest number is local. Intersections are merges, as in the paper, which measured them faster than binary search. The resident
//! section that the lists are made from stays in memory, and is part of the footprint.
//!
//! `forward` and `compact-forward` use neighbours of smaller and of larger number, so they count whole graphs only. The other two use
//! only the rows of successors: they count partitions, and read the rows of proxies from the row block.

mod compact_forward;
mod forward;
mod reverse_edge;
mod reverse_edge_serial;
mod rows;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests;

use std::cmp::Ordering;

use trimill_kernels::{
    DeviceFootprint, GpuCounter, GpuError, GpuResult, MethodCount, PartitionExtent, ResidentRun, ResidentSlices,
    RowBlockSlices, Scope,
};

use compact_forward::CompactForward;
use forward::Forward;
use reverse_edge::ReverseEdgeSerial;
use reverse_edge_serial::EdgeArrays;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SerialMethod {
    /// Lists that grow while vertices are visited in falling degree order.
    Forward,
    /// Sorted lists of all neighbours, merged up to the smaller end of an edge.
    CompactForward,
    /// Sorted lists of the neighbours of smaller number.
    ReverseEdge,
    /// The same as one loop over the edges, on the arrays of the GPU program.
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

    pub fn scope(self) -> Scope {
        match self {
            Self::Forward | Self::CompactForward => Scope::WholeGraphs,
            Self::ReverseEdge | Self::ReverseEdgeSerial => Scope::Partitions,
        }
    }

    /// The host memory that it takes, the resident section included.
    pub fn footprint(self) -> DeviceFootprint {
        // For its own lists.
        let (per_arc, per_vertex) = match self {
            Self::Forward => (2 * 4, 2 * VECTOR),
            Self::CompactForward => (2 * 4, VECTOR),
            Self::ReverseEdge => (4, VECTOR),
            Self::ReverseEdgeSerial => (4, 0),
        };
        DeviceFootprint {
            per_resident_arc: 4 + per_arc,
            per_local: 4 + 8 + per_vertex,
            per_numbered: 0,
            // The resident section has one offset more than rows.
            fixed: 8,
            row_blocks: 2,
            of_budget: None,
        }
    }

    /// Begins a partition.
    ///
    /// # Errors
    /// [`GpuError::Whole`]: the method counts whole graphs only, and this is a partition.
    pub fn begin<R: ResidentRun>(self, size: PartitionExtent) -> GpuResult<Box<dyn GpuCounter<R>>> {
        if self.scope() != Scope::Partitions && size.locals != u64::from(size.numbered) {
            return Err(GpuError::Whole { method: self.name(), bytes: self.footprint().least(&size) });
        }
        Ok(Box::new(SerialCounter { method: self, resident: None, lists: None, counted: MethodCount::default() }))
    }

    fn lists(self, resident: &ResidentSlices<'_>) -> Box<dyn ResidentLists> {
        match self {
            Self::Forward => Box::new(Forward::new(resident)),
            Self::CompactForward => Box::new(CompactForward::new(resident)),
            Self::ReverseEdge => Box::new(ReverseEdgeSerial::new(resident)),
            Self::ReverseEdgeSerial => Box::new(EdgeArrays::new(resident)),
        }
    }
}

/// The lists that a method makes of the resident section.
trait ResidentLists: Send {
    /// Triangles whose middle corner is in the row block's range; for methods that need the whole graph, all triangles.
    fn count(&mut self, resident: &ResidentSlices<'_>, row_block: &RowBlockSlices<'_>) -> u64;

    /// Bytes of the lists at their largest.
    fn bytes(&self) -> u64;
}

struct SerialCounter<R> {
    method: SerialMethod,
    resident: Option<R>,
    /// Made for the first row block.
    lists: Option<Box<dyn ResidentLists>>,
    counted: MethodCount,
}

impl<R: ResidentRun> GpuCounter<R> for SerialCounter<R> {
    fn resident(&mut self, run: R) -> GpuResult<Option<R>> {
        if self.resident.is_some() || run.slices().compact.is_some() {
            return Err(GpuError::Section(format!(
                "method {} takes plain rows, all resident ones at once",
                self.method.name()
            )));
        }
        self.resident = Some(run);
        Ok(None)
    }

    fn row_block(&mut self, row_block: &RowBlockSlices<'_>) -> GpuResult<()> {
        if self.lists.is_some() && self.method.scope() != Scope::Partitions {
            // Everything was counted with the first row block.
            return Ok(());
        }
        let Self { method, resident, lists, counted } = self;
        let Some(resident) = resident else {
            return Err(GpuError::Section("a row block before the resident section".into()));
        };
        let resident = resident.slices();
        counted.triangles += lists.get_or_insert_with(|| method.lists(&resident)).count(&resident, row_block);
        Ok(())
    }

    /// Bytes of the lists: the caller accounts for the resident section.
    fn bytes(&self) -> u64 {
        self.lists.as_ref().map_or(0, |lists| lists.bytes())
    }

    fn finish(self: Box<Self>) -> GpuResult<MethodCount> {
        Ok(self.counted)
    }
}

/// The number of common entries of two ascending rows, by a merge.
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

/// Bytes of the vectors of a list.
fn vectors(list: &[Vec<u32>]) -> u64 {
    list.iter().map(|row| VECTOR + 4 * row.capacity() as u64).sum()
}
