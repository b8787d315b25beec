//! The one error type of the library.
//!
//! Every error says where (file, and line where there is one), what was found, what was expected and what to do.
//! Its [`Kind`] tells whose fault it is; only `main` turns kinds into exit codes.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// The result of everything in this library that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Whose fault an error is; the program's exit code follows from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Missing, empty, malformed or damaged data (exit code 1).
    Data,
    /// The command line or the job file (exit code 2).
    Usage,
    /// A budget, a disk, a directory or a device (exit code 3).
    Resource,
    /// Stopped from outside: Ctrl-C or SIGTERM (exit code 130).
    Interrupted,
}

/// What went wrong, where, and what to do about it.
///
/// Boxed, so that a `Result` stays small on the way that is taken when nothing is wrong.
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

    /// Stopped from outside.
    pub fn interrupted() -> Self {
        Self::new(Kind::Interrupted, None, "interrupted")
    }

    /// Reading `path` failed: the data is at fault (exit code 1).
    pub fn read(path: impl AsRef<Path>, source: io::Error) -> Self {
        let mut error = Self::new(Kind::Data, Some(path.as_ref()), "cannot be read");
        error.0.source = Some(source);
        error
    }

    /// Writing `path` failed: the disk or the directory is at fault (exit code 3).
    pub fn write(path: impl AsRef<Path>, source: io::Error) -> Self {
        let mut error = Self::new(Kind::Resource, Some(path.as_ref()), "cannot be written");
        if source.kind() == io::ErrorKind::StorageFull {
            error.0.advice = Some("free some space or name another directory".into());
        }
        error.0.source = Some(source);
        error
    }

    /// Adds the (1-based) line of the file.
    #[must_use]
    pub fn line(mut self, line: u64) -> Self {
        self.0.line = Some(line);
        self
    }

    /// Adds the file, where the place that noticed did not know it.
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

    /// Says first where in the job it happened.
    #[must_use]
    pub fn while_doing(mut self, what: &str) -> Self {
        self.0.found = format!("{what}: {}", self.0.found);
        self
    }

    /// Adds what else to do.
    #[must_use]
    pub fn also(mut self, more: &str) -> Self {
        self.0.advice = Some(self.0.advice.map_or_else(|| more.into(), |advice| format!("{advice}; {more}")));
        self
    }

    /// The file or directory that it is about.
    pub fn path(&self) -> Option<&Path> {
        self.0.path.as_deref()
    }

    /// Whose fault it is.
    pub fn kind(&self) -> Kind {
        self.0.kind
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.0.path {
            write!(f, "{}", path.display())?;
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
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_ref().map(|e| e as _)
    }
}
