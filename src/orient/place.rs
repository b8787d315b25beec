//! Writes the oriented rows into a graph file or into memory.

use std::borrow::Cow;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};

use super::UsedIds;
use trimill_graph::file::Layout;
use trimill_graph::names::Names;
use trimill_graph::writing::{GraphWriter, RowsWritten};
use trimill_graph::{BlockBytes, DegreeRun, MemorySections, OrientedGraph};
use trimill_system::disk::{DiskNeed, NewFile, check_room};
use trimill_system::{Bytes, Error, Result, lock, parallel, unpoisoned};

#[derive(Debug, Clone, Copy)]
pub struct Destination<'a> {
    pub dir: &'a Path,
    /// The graph stays in memory if it takes at most this; `None`: it always goes to a file.
    pub memory: Option<Bytes>,
    /// The option that names another directory.
    pub option: &'static str,
    /// The names of its ids, if these are text.
    pub names: Option<&'a Arc<Names>>,
}

impl<'a> Destination<'a> {
    pub fn file(dir: &'a Path) -> Self {
        Self { dir, memory: None, option: "--cache-dir", names: None }
    }

    pub fn memory(most: Bytes, dir: &'a Path) -> Self {
        Self { memory: Some(most), option: "--work-dir", ..Self::file(dir) }
    }

    /// Whether a graph of this size always goes to a file, since memory cannot hold it.
    pub(super) fn is_file(&self, layout: &Layout) -> bool {
        let fits = |most: Bytes| most > Bytes::ZERO && layout.in_memory(layout.edges / 8) <= most;
        !self.memory.is_some_and(fits)
    }

    /// Checks that the graph, if it always goes to a file, and `others` fit the disk.
    pub(super) fn check_room(&self, layout: &Layout, others: impl IntoIterator<Item = DiskNeed>) -> Result<()> {
        let file = self.is_file(layout).then(|| self.need(layout));
        check_room(file.into_iter().chain(others))
    }

    fn need(&self, layout: &Layout) -> DiskNeed {
        let names = self.names.map_or(Bytes::ZERO, |names| names.bytes());
        let least = layout.file_at_least() + names;
        let bytes = [least, least.max(layout.sections_at_most() + names)];
        DiskNeed::new("the graph file", self.dir, bytes, self.option)
    }
}

pub enum MadeGraph {
    File(NewFile),
    Memory(Box<OrientedGraph>),
}

/// Gets consecutive file blocks, with their position among the bytes of all; called from many threads.
pub(crate) type Write<'a> = dyn Fn(u64, Cow<'_, [u8]>) -> Result<()> + Sync + 'a;

pub(crate) struct VertexSections<'a> {
    pub(crate) degrees: &'a [DegreeRun],
    pub(crate) order: Vec<u32>,
    /// Needed if the layout has ids.
    pub(crate) ids: Option<&'a UsedIds<'a>>,
}

/// Makes a graph of the file blocks that `rows` makes. `source`, called when all rows are written, returns the input's identity.
pub(crate) fn make(
    place: Destination<'_>,
    layout: Layout,
    vertices: VertexSections<'_>,
    source: impl FnOnce() -> Result<String>,
    rows: impl FnOnce(&Write<'_>) -> Result<RowsWritten>,
) -> Result<MadeGraph> {
    let degrees = vertices.degrees;
    if let Some(most) = place.memory.filter(|_| !place.is_file(&layout)) {
        let held = HeldBlocks { vertices: Some(vertices), blocks: Vec::new(), bytes: 0 };
        let memory = MemoryBlocks { place, most, layout, held: Mutex::new(held), writer: OnceLock::new() };
        let rows = rows(&|position, bytes| memory.add(position, bytes))?;
        return memory.finish(rows, degrees, source);
    }
    place.check_room(&layout, None)?;
    let writer = begin(place, layout, vertices)?;
    let rows = rows(&|position, bytes| writer.blocks(position, &bytes))?;
    writer.finish(&rows, degrees, source()?).map(MadeGraph::File)
}

/// File blocks in memory; when they take more than they may, all go to a file.
struct MemoryBlocks<'a> {
    place: Destination<'a>,
    most: Bytes,
    layout: Layout,
    held: Mutex<HeldBlocks<'a>>,
    writer: OnceLock<GraphWriter>,
}

struct HeldBlocks<'a> {
    /// `None` once a file is begun.
    vertices: Option<VertexSections<'a>>,
    blocks: Vec<BlockBytes>,
    bytes: u64,
}

impl MemoryBlocks<'_> {
    fn add(&self, position: u64, bytes: Cow<'_, [u8]>) -> Result<()> {
        if let Some(writer) = self.writer.get() {
            return writer.blocks(position, &bytes);
        }
        // Copied before taking the lock, since all threads add blocks. They were made in arrays that grew.
        let mut bytes = bytes.into_owned();
        bytes.shrink_to_fit();
        let mut held = lock(&self.held);
        if let Some(vertices) = held.vertices.take() {
            held.bytes += bytes.len() as u64;
            if self.layout.in_memory(held.bytes) <= self.most {
                held.vertices = Some(vertices);
                held.blocks.push(BlockBytes { position, bytes });
                return Ok(());
            }
            check_room([self.place.need(&self.layout)])?;
            let writer = begin(self.place, self.layout.clone(), vertices)?;
            let _ = self.writer.set(writer);
        }
        let waiting = std::mem::take(&mut held.blocks);
        drop(held);
        // Another thread could not begin the file, and returns why.
        let Some(writer) = self.writer.get() else { return Ok(()) };
        parallel::try_each(waiting, |block| writer.blocks(block.position, &block.bytes))?;
        writer.blocks(position, &bytes)
    }

    fn finish(
        self,
        rows: RowsWritten,
        degrees: &[DegreeRun],
        source: impl FnOnce() -> Result<String>,
    ) -> Result<MadeGraph> {
        if let Some(writer) = self.writer.into_inner() {
            return writer.finish(&rows, degrees, source()?).map(MadeGraph::File);
        }
        let HeldBlocks { vertices, blocks: mut chunks, .. } = unpoisoned(self.held.into_inner());
        let Some(VertexSections { order, ids, .. }) = vertices else {
            return Err(Error::defect("blocks of a graph file that was not begun"));
        };
        chunks.sort_unstable_by_key(|chunk| chunk.position);
        source()?;
        let ids = ids.filter(|_| self.layout.has_ids).map_or(Vec::new(), |ids| ids.all());
        let names = self.place.names.cloned();
        let sections = MemorySections { chunks, order, ids, names };
        Ok(MadeGraph::Memory(Box::new(OrientedGraph::in_memory(self.layout, rows, degrees.to_vec(), sections)?)))
    }
}

fn begin(place: Destination<'_>, layout: Layout, vertices: VertexSections<'_>) -> Result<GraphWriter> {
    let VertexSections { degrees, order, ids } = vertices;
    let ids = ids.filter(|_| layout.has_ids);
    let mut writer = GraphWriter::create(place.dir, layout)?;
    if let Some(ids) = ids {
        writer.ids((0..ids.runs()).map(|run| ids.run(run).collect()))?;
    }
    if let Some(names) = place.names {
        writer.names(names)?;
    }
    writer.order(&order, degrees)?;
    Ok(writer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_begun_is_reported_with_the_reason_whichever_thread_needs_it() {
        let layout = Layout { vertices: 3, edges: 8, ..Layout::default() };
        let place = Destination::memory(Bytes(100), Path::new("/proc/absent"));
        let vertices = VertexSections { degrees: &[], order: vec![0, 1, 2], ids: None };
        let made = make(
            place,
            layout,
            vertices,
            || Ok(String::new()),
            |write| {
                write(0, vec![0; 50].into())?;
                let began = write(50, vec![0; 50].into());
                write(100, vec![0; 50].into())?;
                began.map(|()| RowsWritten::default())
            },
        );
        let error = made.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.starts_with("/proc/absent"), "{error}");
    }
}
