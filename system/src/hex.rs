//! Fingerprints and checksums as JSON strings: JSON numbers lose bits above 2^53 in many readers.

use serde::{Deserialize, Deserializer, Serializer, de::Error};

/// 16 lower-case hexadecimal digits.
pub mod of_u64 {
    use super::*;

    pub fn serialize<S: Serializer>(value: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{value:016x}"))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        let text = digits(deserializer, 16)?;
        u64::from_str_radix(&text, 16).map_err(Error::custom)
    }
}

/// 32 lower-case hexadecimal digits.
pub mod of_u128 {
    use super::*;

    pub fn serialize<S: Serializer>(value: &u128, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{value:032x}"))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u128, D::Error> {
        let text = digits(deserializer, 32)?;
        u128::from_str_radix(&text, 16).map_err(Error::custom)
    }
}

/// 32 lower-case hexadecimal digits, or null.
pub mod of_optional_u128 {
    use super::*;

    pub fn serialize<S: Serializer>(value: &Option<u128>, serializer: S) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => of_u128::serialize(value, serializer),
            None => serializer.serialize_none(),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u128>, D::Error> {
        #[derive(Deserialize)]
        struct KnownDigits(#[serde(with = "of_u128")] u128);
        Ok(Option::<KnownDigits>::deserialize(deserializer)?.map(|known| known.0))
    }
}

fn digits<'de, D: Deserializer<'de>>(deserializer: D, count: usize) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.len() == count && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
        Ok(text)
    } else {
        Err(D::Error::custom(format!("'{text}' is not {count} lower-case hexadecimal digits")))
    }
}
