//! The file of counts on edges, which users name.

use std::path::Path;

use super::order::InOrder;
use super::tsv;
use crate::disk::Output;
use crate::error::{Error, Result};
use crate::table::format::{COLUMNS, Format};
use crate::table::new_file;

/// Its format.
///
/// # Errors
/// [`crate::error::Kind::Usage`].
pub fn format(path: &Path) -> Result<Format> {
    Format::of(path, COLUMNS)
}

/// Writes the counts on each edge; the file is there once it is finished. Runs in the current thread pool.
///
/// # Errors
/// [`crate::error::Kind::Resource`]; when the counts cannot be read.
pub fn write(path: &Path, counts: &dyn InOrder) -> Result<Output> {
    let format = format(path)?;
    new_file(path, |to| match format {
        Format::Text(compress) => tsv::write(to, compress, counts),
        #[cfg(feature = "parquet")]
        Format::Parquet => super::parquet::write(to, counts),
        other => Err(Error::defect(format!("counts on edges as {other:?}"))),
    })
}
