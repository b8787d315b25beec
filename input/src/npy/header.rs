//! The header of a `.npy` file: which elements the array has, how many, and where they begin.
//!
//! | bytes | |
//! | --- | --- |
//! | 6 | `\x93NUMPY` |
//! | 2 | the version: 1.0, 2.0 or 3.0 |
//! | 2, from version 2.0 on 4 | the length of the text, little-endian |
//! | | the text, padded with blanks: a dictionary of Python with the keys `descr`, `fortran_order` and `shape` |
//!
//! Of Python's syntax only what NumPy writes is read: strings without escapes, `True` and `False`, tuples of integers.

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
        let text = std::str::from_utf8(text).map_err(|_| "a header that is no text")?;
        dictionary(text, fixed + length).ok_or("a header without the descr, fortran_order and shape that NumPy writes")
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

/// Reads the dictionary of a header that ends at byte `end`; only blanks may follow it. `None` if it is anything else.
fn dictionary(text: &str, end: u64) -> Option<NpyHeader> {
    let mut text = UnreadText(text.trim_end_matches(['\n', ' ', '\0']));
    let (mut descr, mut fortran, mut shape) = (None, None, None);
    text.take('{')?;
    while text.take('}').is_none() {
        let key = text.string()?;
        text.take(':')?;
        match key {
            "descr" if descr.is_none() => descr = Some(text.descr()?),
            "fortran_order" if fortran.is_none() => fortran = Some(text.truth()?),
            "shape" if shape.is_none() => shape = Some(text.tuple()?),
            _ => return None,
        }
        if text.take(',').is_none() {
            text.take('}')?;
            break;
        }
    }
    let ended = text.0.is_empty();
    Some(NpyHeader { descr: descr?, fortran: fortran?, shape: shape?, end }).filter(|_| ended)
}

struct UnreadText<'a>(&'a str);

impl<'a> UnreadText<'a> {
    /// Takes a character, with blanks around it.
    fn take(&mut self, wanted: char) -> Option<()> {
        self.0 = self.0.trim_start_matches(' ').strip_prefix(wanted)?;
        self.0 = self.0.trim_start_matches(' ');
        Some(())
    }

    fn string(&mut self) -> Option<&'a str> {
        let quote = self.0.chars().next().filter(|quote| matches!(quote, '\'' | '"'))?;
        let (string, rest) = self.0[1..].split_once(quote)?;
        self.0 = rest;
        (!string.contains('\\')).then_some(string)
    }

    /// A type: a string, or a list, which is skipped.
    fn descr(&mut self) -> Option<Option<String>> {
        if !self.0.starts_with('[') {
            return self.string().map(|string| Some(string.to_owned()));
        }
        let mut depth = 0u32;
        let end = self.0.find(|c| {
            depth += u32::from(c == '[');
            depth -= u32::from(c == ']');
            depth == 0
        })?;
        self.0 = &self.0[end + 1..];
        Some(None)
    }

    fn truth(&mut self) -> Option<bool> {
        let (value, rest) = match (self.0.strip_prefix("True"), self.0.strip_prefix("False")) {
            (Some(rest), _) => (true, rest),
            (_, Some(rest)) => (false, rest),
            _ => return None,
        };
        self.0 = rest;
        Some(value)
    }

    fn tuple(&mut self) -> Option<Vec<u64>> {
        self.take('(')?;
        let mut numbers = Vec::new();
        while self.take(')').is_none() {
            let end = self.0.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.0.len());
            numbers.push(self.0[..end].parse().ok()?);
            // Python 2 wrote `5L`.
            self.0 = self.0[end..].strip_prefix('L').unwrap_or(&self.0[end..]);
            if self.take(',').is_none() {
                self.take(')')?;
                break;
            }
        }
        Some(numbers)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
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
        let records = "{'descr': [('a', '<i8'), ('b', '<i4', (2,))], 'fortran_order': False, 'shape': (3,), }\n";
        assert_eq!(dictionary(records, 80).unwrap().descr, None);
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
            "{'descr': é",
        ] {
            assert_eq!(dictionary(text, 80), None, "{text}");
        }
    }
}
