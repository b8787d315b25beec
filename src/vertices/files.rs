//! The files of counts at vertices, which users name.

use std::io::Write as _;
use std::path::Path;

use super::lcc::LccOfVertices;
use super::npy::write_array;
use super::order::VertexRows;
use super::summary::OfDegree;
use crate::table::columns::{CountsInOrder, write_lines};
use crate::table::format::{ALL, COLUMNS, TableFormat};
use crate::table::text::{Compress, TextTable};
use crate::table::{new_file, new_text, write};
use trimill_system::disk::Output;
use trimill_system::{Error, Result};

/// The length of an array of the counts. Errors, `Kind::Usage`: it would be almost empty.
pub fn has_array(array_len: Option<u64>, path: &Path) -> Result<u64> {
    array_len.ok_or_else(|| {
        Error::usage("most ids up to the largest that this graph declares have no edge, so an array with a place for each would be almost empty")
            .at(path)
            .expected(format!("a format with a column of ids: {}", COLUMNS.join(", ")))
    })
}

/// Writes the counts at each vertex; the file appears once it is finished. Runs in the current thread pool.
pub fn vertices(
    path: &Path,
    counts: &impl for<'r> CountsInOrder<Rows<'r> = VertexRows<'r>>,
    array_len: Option<u64>,
) -> Result<Output> {
    let format = TableFormat::of(path, ALL)?;
    new_file(path, |to| match format {
        TableFormat::Npy => write_array(to, has_array(array_len, path)?, counts),
        other => write(to, other, counts),
    })
}

/// How coefficients of all vertices are written: a line each, without a header. Errors, `Kind::Usage`: a name that promises another format.
pub fn lcc_table(path: &Path) -> Result<TextTable> {
    let name = path.to_string_lossy();
    let compress = Compress::by_suffix(&name);
    let stem = name.trim_end_matches(".gz").trim_end_matches(".zst");
    match [".csv", ".tsv", ".npy", ".parquet", ".bz2", ".xz", ".lz4", ".zip"]
        .iter()
        .find(|&&other| stem.ends_with(other))
    {
        Some(other) => Err(Error::usage(format!("the name ends with {other}, and the file has lines `id value`"))
            .at(path)
            .expected("another name; with .gz or .zst at its end it is compressed")),
        None => Ok(TextTable { compress, separator: b' ' }),
    }
}

pub fn lcc(path: &Path, all: &LccOfVertices<'_>) -> Result<Output> {
    let table = lcc_table(path)?;
    new_file(path, |to| {
        // An empty chunk makes a compressed file valid even without vertices.
        table.write_rows(to, 1, 1, |_, _, _| Ok(()))?;
        write_lines(to, table, all)
    })
}

pub fn degrees(path: &Path, by_degree: &[OfDegree]) -> Result<Output> {
    let columns = ["degree", "vertices", "triangles", "average_local_clustering"];
    new_text(path, &columns, by_degree.len(), |place, then, text| {
        let OfDegree { degree, vertices, triangles } = by_degree[place];
        let local = by_degree[place].average_clustering();
        let _ = writeln!(text, "{degree}{then}{vertices}{then}{triangles}{then}{local}");
    })
}
