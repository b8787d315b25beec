//! Web crawls in WebGraph's BV format: `NAME.graph` and `NAME.properties`, as the Laboratory for Web Algorithmics
//! distributes them (Boldi and Vigna, 'The WebGraph framework I', WWW 2004).
//!
//! Ids are `0..nodes`. Neither offsets nor any other file is needed or written. Rows refer to earlier rows, so without
//! offsets one thread decodes all of them (about 90 million arcs a second) and hands batches of 65,536 arcs to the
//! others. Memory: the rows of the reference window, and 256 KiB for each batch in flight.

use std::cell::RefCell;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use dsi_bitstream::dispatch::CodesRead;
use dsi_bitstream::impls::BufBitReader;
use dsi_bitstream::traits::{BE, BitSeek, Endianness, LE};
use webgraph::prelude::{CompFlags, get_endianness, parse_properties};

use super::bvgraph_bits::{StreamError, Words};
use super::bvgraph_rows::{RowLimits, Rows, catch_silently};
use super::file::InputFile;
use super::parallel::produce_and_drain;
use super::row_store::{RowStore, may_be_symmetric, unless_damaged};
use super::rows::AdjacencyRows;
use super::{ArcSink, Reader, check_vertices};
use crate::bytes::Bytes;
use crate::control::{Control, Task, Unit};
use crate::error::{Error, Result};

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

/// The contents of the properties file.
struct Properties {
    little_endian: bool,
    nodes: u64,
    arcs: u64,
    flags: CompFlags,
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
        if graph.properties.nodes > graph.file.bytes.saturating_mul(8) {
            let found = format!("{} bytes for {} rows", graph.file.bytes, graph.properties.nodes);
            return Err(graph.damaged(format!("{found}: the stream ends too early")));
        }
        Ok(graph)
    }

    fn scan_as<E: Endianness>(&self, sink: &dyn ArcSink, control: &Control, task: &Task) -> Result<u64>
    where
        for<'a> BufBitReader<E, Words<'a>>: CodesRead<E> + BitSeek<Error = io::Error>,
    {
        self.decode::<E>(control, task, |rows| {
            produce_and_drain(rows, |batch| {
                control.check()?;
                sink.arcs(batch)
            })
            .map(|()| true)
        })?;
        Ok(self.properties.arcs)
    }

    /// Decodes the rows. `take` receives a function that fills a batch with the next arcs and returns whether there were any;
    /// if `take` returns that it has taken all, checks that these are all arcs of the graph.
    fn decode<E: Endianness>(
        &self,
        control: &Control,
        task: &Task,
        take: impl FnOnce(&mut dyn FnMut(&mut Vec<(u64, u64)>) -> Result<bool>) -> Result<bool>,
    ) -> Result<bool>
    where
        for<'a> BufBitReader<E, Words<'a>>: CodesRead<E> + BitSeek<Error = io::Error>,
    {
        let Properties { nodes, arcs, flags, .. } = &self.properties;
        let trouble = RefCell::new(StreamError::default());
        let bits = BufBitReader::<E, _>::new(Words::new(&self.file.file, self.file.bytes, task, &trouble));
        let limits = RowLimits { nodes: *nodes, arcs: *arcs, bytes: self.file.bytes };
        let mut rows = Rows::new(bits, flags, limits).map_err(|e| self.damaged(format!("unknown codes ({e})")))?;
        let whole = take(&mut |batch| {
            control.check()?;
            batch.clear();
            rows.fill(batch, BATCH).map_err(|found| match trouble.take() {
                StreamError::Unreadable(e) => Error::read(&self.file.path, e),
                StreamError::Ended => self.damaged(format!("{found}: the stream ends too early")),
                StreamError::None => self.damaged(found),
            })?;
            Ok(!batch.is_empty())
        })?;
        if whole {
            self.check_end(&mut rows)?;
        }
        Ok(whole)
    }

    /// Decodes all rows into memory; `None` if some of the first arcs have no reverse.
    fn store_as<E: Endianness>(&self, control: &Control, task: &Task) -> Result<Option<RowStore>>
    where
        for<'a> BufBitReader<E, Words<'a>>: CodesRead<E> + BitSeek<Error = io::Error>,
    {
        let mut store = RowStore::new(self.properties.nodes);
        let mut first = true;
        self.decode::<E>(control, task, |rows| {
            let mut batch = Vec::new();
            while rows(&mut batch)? {
                if std::mem::take(&mut first) && !may_be_symmetric(&batch) {
                    return Ok(false);
                }
                let piece = store.piece();
                piece.arcs(&batch)?;
                let successors = piece.into_successors();
                store.push(successors);
            }
            Ok(true)
        })
        .map(|whole| whole.then_some(store))
    }

    /// Checks that the rows held all arcs and filled the file.
    fn check_end<B: BitSeek<Error = io::Error> + CodesRead<E>, E: Endianness>(
        &self,
        rows: &mut Rows<E, B>,
    ) -> Result<()> {
        let Properties { nodes, arcs, .. } = self.properties;
        let found = rows.arcs();
        if found != arcs {
            return Err(self
                .damaged(format!("{found} arcs in {nodes} rows"))
                .expected(format!("{arcs}, as the properties say")));
        }
        let end = rows.bit_position().map_err(|e| Error::read(&self.file.path, e))?;
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

impl Properties {
    fn read(files: &Files) -> Result<Self> {
        let path = &files.properties;
        if !path.is_file() {
            return Err(Error::data(path, "does not exist")
                .expected("the properties of a BVGraph beside its .graph")
                .advice("fetch it too; if the .graph is of another format, name that with --format"));
        }
        let damaged = |found: String| {
            Error::data(path, found).expected("the properties of a BVGraph").advice("fetch the file again")
        };
        let text = std::fs::read(path).map_err(|e| Error::read(path, e))?;
        let class = String::from_utf8_lossy(&text)
            .lines()
            .find_map(|line| line.trim().strip_prefix("graphclass=").map(str::to_owned));
        if let Some(class) = class.filter(|class| !class.ends_with("BVGraph")) {
            return Err(damaged(format!("a graph of class {class}")));
        }
        // The library's parser panics on some bytes that are not UTF-8.
        let no_text = || damaged("bytes that are not text".into());
        let endianness = catch_silently(|| get_endianness(&files.base)).ok_or_else(no_text)?;
        let endianness = endianness.map_err(|e| damaged(format!("damaged: {}", e.root_cause())))?;
        let little_endian = endianness == LE::NAME;
        let read = match endianness.as_str() {
            LE::NAME => catch_silently(|| parse_properties::<LE>(path)).ok_or_else(no_text)?,
            BE::NAME => catch_silently(|| parse_properties::<BE>(path)).ok_or_else(no_text)?,
            _ => return Err(damaged(format!("endianness '{endianness}'")).expected("'big' or 'little'")),
        };
        let (nodes, arcs, flags) = read.map_err(|e| {
            // The outer contexts name the key, the inner ones the cause.
            let why: Vec<String> = e.chain().map(ToString::to_string).collect();
            damaged(why.join(": ").replace(&format!(" in {}", path.display()), ""))
        })?;
        let nodes = nodes as u64;
        check_vertices(nodes).map_err(|error| error.at(path))?;
        if u128::from(arcs) > u128::from(nodes) * u128::from(nodes) {
            return Err(damaged(format!("{arcs} arcs between {nodes} vertices")));
        }
        if flags.compression_window > 1 << 20 || flags.min_interval_length as u64 > 1 << 32 {
            return Err(damaged(format!(
                "a window of {} rows and intervals of at least {}",
                flags.compression_window, flags.min_interval_length
            )));
        }
        Ok(Self { little_endian, nodes, arcs, flags })
    }
}

impl Reader for Bvgraph {
    fn rows(&self, memory: Bytes, control: &Control) -> Result<Option<Box<dyn AdjacencyRows + '_>>> {
        let Properties { nodes, arcs, .. } = self.properties;
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
        Some(self.properties.nodes)
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
