//! The oriented graph: each edge once, as an arc from the larger rank to the smaller. Vertices `0..n` are those with an edge, in the order of the
//! input's ids; a vertex's *rank* is its position in descending degree order, ties by descending id. Row `r` has the successors of the vertex of rank
//! `r`, as ranks: ascending, all below `r`.
//!
//! Rows are stored in rank order, encoded, in file blocks: in a graph file ([`super::file`]), with only an index of the blocks in memory,
//! or, if a graph that is not cached fits the budget, in memory. They are read in runs of ranks ([`OrientedGraph::read`]) or in one pass
//! ([`OrientedGraph::pass`]); checksums and the order of rows are checked each time.

use std::path::Path;
use std::sync::Arc;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::file::{Layout, table};
use super::index::{BlockIndex, DegreeRun, checked_runs};
use super::layout::{CleanReport, ENTRY, IDS, NAMES, ORDER, RUN, damaged};
use super::names::Names;
use super::recent::RecentBlocks;
use super::store::{BlockStore, MemorySections};
use super::tables::{AscendingIds, Order};
use super::writing::RowsWritten;
use trimill_counting::VertexSetBuilder;
use trimill_system::mapped::zeros;
use trimill_system::{Bytes, Error, Result};

/// A graph, oriented and ready to be partitioned. A clone shares the rows, but not the index of their blocks.
#[derive(Debug, Clone)]
pub struct OrientedGraph {
    pub(super) store: Arc<BlockStore>,
    pub(super) layout: Layout,
    pub(super) index: BlockIndex,
    pub(super) degrees: Vec<DegreeRun>,
    pub(super) recent: RecentBlocks,
}

/// The sizes that plans and methods need before they read a graph.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GraphSize {
    pub vertices: u32,
    pub edges: u64,
    /// The most successors of a vertex.
    pub longest_row: u32,
    /// The sum over all arcs of the number of successors of the arc's head.
    pub probes: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GraphFigures {
    pub size: GraphSize,
    /// Paths of two edges.
    pub wedges: u128,
    pub report: CleanReport,
}

#[derive(Debug)]
pub struct Ids {
    /// All ids, ascending; `None` if they are consecutive.
    table: Option<Vec<u64>>,
    first: u64,
    vertices: u32,
    names: Option<Arc<Names>>,
}

impl Ids {
    pub fn listed(table: Vec<u64>) -> Self {
        Self { vertices: table.len() as u32, table: Some(table), first: 0, names: None }
    }

    /// Sets the names that the ids number, for an input whose ids are text.
    #[must_use]
    pub fn named(self, names: Arc<Names>) -> Self {
        Self { names: Some(names), ..self }
    }

    #[inline]
    pub fn original(&self, vertex: u32) -> u64 {
        self.table.as_ref().map_or(self.first + u64::from(vertex), |table| table[vertex as usize])
    }

    pub fn names(&self) -> Option<&Names> {
        self.names.as_deref()
    }

    /// Loads all names into memory if they take at most `most` bytes, for reads in any order.
    pub fn with_names_held(self, most: Bytes) -> Result<Self> {
        let names = self.names.map(|names| names.held(most).map(Arc::new)).transpose()?;
        Ok(Self { names, ..self })
    }

    /// The vertex whose id in the input is `original`, if it has an edge.
    pub fn vertex_of(&self, original: u64) -> Option<u32> {
        match &self.table {
            Some(table) => table.binary_search(&original).ok().map(|vertex| vertex as u32),
            None => original
                .checked_sub(self.first)
                .filter(|&vertex| vertex < u64::from(self.vertices))
                .map(|vertex| vertex as u32),
        }
    }
}

impl OrientedGraph {
    /// `layout` has what is known before rows are made.
    pub fn in_memory(
        mut layout: Layout,
        rows: RowsWritten,
        degrees: Vec<DegreeRun>,
        sections: MemorySections,
    ) -> Result<Self> {
        rows.note(&mut layout, &degrees);
        let defect = || Error::defect("rows that contradict their counts");
        Ok(Self {
            index: BlockIndex::new(rows.entries, &layout).ok_or_else(defect)?,
            degrees: checked_runs(degrees, &layout).ok_or_else(defect)?,
            store: Arc::new(BlockStore::Memory(sections)),
            layout,
            recent: RecentBlocks::default(),
        })
    }

    pub fn vertices(&self) -> u32 {
        self.layout.vertices
    }

    /// The number of edges, and of arcs: each edge is one arc.
    pub fn edges(&self) -> u64 {
        self.layout.edges
    }

    pub fn size(&self) -> GraphSize {
        let Layout { vertices, edges, longest_row, probes, .. } = self.layout;
        GraphSize { vertices, edges, longest_row, probes }
    }

    pub fn figures(&self) -> GraphFigures {
        GraphFigures { size: self.size(), wedges: self.wedges(), report: self.report().clone() }
    }

    pub fn report(&self) -> &CleanReport {
        &self.layout.report
    }

    /// Bytes of the encoded rows.
    pub fn stored_bytes(&self) -> Bytes {
        Bytes(self.layout.block_bytes)
    }

    /// Bytes of the graph as plain arrays: offsets (8 per vertex) and successors (4 per arc).
    pub fn csr_bytes(&self) -> Bytes {
        Bytes::of::<u64>(u64::from(self.vertices()) + 1) + Bytes::of::<u32>(self.edges())
    }

    /// Host memory that the sections take: none if they are in a file.
    pub fn held_bytes(&self) -> Bytes {
        match &*self.store {
            BlockStore::File { .. } => Bytes::ZERO,
            BlockStore::Memory(sections) => {
                sections.bytes() + Bytes(ENTRY * self.layout.blocks + RUN * self.layout.degree_runs)
            }
        }
    }

    /// Bytes of the graph file, or of the graph in memory.
    pub fn total_bytes(&self) -> Bytes {
        match self.path().and_then(|path| path.metadata().ok()) {
            Some(file) => Bytes(file.len()),
            None => self.held_bytes(),
        }
    }

    pub fn path(&self) -> Option<&Path> {
        self.store.file().map(|file| &*file.path)
    }

    /// The checksum that identifies the graph file.
    pub fn checksum(&self) -> Option<u64> {
        self.store.file().map(|file| file.checksum)
    }

    /// The distinct degrees, falling, each with its number of vertices: the degrees of all vertices in rank order.
    pub fn degree_runs(&self) -> &[DegreeRun] {
        &self.degrees
    }

    pub fn largest_degree(&self) -> u32 {
        self.degree_runs().first().map_or(0, |run| run.degree)
    }

    /// The sum of `deg (deg - 1) / 2`.
    pub fn wedges(&self) -> u128 {
        let of = |run: &DegreeRun| u128::from(run.vertices) * (u128::from(run.degree) * u128::from(run.degree - 1) / 2);
        self.degree_runs().iter().map(of).sum()
    }

    /// The id of the first declared vertex, to which line 1 of a single-column assignment file belongs.
    pub fn first_declared_id(&self) -> u64 {
        self.layout.first_id
    }

    pub fn declared_lines(&self) -> Option<u64> {
        self.layout.declared_lines
    }

    /// The vertex of each rank: 4 bytes each, read in the current thread pool.
    pub fn order(&self) -> Result<Vec<u32>> {
        match &*self.store {
            BlockStore::Memory(sections) => Ok(sections.order.clone()),
            BlockStore::File { file, .. } => {
                let mut order = zeros(self.vertices() as usize);
                table(file, &self.layout, ORDER, &Order::new(self.degree_runs()), &mut order)?;
                let seen = VertexSetBuilder::new(self.vertices());
                order.par_iter().filter(|&&vertex| vertex < self.vertices()).for_each(|&vertex| seen.set(vertex));
                if seen.finish().count() != self.vertices() {
                    return Err(damaged(&file.path, "its order of vertices leaves some out"));
                }
                Ok(order)
            }
        }
    }

    /// The input's ids: 8 bytes per vertex if they are not consecutive, and 8 per 64 names if they are text.
    pub fn ids(&self) -> Result<Ids> {
        let table = match &*self.store {
            _ if !self.layout.has_ids => None,
            BlockStore::Memory(sections) => Some(sections.ids.clone()),
            BlockStore::File { file, .. } => {
                let mut ids = zeros(self.vertices() as usize);
                table(file, &self.layout, IDS, &AscendingIds, &mut ids)?;
                if !ids.is_sorted_by(|a, b| a < b) {
                    return Err(damaged(&file.path, "its ids do not ascend"));
                }
                if let (Some(&first), Some(&last)) = (ids.first(), ids.last()) {
                    self.layout.check_declared(first, last).map_err(|error| error.at(&file.path))?;
                }
                Some(ids)
            }
        };
        let names = self.names()?;
        let ids = Ids { table, first: self.layout.offset_of_ids, vertices: self.vertices(), names };
        let last = ids.vertices.checked_sub(1).map(|last| ids.original(last));
        match &ids.names {
            Some(names) if last.is_some_and(|last| last >= names.count()) => {
                let found = format!("it has {} names, and ids up to {}", names.count(), last.unwrap_or_default());
                Err(damaged(self.path().unwrap_or(Path::new("")), found))
            }
            _ => Ok(ids),
        }
    }

    pub fn has_names(&self) -> bool {
        match &*self.store {
            BlockStore::Memory(sections) => sections.names.is_some(),
            BlockStore::File { .. } => self.layout.section(NAMES).is_some(),
        }
    }

    pub fn names(&self) -> Result<Option<Arc<Names>>> {
        match &*self.store {
            BlockStore::Memory(sections) => Ok(sections.names.clone()),
            BlockStore::File { file, .. } => Ok(super::file::names(file, &self.layout)?.map(Arc::new)),
        }
    }

    pub fn blocks(&self) -> usize {
        self.index.len()
    }
}
