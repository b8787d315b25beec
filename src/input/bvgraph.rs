//! Web crawls in WebGraph's BV format: `NAME.graph` and `NAME.properties`, as the Laboratory for Web Algorithmics
//! distributes them (Boldi and Vigna, 'The WebGraph framework I', WWW 2004).
//!
//! Ids are `0..nodes`. Neither offsets nor any other file is needed or written. Rows refer to earlier rows, so one thread reads the
//! stream without decoding rows (`scan`) and finds chunks of about 131,072 arcs, which all threads decode (`decode`). Memory: for
//! each chunk in progress its bytes, the rows of the window, and a batch of arcs.

mod bits;
mod codes;
mod decode;
mod properties;
mod row;
mod scan;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use dsi_bitstream::traits::{BE, BitSeek, LE};

use super::file::InputFile;
use super::parallel::produce_and_drain;
use super::row_store::{RowStore, may_be_symmetric, unless_damaged};
use super::rows::AdjacencyRows;
use super::{ArcSink, Reader};
use crate::bytes::Bytes;
use crate::control::{Control, Task, Unit};
use crate::error::{Error, Result};
use crate::lock;
use bits::{BitOrder, StreamError, Words};
use decode::{Decoder, Failed};
use properties::Properties;
use row::Encoding;
use scan::{Chunk, Scanner};

/// Arcs handed over at once.
const BATCH: usize = 1 << 14;

/// The files of a graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Files {
    base: PathBuf,
    pub(super) graph: PathBuf,
    pub(super) properties: PathBuf,
}

impl Files {
    /// The files meant by `NAME.graph`, `NAME.properties` or `NAME`.
    pub(super) fn of(path: &Path) -> Self {
        let named = matches!(path.extension().and_then(|e| e.to_str()), Some("graph" | "properties"));
        let base = if named { path.with_extension("") } else { path.to_path_buf() };
        let with = |suffix: &str| {
            let mut name = OsString::from(&base);
            name.push(suffix);
            PathBuf::from(name)
        };
        Self { graph: with(".graph"), properties: with(".properties"), base }
    }

    /// Refuses a compressed `.graph`, whose name would be taken for a base name.
    fn check_packed(&self) -> Result<()> {
        let suffix = self.base.extension().and_then(|suffix| suffix.to_str()).unwrap_or_default();
        if !["gz", "zst", "zstd"].contains(&&*suffix.to_ascii_lowercase()) || !self.base.is_file() {
            return Ok(());
        }
        Err(Error::data(&self.base, "a compressed BVGraph")
            .expected("NAME.graph as it is, with NAME.properties beside it")
            .advice("decompress it first"))
    }

    /// Refuses names that other WebGraph programs take for another graph's: `crawl.2024` for `crawl`.
    pub(super) fn check_name(&self) -> Result<()> {
        let Some(name) = self.base.file_name().map(Path::new).filter(|name| name.extension().is_some()) else {
            return Ok(());
        };
        let better = name.to_string_lossy().replace('.', "-");
        Err(Error::data(&self.graph, format!("the base name '{}' has a dot", name.display()))
            .expected("a BVGraph's base name without dots, since what follows a dot is taken for a suffix")
            .advice(format!("rename both files to {better}.graph and {better}.properties")))
    }
}

/// A graph whose properties were read and checked.
pub(super) struct Bvgraph {
    file: InputFile,
    properties: Properties,
}

impl Bvgraph {
    pub(super) fn open(files: &Files, work_dir: &Path, control: &Control) -> Result<Self> {
        files.check_packed()?;
        files.check_name()?;
        if !files.graph.exists() {
            return Err(Error::data(&files.graph, "does not exist").expected("a BVGraph's .graph beside .properties"));
        }
        let properties = Properties::read(files)?;
        let graph = Self { file: InputFile::open(&files.graph, work_dir, control)?, properties };
        // A row takes a bit at least.
        if graph.properties.encoding.nodes > graph.file.bytes.saturating_mul(8) {
            let found = format!("{} bytes for {} rows", graph.file.bytes, graph.properties.encoding.nodes);
            return Err(graph.damaged(format!("{found}: the stream ends too early")));
        }
        Ok(graph)
    }

    fn scan_as<E: BitOrder>(&self, sink: &dyn ArcSink, control: &Control, task: &Task) -> Result<u64> {
        self.decode::<E>(control, task, |_, chunk, decoder, batch| {
            batch.clear();
            self.decode_chunk::<E>(chunk, decoder, |tail, successors| {
                for &head in successors {
                    batch.push((tail, head.into()));
                    if batch.len() == BATCH {
                        sink.arcs(batch)?;
                        batch.clear();
                    }
                }
                Ok(())
            })?;
            sink.arcs(batch)?;
            Ok(true)
        })?;
        Ok(self.properties.arcs)
    }

    /// Decodes all rows into memory; `None` if some of the first arcs have no reverse.
    fn store_as<E: BitOrder>(&self, control: &Control, task: &Task) -> Result<Option<RowStore>> {
        let mut store = RowStore::new(self.properties.encoding.nodes);
        let pieces = Mutex::new(BTreeMap::new());
        let whole = self.decode::<E>(control, task, |number, chunk, decoder, _| {
            let piece = store.piece();
            let mut first = Vec::new();
            self.decode_chunk::<E>(chunk, decoder, |tail, successors| {
                if number == 0 && first.len() < BATCH {
                    first.extend(successors.iter().map(|&head| (tail, u64::from(head))));
                }
                piece.row(tail, successors);
                Ok(())
            })?;
            lock(&pieces).insert(number, piece.into_successors());
            Ok(may_be_symmetric(&first))
        })?;
        if !whole {
            return Ok(None);
        }
        for (_, successors) in pieces.into_inner().unwrap_or_else(PoisonError::into_inner) {
            store.push(successors);
        }
        Ok(Some(store))
    }

    /// Finds where rows begin, and passes chunks of them to `take` in other threads: the number of each, its rows, and memory. Checks
    /// that these are all rows and arcs of the graph. `false` if `take` returned that it needs no more.
    fn decode<E: BitOrder>(
        &self,
        control: &Control,
        task: &Task,
        take: impl Fn(u64, &Chunk, &mut Decoder, &mut Vec<(u64, u64)>) -> Result<bool> + Sync,
    ) -> Result<bool> {
        let (file, trouble) = (&self.file, RefCell::new(StreamError::default()));
        let bits = E::reader(Words::new(&file.file, file.bytes, task, &trouble));
        let mut scanner = Scanner::new(&self.properties.encoding, bits, self.properties.arcs, file.bytes);
        let (mut next, enough) = (0, AtomicBool::new(false));
        let taken = |work: &mut Work| -> Result<()> {
            control.check()?;
            if !enough.load(Ordering::Relaxed) && !take(work.number, &work.chunk, &mut work.decoder, &mut work.batch)? {
                enough.store(true, Ordering::Relaxed);
            }
            Ok(())
        };
        produce_and_drain(
            |work: &mut Work| {
                control.check()?;
                let chunk = scanner.next_chunk::<E>().map_err(|_| {
                    let found = format!("the row of vertex {} cannot be decoded", scanner.node());
                    match trouble.take() {
                        StreamError::Unreadable(e) => Error::read(&file.path, e),
                        StreamError::Ended => self.damaged(format!("{found}: the stream ends too early")),
                        StreamError::None => self.damaged(found),
                    }
                })?;
                let Some(chunk) = chunk else { return Ok(false) };
                (work.number, work.chunk) = (next, chunk);
                next += 1;
                Ok(!enough.load(Ordering::Relaxed))
            },
            taken,
        )?;
        if !enough.into_inner() {
            self.check_end::<E>(&mut scanner)?;
            return Ok(true);
        }
        Ok(false)
    }

    /// Decodes the rows of a chunk.
    fn decode_chunk<E: BitOrder>(
        &self,
        chunk: &Chunk,
        decoder: &mut Decoder,
        each: impl FnMut(u64, &[u32]) -> Result<()>,
    ) -> Result<()> {
        let (file, trouble) = (&self.file, RefCell::new(StreamError::default()));
        let needed = (chunk.bits.end - chunk.bits.start).div_ceil(8);
        let mut bits = E::reader(Words::few(&file.file, file.bytes, needed, &trouble));
        let at_start = bits.set_bit_pos(chunk.bits.start).map_err(|_| Failed::Row(chunk.start));
        let decoded = at_start.and_then(|()| decoder.decode(&self.properties.encoding, chunk, &mut bits, each));
        decoded.map_err(|failed| match (trouble.take(), failed) {
            (StreamError::Unreadable(e), _) => Error::read(&file.path, e),
            (_, Failed::Row(node)) => self.damaged(format!("the row of vertex {node} cannot be decoded")),
            (_, Failed::Order(node)) => self.damaged(format!("the row of vertex {node} is not ascending")),
            (_, Failed::Sink(error)) => error,
        })
    }

    /// Checks that the rows held all arcs and filled the file.
    fn check_end<E: BitOrder>(&self, scanner: &mut Scanner<'_, E::Reader<'_>>) -> Result<()> {
        let Properties { arcs, encoding: Encoding { nodes, .. }, .. } = self.properties;
        let found = arcs - scanner.arcs_left();
        if found != arcs {
            return Err(self
                .damaged(format!("{found} arcs in {nodes} rows"))
                .expected(format!("{arcs}, as the properties say")));
        }
        let end = scanner.position::<E>().map_err(|_| self.damaged("the stream ends too early".into()))?;
        // Writers pad to a whole byte or word; 128 bits allow for wide words.
        if end > 8 * self.file.bytes || 8 * self.file.bytes - end > 128 {
            return Err(self
                .damaged(format!("{} bytes", self.file.bytes))
                .expected(format!("{} for the {nodes} rows of the properties", end.div_ceil(8))));
        }
        Ok(())
    }

    fn damaged(&self, found: String) -> Error {
        Error::data(&self.file.path, found)
            .advice("the file is truncated or damaged, or its .properties is another graph's: fetch both again")
    }
}

/// A chunk, and the memory of what decodes it.
#[derive(Default)]
struct Work {
    number: u64,
    chunk: Chunk,
    decoder: Decoder,
    batch: Vec<(u64, u64)>,
}

impl Reader for Bvgraph {
    fn rows(&self, memory: Bytes, control: &Control) -> Result<Option<Box<dyn AdjacencyRows + '_>>> {
        let Properties { arcs, encoding: Encoding { nodes, .. }, .. } = self.properties;
        // A row takes at least a bit.
        if nodes > 8 * self.file.bytes || !RowStore::fits(nodes, arcs, memory) {
            return Ok(None);
        }
        let task = control.task("read", Some(self.file.bytes), Unit::Bytes);
        let store = if self.properties.little_endian {
            self.store_as::<LE>(control, &task)
        } else {
            self.store_as::<BE>(control, &task)
        };
        Ok(unless_damaged(store)?.map(|store| Box::new(store) as Box<dyn AdjacencyRows>))
    }

    fn declared_vertices(&self) -> Option<u64> {
        Some(self.properties.encoding.nodes)
    }

    fn arcs_at_most(&self) -> u64 {
        self.properties.arcs
    }

    fn scan(&self, sink: &dyn ArcSink, control: &Control, task: &Task) -> Result<u64> {
        if self.properties.little_endian {
            self.scan_as::<LE>(sink, control, task)
        } else {
            self.scan_as::<BE>(sink, control, task)
        }
    }
}
