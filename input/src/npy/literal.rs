//! The text in the header of a `.npy` file: a dictionary of Python with the keys `descr`, `fortran_order` and `shape`.
//!
//! Only what NumPy writes is read: strings without escapes, `True` and `False`, tuples of integers.

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Dictionary {
    /// The type of elements; `None` if it is no string, as for records.
    pub(super) descr: Option<String>,
    pub(super) fortran: bool,
    pub(super) shape: Vec<u64>,
}

/// Reads the dictionary, which ends the text except for blanks. `None` if it is anything else.
pub(super) fn dictionary(text: &str) -> Option<Dictionary> {
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
    Some(Dictionary { descr: descr?, fortran: fortran?, shape: shape? }).filter(|_| ended)
}

struct UnreadText<'a>(&'a str);

impl<'a> UnreadText<'a> {
    /// Skips blanks and one character.
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
            let expected = Dictionary { descr: Some("<i8".into()), fortran, shape: shape.to_vec() };
            assert_eq!(dictionary(text), Some(expected), "{text}");
        }
        let records = "{'descr': [('a', '<i8'), ('b', '<i4', (2,))], 'fortran_order': False, 'shape': (3,), }\n";
        assert_eq!(dictionary(records).unwrap().descr, None);
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
            assert_eq!(dictionary(text), None, "{text}");
        }
    }
}
