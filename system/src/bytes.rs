//! Sizes in bytes as a type of its own: written `512MiB`, `16GB` or `1073741824`.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub};
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize};

use crate::whole::text_or_whole;

/// A number of bytes. Parsed from the usual notations (`512MiB`, `16GB`, `1073741824`) and printed with a binary unit; in JSON a bare number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Bytes(pub u64);

impl Bytes {
    /// No bytes.
    pub const ZERO: Self = Self(0);

    /// `count` elements of type `T`.
    pub const fn of<T>(count: u64) -> Self {
        Self(count * size_of::<T>() as u64)
    }

    /// `n` mebibytes.
    pub const fn mib(n: u64) -> Self {
        Self(n << 20)
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
}

/// The pattern of sizes as text, for the schema: whole bytes, or a number and a unit.
pub const PATTERN: &str = r"^([0-9]{1,19}|([0-9]+\.?[0-9]*|\.[0-9]+)\s*([kKmMgGtTpPeE][iI]?[bB]?|[bB]))$";

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&bytesize::ByteSize(self.0).display().iec().to_string())
    }
}

impl FromStr for Bytes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.parse::<bytesize::ByteSize>().map(|size| Self(size.0)).map_err(|_| {
            format!("'{text}' is not a size; expected a number of bytes such as 512MiB, 16GB or 1073741824")
        })
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = "a size: a number of bytes from 0, or text such as \"512MiB\" or \"16GB\"";
        text_or_whole(deserializer, expected, str::parse, |number| Ok(Self(number)))
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
        Self(self.0 + other.0)
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sub for Bytes {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        Self(iter.map(|b| b.0).sum())
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
            assert_eq!(text.parse::<Bytes>(), Ok(Bytes(bytes)), "{text}");
        }
        for text in ["", "many", "-1", "12parsecs"] {
            assert!(text.parse::<Bytes>().is_err(), "{text}");
        }
    }
}
