//! A column of ids in memory, of any integer type.

use std::ops::Range;
use std::sync::Arc;

use trimill_system::{Error, Result};

/// Numbers in memory that are read as ids, from any place on, by many threads: slices, arrays and vectors of integers are columns, and so are
/// references to columns, `Box`es and `Arc`s of them.
pub trait Column: Send + Sync {
    /// How many numbers there are.
    fn len(&self) -> u64;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Fills `ids` with the numbers from place `first` on.
    ///
    /// # Errors
    /// [`Kind::Data`](trimill_system::error::Kind::Data): a number that is no id ([`Self::id`]); places that do not exist ([`Self::places`]).
    fn read_ids(&self, first: u64, ids: &mut [u64]) -> Result<()>;

    /// The bytes of a number, for reports.
    fn width(&self) -> u64 {
        size_of::<u64>() as u64
    }

    /// The number in a place as an id.
    ///
    /// # Errors
    /// [`Kind::Data`](trimill_system::error::Kind::Data): a number that is negative, with its place.
    #[inline]
    fn id(number: i128, place: u64) -> Result<u64>
    where
        Self: Sized,
    {
        u64::try_from(number).map_err(|_| no_id(number, place))
    }

    /// The places from `first` on that `count` numbers have.
    ///
    /// # Errors
    /// [`Kind::Data`](trimill_system::error::Kind::Data): the column ends before.
    fn places(&self, first: u64, count: usize) -> Result<Range<usize>> {
        let len = self.len();
        let end = first.checked_add(count as u64).filter(|&end| end <= len);
        let end = end.and_then(|end| usize::try_from(end).ok()).ok_or_else(|| beyond(first, count, len))?;
        Ok(end - count..end)
    }
}

pub(super) fn get(column: &dyn Column, place: u64) -> Result<u64> {
    let mut id = [0];
    column.read_ids(place, &mut id)?;
    Ok(id[0])
}

#[cold]
fn no_id(number: i128, place: u64) -> Error {
    Error::data("", format!("the number {number} in place {place}")).expected("ids from 0")
}

#[cold]
fn beyond(first: u64, count: usize, len: u64) -> Error {
    Error::data("", format!("{len} numbers")).expected(format!("{count} more from place {first} on"))
}

macro_rules! holder {
    ([$($generics:tt)*] $holder:ty, $column:ty) => {
        impl<$($generics)*> Column for $holder {
            fn len(&self) -> u64 {
                <$column as Column>::len(self)
            }

            fn read_ids(&self, first: u64, ids: &mut [u64]) -> Result<()> {
                <$column as Column>::read_ids(self, first, ids)
            }

            fn width(&self) -> u64 {
                <$column as Column>::width(self)
            }
        }
    };
}

macro_rules! columns {
    ($($number:ty),*) => { $(
        impl Column for [$number] {
            fn len(&self) -> u64 {
                <[$number]>::len(self) as u64
            }

            fn read_ids(&self, first: u64, ids: &mut [u64]) -> Result<()> {
                let numbers = &self[self.places(first, ids.len())?];
                for ((place, id), &number) in (first..).zip(ids).zip(numbers) {
                    *id = <&Self as Column>::id(number as i128, place)?;
                }
                Ok(())
            }

            fn width(&self) -> u64 {
                size_of::<$number>() as u64
            }
        }
        holder!([const N: usize] [$number; N], [$number]);
        holder!([] Vec<$number>, [$number]);
    )* };
}

columns!(u8, u16, u32, u64, usize, i8, i16, i32, i64, isize);
holder!([T: Column + ?Sized] &T, T);
holder!([T: Column + ?Sized] Box<T>, T);
holder!([T: Column + ?Sized] Arc<T>, T);
