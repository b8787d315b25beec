//! Counts in the order of the input's ids: one list of columns, from which text and Parquet are written.

use std::io::Write as _;
use std::ops::Range;

use super::text::{TextTable, put};
use trimill_system::disk::Output;
use trimill_system::error::Result;

/// A column: its name, and what it has of a row.
pub struct CountColumn<R: 'static> {
    pub(crate) name: &'static str,
    pub(crate) value: ColumnValue<R>,
}

/// What a column has of a row, by its type.
pub enum ColumnValue<R: 'static> {
    U64(fn(&R) -> u64),
    U32(fn(&R) -> u32),
    F64(fn(&R) -> f64),
}

impl<R> CountColumn<R> {
    pub(crate) const fn new(name: &'static str, value: ColumnValue<R>) -> Self {
        Self { name, value }
    }

    fn put(&self, row: &R, then: u8, text: &mut Vec<u8>) {
        match self.value {
            ColumnValue::U64(value) => put(value(row), then, text),
            ColumnValue::U32(value) => put(value(row).into(), then, text),
            ColumnValue::F64(value) => {
                // Writing to memory does not fail.
                let _ = write!(text, "{}", value(row));
                text.push(then);
            }
        }
    }
}

/// Consecutive rows.
pub trait CountRows: Sync {
    type Row: 'static;
    const COLUMNS: &'static [CountColumn<Self::Row>];
    /// Whether Parquet stores the differences from the row before, in as few bits as they take: where ids ascend and counts are mostly
    /// small.
    const AS_DIFFERENCES: bool;

    fn count(&self) -> usize;

    fn range(&self, places: Range<usize>) -> impl Iterator<Item = Self::Row>;
}

/// The least and the most bytes of a row as a line of text: a digit of each column, or as many as its numbers can have.
pub(crate) fn line_bytes<R: CountRows>() -> [u64; 2] {
    let most = |column: &CountColumn<R::Row>| match column.value {
        ColumnValue::U64(_) => 20,
        ColumnValue::U32(_) => 10,
        // The shortest that is read back the same: 17 digits, zeros behind the point or an exponent.
        ColumnValue::F64(_) => 25,
    };
    [R::COLUMNS.iter().map(|_| 1 + 1).sum(), R::COLUMNS.iter().map(|column| most(column) + 1).sum()]
}

/// Counts that can be read in the order of the input's ids.
pub trait CountsInOrder {
    type Rows<'r>: CountRows;

    /// The names of the columns.
    fn names(&self) -> Vec<&'static str> {
        <Self::Rows<'static> as CountRows>::COLUMNS.iter().map(|column| column.name).collect()
    }

    /// Calls `write` with all rows, in ascending order, one or more at a time.
    fn in_order<'s>(&'s self, write: &'s mut dyn FnMut(&Self::Rows<'_>) -> Result<()>) -> Result<()>;
}

/// Writes the rows as text; runs in the current thread pool.
pub(super) fn write_text<C: CountsInOrder>(to: &mut Output, table: TextTable, counts: &C) -> Result<()> {
    table.write_head(to, &counts.names())?;
    write_lines(to, table, counts)
}

/// The same without the names of the columns.
pub(crate) fn write_lines<C: CountsInOrder>(to: &mut Output, table: TextTable, counts: &C) -> Result<()> {
    counts.in_order(&mut |rows| {
        let columns = <C::Rows<'_> as CountRows>::COLUMNS;
        table.write_rows(to, rows.count(), |places, text| {
            for row in rows.range(places) {
                for (column, rest) in columns.iter().zip((0..columns.len()).rev()) {
                    column.put(&row, if rest == 0 { b'\n' } else { b'\t' }, text);
                }
            }
        })
    })
}
