//! An input as a whole: its files, its format, its reader.

use std::fmt;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use super::binary::Binary;
use super::bvgraph::{Bvgraph, Files};
use super::detect;
use super::file::InputFile;
use super::format::Format;
use super::gapbs::GapbsSg;
use super::identity::{Identity, Watched};
use super::lines::Sizes;
use super::matrix_market::MatrixMarket;
use super::metis::Metis;
use super::rows::AdjacencyRows;
use super::text::Text;
use super::{ArcSink, Reader};
use crate::bytes::Bytes;
use crate::control::{Control, Unit};
use crate::error::{Error, Result};

/// A graph that can be read, as often as needed.
pub struct Source {
    format: Format,
    paths: Vec<PathBuf>,
    /// Its files as they were before they were opened; those that are no regular files are left out.
    watched: Vec<Watched>,
    /// Whether these are all, so that they identify it.
    identified: bool,
    bytes: u64,
    reader: Box<dyn Reader>,
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source")
            .field("format", &self.format)
            .field("paths", &self.paths)
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

impl Source {
    /// Opens one file, several files of one text or binary graph, or `-` alone for standard input.
    ///
    /// The format is told by content and suffix unless given. A BVGraph may be named by either of its files or by their
    /// base name. Standard input and pipes are copied to an anonymous temporary file in `work_dir`, because an input is
    /// read twice; so is the plain text of a compressed Matrix Market or METIS file.
    ///
    /// # Errors
    /// [`crate::error::Kind::Data`] for files that are missing, empty, damaged or of an unknown format;
    /// [`crate::error::Kind::Usage`] for inputs that cannot go together; [`crate::error::Kind::Resource`] when `work_dir`
    /// cannot be written.
    pub fn open(inputs: &[PathBuf], format: Option<Format>, work_dir: &Path) -> Result<Self> {
        Self::open_sized(inputs, format, work_dir, Sizes::USUAL)
    }

    /// As [`Self::open`], but tasks read `window` bytes at a time: for tests of what lies across two windows.
    ///
    /// # Errors
    /// As [`Self::open`].
    #[doc(hidden)]
    pub fn open_in_windows(
        inputs: &[PathBuf],
        format: Option<Format>,
        work_dir: &Path,
        window: NonZeroU64,
    ) -> Result<Self> {
        Self::open_sized(inputs, format, work_dir, Sizes { window: window.get(), ..Sizes::USUAL })
    }

    /// As [`Self::open`], with windows of another size.
    pub(super) fn open_sized(
        inputs: &[PathBuf],
        format: Option<Format>,
        work_dir: &Path,
        sizes: Sizes,
    ) -> Result<Self> {
        let [first, others @ ..] = inputs else {
            return Err(Error::usage("no input").expected("one or several files, or - for standard input"));
        };
        let is_stdin = |path: &PathBuf| path.as_os_str() == "-";
        if !others.is_empty() && inputs.iter().any(is_stdin) {
            return Err(Error::usage("- among other inputs").expected("- alone, for standard input"));
        }
        let bvgraph = match format {
            Some(format) => format == Format::Bvgraph,
            None => !is_stdin(first) && detect::names_bvgraph(first),
        };
        if bvgraph {
            return Self::open_bvgraph(inputs, work_dir);
        }
        let watched = if is_stdin(first) { Vec::new() } else { watch(inputs) };
        let files: Vec<InputFile> = if is_stdin(first) {
            vec![InputFile::stdin(work_dir)?]
        } else {
            inputs.iter().map(|path| InputFile::open(path, work_dir)).collect::<Result<_>>()?
        };
        let format = match format {
            Some(format) => format,
            None => common_format(&files)?,
        };
        if format == Format::Bvgraph {
            return Self::open_bvgraph(inputs, work_dir);
        }
        check_number(inputs, format)?;
        let bytes;
        let identified = watched.len() == files.len() && files.iter().all(|file| !file.spooled);
        let reader: Box<dyn Reader> = match format {
            Format::Text => {
                bytes = files.iter().map(|file| file.bytes).sum();
                Box::new(Text::open(files, sizes)?)
            }
            Format::BinU32 | Format::BinU64 | Format::Graph500 => {
                bytes = files.iter().map(|file| file.bytes).sum();
                Box::new(Binary::open(files, format, sizes)?)
            }
            Format::MatrixMarket | Format::Metis | Format::GapbsSg | Format::Bvgraph => {
                let Some(mut file) = files.into_iter().next() else { return Err(Error::usage("no input")) };
                if format != Format::GapbsSg {
                    file = file.decompressed(work_dir)?;
                }
                bytes = file.bytes;
                match format {
                    Format::MatrixMarket => Box::new(MatrixMarket::open(file, sizes)?),
                    Format::Metis => Box::new(Metis::open(file, sizes)?),
                    _ => Box::new(GapbsSg::open(file, sizes)?),
                }
            }
        };
        Ok(Self { format, paths: inputs.to_vec(), watched, identified, bytes, reader })
    }

    fn open_bvgraph(inputs: &[PathBuf], work_dir: &Path) -> Result<Self> {
        check_number(inputs, Format::Bvgraph)?;
        let files = Files::of(&inputs[0]);
        if inputs[0].as_os_str() == "-" {
            return Err(Error::usage("a BVGraph from standard input").expected("the path of its .graph"));
        }
        let watched = watch([&files.graph, &files.properties]);
        let reader = Bvgraph::open(&files, work_dir)?;
        let bytes = std::fs::metadata(&files.graph).map_err(|e| Error::read(&files.graph, e))?.len();
        Ok(Self {
            format: Format::Bvgraph,
            paths: inputs.to_vec(),
            identified: watched.len() == 2,
            watched,
            bytes,
            reader: Box::new(reader),
        })
    }

    /// The format, given or told.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The inputs as they were given.
    pub fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// The size of what is read, in bytes: all files as they lie on disk.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The number of vertices, where the format declares it (BVGraph, Matrix Market, METIS, `.sg`).
    pub fn declared_vertices(&self) -> Option<u64> {
        self.reader.declared_vertices()
    }

    /// Whether ids begin with 1 by definition of the format (Matrix Market, METIS); they are delivered so.
    pub fn one_based(&self) -> bool {
        matches!(self.format, Format::MatrixMarket | Format::Metis)
    }

    /// An upper estimate of the number of arcs: from the header or the size. For compressed text it is an estimate of
    /// an arc a byte.
    pub fn arcs_at_most(&self) -> u64 {
        self.reader.arcs_at_most()
    }

    /// Delivers every arc once to `sink`, from the threads of rayon's current pool; returns their number.
    ///
    /// # Errors
    /// What is wrong with the data first, with the line where there are lines; what the sink reports; the wish to stop.
    pub fn scan(&self, sink: &dyn ArcSink, control: &Control) -> Result<u64> {
        control.check()?;
        let task = control.task("read", Some(self.bytes), Unit::Bytes);
        self.reader.scan(sink, control, &task)
    }

    /// The rows, where the format stores rows that may hold every edge from both ends. Where they must be decoded first, they
    /// may take `memory`. Nothing where there are none, or too many, or the input contradicts itself, which [`Self::scan`] says.
    ///
    /// # Errors
    /// Files that cannot be read; the wish to stop.
    pub fn rows(&self, memory: Bytes, control: &Control) -> Result<Option<Box<dyn AdjacencyRows + '_>>> {
        self.reader.rows(memory, control)
    }

    /// What tells this input from another, as it was before it was opened: canonical paths, sizes, times and inodes of all
    /// files (of a BVGraph both files). `None` for standard input and pipes.
    ///
    /// # Errors
    /// [`crate::error::Kind::Data`] when a file can no longer be read.
    pub fn identity(&self) -> Result<Option<Identity>> {
        if self.identified { Identity::watched(&self.watched) } else { Ok(None) }
    }

    /// Called when all was read: fails where a file is no longer what it was before.
    ///
    /// # Errors
    /// [`crate::error::Kind::Data`], with the file and what differs.
    pub fn unchanged(&self) -> Result<()> {
        self.watched.iter().try_for_each(Watched::unchanged)
    }
}

/// Looks at the regular files among `paths`. One that is not there is for the readers to tell.
fn watch<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Vec<Watched> {
    paths.into_iter().filter_map(|path| Watched::new(path.as_ref()).ok().flatten()).collect()
}

/// The format that all files have.
fn common_format(files: &[InputFile]) -> Result<Format> {
    let format = detect::detect(&files[0])?;
    for file in &files[1..] {
        let other = detect::detect(file)?;
        if other != format {
            return Err(Error::data(&file.path, format!("looks like {other}"))
                .expected(format!("{format}, as {} does", files[0].path.display()))
                .advice("name the format of all files with --format"));
        }
    }
    Ok(format)
}

/// Refuses several files where the format has one.
fn check_number(inputs: &[PathBuf], format: Format) -> Result<()> {
    if inputs.len() == 1 || format.takes_several_files() {
        return Ok(());
    }
    Err(Error::usage(format!("{} files of format {format}", inputs.len()))
        .expected("one file; only text, graph500, bin-u32 and bin-u64 may be several"))
}
