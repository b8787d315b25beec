//! Fingerprints and checksums as JSON strings, of lower-case hexadecimal digits: JSON numbers lose bits above 2^53 in many readers.

use std::fmt::LowerHex;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

/// All digits of the type: 16 of a `u64`, 32 of a `u128`.
pub fn serialize<T: LowerHex, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    let digits = 2 * size_of::<T>();
    serializer.collect_str(&format_args!("{value:0digits$x}"))
}

pub fn deserialize<'de, T: TryFrom<u128>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    let (text, digits) = (String::deserialize(deserializer)?, 2 * size_of::<T>());
    let is_complete = text.len() == digits && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    let value = if is_complete { u128::from_str_radix(&text, 16).ok() } else { None };
    let value = value.and_then(|value| T::try_from(value).ok());
    value.ok_or_else(|| D::Error::custom(format!("'{text}' is not {digits} lower-case hexadecimal digits")))
}

/// The same, or null.
pub mod optional {
    use super::*;

    #[derive(Serialize, Deserialize)]
    struct KnownDigits(#[serde(with = "crate::hex")] u128);

    pub fn serialize<S: Serializer>(value: &Option<u128>, serializer: S) -> Result<S::Ok, S::Error> {
        value.map(KnownDigits).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u128>, D::Error> {
        Ok(Option::<KnownDigits>::deserialize(deserializer)?.map(|known| known.0))
    }
}
