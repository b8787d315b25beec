//! The library's error type: where (file and line), what was found and expected, and what to do. Only `main` turns its [`Kind`] into an exit code.

use std::any::Any;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::{fmt, io};

use rustix::io::Errno;

use crate::bytes::Bytes;
use crate::free_disk::free_disk;
use crate::text::shown;

/// The result of everything in this library that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What errors call standard output.
pub const STDOUT: &str = "standard output";

/// Whose fault an error is; the program's exit code follows from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// Missing, empty, malformed or damaged data (exit code 1).
    Data,
    /// The command line or the job file (exit code 2).
    Usage,
    /// A budget, a disk, a directory or a device (exit code 3).
    Resource,
    /// A mistake of this program: a thread that panicked, an invariant that does not hold (exit code 101).
    Defect,
    /// Stopped from outside: Ctrl-C or SIGTERM (exit code 130).
    Interrupted,
}

/// What went wrong, where, and what to do about it. Boxed, so that a `Result` stays small on the success path.
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: Kind,
    path: Option<PathBuf>,
    line: Option<u64>,
    found: String,
    expected: Option<String>,
    advice: Option<String>,
    source: Option<io::Error>,
    memory: bool,
    missing: bool,
    wanted: Option<Bytes>,
    answer: Option<Box<dyn Any + Send + Sync>>,
}

impl Error {
    fn new(kind: Kind, path: Option<&Path>, found: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            path: path.map(Path::to_path_buf),
            line: None,
            found: found.into(),
            expected: None,
            advice: None,
            source: None,
            memory: false,
            missing: false,
            wanted: None,
            answer: None,
        }))
    }

    /// Data that is missing, empty, malformed or damaged.
    pub fn data(path: impl AsRef<Path>, found: impl Into<String>) -> Self {
        Self::new(Kind::Data, Some(path.as_ref()), found)
    }

    /// A wrong command line or job.
    pub fn usage(found: impl Into<String>) -> Self {
        Self::new(Kind::Usage, None, found)
    }

    /// A budget, disk, directory or device that does not allow what was asked.
    pub fn resource(found: impl Into<String>) -> Self {
        Self::new(Kind::Resource, None, found)
    }

    /// Ends the work of a thread since the system does not give this much memory; its caller gets the error from [`crate::threads::joined`].
    pub fn no_memory(bytes: Bytes) -> ! {
        std::panic::resume_unwind(Box::new(Self::resource(format!("no memory for {bytes}")).advice(MORE_MEMORY)))
    }

    /// Stopped from outside.
    pub fn interrupted() -> Self {
        Self::new(Kind::Interrupted, None, "interrupted")
    }

    /// Reading `path` failed: the data is at fault (exit code 1) or a system limit (exit code 3). A `source` that is an [`Error`] is returned itself.
    pub fn read(path: impl AsRef<Path>, source: io::Error) -> Self {
        let source = match source.downcast::<Self>() {
            Ok(error) => return error.at_if_unset(path),
            Err(source) => source,
        };
        let (kind, advice) = match limit(&source) {
            Some(advice) => (Kind::Resource, Some(advice.into())),
            None => (Kind::Data, None),
        };
        let mut error = Self::new(kind, Some(path.as_ref()), "cannot be read");
        (error.0.advice, error.0.source) = (advice, Some(source));
        error
    }

    /// Adds the line of the file, from 1.
    #[must_use]
    pub fn at_line(mut self, line: u64) -> Self {
        self.0.line = Some(line);
        self
    }

    /// Adds the file, where it was not known when the error was made.
    #[must_use]
    pub fn at(mut self, path: impl AsRef<Path>) -> Self {
        self.0.path = Some(path.as_ref().to_path_buf());
        self
    }

    /// Adds what was expected instead.
    #[must_use]
    pub fn expected(mut self, expected: impl Into<String>) -> Self {
        self.0.expected = Some(expected.into());
        self
    }

    /// Adds what to do.
    #[must_use]
    pub fn advice(mut self, advice: impl Into<String>) -> Self {
        self.0.advice = Some(advice.into());
        self
    }

    /// What was computed before the error, if it is a `T`: a `RunResult` if triangles were counted and only files of it are missing.
    pub fn answer<T: Any>(&self) -> Option<&T> {
        self.0.answer.as_ref()?.downcast_ref()
    }

    /// Whether the disk, the quota or a limit left no room for what was to be written.
    pub fn is_for_room(&self) -> bool {
        use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        self.0.source.as_ref().is_some_and(|e| matches!(e.kind(), StorageFull | QuotaExceeded | FileTooLarge))
    }

    /// Whether memory is short, in a budget or in the system.
    pub fn is_for_memory(&self) -> bool {
        self.0.memory || self.0.source.as_ref().is_some_and(|e| e.kind() == io::ErrorKind::OutOfMemory)
    }

    /// The file or directory that it is about.
    pub fn path(&self) -> Option<&Path> {
        self.0.path.as_deref()
    }

    /// The line in that file, from 1.
    pub fn line(&self) -> Option<u64> {
        self.0.line
    }

    /// What was found.
    pub fn found(&self) -> &str {
        &self.0.found
    }

    /// What was expected instead, if the error says so.
    pub fn was_expected(&self) -> Option<&str> {
        self.0.expected.as_deref()
    }

    /// What to do, if the error says so.
    pub fn what_to_do(&self) -> Option<&str> {
        self.0.advice.as_deref()
    }

    /// The kind of the system's error that is the cause, which the text contains: `NotFound` if a file is missing.
    pub fn io_kind(&self) -> Option<io::ErrorKind> {
        let missing = self.0.missing.then_some(io::ErrorKind::NotFound);
        missing.or_else(|| self.0.source.as_ref().map(io::Error::kind))
    }

    /// The bytes of memory or disk that would have been enough, if known; of a budget, the smallest that is accepted.
    pub fn bytes_wanted(&self) -> Option<Bytes> {
        self.0.wanted
    }

    /// Whose fault it is.
    pub fn kind(&self) -> Kind {
        self.0.kind
    }
}

// For the crates of this workspace.
#[doc(hidden)]
impl Error {
    pub fn missing(path: impl AsRef<Path>) -> Self {
        let mut error = Self::data(path, "does not exist");
        error.0.missing = true;
        error
    }

    /// A budget of memory that does not suffice, or memory that the system does not give.
    pub fn memory(found: impl Into<String>) -> Self {
        let mut error = Self::resource(found);
        error.0.memory = true;
        error
    }

    pub fn defect(found: impl Into<String>) -> Self {
        Self::new(Kind::Defect, None, found).advice("this is a defect; please report it")
    }

    /// Writing `path` failed: the disk or the directory is at fault (exit code 3).
    pub fn write(path: impl AsRef<Path>, source: io::Error) -> Self {
        let mut error = Self::new(Kind::Resource, Some(path.as_ref()), "cannot be written");
        // For a stream, the directory of its name is not on the disk that is full.
        let is_stream = |path: &Path| {
            [STDOUT, "/dev/stdout", "/dev/stderr"].iter().any(|name| path == Path::new(name))
                || path.metadata().is_ok_and(|there| there.file_type().is_char_device())
        };
        error.0.advice = match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded if is_stream(path.as_ref()) => {
                Some("free some space where it goes, or have it go elsewhere".into())
            }
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                let dir = error.directory();
                let free = free_disk(&dir).map(|free| format!(" ({free} are free in {})", shown(&dir)));
                Some(format!("free some space or name another directory{}", free.unwrap_or_default()))
            }
            io::ErrorKind::FileTooLarge => Some("raise the limit of file sizes (`ulimit -f`)".into()),
            _ => limit(&source).map(Into::into),
        };
        error.0.source = Some(source);
        error
    }

    /// A temporary file in `dir` came back changed: the disk or the memory is at fault (exit code 3).
    pub fn changed_on_disk(dir: impl AsRef<Path>) -> Self {
        let found = "a temporary file in it does not hold what was written to it";
        Self::new(Kind::Resource, Some(dir.as_ref()), found)
            .advice("start the job again; if that does not help, check the disk, or name another directory")
    }

    /// Adds the bytes that would be enough.
    #[must_use]
    pub fn wanting(mut self, bytes: Bytes) -> Self {
        self.0.wanted = Some(bytes);
        self
    }

    /// As [`Self::at`], if no file with a name is set yet.
    #[must_use]
    pub fn at_if_unset(self, path: impl AsRef<Path>) -> Self {
        let is_set = self.0.path.as_ref().is_some_and(|path| !path.as_os_str().is_empty());
        if is_set { self } else { self.at(path) }
    }

    /// Prepends what the job was doing.
    #[must_use]
    pub fn while_doing(mut self, what: &str) -> Self {
        self.0.found = format!("{what}: {}", self.0.found);
        self
    }

    #[must_use]
    pub fn in_job(self, name: Option<&str>) -> Self {
        match name {
            Some(name) => self.while_doing(&format!("job '{name}'")),
            None => self,
        }
    }

    /// Removes the advice, if it has been followed already.
    #[must_use]
    pub fn unadvised(mut self) -> Self {
        self.0.advice = None;
        self
    }

    /// Appends further advice.
    #[must_use]
    pub fn also(mut self, more: &str) -> Self {
        self.0.advice = Some(self.0.advice.map_or_else(|| more.into(), |advice| format!("{advice}; {more}")));
        self
    }

    /// Keeps what was computed before the error: the count, if only one of its files cannot be written.
    #[must_use]
    pub fn with_answer<T: Any + Send + Sync>(mut self, answer: T) -> Self {
        self.0.answer = Some(Box::new(answer));
        self
    }

    /// `answer`; if its files could not be `written`, their error, which keeps the answer for [`Self::answered`].
    pub fn answering<T: Any + Send + Sync>(written: Result<()>, answer: T) -> Result<T> {
        match written {
            Ok(()) => Ok(answer),
            Err(error) => Err(error.with_answer(answer)),
        }
    }

    /// The value of `outcome`, or the answer that its error keeps, together with that error. Errors: one without such an answer.
    pub fn answered<T: Any>(outcome: Result<T>) -> Result<(T, Result<()>)> {
        let mut error = match outcome {
            Ok(answer) => return Ok((answer, Ok(()))),
            Err(error) => error,
        };
        match error.0.answer.take().map(|answer| answer.downcast::<T>()) {
            Some(Ok(answer)) => Ok((*answer, Err(error))),
            _ => Err(error),
        }
    }

    /// Fails with the worst error of `outcomes`, by its kind, and with the texts of the others.
    pub fn worst_of(outcomes: impl IntoIterator<Item = Result<()>>) -> Result<()> {
        let mut errors: Vec<Self> = outcomes.into_iter().filter_map(Result::err).collect();
        errors.sort_by_key(|error| std::cmp::Reverse(error.kind()));
        let worst = errors.into_iter().reduce(|worst, other| worst.also(&other.to_string()));
        worst.map_or(Ok(()), Err)
    }

    fn directory(&self) -> PathBuf {
        let path = self.0.path.as_deref().unwrap_or(Path::new(""));
        let dir = if path.is_dir() { path } else { path.parent().unwrap_or(path) };
        if dir.as_os_str().is_empty() { ".".into() } else { dir.to_path_buf() }
    }
}

const MORE_MEMORY: &str = "free some memory, or raise its limit (`ulimit -v`)";

/// What to do if the cause is not a file but a limit of the system: memory or open files are used up.
fn limit(error: &io::Error) -> Option<&'static str> {
    match Errno::from_io_error(error)? {
        Errno::NOMEM => Some(MORE_MEMORY),
        Errno::MFILE | Errno::NFILE => Some("raise the limit of open files (`ulimit -n`)"),
        _ => None,
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.0.path {
            write!(f, "{}", shown(path))?;
            if let Some(line) = self.0.line {
                write!(f, ":{line}")?;
            }
            write!(f, ": ")?;
        }
        write!(f, "{}", self.0.found)?;
        if let Some(source) = &self.0.source {
            write!(f, " ({source})")?;
        }
        if let Some(expected) = &self.0.expected {
            write!(f, "; expected {expected}")?;
        }
        if let Some(advice) = &self.0.advice {
            write!(f, "; {advice}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {
    /// The cause of the system's error; the text includes the system's error itself.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        std::error::Error::source(self.0.source.as_ref()?)
    }
}

/// In this file, because `bytes` does not depend on errors.
impl FromStr for Bytes {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::of_text(text).map_err(Error::usage)
    }
}

#[cfg(test)]
mod tests;
