//! The oriented graph: each edge once, as an arc from the larger rank to the smaller.
//!
//! Vertices `0..n` are those with an edge, in input order (ids); a vertex's *rank* is its position in falling degree order
//! ([`super::numbering`]). Row `r` holds the successors of the vertex of rank `r`, as ranks: ascending, all below `r`. Rows
//! stand in rank order, the order in which everything that counts wants them, so a run of them is one piece of the file:
//! [`super::pass`] reads all of them in sequence, and nobody has to gather them.
//!
//! The rows lie in a file ([`super::file`]), or in memory where a graph that is not kept fits the budget; beside them are
//! 8 bytes a vertex (rank of an id, id of a rank).

use crate::bytes::Bytes;
use crate::clean::CleanReport;
use crate::mapped::MappedFile;

use super::file::Layout;
use super::numbering::Numbering;
use super::pages::PageLimit;

/// A graph, oriented and ready to be partitioned.
#[derive(Debug)]
pub struct OrientedGraph {
    pub(super) storage: Storage,
    pub(super) layout: Layout,
    pub(super) numbering: Numbering,
    pub(super) pages: PageLimit,
}

/// Where the sections lie.
#[derive(Debug)]
pub(super) enum Storage {
    /// In a graph file.
    File {
        file: MappedFile,
        /// Keeps a graph file that is not cached alive, and removes it in the end.
        temporary: Option<crate::disk::TemporaryFile>,
    },
    /// In memory.
    Memory(Arrays),
}

/// The sections of a graph file, in memory.
#[derive(Debug)]
pub struct Arrays {
    /// Where each row begins, and where the last one ends.
    pub offsets: Vec<u64>,
    /// The successors of all rows, as ranks.
    pub heads: Vec<u32>,
    /// Undirected degrees, in the order of ids.
    pub degrees: Vec<u32>,
    /// The input's ids, where they are not consecutive.
    pub ids: Vec<u64>,
}

/// Reading in any order, until this is dropped.
#[derive(Debug)]
pub struct AnyOrder<'g>(Option<&'g MappedFile>);

impl Drop for AnyOrder<'_> {
    fn drop(&mut self) {
        self.0.inspect(|file| file.any_order(false));
    }
}

impl OrientedGraph {
    /// A graph whose sections are in memory, as `layout` says.
    pub fn in_memory(layout: Layout, arrays: Arrays, numbering: Numbering) -> Self {
        Self { storage: Storage::Memory(arrays), layout, numbering, pages: PageLimit::default() }
    }

    /// The number of vertices with an edge.
    pub fn vertices(&self) -> u32 {
        self.layout.vertices
    }

    /// The number of edges, each one arc here.
    pub fn edges(&self) -> u64 {
        self.layout.edges
    }

    /// What cleaning removed and added.
    pub fn report(&self) -> &CleanReport {
        &self.layout.report
    }

    /// The identity of the input that this was made from.
    pub fn source(&self) -> &str {
        &self.layout.source
    }

    /// Where each row begins, in arcs, in rank order; `vertices() + 1` values.
    pub fn offsets(&self) -> &[u64] {
        match &self.storage {
            Storage::File { file, .. } => file.slice(self.layout.offsets()),
            Storage::Memory(arrays) => &arrays.offsets,
        }
    }

    /// The undirected degree of each id.
    pub fn degrees(&self) -> &[u32] {
        match &self.storage {
            Storage::File { file, .. } => file.slice(self.layout.degrees()),
            Storage::Memory(arrays) => &arrays.degrees,
        }
    }

    /// The successors of all rows, as ranks.
    pub fn heads(&self) -> &[u32] {
        match &self.storage {
            Storage::File { file, .. } => file.slice(self.layout.heads()),
            Storage::Memory(arrays) => &arrays.heads,
        }
    }

    /// The successors of the vertex of this rank: ranks, ascending.
    #[inline]
    pub fn row(&self, rank: u32) -> &[u32] {
        let offsets = self.offsets();
        let row = &self.heads()[offsets[rank as usize] as usize..offsets[rank as usize + 1] as usize];
        self.accessed(4 * row.len() as u64);
        row
    }

    /// How many successors the vertex of this rank has.
    #[inline]
    pub fn out_degree(&self, rank: u32) -> u32 {
        let offsets = self.offsets();
        self.accessed(0);
        (offsets[rank as usize + 1] - offsets[rank as usize]) as u32
    }

    /// The rank of vertex `id`.
    #[inline]
    pub fn rank_of(&self, id: u32) -> u32 {
        self.numbering.number_of[id as usize]
    }

    /// Counts an access to so many bytes anywhere in the file; gives pages back when it is time.
    #[inline]
    fn accessed(&self, bytes: u64) {
        self.pages.accessed(bytes, || self.release());
    }

    /// Numbers of ids and ids of numbers.
    pub fn numbering(&self) -> &Numbering {
        &self.numbering
    }

    /// The input's ids, where they are not consecutive.
    fn ids(&self) -> Option<&[u64]> {
        self.layout.ids().map(|range| match &self.storage {
            Storage::File { file, .. } => file.slice(range),
            Storage::Memory(arrays) => &arrays.ids,
        })
    }

    /// The id that the input used for vertex `id`.
    pub fn original_id(&self, id: u32) -> u64 {
        match self.ids() {
            Some(ids) => ids[id as usize],
            None => self.layout.offset_of_ids + u64::from(id),
        }
    }

    /// The vertex that the input called `original`, if it has an edge.
    pub fn vertex_of(&self, original: u64) -> Option<u32> {
        match self.ids() {
            Some(ids) => ids.binary_search(&original).ok().map(|id| id as u32),
            None => original
                .checked_sub(self.layout.offset_of_ids)
                .filter(|&id| id < u64::from(self.vertices()))
                .map(|id| id as u32),
        }
    }

    /// The id of the first declared vertex: what line 1 of a single-column assignment file is about.
    pub fn first_declared_id(&self) -> u64 {
        self.layout.first_id
    }

    /// How many lines a single-column assignment file has; `None` where ids are sparse.
    pub fn declared_lines(&self) -> Option<u64> {
        self.layout.declared_lines
    }

    /// Paths with a middle: the sum of `deg (deg - 1) / 2`.
    pub fn wedges(&self) -> u128 {
        self.degrees().iter().map(|&d| u128::from(d) * u128::from(d.saturating_sub(1)) / 2).sum()
    }

    /// Bytes of offsets and heads: what a device needs to hold this graph whole.
    pub fn csr_bytes(&self) -> Bytes {
        Bytes::of::<u64>(u64::from(self.vertices()) + 1) + Bytes::of::<u32>(self.edges())
    }

    /// Bytes of the arrays over all vertices that this value keeps in memory.
    pub fn array_bytes(&self) -> Bytes {
        Bytes::of::<u32>(2 * u64::from(self.vertices()))
    }

    /// The file that holds the rows, where one does.
    pub fn path(&self) -> Option<&std::path::Path> {
        match &self.storage {
            Storage::File { file, .. } => Some(file.path()),
            Storage::Memory(_) => None,
        }
    }

    /// Bytes of the host's memory that the rows take and cannot give back.
    pub fn held_bytes(&self) -> Bytes {
        match &self.storage {
            Storage::File { .. } => Bytes::ZERO,
            Storage::Memory(_) => self.layout.sections_bytes(),
        }
    }

    /// Bounds the resident pages of this graph (and of other mapped files of the process). A file that is no larger needs no
    /// bound: nobody then counts or looks.
    pub fn limit_pages(&self, bytes: Bytes) {
        if let Storage::File { file, .. } = &self.storage {
            self.pages.set(if file.bytes().len() as u64 <= bytes.get() { u64::MAX } else { bytes.get() });
        }
    }

    /// Bytes of pages that may be resident: all, where no file is mapped.
    pub fn page_limit(&self) -> Bytes {
        match &self.storage {
            Storage::File { .. } => Bytes(self.pages.get()),
            Storage::Memory(_) => Bytes(u64::MAX),
        }
    }

    /// How many bytes of pages stay resident while a file that is larger is read.
    pub fn usual_pages(&self) -> Bytes {
        Bytes(self.pages.usual())
    }

    /// Held while rows are read in any order: where they exceed the pages that may be resident, the system then reads no page
    /// ahead, of which it would read 32 for one that is wanted.
    #[must_use]
    pub fn any_order(&self) -> AnyOrder<'_> {
        let file = match &self.storage {
            Storage::File { file, .. } if self.csr_bytes() > self.page_limit() => Some(file),
            _ => None,
        };
        file.inspect(|file| file.any_order(true));
        AnyOrder(file)
    }

    /// Gives pages back if they come near what is allowed; called every few thousand rows by all who read rows from
    /// [`Self::heads`]. Who asks for one row after another ([`Self::row`], [`Self::out_degree`]) need not.
    pub fn relieve(&self) {
        if matches!(self.storage, Storage::File { .. }) {
            self.pages.look(|| self.release());
        }
    }

    /// Gives all pages back where the rows exceed those that may be resident; else they may stay, and need not be found again.
    pub fn ease(&self) {
        if self.csr_bytes() > self.page_limit() {
            self.release();
        }
    }

    /// Gives all pages back.
    pub fn release(&self) {
        if let Storage::File { file, .. } = &self.storage {
            file.release(0..file.bytes().len());
        }
    }
}
