//! Tables that users name: their formats, and how all threads write them, by rows or columns.

pub mod columns;
pub mod format;
#[cfg(feature = "parquet")]
pub(crate) mod parquet;
pub mod text;

use std::path::Path;

use columns::{CountsInOrder, write_lines};
use format::{TEXT, TableFormat};
use text::ROWS;
use trimill_system::disk::{NewFile, Output};
use trimill_system::{Error, Result};

/// Makes a new file, which `write` fills; on return its contents are on disk, but it has no name yet.
pub(crate) fn new_file(path: &Path, write: impl FnOnce(&mut Output) -> Result<()>) -> Result<Output> {
    let mut to = Output::create(path)?;
    write(&mut to)?;
    to.new_file().map_or(Ok(()), NewFile::sync)?;
    Ok(to)
}

/// Makes a new text file with these columns; `line` appends the line of a row, given the separator. Runs in the current thread pool.
pub(crate) fn new_text(
    path: &Path,
    columns: &[&str],
    rows: usize,
    line: impl Fn(usize, char, &mut Vec<u8>) + Sync,
) -> Result<Output> {
    let TableFormat::Text(table) = TableFormat::of(path, TEXT)? else {
        return Err(Error::defect("a table of sizes in another format than text"));
    };
    new_file(path, |to| {
        table.write_head(to, columns)?;
        table.write_rows(to, rows, ROWS, |places, text, _| {
            places.for_each(|place| line(place, char::from(table.separator), text));
            Ok(())
        })
    })
}

pub(crate) fn write(to: &mut Output, format: TableFormat, counts: &impl CountsInOrder) -> Result<()> {
    match format {
        TableFormat::Text(table) => {
            table.write_head(to, &counts.names())?;
            write_lines(to, table, counts)
        }
        #[cfg(feature = "parquet")]
        TableFormat::Parquet => parquet::write(to, counts),
        other => Err(Error::defect(format!("a table of counts as {other:?}"))),
    }
}
