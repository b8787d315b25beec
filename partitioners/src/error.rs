//! The error type of this crate: the kind, where it occurred, what was found, what was expected, what to do.
//!
//! The fields are public, so that a program can convert it to its own error without parsing text.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// The result of everything in this crate that can fail.
pub type PartitionerResult<T, E = PartitionerError> = std::result::Result<T, E>;

/// The kind of an error: what caused it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PartitionerErrorKind {
    /// A file that is missing, empty or malformed, or a graph that contradicts itself.
    Data,
    /// An invalid option.
    Usage,
    /// A budget, a disk, a directory or a limit of the partitioner.
    Resource,
    /// The child process that runs the partitioner could not be started, or ended without an assignment.
    Child,
    Interrupted,
}

/// What went wrong, where, and what to do about it.
#[derive(Debug, thiserror::Error)]
#[error("{}", OneLine(self))]
#[non_exhaustive]
pub struct PartitionerError {
    pub kind: PartitionerErrorKind,
    pub path: Option<PathBuf>,
    /// The line of the file, from 1.
    pub line: Option<u64>,
    pub found: Box<str>,
    pub expected: Option<Box<str>>,
    pub advice: Option<Box<str>>,
    #[source]
    pub source: Option<io::Error>,
}

impl PartitionerError {
    pub(crate) fn new(kind: PartitionerErrorKind, found: impl Into<String>) -> Self {
        Self { kind, path: None, line: None, found: found.into().into(), expected: None, advice: None, source: None }
    }

    pub(crate) fn interrupted() -> Self {
        Self::new(PartitionerErrorKind::Interrupted, "interrupted")
    }

    pub(crate) fn at(mut self, path: &Path) -> Self {
        self.path = Some(path.to_path_buf());
        self
    }

    pub(crate) fn line(mut self, line: u64) -> Self {
        self.line = Some(line);
        self
    }

    pub(crate) fn expected(mut self, expected: impl Into<String>) -> Self {
        self.expected = Some(expected.into().into());
        self
    }

    pub(crate) fn advice(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into().into());
        self
    }

    pub(crate) fn because(mut self, source: io::Error) -> Self {
        self.source = Some(source);
        self
    }
}

/// The one-line form: `path:line: found (system); expected ...; advice`.
struct OneLine<'a>(&'a PartitionerError);

impl fmt::Display for OneLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let error = self.0;
        if let Some(path) = &error.path {
            write!(f, "{}", path.display())?;
            if let Some(line) = error.line {
                write!(f, ":{line}")?;
            }
            write!(f, ": ")?;
        }
        write!(f, "{}", error.found)?;
        if let Some(source) = &error.source {
            write!(f, " ({source})")?;
        }
        if let Some(expected) = &error.expected {
            write!(f, "; expected {expected}")?;
        }
        if let Some(advice) = &error.advice {
            write!(f, "; {advice}")?;
        }
        Ok(())
    }
}
