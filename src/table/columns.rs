//! Counts in the order of the input's ids: one list of columns, for text and Parquet.

use std::io::Write as _;
use std::ops::Range;

use super::text::{MOST_NAMED, NAMED_ROWS, ROWS, TextTable, USUAL_NAME, put, put_name};
use trimill_graph::names::{NameReader, Names};
use trimill_system::Result;
use trimill_system::disk::Output;

const AT_A_TIME: usize = 1 << 10;
const NAMED_AT_A_TIME: usize = 1 << 6;

/// How a column's value is taken from a row, by the type of the value.
pub enum ColumnValue<R: 'static> {
    /// An id of the input, which may have a name.
    Id(fn(&R) -> u64),
    U64(fn(&R) -> u64),
    U32(fn(&R) -> u32),
    F64(fn(&R) -> f64),
}

/// The most digits of a number of 64 bits.
pub(crate) const DIGITS: u64 = 20;

impl<R> ColumnValue<R> {
    /// The most bytes of a value as text, given those of an id. Coefficients are 0 or at least 2^-63: `0.`, 18 zeros and 17 digits.
    fn most_bytes(&self, id: u64) -> u64 {
        match self {
            Self::Id(_) => id,
            Self::U64(_) => DIGITS,
            Self::U32(_) => 10,
            Self::F64(_) => 2 + 18 + 17,
        }
    }

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
    const COLUMNS: &'static [(&'static str, ColumnValue<Self::Row>)];
    /// Whether Parquet stores numbers as differences from the row before (DELTA_BINARY_PACKED): if ids ascend and counts are mostly small.
    const AS_DIFFERENCES: bool;

    fn count(&self) -> usize;

    /// The names of the ids, if these are text.
    fn names(&self) -> Option<&Names>;

    fn range(&self, places: Range<usize>) -> impl Iterator<Item = Self::Row>;
}

/// The least and the most bytes of a row as text: one digit a column; and the most bytes of each column, `id` of an id.
pub(crate) fn line_bytes<R: CountRows>(id: u64) -> [u64; 2] {
    [R::COLUMNS.iter().map(|_| 1 + 1).sum(), R::COLUMNS.iter().map(|(_, value)| value.most_bytes(id) + 1).sum()]
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

/// Calls `each` with the rows at `places`, some at a time, until it returns `false`: their ids, which may be anywhere in memory, are looked up
/// together. Returns the place behind the last of these rows.
pub(super) fn in_batches<R: CountRows>(
    rows: &R,
    places: Range<usize>,
    mut each: impl FnMut(&[R::Row]) -> Result<bool>,
) -> Result<usize> {
    let at_a_time = if rows.names().is_some() { NAMED_AT_A_TIME } else { AT_A_TIME };
    let (mut next, mut rows, mut some) = (places.start, rows.range(places), Vec::with_capacity(at_a_time));
    loop {
        some.extend(rows.by_ref().take(at_a_time));
        next += some.len();
        if some.is_empty() || !each(&some)? {
            return Ok(next);
        }
        some.clear();
    }
}

/// Writes the rows as text, without a header. Runs in the current thread pool.
pub(crate) fn write_lines<C: CountsInOrder>(to: &mut Output, table: TextTable, counts: &C) -> Result<()> {
    counts.in_order(&mut |rows| {
        let columns = <C::Rows<'_> as CountRows>::COLUMNS;
        let at_once = rows.names().map_or(ROWS, |names| names.as_many_as(NAMED_ROWS, USUAL_NAME));
        table.write_rows(to, rows.count(), at_once, |places, text, write_part| {
            // Each column has its own reader, since its ids are mostly near each other.
            let mut readers: Vec<Option<NameReader<'_>>> =
                columns.iter().map(|_| rows.names().map(Names::reader)).collect();
            in_batches(rows, places, |some| {
                for row in some {
                    for (((_, value), reader), rest) in columns.iter().zip(&mut readers).zip((0..columns.len()).rev()) {
                        value.put(row, reader.as_mut(), if rest == 0 { b'\n' } else { table.separator }, text)?;
                    }
                    if rows.names().is_some() && text.len() > MOST_NAMED {
                        write_part(text)?;
                        text.clear();
                    }
                }
                Ok(true)
            })
            .map(drop)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vertices::coefficient;

    #[test]
    fn no_coefficient_is_longer_than_is_said() {
        let column = ColumnValue::<f64>::F64(|value| *value);
        let degrees = [2, 3, 10, 65_537, 1_000_003, u32::MAX - 2, u32::MAX];
        let all = degrees.iter().flat_map(|&degree| [1, 2, 3, 7, 11].map(|triangles| coefficient(degree, triangles)));
        let longest = all.map(|value| {
            let mut text = Vec::new();
            column.put(&value, None, b'\t', &mut text).unwrap();
            text.len() as u64 - 1
        });
        assert!((30..=column.most_bytes(DIGITS)).contains(&longest.max().unwrap()));
    }
}
