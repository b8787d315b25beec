//! The values of a column in a row group, checked, some rows at a time.

use std::io;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::{DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;

use super::ParquetFile;
use super::pages::Pages;
use super::schema::EndValues;
use crate::tables::check_ids;
use trimill_system::{Error, Result};

const WRITE_AGAIN: &str = "write or fetch the file again";

pub(super) struct ColumnValues<'a, T: DataType> {
    table: &'a ParquetFile,
    group: usize,
    /// 0 for tails, 1 for heads.
    end: usize,
    reader: ColumnReaderImpl<T>,
    pub(super) values: Vec<T::T>,
    /// 1 for a value, 0 for a null; used only if there may be nulls.
    levels: Vec<i16>,
}

impl<'a, T: DataType> ColumnValues<'a, T> {
    pub(super) fn new(table: &'a ParquetFile, group: usize, end: usize) -> Result<Self> {
        let column = &table.ends[end];
        let row_group = table.metadata.row_group(group);
        let (chunk, rows) = (row_group.column(column.leaf), row_group.num_rows() as usize);
        let reader = guarded(|| {
            let pages = Box::new(Pages::new(&table.file, chunk, rows, column.values, table.most_page)?);
            Ok(ColumnReaderImpl::new(chunk.column_descr_ptr(), pages))
        });
        let reader = reader.map_err(|error| table.damaged(group, end, error))?;
        Ok(Self { table, group, end, reader, values: Vec::new(), levels: Vec::new() })
    }

    /// Reads the next values; `rows`: the numbers of their rows. None may be missing.
    pub(super) fn read(&mut self, rows: Range<u64>) -> Result<()> {
        let wanted = (rows.end - rows.start) as usize;
        let found = self.next(wanted)?;
        if self.values.len() < found {
            let row = rows.start + self.levels.iter().position(|&level| level == 0).unwrap_or_default() as u64;
            return Err(self.wrong(&format!("a null in row {row} (the first is 0)")).expected("an id in each row"));
        }
        if found != wanted {
            return Err(self.wrong(&format!("{found} rows instead of {wanted}")).advice(WRITE_AGAIN));
        }
        Ok(())
    }

    /// As [`Self::read`]; `id` makes ids of the values, sign-extended ones if they are `signed`.
    fn read_ids(
        &mut self,
        rows: Range<u64>,
        signed: bool,
        ids: &mut Vec<u64>,
        id: impl Fn(&T::T) -> u64,
    ) -> Result<()> {
        self.read(rows.clone())?;
        ids.clear();
        ids.extend(self.values.iter().map(id));
        check_ids(ids, signed, rows.start, |found| self.wrong(found))
    }

    /// Reads at most `wanted` values; returns the number of rows, those of nulls included.
    fn next(&mut self, wanted: usize) -> Result<usize> {
        let Self { reader, values, levels, .. } = self;
        levels.clear();
        values.clear();
        let read = guarded(|| reader.read_records(wanted, Some(levels), None, values)).map(|(rows, ..)| rows);
        read.map_err(|error| self.table.damaged(self.group, self.end, error))
    }

    pub(super) fn check_end(mut self) -> Result<()> {
        match self.next(1)? {
            0 => Ok(()),
            _ => Err(self.wrong("more values than the row group has rows").advice(WRITE_AGAIN)),
        }
    }

    fn wrong(&self, found: &str) -> Error {
        self.table.wrong(self.group, self.end, found)
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

    pub(super) fn read(&mut self, rows: Range<u64>, ids: &mut Vec<u64>) -> Result<()> {
        match self {
            Self::Narrow(column, true) => column.read_ids(rows, true, ids, |&value| value as u64),
            Self::Narrow(column, false) => column.read_ids(rows, false, ids, |&value| u64::from(value as u32)),
            Self::Wide(column, signed) => column.read_ids(rows, *signed, ids, |&value| value as u64),
        }
    }

    pub(super) fn check_end(self) -> Result<()> {
        match self {
            Self::Narrow(column, _) => column.check_end(),
            Self::Wide(column, _) => column.check_end(),
        }
    }
}

impl ParquetFile {
    fn damaged(&self, group: usize, column: usize, error: ParquetError) -> Error {
        let (found, advice) = match error {
            // A read error, which has nothing to do with pages.
            ParquetError::External(source) => match source.downcast::<io::Error>() {
                Ok(source) => return Error::read(&self.file.path, *source),
                Err(source) => (ParquetError::External(source).to_string(), WRITE_AGAIN),
            },
            ParquetError::NYI(found) => (found, "write it again, compressed by zstd, and plain or with a dictionary"),
            other => (other.to_string(), WRITE_AGAIN),
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
