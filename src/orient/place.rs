//! Writes the oriented rows into a graph file or into memory.

use std::borrow::Cow;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use super::OrientedFile;
use trimill_graph::file::{GraphWriter, Layout, RowsWritten};
use trimill_graph::{BlockBytes, DegreeRun, MemorySections, OrientedGraph};
use trimill_system::bytes::Bytes;
use trimill_system::disk::DiskNeed;
use trimill_system::error::Result;
use trimill_system::lock;

#[derive(Debug, Clone, Copy)]
pub enum Destination<'a> {
    /// In a file in this directory.
    File(&'a Path),
    /// In memory, if it takes at most so much of it, else in a file in this directory.
    Memory(Bytes, &'a Path),
}

impl Destination<'_> {
    /// Whether a graph of this size would go to a file.
    pub(super) fn is_file(&self, layout: &Layout) -> bool {
        !matches!(self, Destination::Memory(most, _) if *most > Bytes::ZERO && layout.sections_at_most() <= *most)
    }

    /// Checks that a graph of this size fits the disk, if it would go to a file.
    pub(super) fn check_room(&self, layout: &Layout) -> Result<()> {
        let (dir, option) = match self {
            Destination::File(dir) => (dir, "--cache-dir"),
            Destination::Memory(_, dir) => (dir, "--work-dir"),
        };
        let (least, most) = (layout.file_at_least(), layout.file_at_least().max(layout.sections_at_most()));
        match self.is_file(layout) {
            true => DiskNeed { what: "the graph file", dir, least, most, option }.check(),
            false => Ok(()),
        }
    }
}

pub enum MadeGraph {
    File(OrientedFile),
    Memory(Box<OrientedGraph>),
}

/// Receives the position of some consecutive file blocks among the bytes of all, and their bytes; called from many threads.
pub(crate) type Write<'a> = dyn Fn(u64, Cow<'_, [u8]>) -> Result<()> + Sync + 'a;

/// The vertices of a graph that is to be made.
pub(crate) struct VertexSections<'a, I> {
    pub(crate) degrees: &'a [DegreeRun],
    pub(crate) order: Vec<u32>,
    /// The input's ids of all vertices, in runs.
    pub(crate) ids: I,
}

/// Makes a graph. `rows` makes the file blocks. `source` is called when all rows are written; it returns the identity of the input,
/// which a file records.
pub(crate) fn make(
    place: Destination<'_>,
    layout: Layout,
    vertices: VertexSections<'_, impl Iterator<Item = Vec<u64>>>,
    source: impl FnOnce() -> Result<String>,
    rows: impl FnOnce(&Write<'_>) -> Result<RowsWritten>,
) -> Result<MadeGraph> {
    let VertexSections { degrees, order, ids } = vertices;
    match place {
        Destination::Memory(..) if !place.is_file(&layout) => {
            let chunks = Mutex::new(Vec::new());
            let rows = rows(&|position, bytes| {
                lock(&chunks).push(BlockBytes { position, bytes: bytes.into_owned() });
                Ok(())
            })?;
            let mut chunks = chunks.into_inner().unwrap_or_else(PoisonError::into_inner);
            chunks.sort_unstable_by_key(|chunk| chunk.position);
            source()?;
            let ids = if layout.has_ids { ids.flatten().collect() } else { Vec::new() };
            let graph =
                OrientedGraph::in_memory(layout, rows, degrees.to_vec(), MemorySections { chunks, order, ids })?;
            Ok(MadeGraph::Memory(Box::new(graph)))
        }
        Destination::Memory(_, dir) | Destination::File(dir) => {
            place.check_room(&layout)?;
            let mut writer = GraphWriter::create(dir, layout)?;
            if writer.layout().has_ids {
                writer.ids(ids)?;
            }
            writer.order(&order, degrees)?;
            drop(order);
            complete(writer, degrees, source, rows).map(MadeGraph::File)
        }
    }
}

/// Writes all rows, and completes a graph file.
pub(super) fn complete(
    writer: GraphWriter,
    degrees: &[DegreeRun],
    source: impl FnOnce() -> Result<String>,
    rows: impl FnOnce(&Write<'_>) -> Result<RowsWritten>,
) -> Result<OrientedFile> {
    let rows = rows(&|position, bytes| writer.blocks(position, &bytes))?;
    let file = writer.finish(&rows, degrees, source()?)?;
    let file_bytes = Bytes(std::fs::metadata(&file).map_or(0, |m| m.len()));
    Ok(OrientedFile { file, file_bytes })
}
