//! Whole numbers in settings: `8` or `8.0`; both are accepted, since a JSON schema cannot distinguish them.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error, IntoDeserializer, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};

/// Reads a number, or `None` if there is none. Errors: other values, numbers with a fraction, numbers that `T` cannot hold.
pub fn whole<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    deserializer.deserialize_any(WholeVisitor(PhantomData))
}

struct WholeVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for WholeVisitor<T> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number")
    }
    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
    fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
        T::deserialize(number.into_deserializer()).map(Some)
    }
    fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
        T::deserialize(number.into_deserializer()).map(Some)
    }
    fn visit_f64<E: Error>(self, number: f64) -> Result<Self::Value, E> {
        match exact(number) {
            Some(number) => self.visit_i64(number),
            None => Err(E::invalid_type(Unexpected::Float(number), &self)),
        }
    }
}

/// Reads text or a whole number. Errors: those of `of_text` and `of_number`; for other values, what was `expected`.
pub struct TextOrWhole<T> {
    pub expected: &'static str,
    pub of_text: fn(&str) -> Result<T, String>,
    pub of_number: fn(u64) -> Result<T, String>,
}

impl<T> Visitor<'_> for TextOrWhole<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }
    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        (self.of_text)(text).map_err(E::custom)
    }
    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        (self.of_number)(number).map_err(E::custom)
    }
    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        let whole = u64::try_from(number).map_err(|_| E::invalid_value(Unexpected::Signed(number), &self))?;
        self.visit_u64(whole)
    }
    fn visit_f64<E: Error>(self, number: f64) -> Result<T, E> {
        let whole = exact(number).ok_or_else(|| E::invalid_type(Unexpected::Float(number), &self))?;
        self.visit_i64(whole)
    }
}

/// The integer that `number` is, if it is one and no neighbour rounds to it.
pub fn exact(number: f64) -> Option<i64> {
    // 2^53 + 1 rounds to 2^53.
    const PAST: f64 = (1_u64 << f64::MANTISSA_DIGITS) as f64;
    (number.fract() == 0.0 && number.abs() < PAST).then_some(number as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_were_perhaps_rounded_are_not_exact() {
        for (number, found) in [
            (-8.0, Some(-8)),
            (9_007_199_254_740_991.0, Some((1 << 53) - 1)),
            (9_007_199_254_740_992.0, None),
            (-9_007_199_254_740_992.0, None),
            (0.5, None),
            (f64::NAN, None),
        ] {
            assert_eq!(exact(number), found, "{number}");
        }
    }
}
