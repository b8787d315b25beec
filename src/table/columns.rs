//! Counts in the order of the input's ids: one list of columns, for text and Parquet.

use std::io::Write as _;
use std::ops::Range;

use super::text::{NAMED_ROWS, ROWS, TextTable, put, put_name};
use trimill_graph::names::{NameReader, Names};
use trimill_system::Result;
use trimill_system::disk::Output;

/// How a column's value is taken from a row, by the type of the value.
pub enum ColumnValue<R: 'static> {
    /// An id of the input, which may have a name.
    Id(fn(&R) -> u64),
    U64(fn(&R) -> u64),
    U32(fn(&R) -> u32),
    F64(fn(&R) -> f64),
}

impl<R> ColumnValue<R> {
    fn put(&self, row: &R, names: Option<&mut NameReader<'_>>, then: u8, text: &mut Vec<u8>) -> Result<()> {
        match *self {
            Self::Id(id) => match names {
                Some(names) => put_name(names.name(id(row))?, then, text),
                None => put(id(row), then, text),
            },
            Self::U64(value) => put(value(row), then, text),
            Self::U32(value) => put(value(row).into(), then, text),
            Self::F64(value) => {
                let _ = write!(text, "{}", value(row));
                text.push(then);
            }
        }
        Ok(())
    }
}

pub trait CountRows: Sync {
    type Row: 'static;
    /// Each column's name and value.
    const COLUMNS: &'static [(&'static str, ColumnValue<Self::Row>)];
    /// Whether Parquet stores the differences from the row before, in as few bits as they take: if ids ascend and counts are mostly small.
    const AS_DIFFERENCES: bool;

    fn count(&self) -> usize;

    /// If ids are text.
    fn names(&self) -> Option<&Names>;

    fn range(&self, places: Range<usize>) -> impl Iterator<Item = Self::Row>;
}

/// The least and the most bytes of a row as text: a digit a column, or as many as its numbers can have; for names, typical lengths.
pub(crate) fn line_bytes<R: CountRows>() -> [u64; 2] {
    let most = |value: &ColumnValue<R::Row>| match value {
        ColumnValue::Id(_) | ColumnValue::U64(_) => 20,
        ColumnValue::U32(_) => 10,
        // The shortest text that round-trips: 17 digits, zeros behind the point or an exponent.
        ColumnValue::F64(_) => 25,
    };
    [R::COLUMNS.iter().map(|_| 1 + 1).sum(), R::COLUMNS.iter().map(|(_, value)| most(value) + 1).sum()]
}

pub trait CountsInOrder {
    type Rows<'r>: CountRows;

    fn names(&self) -> Vec<&'static str> {
        <Self::Rows<'static> as CountRows>::COLUMNS.iter().map(|(name, _)| *name).collect()
    }

    fn has_names(&self) -> bool;

    /// Calls `write` with all rows, in ascending order, one or more at a time.
    fn in_order<'s>(&'s self, write: &'s mut dyn FnMut(&Self::Rows<'_>) -> Result<()>) -> Result<()>;
}

/// Writes the rows as text, without a header. Runs in the current thread pool.
pub(crate) fn write_lines<C: CountsInOrder>(to: &mut Output, table: TextTable, counts: &C) -> Result<()> {
    counts.in_order(&mut |rows| {
        let columns = <C::Rows<'_> as CountRows>::COLUMNS;
        let at_once = if rows.names().is_some() { NAMED_ROWS } else { ROWS };
        table.write_rows(to, rows.count(), at_once, |places, text| {
            // Each column has its own reader, since its ids are mostly near each other.
            let mut readers: Vec<Option<NameReader<'_>>> =
                columns.iter().map(|_| rows.names().map(Names::reader)).collect();
            for row in rows.range(places) {
                for (((_, value), reader), rest) in columns.iter().zip(&mut readers).zip((0..columns.len()).rev()) {
                    value.put(&row, reader.as_mut(), if rest == 0 { b'\n' } else { table.separator }, text)?;
                }
            }
            Ok(())
        })
    })
}
