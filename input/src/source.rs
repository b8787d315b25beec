//! An input as a whole: its files, its format, its reader.

mod readers;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::arcs::{ArcSource, READ, SourceFacts};
use super::bvgraph::{BvGraphFiles, Bvgraph};
use super::dataset::{check_remote, named_inputs};
use super::file::InputFile;
use super::format::Format;
use super::graphalytics::{self, GraphalyticsFiles, VertexList};
use super::identity::{Identity, Watched};
use super::lines::ReadSizes;
use super::names::NameSink;
use super::part_names::check_whole;
use super::pipe::Pipe;
use super::rows::AdjacencyRows;
use super::settings::InputSettings;
use super::storage::NamedInput;
use super::{ArcSink, Reader, archive, detect};
use readers::{if_text, open_reader, read_as_it_comes};
use trimill_system::control::{Control, Unit};
use trimill_system::memory::HostMemory;
use trimill_system::url::public;
use trimill_system::{Bytes, Error, Result};

/// A graph that can be read repeatedly, unless [`SourceFacts::is_read_once`] is set.
pub struct Source {
    format: Format,
    reading: InputSettings,
    /// Its regular files, as they were before they were opened.
    watched: Vec<Watched>,
    /// Whether `watched` has all files, so that they identify the input.
    identified: bool,
    bytes: u64,
    /// How many arcs there must be, if files beside them say so.
    arcs: Option<u64>,
    reader: Box<dyn Reader>,
}

pub(super) struct HowToOpen<'a> {
    /// The directory for copies.
    pub(super) work_dir: &'a Path,
    pub(super) sizes: ReadSizes,
    /// Whether pairs from a pipe are read once, as they arrive, instead of copied.
    pub(super) streams: bool,
    pub(super) control: &'a Control,
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").field("format", &self.format).field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

impl Source {
    #[cfg(feature = "testing")]
    /// [`Self::open_as`] with at most a format given, and without a way to stop it.
    pub fn open(inputs: &[PathBuf], format: Option<Format>, work_dir: &Path) -> Result<Self> {
        Self::open_as(inputs, InputSettings { format, ..InputSettings::default() }, work_dir, &Control::silent())
    }

    /// Opens a file, or several of one text or binary graph by name, directory or pattern ([`super::files_of`]), or `-` for standard input.
    ///
    /// The format is found from content and suffix unless given. A BVGraph may be named by either of its files or by their base name. Of an archive
    /// the member that is the graph is read. Inputs are read twice, so standard input and pipes are copied to an anonymous file in `work_dir`; so are
    /// members of archives, and compressed files but edge lists. Errors: `Kind::Data` for files that are missing, empty, damaged or of an unknown
    /// format; `Kind::Usage` for inputs that cannot go together; `Kind::Resource` if `work_dir` cannot be written; `Kind::Interrupted`: stopped.
    pub fn open_as(inputs: &[PathBuf], reading: InputSettings, work_dir: &Path, control: &Control) -> Result<Self> {
        Self::open_how(inputs, reading, &HowToOpen { work_dir, sizes: ReadSizes::USUAL, streams: false, control })
    }

    /// As [`Self::open_as`]; reading takes at most an eighth of `memory`, but at least 512 KiB per thread. Pairs of `u32` from a pipe are
    /// not copied: such a graph [is read once](SourceFacts::is_read_once).
    pub fn open_within(
        inputs: &[PathBuf],
        reading: InputSettings,
        work_dir: &Path,
        memory: HostMemory,
        control: &Control,
    ) -> Result<Self> {
        let sizes = ReadSizes::within(memory.usable().get() / 8, memory.threads());
        Self::open_how(inputs, reading, &HowToOpen { work_dir, sizes, streams: true, control })
    }

    #[cfg(feature = "testing")]
    /// As [`Self::open`], but tasks read `window` bytes at a time: for tests of lines and rows that cross windows.
    #[doc(hidden)]
    pub fn open_in_windows(
        inputs: &[PathBuf],
        format: Option<Format>,
        work_dir: &Path,
        window: std::num::NonZeroU64,
    ) -> Result<Self> {
        let sizes = ReadSizes { window: window.get(), ..ReadSizes::USUAL };
        let how = HowToOpen { work_dir, sizes, streams: false, control: &Control::silent() };
        Self::open_how(inputs, InputSettings { format, ..InputSettings::default() }, &how)
    }

    pub(super) fn open_how(inputs: &[PathBuf], reading: InputSettings, how: &HowToOpen<'_>) -> Result<Self> {
        let HowToOpen { work_dir, sizes, streams, control } = *how;
        let (named, arcs) = named_inputs(inputs, reading.cloud_credentials, sizes.window, control)?;
        let inputs = &named.iter().map(|input| input.path.clone()).collect::<Vec<_>>()[..];
        let is_remote = named.iter().any(|input| input.object.is_some());
        let [first, others @ ..] = inputs else {
            return Err(Error::usage("no input").expected("one or several files, or - for standard input"));
        };
        if reading.format.is_none() {
            check_whole(inputs)?;
        }
        let is_stdin = |path: &PathBuf| path.as_os_str() == "-";
        if !others.is_empty() && inputs.iter().any(is_stdin) {
            return Err(Error::usage("- among other inputs").expected("- alone, for standard input"));
        }
        if !is_remote
            && !archive::is_named(first)
            && let Some(files) = GraphalyticsFiles::among(inputs, reading.format)?
        {
            return Self::open_graphalytics(&files, reading, how);
        }
        let bvgraph = match reading.format {
            Some(format) => format == Format::Bvgraph,
            None => {
                let two = others.len() == 1 && BvGraphFiles::of_inputs(inputs).is_some();
                two || !is_stdin(first) && detect::names_bvgraph(first)
            }
        };
        if bvgraph {
            check_remote(&named, Format::Bvgraph)?;
            return Self::open_bvgraph(inputs, reading, work_dir, control);
        }
        let watched: Vec<_> =
            named.iter().filter(|input| !is_stdin(&input.path)).filter_map(NamedInput::watched).collect();
        let open = |input: &NamedInput| match &input.object {
            Some(object) => InputFile::remote(Arc::clone(object)).map(Ok),
            None if is_stdin(&input.path) => Pipe::stdin().map(Err),
            None => InputFile::open(&input.path),
        };
        let mut opened = named.iter().map(open).collect::<Result<Vec<_>>>()?;
        if streams
            && matches!(&opened[..], [Err(pipe)] if !pipe.is_file())
            && let Some(Err(pipe)) = opened.pop()
        {
            match read_as_it_comes(pipe, &reading, how)? {
                Ok((format, reader)) => {
                    return Ok(Self { format, reading, watched, identified: false, bytes: 0, arcs: None, reader });
                }
                Err(pipe) => opened.push(Err(pipe)),
            }
        }
        let copied = |file: std::result::Result<InputFile, Pipe>| {
            let file = file.or_else(|pipe| InputFile::copied(pipe, work_dir, control))?;
            let file = InputFile { zstd_window: sizes.zstd_window(1), ..file };
            archive::unpacked(file, reading.format, work_dir, control)
        };
        let files: Vec<Vec<InputFile>> = opened.into_iter().map(copied).collect::<Result<_>>()?;
        let files: Vec<InputFile> = files.into_iter().flatten().collect();
        let format = match reading.format {
            Some(format) => format,
            None if graphalytics::are_members(&files) => Format::Graphalytics,
            None => common_format(&files)?,
        };
        if files.iter().any(|file| file.file.is_remote()) {
            check_remote(&named, format)?;
        }
        if format == Format::Bvgraph {
            if let Some(file) = files.iter().find(|file| file.member.is_some()) {
                return Err(Error::data(&file.path, "a BVGraph in an archive")
                    .expected("NAME.graph as it is, with NAME.properties beside it")
                    .advice("unpack the archive first"));
            }
            return Self::open_bvgraph(inputs, reading, work_dir, control);
        }
        check_number(inputs, format)?;
        reading.check(&files[0].path, format)?;
        let identified = watched.len() == inputs.len() && files.iter().all(|file| !file.spooled);
        let (bytes, reader) = open_reader(format, files, &reading, how)?;
        Ok(Self { format, reading, watched, identified, bytes, arcs, reader })
    }

    fn open_bvgraph(inputs: &[PathBuf], reading: InputSettings, work_dir: &Path, control: &Control) -> Result<Self> {
        let Some(files) = BvGraphFiles::of_inputs(inputs) else {
            return Err(Error::usage(format!("{} files of format bvgraph", inputs.len()))
                .expected("one of the two files, or NAME.graph and NAME.properties if they are in different folders"));
        };
        reading.check(&inputs[0], Format::Bvgraph)?;
        if inputs[0].as_os_str() == "-" {
            return Err(Error::usage("a BVGraph from standard input").expected("the path of its .graph"));
        }
        let watched = watch([&files.graph, &files.properties]);
        let (format, reader) = (Format::Bvgraph, Box::new(Bvgraph::open(&files, work_dir, control)?));
        let bytes = std::fs::metadata(&files.graph).map_err(|e| Error::read(&files.graph, e))?.len();
        Ok(Self { format, reading, identified: watched.len() == 2, watched, bytes, arcs: None, reader })
    }

    fn open_graphalytics(files: &GraphalyticsFiles, reading: InputSettings, how: &HowToOpen<'_>) -> Result<Self> {
        let format = Format::Graphalytics;
        reading.check(&files.edges, format)?;
        let watched = watch(files.clone().paths());
        let (bytes, reader) = open_reader(format, files.open()?, &reading, how)?;
        Ok(Self { format, reading, identified: watched.len() == 3, watched, bytes, arcs: None, reader })
    }

    pub fn format(&self) -> Format {
        self.format
    }

    /// The identity before opening: canonical paths, sizes, times, inodes (of both files of a BVGraph), and a hash of files that have just
    /// changed. `None` for pipes.
    pub fn identity(&self, control: &Control) -> Result<Option<Identity>> {
        if self.identified { Identity::watched(&self.watched, control) } else { Ok(None) }
    }
}

impl ArcSource for Source {
    fn name(&self) -> &Path {
        self.watched.first().map_or(Path::new("input"), |file| file.path.as_path())
    }

    fn scan(&self, sink: &dyn ArcSink, control: &Control) -> Result<u64> {
        control.check()?;
        let task = control.task(READ, Some(self.bytes).filter(|_| !self.facts().is_read_once), Unit::Bytes);
        let scanned = self.reader.scan(sink, control, &task);
        if self.format == Format::Metis {
            return scanned.map_err(|error| if_text(error, &self.reading));
        }
        let found = scanned?;
        match self.arcs.filter(|&arcs| arcs != found) {
            Some(arcs) => Err(Error::data(self.name(), format!("{found} edges in all chunks"))
                .expected(format!("{arcs}, as the files edge_count say"))
                .advice("fetch the graph again")),
            None => Ok(found),
        }
    }

    fn facts(&self) -> SourceFacts {
        self.reader.facts()
    }

    fn is_ordered(&self) -> bool {
        self.reader.is_ordered()
    }

    fn bytes(&self) -> u64 {
        self.bytes.max(self.reader.bytes())
    }

    fn scan_names(&self, sink: &dyn NameSink, control: &Control) -> Result<u64> {
        control.check()?;
        let task = control.task(READ, Some(self.bytes), Unit::Bytes);
        self.reader.scan_names(sink, control, &task)
    }

    fn rows(&self, memory: Bytes, control: &Control) -> Result<Option<Box<dyn AdjacencyRows + '_>>> {
        self.reader.rows(memory, control)
    }

    fn listed(&self) -> Option<&VertexList> {
        self.reader.listed()
    }

    fn unchanged(&self) -> Result<()> {
        self.watched.iter().try_for_each(Watched::unchanged)
    }
}

/// The state of the regular files among `paths`; readers report missing ones.
fn watch<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Vec<Watched> {
    paths.into_iter().filter_map(|path| Watched::new(path.as_ref()).ok().flatten()).collect()
}

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

fn check_number(inputs: &[PathBuf], format: Format) -> Result<()> {
    let [first, second, ..] = inputs else { return Ok(()) };
    if format.takes_several_files() {
        return Ok(());
    }
    let several = Format::names(Format::takes_several_files);
    let (first, second) = (public(first), public(second));
    let (first, second) = (first.display(), second.display());
    Err(Error::usage(format!("{} files of format {format}, such as {first} and {second}", inputs.len()))
        .expected(format!("one file; only graphs of format {several} may be in several")))
}
