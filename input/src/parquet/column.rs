//! The values of a column in a row group, checked, some rows at a time.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::{DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;

use super::ParquetFile;
use super::pages::Pages;
use super::schema::EndValues;
use trimill_system::{Error, Result};

pub(super) struct ColumnValues<'a, T: DataType> {
    table: &'a ParquetFile,
    group: usize,
    /// 0 for tails, 1 for heads.
    end: usize,
    reader: ColumnReaderImpl<T>,
    pub(super) values: Vec<T::T>,
    /// 1 where a value is there, 0 where it is missing; used only if values may be missing.
    levels: Vec<i16>,
}

impl<'a, T: DataType> ColumnValues<'a, T> {
    pub(super) fn new(table: &'a ParquetFile, group: usize, end: usize) -> Result<Self> {
        let column = &table.ends[end];
        let row_group = table.metadata.row_group(group);
        let (chunk, rows) = (row_group.column(column.leaf), row_group.num_rows() as usize);
        let reader = guarded(|| {
            let pages = Box::new(Pages::new(&table.file, chunk, rows, column.values)?);
            Ok(ColumnReaderImpl::new(chunk.column_descr_ptr(), pages))
        });
        let reader = reader.map_err(|error| table.damaged(group, end, error))?;
        Ok(Self { table, group, end, reader, values: Vec::new(), levels: Vec::new() })
    }

    /// Reads the next `wanted` values, none of which may be missing; `row` is the number of the first one.
    pub(super) fn read(&mut self, wanted: usize, row: u64) -> Result<()> {
        let rows = self.next(wanted)?;
        let wrong = |found: String| self.table.wrong(self.group, self.end, &found);
        if self.values.len() < rows {
            let at = self.levels.iter().position(|&level| level == 0).unwrap_or_default();
            return Err(
                wrong(format!("a null in row {} (the first is 0)", row + at as u64)).expected("an id in each row")
            );
        }
        if rows != wanted {
            return Err(wrong(format!("{rows} rows instead of {wanted}")).advice("write or fetch the file again"));
        }
        Ok(())
    }

    /// Reads at most `wanted` values; returns the number of rows, missing values included.
    fn next(&mut self, wanted: usize) -> Result<usize> {
        let Self { reader, values, levels, .. } = self;
        levels.clear();
        values.clear();
        let read = guarded(|| reader.read_records(wanted, Some(levels), None, values)).map(|(rows, ..)| rows);
        read.map_err(|error| self.table.damaged(self.group, self.end, error))
    }

    pub(super) fn ends(mut self) -> Result<()> {
        match self.next(1)? {
            0 => Ok(()),
            _ => Err(self
                .table
                .wrong(self.group, self.end, "more values than the row group has rows")
                .advice("write or fetch the file again")),
        }
    }
}

pub(super) enum IdColumn<'a> {
    Narrow(ColumnValues<'a, Int32Type>, bool),
    Wide(ColumnValues<'a, Int64Type>, bool),
}

impl<'a> IdColumn<'a> {
    pub(super) fn new(table: &'a ParquetFile, group: usize, end: usize) -> Result<Self> {
        match table.ends[end].values {
            EndValues::Narrow { signed } => Ok(Self::Narrow(ColumnValues::new(table, group, end)?, signed)),
            EndValues::Wide { signed } => Ok(Self::Wide(ColumnValues::new(table, group, end)?, signed)),
            EndValues::Text => Err(Error::defect("names that are read as numbers")),
        }
    }

    /// Reads the next `wanted` ids; `row` is the number of the first one.
    pub(super) fn read(&mut self, wanted: usize, row: u64, into: &mut Vec<u64>) -> Result<()> {
        into.clear();
        let (least, signed, table, group, end) = match self {
            Self::Narrow(column, signed) => {
                column.read(wanted, row)?;
                into.extend(column.values.iter().map(|&value| u64::from(value as u32)));
                let least = column.values.iter().copied().min().map(i64::from);
                (least, *signed, column.table, column.group, column.end)
            }
            Self::Wide(column, signed) => {
                column.read(wanted, row)?;
                into.extend(column.values.iter().map(|&value| value as u64));
                (column.values.iter().copied().min(), *signed, column.table, column.group, column.end)
            }
        };
        if let Some(least) = least.filter(|&least| least < 0 && signed) {
            return Err(table.wrong(group, end, &format!("the negative id {least}")).expected("ids from 0"));
        }
        if into.contains(&u64::MAX) {
            let found = format!("the id {}", u64::MAX);
            return Err(table.wrong(group, end, &found).expected(format!("ids up to {}", u64::MAX - 1)));
        }
        Ok(())
    }

    pub(super) fn ends(self) -> Result<()> {
        match self {
            Self::Narrow(column, _) => column.ends(),
            Self::Wide(column, _) => column.ends(),
        }
    }
}

impl ParquetFile {
    fn damaged(&self, group: usize, column: usize, error: ParquetError) -> Error {
        let error = match error {
            // A read error, which has nothing to do with pages.
            ParquetError::External(source) => match source.downcast::<io::Error>() {
                Ok(source) => return Error::read(&self.file.path, *source),
                Err(source) => ParquetError::External(source),
            },
            other => other,
        };
        let (found, advice) = match error {
            ParquetError::NYI(found) => (found, "write it again, compressed by zstd, and plain or with a dictionary"),
            other => (other.to_string(), "write or fetch the file again"),
        };
        self.wrong(group, column, &found)
            .expected("pages that are whole, plain or compressed by snappy, zstd, gzip or LZ4")
            .advice(advice)
    }
}

/// Turns panics of the library into errors: some decoders may panic on damaged pages, though pages are checked before.
fn guarded<T>(call: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, ParquetError> {
    catch_unwind(AssertUnwindSafe(call))
        .unwrap_or_else(|_| Err(ParquetError::General("a page that cannot be decoded".into())))
}
