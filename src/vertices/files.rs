//! The files of counts at vertices, which users name.

use std::path::Path;

use super::order::VerticesInOrder;
use super::summary::OfDegree;
use super::{npy, tsv};
use crate::table::format::{ALL, COLUMNS, TEXT, TableFormat};
use crate::table::new_file;
use trimill_system::disk::Output;
use trimill_system::error::{Error, Result};

/// The format of the counts at each vertex.
pub fn format(path: &Path) -> Result<TableFormat> {
    TableFormat::of(path, ALL)
}

/// Checks that the sums of each degree have a format.
pub fn check_degrees(path: &Path) -> Result<()> {
    TableFormat::of(path, TEXT).map(drop)
}

/// The length of an array of the counts, where there may be one.
///
/// # Errors
/// [`trimill_system::error::Kind::Usage`]: an array that would be almost empty.
pub fn has_array(array_len: Option<u64>, path: &Path) -> Result<u64> {
    array_len.ok_or_else(|| {
        Error::usage("most ids up to the largest that this graph declares have no edge, so an array with a place for each would be almost empty")
            .at(path)
            .expected(format!("a format with a column of ids: {}", COLUMNS.join(", ")))
    })
}

/// Writes the counts at each vertex; the file is there once it is finished. Runs in the current thread pool.
pub fn vertices(path: &Path, counts: &dyn VerticesInOrder) -> Result<Output> {
    let format = format(path)?;
    new_file(path, |to| match format {
        TableFormat::Text(compress) => tsv::write(to, compress, counts),
        TableFormat::Npy => {
            let mut array = npy::NpyWriter::begin(to, has_array(counts.array_len(), path)?)?;
            counts.in_order(&mut |rows| array.rows(to, rows))?;
            array.finish(to)
        }
        #[cfg(feature = "parquet")]
        TableFormat::Parquet => super::parquet::write(to, counts),
        #[cfg(not(feature = "parquet"))]
        TableFormat::Parquet => Err(Error::defect("a format that this build does not have")),
    })
}

/// Writes the sums of each degree; the file is there once it is finished. Runs in the current thread pool.
pub fn degrees(path: &Path, by_degree: &[OfDegree]) -> Result<Output> {
    match TableFormat::of(path, TEXT)? {
        TableFormat::Text(compress) => new_file(path, |to| tsv::write_degrees(to, compress, by_degree)),
        other => Err(Error::defect(format!("sums of degrees as {other:?}"))),
    }
}
