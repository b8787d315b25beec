//! JSON files that end with their own checksum. Input: a value whose JSON is an object. Output: its text, indented, whose last field `checksum` is
//! the xxh3-64 of the text with 16 zeros in place of its digits; and, from that text, the value, if no byte was changed. 128-bit numbers stay exact,
//! as the text does not go through a generic JSON value.

use serde::Serialize;
use serde::de::DeserializeOwned;
use xxhash_rust::xxh3::xxh3_64;

/// Every sealed text ends with the digits between these two.
const BEFORE_DIGITS: &str = ",\n  \"checksum\": \"";
const AFTER_DIGITS: &str = "\"\n}\n";
const DIGITS: usize = 16;

/// `value` must be an object with at least one field.
pub fn seal(value: &impl Serialize) -> serde_json::Result<String> {
    let json = serde_json::to_string_pretty(value)?;
    let body = json.strip_suffix("\n}").unwrap_or(&json);
    let with = |digits: &str| format!("{body}{BEFORE_DIGITS}{digits}{AFTER_DIGITS}");
    let checksum = xxh3_64(with(&"0".repeat(DIGITS)).as_bytes());
    Ok(with(&format!("{checksum:016x}")))
}

/// The JSON of a sealed text without its checksum; `None` if that is wrong.
pub fn unseal(text: &[u8]) -> Option<Vec<u8>> {
    let rest = text.strip_suffix(AFTER_DIGITS.as_bytes())?;
    let (rest, digits) = rest.split_last_chunk::<DIGITS>()?;
    let body = rest.strip_suffix(BEFORE_DIGITS.as_bytes())?;
    let zeroed = [rest, &[b'0'; DIGITS], AFTER_DIGITS.as_bytes()].concat();
    (format!("{:016x}", xxh3_64(&zeroed)).as_bytes() == digits).then(|| [body, b"\n}"].concat())
}

/// `None` if the text is damaged, was edited, or has another shape.
pub fn read<T: DeserializeOwned>(text: &[u8]) -> Option<T> {
    serde_json::from_slice(&unseal(text)?).ok()
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Thing {
        number: u128,
        texts: Vec<String>,
    }

    #[test]
    fn every_change_of_a_byte_and_every_cut_is_found() {
        let thing = Thing { number: u128::MAX, texts: vec!["a".into(), "\"b\"}".into()] };
        let text = seal(&thing).unwrap().into_bytes();
        assert_eq!(read::<Thing>(&text), Some(thing));
        for at in 0..text.len() {
            assert!(read::<Thing>(&text[..at]).is_none(), "cut at {at}");
            for bit in 0..8 {
                let mut flipped = text.clone();
                flipped[at] ^= 1 << bit;
                assert!(read::<Thing>(&flipped).is_none(), "bit {bit} of byte {at}");
            }
        }
    }
}
