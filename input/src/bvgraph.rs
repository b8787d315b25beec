//! Web crawls in WebGraph's BV format: `NAME.graph` and `NAME.properties` (Boldi and Vigna, 'The WebGraph framework I', WWW 2004). Ids are
//! `0..nodes`. Rows refer to earlier rows, so threads decode [`chunk`]s of about 131,072 arcs. [`offsets`] gives the beginnings of rows, if there;
//! else one thread finds them without decoding rows ([`scan`]). `NAME.ef` of webgraph-rs, a memory dump whose form varies, is not used. Memory per
//! chunk: its bytes, the rows of the window, a batch of arcs.

mod bits;
mod chunk;
mod chunks;
mod codes;
mod decode;
mod files;
mod offsets;
mod properties;
mod row;
mod rows;
mod scan;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use super::arcs::SourceFacts;
use super::compression::Compression;
use super::file::InputFile;
use super::parallel::produce_and_drain;
use super::rows::AdjacencyRows;
use super::storage::Storage;
use super::{ArcSink, Reader};
use bits::{BitOrder, HighFirst, LowFirst};
use chunk::BvChunk;
use chunks::BvChunks;
use decode::ChunkReader;
pub(super) use files::BvGraphFiles;
pub use files::{companions, name_without_dots};
use offsets::{OffsetCuts, Offsets};
use properties::Properties;
use row::Encoding;
use rows::BvGraphRows;
use trimill_system::control::{Control, Task};
use trimill_system::{Bytes, Error, Result};

const BATCH: usize = 1 << 14;

/// The most bits per arc of a graph whose order has locality: crawls in URL order take 1 to 4, permuted ids 15 and more.
const WELL_COMPRESSED: u64 = 8;

pub(super) struct Bvgraph {
    file: InputFile,
    properties: Properties,
    offsets: Option<Offsets>,
    offsets_path: PathBuf,
    fits: OnceLock<bool>,
}

impl Bvgraph {
    pub(super) fn open(files: &BvGraphFiles, work_dir: &Path, control: &Control) -> Result<Self> {
        if !files.graph.exists() {
            return Err(Error::missing(&files.graph).expected("a BVGraph's .graph beside .properties"));
        }
        let properties = Properties::read(files)?;
        let file = InputFile::open(&files.graph)?.or_else(|pipe| InputFile::copied(pipe, work_dir, control))?;
        let is_packed = Compression::is_named(&files.graph.to_string_lossy());
        let file = if is_packed { file.unpacked(work_dir, control)? } else { file };
        // Offsets only make reading faster, so a file that cannot be opened is ignored.
        let offsets = Some(&files.offsets).filter(|path| path.is_file()).and_then(|path| {
            let file = File::open(path).ok()?;
            let (bytes, code) = (file.metadata().ok()?.len(), properties.encoding.offsets);
            Some(Offsets { file: Storage::Local(file.into()), bytes, code })
        });
        if offsets.is_none() && files.ef.is_file() {
            tracing::info!(
                "{}: a dump of webgraph-rs's memory, whose form depends on its version, is not read; with {} beside it, which \
                 'webgraph build offsets' writes, the graph is read faster",
                files.ef.display(),
                files.offsets.display()
            );
        }
        let graph = Self { file, properties, offsets, offsets_path: files.offsets.clone(), fits: OnceLock::new() };
        // A row takes at least a bit.
        if graph.properties.encoding.nodes > graph.file.bytes.saturating_mul(8) {
            let found = format!("{} bytes for {} rows", graph.file.bytes, graph.properties.encoding.nodes);
            return Err(graph.damaged(format!("{found}: the stream ends too early")));
        }
        Ok(graph)
    }

    fn offsets(&self) -> Option<&Offsets> {
        let offsets = self.offsets.as_ref()?;
        let fits = || self.cuts(offsets).is_some_and(|cuts| cuts.fit(|end| self.is_end(end)));
        self.fits.get_or_init(fits).then_some(offsets)
    }

    fn cuts<'a>(&'a self, offsets: &'a Offsets) -> Option<OffsetCuts<'a>> {
        OffsetCuts::new(offsets, &self.properties.encoding, 8 * self.file.bytes, self.properties.arcs)
    }

    /// Whether the last row may end at this bit: writers pad to a whole byte or word; 128 bits allow for wide words.
    fn is_end(&self, bit: u64) -> bool {
        (8 * self.file.bytes).checked_sub(bit).is_some_and(|padding| padding <= 128)
    }

    fn scan_as<'a, O: BitOrder>(&'a self, sink: &dyn ArcSink, control: &Control, task: &'a Task) -> Result<u64> {
        let mut chunks = BvChunks::<O>::of(self, task);
        let found = AtomicU64::new(0);
        let decode = |work: &mut ChunkToDecode<'a, O>| -> Result<()> {
            control.check()?;
            let ChunkToDecode { chunk, reader, rows, heads } = work;
            let Some(chunk) = chunk else { return Ok(()) };
            rows.clear();
            heads.clear();
            let reader = reader.get_or_insert_with(|| ChunkReader::new(self, Some(task)));
            let arcs = reader.read(chunk, |tail, successors| {
                for part in successors.chunks(BATCH) {
                    heads.extend_from_slice(part);
                    rows.push((tail, heads.len()));
                    if heads.len() >= BATCH {
                        sink.rows(rows, heads)?;
                        rows.clear();
                        heads.clear();
                    }
                }
                Ok(())
            })?;
            sink.rows(rows, heads)?;
            // With a file of offsets, only this bounds the arcs of all rows together.
            if found.fetch_add(arcs, Ordering::Relaxed) + arcs > self.properties.arcs {
                let found = format!("more than {} arcs", self.properties.arcs);
                return Err(self.damaged(found).expected("as many as the properties say"));
            }
            Ok(())
        };
        let next = |work: &mut ChunkToDecode<'a, O>| {
            work.chunk = chunks.next(self, |_| {})?;
            Ok(work.chunk.is_some())
        };
        produce_and_drain(rayon::current_num_threads(), control, next, decode)?;
        self.check_arcs(found.into_inner())?;
        Ok(self.properties.arcs)
    }

    fn check_arcs(&self, found: u64) -> Result<()> {
        let Properties { arcs, encoding: Encoding { nodes, .. }, .. } = self.properties;
        if found == arcs {
            return Ok(());
        }
        Err(self.damaged(format!("{found} arcs in {nodes} rows")).expected(format!("{arcs}, as the properties say")))
    }

    fn check_end(&self, end: u64) -> Result<()> {
        if self.is_end(end) {
            return Ok(());
        }
        let nodes = self.properties.encoding.nodes;
        Err(self
            .damaged(format!("{} bytes", self.file.bytes))
            .expected(format!("{} for the {nodes} rows of the properties", end.div_ceil(8))))
    }

    fn damaged(&self, found: String) -> Error {
        Error::data(&self.file.path, found)
            .advice("the file is truncated or damaged, or its .properties is another graph's: fetch both again")
    }
}

#[derive(Default)]
struct ChunkToDecode<'a, O> {
    chunk: Option<BvChunk>,
    reader: Option<ChunkReader<'a, O>>,
    rows: Vec<(u64, usize)>,
    heads: Vec<u32>,
}

impl Reader for Bvgraph {
    /// A graph with few bits per arc has rows similar to the ones before them, and is decoded in little time.
    fn is_ordered(&self) -> bool {
        self.file.bytes.saturating_mul(8) <= WELL_COMPRESSED * self.properties.arcs && self.offsets().is_some()
    }

    fn rows(&self, memory: Bytes, _: &Control) -> Result<Option<Box<dyn AdjacencyRows + '_>>> {
        Ok(Some(if self.properties.little_endian {
            Box::new(BvGraphRows::<LowFirst>::new(self, memory))
        } else {
            Box::new(BvGraphRows::<HighFirst>::new(self, memory))
        }))
    }

    fn facts(&self) -> SourceFacts {
        let Properties { arcs, encoding: Encoding { nodes, .. }, .. } = self.properties;
        SourceFacts {
            declared_vertices: Some(nodes),
            arcs_at_most: arcs,
            // A row lists a vertex once, so each has at most one loop.
            arcs_at_least: arcs.saturating_sub(nodes),
            has_rows: true,
            ..SourceFacts::default()
        }
    }

    fn scan(&self, sink: &dyn ArcSink, control: &Control, task: &Task) -> Result<u64> {
        if self.properties.little_endian {
            self.scan_as::<LowFirst>(sink, control, task)
        } else {
            self.scan_as::<HighFirst>(sink, control, task)
        }
    }
}
