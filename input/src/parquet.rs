//! Apache Parquet: a table with two columns of integers, a row for each arc.
//!
//! Integers of 32 and 64 bits, with and without a sign; a negative number or a missing one is an error. [`schema`] says which
//! columns are read. Pages are plain or compressed by snappy, zstd, gzip or LZ4. Ids are delivered as stored.
//!
//! Row groups are read in parallel. Memory: for each thread a page of both columns (writers make pages of about 1 MiB), as stored and
//! decoded, and their dictionaries; and the metadata of all files.

mod footer;
mod pages;
mod schema;
mod thrift;

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::{DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;

use super::batch::ArcBatch;
use super::column_names::ColumnNames;
use super::file::InputFile;
use super::parallel::in_order;
use super::{ArcSink, Reader};
use pages::Pages;
use schema::IntegerColumn;
use trimill_system::control::{Control, Task};
use trimill_system::error::{Error, Result};

/// Rows that are decoded at a time.
const ROWS: usize = 1 << 12;

/// A graph in one or several tables.
pub(super) struct Parquet {
    tables: Vec<ParquetFile>,
}

/// A file whose metadata was read and checked.
struct ParquetFile {
    file: Arc<InputFile>,
    metadata: ParquetMetaData,
    ends: [IntegerColumn; 2],
    /// The rows before each row group.
    first_rows: Vec<u64>,
    rows: u64,
}

impl Parquet {
    /// Reads the metadata of plain files. `columns`: those that the user named.
    pub(super) fn open(files: Vec<InputFile>, columns: Option<&ColumnNames>) -> Result<Self> {
        let tables = files.into_iter().map(|file| ParquetFile::open(file, columns)).collect::<Result<_>>()?;
        Ok(Self { tables })
    }
}

impl ParquetFile {
    fn open(file: InputFile, columns: Option<&ColumnNames>) -> Result<Self> {
        let metadata = footer::read(&file)?;
        let ends = schema::ends(metadata.file_metadata().schema_descr(), columns).map_err(|e| e.at(&file.path))?;
        let (mut first_rows, mut rows) = (Vec::with_capacity(metadata.num_row_groups()), 0u64);
        for group in metadata.row_groups() {
            first_rows.push(rows);
            let more = u64::try_from(group.num_rows()).ok().and_then(|more| rows.checked_add(more));
            rows = more.ok_or_else(|| Error::data(&file.path, format!("a row group of {} rows", group.num_rows())))?;
        }
        Ok(Self { file: Arc::new(file), metadata, ends, first_rows, rows })
    }

    /// The arcs of a row group.
    fn scan(&self, group: usize, mut batch: ArcBatch<'_>) -> Result<u64> {
        let [mut tails, mut heads] = [ColumnValues::new(self, group, 0)?, ColumnValues::new(self, group, 1)?];
        let rows = u64::try_from(self.metadata.row_group(group).num_rows()).unwrap_or_default();
        let (mut done, mut from, mut to) = (0, Vec::new(), Vec::new());
        while done < rows {
            let wanted = (rows - done).min(ROWS as u64) as usize;
            for (values, into) in [(&mut tails, &mut from), (&mut heads, &mut to)] {
                into.clear();
                values.read(wanted, self.first_rows[group] + done, into)?;
            }
            for (&tail, &head) in from.iter().zip(&to) {
                batch.push(tail, head)?;
            }
            done += wanted as u64;
        }
        tails.ends()?;
        heads.ends()?;
        batch.finish()
    }

    fn wrong(&self, group: usize, column: usize, found: &str) -> Error {
        let name = trimill_system::text::printable(&self.ends[column].name).into_owned();
        Error::data(&self.file.path, format!("the column '{name}' in row group {group}: {found}"))
    }
}

/// The values of a column in a row group.
struct ColumnValues<'a> {
    table: &'a ParquetFile,
    group: usize,
    /// 0 for tails, 1 for heads.
    end: usize,
    reader: ColumnIntegers,
    /// Whether a value is there (1) or missing (0), if values may be missing.
    levels: Vec<i16>,
}

enum ColumnIntegers {
    Narrow(ColumnReaderImpl<Int32Type>, Vec<i32>),
    Wide(ColumnReaderImpl<Int64Type>, Vec<i64>),
}

impl<'a> ColumnValues<'a> {
    fn new(table: &'a ParquetFile, group: usize, end: usize) -> Result<Self> {
        let IntegerColumn { leaf, wide, .. } = table.ends[end];
        let row_group = table.metadata.row_group(group);
        let chunk = row_group.column(leaf);
        let (rows, width) = (row_group.num_rows() as usize, if wide { 8 } else { 4 });
        let reader = guarded(|| {
            let pages = Box::new(Pages::new(&table.file, chunk, rows, width)?);
            let column = chunk.column_descr_ptr();
            Ok(if wide {
                ColumnIntegers::Wide(ColumnReaderImpl::new(column, pages), Vec::new())
            } else {
                ColumnIntegers::Narrow(ColumnReaderImpl::new(column, pages), Vec::new())
            })
        });
        let reader = reader.map_err(|error| table.damaged(group, end, error))?;
        Ok(Self { table, group, end, reader, levels: Vec::new() })
    }

    /// Adds the next `wanted` values to `into`; `row` is the number of the first one.
    fn read(&mut self, wanted: usize, row: u64, into: &mut Vec<u64>) -> Result<()> {
        let Self { table, group, end, reader, levels } = self;
        let signed = table.ends[*end].signed;
        levels.clear();
        let (rows, least) = match reader {
            ColumnIntegers::Narrow(reader, values) => {
                let rows = next(reader, values, levels, wanted).map_err(|e| table.damaged(*group, *end, e))?;
                into.extend(values.iter().map(|&value| u64::from(value as u32)));
                (rows, values.iter().copied().min().map(i64::from))
            }
            ColumnIntegers::Wide(reader, values) => {
                let rows = next(reader, values, levels, wanted).map_err(|e| table.damaged(*group, *end, e))?;
                into.extend(values.iter().map(|&value| value as u64));
                (rows, values.iter().copied().min())
            }
        };
        let wrong = |found: String| table.wrong(*group, *end, &found);
        if into.len() < rows {
            let at = levels.iter().position(|&level| level == 0).unwrap_or_default();
            return Err(
                wrong(format!("a null in row {} (the first is 0)", row + at as u64)).expected("an id in each row")
            );
        }
        if rows != wanted {
            return Err(wrong(format!("{rows} rows instead of {wanted}")).advice("write or fetch the file again"));
        }
        if let Some(least) = least.filter(|&least| least < 0 && signed) {
            return Err(wrong(format!("the negative id {least}")).expected("ids from 0"));
        }
        if into.contains(&u64::MAX) {
            return Err(wrong(format!("the id {}", u64::MAX)).expected(format!("ids up to {}", u64::MAX - 1)));
        }
        Ok(())
    }

    /// Checks that no value is left.
    fn ends(mut self) -> Result<()> {
        self.levels.clear();
        let more = match &mut self.reader {
            ColumnIntegers::Narrow(reader, values) => next(reader, values, &mut self.levels, 1),
            ColumnIntegers::Wide(reader, values) => next(reader, values, &mut self.levels, 1),
        };
        match more.map_err(|error| self.table.damaged(self.group, self.end, error))? {
            0 => Ok(()),
            _ => Err(self
                .table
                .wrong(self.group, self.end, "more values than the row group has rows")
                .advice("write or fetch the file again")),
        }
    }
}

impl ParquetFile {
    fn damaged(&self, group: usize, column: usize, error: ParquetError) -> Error {
        let error = match error {
            // What reading says, which is nothing about pages.
            ParquetError::External(source) => match source.downcast::<io::Error>() {
                Ok(source) => return Error::read(&self.file.path, *source),
                Err(source) => ParquetError::External(source),
            },
            other => other,
        };
        self.wrong(group, column, &error.to_string())
            .expected("pages that are whole, plain or compressed by snappy, zstd, gzip or LZ4")
            .advice("write or fetch the file again")
    }
}

/// Reads at most `wanted` values; returns the number of rows, those without a value included.
fn next<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    values: &mut Vec<T::T>,
    levels: &mut Vec<i16>,
    wanted: usize,
) -> Result<usize, ParquetError> {
    values.clear();
    guarded(|| reader.read_records(wanted, Some(levels), None, values)).map(|(rows, ..)| rows)
}

/// Calls the library and turns its panics into errors: pages are checked before, but some decoders may still panic on damaged ones.
fn guarded<T>(call: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, ParquetError> {
    catch_unwind(AssertUnwindSafe(call))
        .unwrap_or_else(|_| Err(ParquetError::General("a page that cannot be decoded".into())))
}

impl Reader for Parquet {
    fn declared_vertices(&self) -> Option<u64> {
        None
    }

    fn arcs_at_most(&self) -> u64 {
        self.tables.iter().fold(0, |sum, table| sum.saturating_add(table.rows))
    }

    fn scan(&self, sink: &dyn ArcSink, control: &Control, task: &Task) -> Result<u64> {
        let groups: Vec<(&ParquetFile, usize)> =
            self.tables.iter().flat_map(|table| (0..table.first_rows.len()).map(move |group| (table, group))).collect();
        in_order(&groups, |&(table, group)| {
            control.check()?;
            let arcs = table.scan(group, ArcBatch::new(sink, control))?;
            task.advance(table.file.bytes / table.first_rows.len() as u64);
            Ok(arcs)
        })
    }
}
