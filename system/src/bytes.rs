//! Sizes in bytes as a type of its own: written `512MiB`, `16GB` or `1073741824`.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub};

use serde::{Deserialize, Deserializer, Serialize};

use crate::integers::TextOrWhole;
use crate::text::plural;

/// A number of bytes. Parsed from the usual notations (`512MiB`, `16GB`, `1073741824`) and printed with a binary unit; in JSON a bare number.
///
/// A sum that is too large is `u64::MAX` bytes, more than any budget.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Bytes(pub u64);

impl Bytes {
    /// No bytes.
    pub const ZERO: Self = Self(0);

    /// `count` elements of type `T`; at most `u64::MAX` bytes.
    pub const fn of<T>(count: u64) -> Self {
        Self(count.saturating_mul(size_of::<T>() as u64))
    }

    /// `n` mebibytes; at most `u64::MAX` bytes.
    pub const fn mib(n: u64) -> Self {
        Self(n.saturating_mul(1 << 20))
    }

    /// The bare number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// `self - other`, or no bytes where that would be negative.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// As text, followed by the number of bytes unless the text states it: `1 byte`, `512.0 MiB (536870912 bytes)`.
    #[doc(hidden)]
    pub fn exactly(self) -> String {
        let exact = plural(self.0, "byte", "bytes");
        if self.0 < 1024 { exact } else { format!("{self} ({exact})") }
    }

    /// Rounded up to a size that its text, with one decimal, states exactly: a floor is then enough as a budget if it is typed as shown.
    #[must_use]
    pub fn rounded_up(self) -> Self {
        let bytes = u128::from(self.0);
        let unit = 1u128 << (bytes.max(1).ilog2() / 10 * 10);
        if unit == 1 {
            return self;
        }
        let tenths = (10 * bytes).div_ceil(unit);
        Self(u64::try_from(tenths * unit / 10).unwrap_or(u64::MAX))
    }

    pub(crate) fn of_text(text: &str) -> Result<Self, String> {
        text.parse::<bytesize::ByteSize>().map(|size| Self(size.0)).map_err(|_| {
            format!("'{text}' is not a size; expected a number of bytes such as 512MiB, 16GB or 1073741824")
        })
    }
}

/// The pattern of sizes as text, for the schema: whole bytes, or a number and a unit.
pub const PATTERN: &str = r"^([0-9]{1,19}|([0-9]+\.?[0-9]*|\.[0-9]+)\s*([kKmMgGtTpPeE][iI]?[bB]?|[bB]))$";

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&bytesize::ByteSize(self.0).display().iec().to_string())
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = "a size: a number of bytes from 0, or text such as \"512MiB\" or \"16GB\"";
        deserializer.deserialize_any(TextOrWhole { expected, of_text: Self::of_text, of_number: |n| Ok(Self(n)) })
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Bytes {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Bytes".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A size: a number of bytes, or text such as 512MiB, 16GB.",
            "type": ["string", "integer"],
            "minimum": 0,
            "pattern": PATTERN
        })
    }
}

impl Add for Bytes {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Self) {
        self.0 = self.0.saturating_add(other.0);
    }
}

impl Sub for Bytes {
    type Output = Self;

    /// As for integers, `other` must not be larger; [`Bytes::saturating_sub`] accepts any.
    ///
    /// # Panics
    /// If `other` is larger, in builds with overflow checks; other builds wrap.
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, Add::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        for (text, bytes) in
            [("512MiB", 512 << 20), ("16GB", 16_000_000_000), ("1073741824", 1 << 30), ("2 GiB", 2 << 30)]
        {
            assert_eq!(Bytes::of_text(text), Ok(Bytes(bytes)), "{text}");
        }
        for text in ["", "many", "-1", "12parsecs"] {
            assert!(Bytes::of_text(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_exact_size_is_said_once() {
        for (bytes, text) in [(1, "1 byte"), (1023, "1023 bytes"), (1025, "1.0 KiB (1025 bytes)")] {
            assert_eq!(Bytes(bytes).exactly(), text);
        }
    }

    #[test]
    fn what_is_shown_of_a_size_rounded_up_is_enough() {
        let ends = (0..50).flat_map(|bit| [(1u64 << bit) - 1, 1 << bit, (1 << bit) + 1]);
        let others = (0..40).flat_map(|i| (1..20).map(move |k: u64| (k << i) + k * 37));
        let mut beyond = 0;
        for bytes in ends.chain(others).map(Bytes) {
            let up = bytes.rounded_up();
            let shown = Bytes::of_text(&up.to_string()).unwrap();
            assert!(up >= bytes && shown >= bytes, "{} is shown as {up}, of {} bytes", bytes.get(), shown.get());
            assert!(up.get() - bytes.get() <= bytes.get() / 10, "{} and {}", bytes.get(), up.get());
            assert_eq!(up.rounded_up(), up);
            beyond += u32::from(Bytes::of_text(&bytes.to_string()).unwrap() < bytes);
        }
        assert!(beyond > 100, "{beyond} are shown as less");
        assert_eq!(Bytes(51_201).rounded_up().to_string(), "50.1 KiB");
    }

    #[test]
    fn sums_that_are_too_large_are_more_than_any_budget() {
        const MOST: Bytes = Bytes(u64::MAX);
        let mut grown = MOST;
        grown += Bytes(1);
        let sum: Bytes = [Bytes::mib(1 << 43), Bytes::mib(1 << 43)].into_iter().sum();
        for bytes in [Bytes::mib(1 << 44), Bytes::of::<u64>(1 << 61), MOST + Bytes(1), grown, sum] {
            assert_eq!(bytes, MOST);
        }
        assert_eq!((Bytes::mib((1 << 44) - 1).get(), Bytes::of::<u16>(3).get()), (u64::MAX - (1 << 20) + 1, 6));
    }
}
