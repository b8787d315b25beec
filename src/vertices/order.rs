//! The rows of all vertices in the order of the input's ids. Sums are in rank order: each window of vertices takes a pass over all ranks; one window
//! suffices if all vertices fit. Memory: 12 bytes a vertex of the window, 4 a vertex of the graph, and 8 more if ids have gaps.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use super::coefficient;
use super::summary::DegreeFinder;
use crate::clean::is_sparse;
use crate::sums::{ByRank, Sums};
use crate::table::columns::ColumnValue::{self, F64, Id, U32, U64};
use crate::table::columns::{CountRows, CountsInOrder};
use trimill_graph::names::Names;
use trimill_graph::{Ids, OrientedGraph};
use trimill_system::mapped::zeros;
use trimill_system::{Bytes, Control, Result, first_where};

const PER_VERTEX: u64 = 12;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VertexCount {
    pub id: u64,
    pub degree: u32,
    pub triangles: u64,
}

pub struct VertexRows<'a> {
    ids: &'a Ids,
    vertices: Range<u32>,
    degrees: Vec<AtomicU32>,
    triangles: Vec<AtomicU64>,
}

impl CountRows for VertexRows<'_> {
    type Row = VertexCount;
    const COLUMNS: &'static [(&'static str, ColumnValue<VertexCount>)] = &[
        ("id", Id(|row| row.id)),
        ("degree", U32(|row| row.degree)),
        ("triangles", U64(|row| row.triangles)),
        ("local_clustering", F64(|row| coefficient(row.degree, row.triangles))),
    ];
    const AS_DIFFERENCES: bool = false;

    fn count(&self) -> usize {
        self.vertices.len()
    }

    fn names(&self) -> Option<&Names> {
        self.ids.names()
    }

    fn range(&self, places: Range<usize>) -> impl Iterator<Item = VertexCount> {
        places.map(|place| VertexCount {
            id: self.ids.original(self.vertices.start + place as u32),
            degree: self.degrees[place].load(Relaxed),
            triangles: self.triangles[place].load(Relaxed),
        })
    }
}

impl VertexRows<'_> {
    /// The place of the first vertex whose id is not below `id`.
    pub fn first_from(&self, id: u64) -> usize {
        let is_from = |place: u64| self.ids.original(self.vertices.start + place as u32) >= id;
        first_where(0..self.count() as u64, is_from) as usize
    }
}

pub struct ListedVertices {
    pub ids: Ids,
    pub degrees: Vec<u32>,
    pub triangles: Vec<u64>,
    pub control: Control,
}

const AT_A_TIME: usize = 1 << 20;

impl CountsInOrder for ListedVertices {
    type Rows<'r> = VertexRows<'r>;

    fn has_names(&self) -> bool {
        self.ids.names().is_some()
    }

    fn in_order(&self, write: &mut dyn FnMut(&VertexRows<'_>) -> Result<()>) -> Result<()> {
        let mut end = 0;
        self.degrees.chunks(AT_A_TIME).zip(self.triangles.chunks(AT_A_TIME)).try_for_each(|(degrees, triangles)| {
            self.control.check()?;
            let first = end;
            end += degrees.len() as u32;
            write(&VertexRows {
                ids: &self.ids,
                vertices: first..end,
                degrees: degrees.iter().copied().map(AtomicU32::new).collect(),
                triangles: triangles.iter().copied().map(AtomicU64::new).collect(),
            })
        })
    }
}

/// The sums at all vertices of a graph, to be read window by window in the order of the input's ids.
pub struct VerticesOfGraph<'a> {
    pub graph: &'a OrientedGraph,
    pub sums: &'a Sums<ByRank>,
    pub memory: Bytes,
    pub control: &'a Control,
}

/// The length of an array of counts: one more than the largest declared id. `None` if most entries would have no edge.
pub fn array_len(graph: &OrientedGraph) -> Option<u64> {
    let ids = graph.declared_lines().map(|declared| graph.first_declared_id() + declared);
    ids.filter(|&ids| array_is_worthwhile(ids, graph.report().arcs))
}

/// Whether an array of `ids` entries is not mostly empty, for an input of `arcs` arcs. A header may declare any number of ids.
pub fn array_is_worthwhile(ids: u64, arcs: u64) -> bool {
    ids == 0 || !is_sparse(ids - 1, arcs)
}

pub fn fixed_bytes(vertices: u32) -> Bytes {
    Bytes(12 * u64::from(vertices))
}

/// The least bytes of a window: at most some 16 windows, each a pass over the sums.
pub fn least_window(vertices: u32) -> Bytes {
    Bytes(PER_VERTEX * u64::from(vertices) / 16).max(Bytes::mib(1))
}

impl CountsInOrder for VerticesOfGraph<'_> {
    type Rows<'r> = VertexRows<'r>;

    fn has_names(&self) -> bool {
        self.graph.has_names()
    }

    fn in_order(&self, write: &mut dyn FnMut(&VertexRows<'_>) -> Result<()>) -> Result<()> {
        let Self { graph, sums, memory, control } = self;
        let (order, ids, degrees) = (graph.order()?, graph.ids()?, DegreeFinder::of(graph));
        let window = (memory.max(&Bytes::mib(1)).get() / PER_VERTEX).min(u64::from(graph.vertices()).max(1)) as usize;
        for first in (0..graph.vertices()).step_by(window) {
            let vertices = first..graph.vertices().min(first.saturating_add(window as u32));
            let rows = VertexRows {
                ids: &ids,
                degrees: zeros(vertices.len()),
                triangles: zeros(vertices.len()),
                vertices: vertices.clone(),
            };
            sums.each_block(|from, sums| {
                control.check()?;
                let from = from as u32;
                for (degree, ranks) in degrees.of_ranks(from..from + sums.len() as u32) {
                    for rank in ranks {
                        let vertex = order[rank as usize];
                        if vertices.contains(&vertex) {
                            let place = (vertex - first) as usize;
                            rows.degrees[place].store(degree, Relaxed);
                            rows.triangles[place].store(sums[(rank - from) as usize], Relaxed);
                        }
                    }
                }
                Ok(())
            })?;
            write(&rows)?;
        }
        Ok(())
    }
}
