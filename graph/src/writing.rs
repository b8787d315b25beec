//! Writes a graph file ([`super::file`]): its sections in order, rows from many threads, the header last.

use std::path::Path;

use xxhash_rust::xxh3::{Xxh3Default, xxh3_64};

use super::OrientedGraph;
use super::file::{FIXED, MAGIC, VERSION, open_temporary};
use super::index::{BlockEntry, DegreeRun};
use super::layout::{DEGREES, GraphSection, IDS, INDEX, Layout, NAMES, ORDER, PAGE, ROWS};
use super::names::Names;
use super::store::BlockStore;
use super::tables::{AscendingIds, CHUNK, Order, encode_all};
use trimill_system::disk::{self, NewFile};
use trimill_system::{Error, Result, parallel};

#[derive(Default)]
pub struct RowsWritten {
    pub entries: Vec<BlockEntry>,
    pub block_bytes: u64,
    pub longest_row: u32,
    pub probes: u64,
}

impl RowsWritten {
    /// Adds file blocks of `bytes` bytes in all, which `arcs` arcs precede; arcs and positions of `entries` count from the first of these blocks.
    pub fn add(&mut self, entries: Vec<BlockEntry>, bytes: u64, arcs: u64) {
        let before = self.block_bytes;
        let placed = |entry: BlockEntry| BlockEntry {
            first_arc: arcs + entry.first_arc,
            position: before + entry.position,
            ..entry
        };
        self.entries.extend(entries.into_iter().map(placed));
        self.block_bytes += bytes;
    }

    pub fn note(&self, layout: &mut Layout, degrees: &[DegreeRun]) {
        (layout.blocks, layout.block_bytes) = (self.entries.len() as u64, self.block_bytes);
        (layout.longest_row, layout.probes) = (self.longest_row, self.probes);
        layout.degree_runs = degrees.len() as u64;
    }
}

const AT_ONCE: usize = 16 * CHUNK;

/// A graph file being written; removed if dropped without [`Self::finish`].
pub struct GraphWriter {
    file: NewFile,
    layout: Layout,
}

impl GraphWriter {
    /// Begins a file in `dir`. In `layout`, the numbers of vertices and edges and how ids are stored must be final.
    pub fn create(dir: &Path, layout: Layout) -> Result<Self> {
        let file = NewFile::create(dir, "trimill-graph-", disk::PRIVATE)?;
        Ok(Self { file, layout })
    }

    /// Writes the input's ids, which come in runs; to be called first.
    pub fn ids(&mut self, runs: impl Iterator<Item = Vec<u64>>) -> Result<()> {
        self.section(IDS, |section| {
            let mut waiting = Vec::new();
            for run in runs {
                waiting.extend_from_slice(&run);
                if waiting.len() >= AT_ONCE {
                    let whole = waiting.len() / CHUNK * CHUNK;
                    section.put_all(encode_all(&AscendingIds, 0, &waiting[..whole]))?;
                    waiting.drain(..whole);
                }
            }
            section.put_all(encode_all(&AscendingIds, 0, &waiting))
        })
    }

    pub fn names(&mut self, names: &Names) -> Result<()> {
        self.section(NAMES, |section| names.each_part(|part| section.put(part)))
    }

    /// Writes the vertex of each rank, before any block.
    pub fn order(&mut self, order: &[u32], degrees: &[DegreeRun]) -> Result<()> {
        let table = Order::new(degrees);
        self.section(ORDER, |section| {
            let mut parts = order.chunks(AT_ONCE).enumerate();
            parts.try_for_each(|(i, part)| section.put_all(encode_all(&table, i * AT_ONCE, part)))
        })
    }

    /// Writes blocks, the first of which begins at `position` among all. May be called from many threads.
    pub fn blocks(&self, position: u64, bytes: &[u8]) -> Result<()> {
        self.file.write_at(bytes, self.next() + position)
    }

    fn next(&self) -> u64 {
        self.layout.end().next_multiple_of(PAGE)
    }

    fn section(&mut self, name: &str, fill: impl FnOnce(&mut SectionWriter<'_>) -> Result<()>) -> Result<()> {
        let mut section = SectionWriter { file: &self.file, at: self.next(), bytes: 0, hash: Xxh3Default::new() };
        fill(&mut section)?;
        let SectionWriter { at, bytes, hash, .. } = section;
        self.layout.sections.push(needed(name, at, bytes, Some(hash.digest())));
        Ok(())
    }

    /// Adds the index, degrees, footer (with `source`) and header. The file is then complete, still under its temporary name.
    pub fn finish(mut self, rows: &RowsWritten, degrees: &[DegreeRun], source: String) -> Result<NewFile> {
        self.layout.source = source;
        rows.note(&mut self.layout, degrees);
        let path = self.file.name().to_path_buf();
        let entries: Vec<[u64; 4]> = rows.entries.iter().map(|entry| entry.stored()).collect();
        let runs: Vec<[u32; 2]> = degrees.iter().map(|run| [run.degree, run.vertices]).collect();
        self.layout.sections.push(needed(ROWS, self.next(), rows.block_bytes, None));
        self.section(INDEX, |section| section.put(bytemuck::cast_slice(&entries)))?;
        self.section(DEGREES, |section| section.put(bytemuck::cast_slice(&runs)))?;
        let end = self.layout.end();
        let footer = serde_json::to_vec(&self.layout).map_err(|e| Error::write(&path, e.into()))?;
        let mut header = Vec::with_capacity(FIXED);
        header.extend_from_slice(&MAGIC);
        header.extend_from_slice(&VERSION.to_le_bytes());
        header.extend_from_slice(&(footer.len() as u32).to_le_bytes());
        header.extend_from_slice(&end.to_le_bytes());
        header.extend_from_slice(&xxh3_64(&footer).to_le_bytes());
        header.extend_from_slice(&xxh3_64(&header).to_le_bytes());
        self.file.write_at(&footer, end)?;
        self.file.write_at(&header, 0)?;
        Ok(self.file)
    }
}

/// Moves a graph from memory to a temporary file in `dir`; a graph in a file is returned unchanged.
pub fn moved_to_file(graph: OrientedGraph, dir: &Path) -> Result<OrientedGraph> {
    let BlockStore::Memory(sections) = &*graph.store else { return Ok(graph) };
    let OrientedGraph { layout, index, degrees, .. } = &graph;
    let rows = RowsWritten {
        entries: index.blocks().to_vec(),
        block_bytes: layout.block_bytes,
        longest_row: layout.longest_row,
        probes: layout.probes,
    };
    let mut writer = GraphWriter::create(dir, layout.clone())?;
    if layout.has_ids {
        writer.ids(sections.ids.chunks(AT_ONCE).map(<[u64]>::to_vec))?;
    }
    if let Some(names) = &sections.names {
        writer.names(names)?;
    }
    writer.order(&sections.order, degrees)?;
    parallel::try_each(&sections.chunks, |chunk| writer.blocks(chunk.position, &chunk.bytes))?;
    open_temporary(writer.finish(&rows, degrees, String::new())?)
}

fn needed(name: &str, at: u64, bytes: u64, checksum: Option<u64>) -> GraphSection {
    GraphSection { name: name.into(), at, bytes, checksum, needed: true }
}

struct SectionWriter<'a> {
    file: &'a NewFile,
    at: u64,
    bytes: u64,
    hash: Xxh3Default,
}

impl SectionWriter<'_> {
    fn put_all(&mut self, chunks: Vec<Vec<u8>>) -> Result<()> {
        chunks.iter().try_for_each(|bytes| self.put(bytes))
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.hash.update(bytes);
        self.file.write_at(bytes, self.at + self.bytes)?;
        self.bytes += bytes.len() as u64;
        Ok(())
    }
}
