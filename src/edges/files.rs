//! The file of counts on edges, which users name.

use std::path::Path;

use super::order::EdgesInOrder;
use super::tsv;
use crate::table::format::{COLUMNS, TableFormat};
use crate::table::new_file;
use trimill_system::disk::Output;
use trimill_system::error::{Error, Result};

pub fn format(path: &Path) -> Result<TableFormat> {
    TableFormat::of(path, COLUMNS)
}

/// Writes the counts on each edge; the file is there once it is finished. Runs in the current thread pool.
pub fn write(path: &Path, counts: &dyn EdgesInOrder) -> Result<Output> {
    let format = format(path)?;
    new_file(path, |to| match format {
        TableFormat::Text(compress) => tsv::write(to, compress, counts),
        #[cfg(feature = "parquet")]
        TableFormat::Parquet => super::parquet::write(to, counts),
        other => Err(Error::defect(format!("counts on edges as {other:?}"))),
    })
}
