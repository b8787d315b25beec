//! Tables that users name: their formats, and how they are written, row by row or column by column, by all threads.

pub mod format;
#[cfg(feature = "parquet")]
pub(crate) mod parquet;
pub mod text;

use std::path::Path;

use trimill_system::disk::{NewFile, Output};
use trimill_system::error::Result;

/// Makes a new file: `write` writes it, then all of it is on disk, but without its name.
pub(crate) fn new_file(path: &Path, write: impl FnOnce(&mut Output) -> Result<()>) -> Result<Output> {
    let mut to = Output::create(path)?;
    write(&mut to)?;
    to.new_file().map_or(Ok(()), NewFile::sync)?;
    Ok(to)
}
