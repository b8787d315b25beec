//! The header of a `.npy` file: which elements the array has, how many, and where they begin.
//!
//! | bytes | |
//! | --- | --- |
//! | 6 | `\x93NUMPY` |
//! | 2 | the version: 1.0, 2.0 or 3.0 |
//! | 2, from version 2.0 on 4 | the length of the text, little-endian |
//! | | the text, padded with blanks: a dictionary of Python with the keys `descr`, `fortran_order` and `shape` |
//!
//! The text is Latin-1, from version 3.0 on UTF-8. It is read as JSON: beyond JSON, NumPy writes only Python's tuples, `True` and `False`, and commas
//! before a closing bracket; only names of records have escapes.

use serde::Deserialize;
use serde_json::Value;

pub(crate) const MAGIC: &[u8] = b"\x93NUMPY";

/// The most bytes of a header; NumPy itself reads texts of 10,000 bytes.
pub(crate) const MOST: u64 = 1 << 16;

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NpyHeader {
    /// The type of elements, as NumPy writes it; `None` for records.
    pub(crate) descr: Option<String>,
    /// Whether columns, not rows, are stored one after another.
    pub(crate) fortran: bool,
    pub(crate) shape: Vec<u64>,
    pub(crate) end: u64,
}

impl NpyHeader {
    /// The header of a file that begins with `bytes`; the error says what is wrong.
    pub(crate) fn of(bytes: &[u8]) -> Result<Self, &'static str> {
        let rest = bytes.strip_prefix(MAGIC).ok_or("no NumPy array")?;
        let (&[major, minor], rest) = rest.split_first_chunk::<2>().ok_or("a header that is cut")?;
        if !matches!((major, minor), (1..=3, 0)) {
            return Err("a version that is not known");
        }
        let (length, text, fixed) = if major == 1 {
            let (length, rest) = rest.split_first_chunk::<2>().ok_or("a header that is cut")?;
            (u64::from(u16::from_le_bytes(*length)), rest, 10)
        } else {
            let (length, rest) = rest.split_first_chunk::<4>().ok_or("a header that is cut")?;
            (u64::from(u32::from_le_bytes(*length)), rest, 12)
        };
        if length > MOST - fixed {
            return Err("a header that is too long");
        }
        let text = text.get(..length as usize).ok_or("a header that is cut")?;
        let text = match major {
            3 => std::str::from_utf8(text).map_err(|_| "a header that is no text")?.to_owned(),
            _ => text.iter().copied().map(char::from).collect(),
        };
        dictionary(&text, fixed + length).ok_or("a header without the descr, fortran_order and shape that NumPy writes")
    }

    /// `None` if it is above 2^64.
    pub(crate) fn elements(&self) -> Option<u64> {
        self.shape.iter().try_fold(1u64, |product, &length| product.checked_mul(length))
    }

    pub(crate) fn shown_shape(&self) -> String {
        let lengths: Vec<String> = self.shape.iter().map(u64::to_string).collect();
        if let [only] = &lengths[..] { format!("({only},)") } else { format!("({})", lengths.join(", ")) }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Dictionary {
    descr: Value,
    fortran_order: bool,
    shape: Vec<u64>,
}

/// Reads the dictionary of a header that ends at byte `end`; only blanks may follow it. `None` if it is anything else.
fn dictionary(text: &str, end: u64) -> Option<NpyHeader> {
    let text = text.trim_end_matches(['\n', ' ', '\0']);
    // Deserialization would also take a list of the three values.
    if !text.starts_with('{') {
        return None;
    }
    let Dictionary { descr, fortran_order, shape } = serde_json::from_str(&json(text)).ok()?;
    let descr = match descr {
        Value::String(name) if !text.contains('\\') => Some(name),
        Value::Array(_) => None,
        _ => return None,
    };
    Some(NpyHeader { descr, fortran: fortran_order, shape, end })
}

fn json(text: &str) -> String {
    let (mut json, mut quote) = (String::with_capacity(text.len()), None);
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        let written = match (quote, c) {
            // Only the name of a record may have an escape or a quote, and it is not kept.
            (Some(_), '\\') => {
                chars.next();
                '?'
            }
            (None, '\'' | '"') => {
                quote = Some(c);
                '"'
            }
            (Some(end), _) if end == c => {
                quote = None;
                '"'
            }
            (Some(_), '"') => '\'',
            (None, 'T' | 'F') => c.to_ascii_lowercase(),
            (None, '(') => '[',
            (None, ')' | ']' | '}') => {
                if let Some(end) = json.trim_end().strip_suffix(',').map(str::len) {
                    json.truncate(end);
                }
                if c == ')' { ']' } else { c }
            }
            // Python 2 wrote `5L`.
            (None, 'L') if json.ends_with(|c: char| c.is_ascii_digit()) => continue,
            _ => c,
        };
        json.push(written);
    }
    json
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_numpy_writes_is_read() {
        for (text, fortran, shape) in [
            ("{'descr': '<i8', 'fortran_order': False, 'shape': (3, 2), }          \n", false, &[3, 2][..]),
            ("{'descr': '<i8', 'fortran_order': True, 'shape': (3, 2)}\n", true, &[3, 2]),
            ("{'shape': (7L,), 'fortran_order': False, 'descr': \"<i8\"}", false, &[7]),
            ("{'descr': '<i8', 'fortran_order': False, 'shape': (), }", false, &[]),
        ] {
            let expected = NpyHeader { descr: Some("<i8".into()), fortran, shape: shape.to_vec(), end: 80 };
            assert_eq!(dictionary(text, 80), Some(expected), "{text}");
        }
        for records in [
            "[('a', '<i8'), ('b', '<i4', (2,))]",
            "[(\"it's True)\", '<i8'), ('8L\"', '<i4')]",
            "[('it\\'s \"a\"', '<i8'), ('\\xa0\\\\', '<i4')]",
        ] {
            let text = format!("{{'descr': {records}, 'fortran_order': False, 'shape': (3,), }}\n");
            assert_eq!(dictionary(&text, 80).unwrap().descr, None, "{text}");
        }
    }

    #[test]
    fn the_version_says_how_characters_are_encoded() {
        let of = |version: u8, name: &[u8]| {
            let text = [b"{'descr': [('", name, b"', '<i8')], 'fortran_order': False, 'shape': (3,), }"].concat();
            let length = (text.len() as u32).to_le_bytes();
            let length = if version == 1 { &length[..2] } else { &length[..] };
            NpyHeader::of(&[MAGIC, &[version, 0], length, &text].concat()).map(|header| header.descr)
        };
        for (version, name) in [(1, &b"\xe9"[..]), (2, b"\xe9"), (3, "\u{e9}".as_bytes())] {
            assert_eq!(of(version, name), Ok(None), "version {version}");
        }
        assert_eq!(of(3, b"\xe9"), Err("a header that is no text"));
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "{}",
            "{'descr': '<i8', 'fortran_order': False}",
            "{'descr': '<i8', 'fortran_order': 0, 'shape': (3, 2)}",
            "{'descr': '<i8', 'fortran_order': False, 'shape': (3, 2)} x",
            "{'descr': '<i8', 'fortran_order': False, 'shape': (3, -2)}",
            "{'descr': '<i8', 'fortran_order': False, 'shape': (3 2)}",
            "{'descr': '<i8', 'fortran_order': False, 'shape': 3}",
            "{'descr': '<i8', 'descr': '<i8', 'fortran_order': False, 'shape': (3, 2)}",
            "{'descr': '<i8', 'fortran_order': False, 'shape': (3, 2), 'more': 1}",
            "{'descr': '<i\\x38', 'fortran_order': False, 'shape': (3, 2)}",
            "{'descr': [[[, 'fortran_order': False, 'shape': (3, 2)}",
            "{'descr': '<i8, 'fortran_order': False, 'shape': (99999999999999999999, 2)}",
            "('<i8', False, (3, 2))",
            "{'descr': é",
        ] {
            assert_eq!(dictionary(text, 80), None, "{text}");
        }
    }
}
