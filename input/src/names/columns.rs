//! Columns of lines whose ids are names: separators and quotes. Tabs separate the columns if the first line has one, else commas if it has one, else
//! blanks: with tabs or commas, names may have blanks. As in CSV, a column that begins with `"` ends at the next one; `""` is a quote in it.

use crate::columns::{blanks, end_of_quotes};

pub(crate) const LONGEST_NAME: usize = 1 << 14;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Separator {
    Tab,
    /// Blanks around it belong to no column.
    Comma,
    Blanks,
}

impl Separator {
    pub(crate) fn of(line: &[u8]) -> Self {
        let (mut at, mut begins, mut comma) = (0, true, false);
        while let Some(&byte) = line.get(at) {
            at = if begins && byte == b'"' { end_of_quotes(line, at).unwrap_or(line.len()) } else { at + 1 };
            match byte {
                b'\t' => return Self::Tab,
                b',' => comma = true,
                _ => {}
            }
            begins = matches!(byte, b' ' | b',');
        }
        if comma { Self::Comma } else { Self::Blanks }
    }

    /// A command that keeps two columns, numbered from 1. For `cut` each of several blanks would begin a column.
    pub(crate) fn cut(self, one: usize, other: usize) -> String {
        match self {
            Self::Tab => format!("cut -f{one},{other} FILE > NEW"),
            Self::Comma => format!("cut -d, -f{one},{other} FILE > NEW"),
            Self::Blanks => format!("awk '{{print ${one}, ${other}}}' FILE > NEW"),
        }
    }

    pub(crate) const fn byte(self) -> u8 {
        match self {
            Self::Tab => b'\t',
            Self::Comma => b',',
            Self::Blanks => b' ',
        }
    }

    fn separates(self, byte: u8) -> bool {
        match self {
            Self::Tab => byte == b'\t',
            Self::Comma => byte == b',',
            Self::Blanks => matches!(byte, b' ' | b'\t'),
        }
    }
}

pub(super) struct NameColumns<'l> {
    line: &'l [u8],
    at: usize,
    separator: Separator,
    ended: bool,
    /// Whether the last column was in quotes.
    pub(super) quoted: bool,
}

impl<'l> NameColumns<'l> {
    /// `line` must not have a line end.
    pub(super) fn of(line: &'l [u8], separator: Separator) -> Self {
        Self { line, at: 0, separator, ended: false, quoted: false }
    }

    /// Appends the next column to `into`; false if there is none.
    pub(super) fn next(&mut self, into: &mut Vec<u8>) -> Result<bool, &'static str> {
        if self.ended {
            return Ok(false);
        }
        if self.separator != Separator::Tab {
            self.at = blanks(self.line, self.at);
        }
        if self.separator == Separator::Blanks && self.at == self.line.len() {
            self.ended = true;
            return Ok(false);
        }
        let begin = self.at;
        self.quoted = self.line.get(begin) == Some(&b'"');
        if self.quoted {
            self.at = end_of_quotes(self.line, begin).ok_or("a quote that is not closed in its line")?;
            unquote(&self.line[begin + 1..self.at - 1], into);
            if self.separator == Separator::Comma {
                self.at = blanks(self.line, self.at);
            }
            if self.line.get(self.at).is_some_and(|&byte| !self.separator.separates(byte)) {
                return Err("text behind a quote that is closed");
            }
        } else {
            let rest = &self.line[begin..];
            let length = rest.iter().position(|&byte| self.separator.separates(byte)).unwrap_or(rest.len());
            self.at += length;
            let column = &rest[..length];
            into.extend_from_slice(if self.separator == Separator::Comma { column.trim_ascii_end() } else { column });
        }
        self.ended = self.at == self.line.len();
        self.at += 1;
        Ok(true)
    }

    /// How many columns are left. If blanks separate, a column that begins with a brace, as NetworkX writes it, is the last one.
    pub(super) fn count(mut self, skipped: &mut Vec<u8>) -> Result<u32, &'static str> {
        let mut count = 0;
        loop {
            skipped.clear();
            if !self.next(skipped)? {
                return Ok(count);
            }
            count += 1;
            if self.separator == Separator::Blanks && skipped.starts_with(b"{") {
                return Ok(count);
            }
        }
    }
}

fn unquote(mut quoted: &[u8], into: &mut Vec<u8>) {
    while let Some(at) = memchr::memchr(b'"', quoted) {
        into.extend_from_slice(&quoted[..=at]);
        quoted = quoted.get(at + 2..).unwrap_or_default();
    }
    into.extend_from_slice(quoted);
}

pub(crate) fn names_of(line: &[u8]) -> Result<Vec<String>, &'static str> {
    let (mut columns, mut names) = (NameColumns::of(line, Separator::of(line)), Vec::new());
    loop {
        let mut name = Vec::new();
        if !columns.next(&mut name)? {
            return Ok(names);
        }
        names.push(String::from_utf8_lossy(&name).into_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_in_csv() {
        for (line, expected) in [
            ("a b", &["a", "b"][..]),
            ("  a \t b ", &["  a ", " b "]),
            ("  a   b ", &["a", "b"]),
            ("New York\tBoston", &["New York", "Boston"]),
            ("New York, Boston ,3", &["New York", "Boston", "3"]),
            ("\"a b\" c", &["a b", "c"]),
            ("\"a,b\" \"c\td\"", &["a,b", "c\td"]),
            ("\"a\tb\",c", &["a\tb", "c"]),
            ("\"say \"\"hi\"\"\",\"\"\"\"", &["say \"hi\"", "\""]),
            ("it's 5\"", &["it's", "5\""]),
            ("a,b,", &["a", "b", ""]),
            ("a\t\tb", &["a", "", "b"]),
            ("\"\" b", &["", "b"]),
            ("01 1", &["01", "1"]),
            ("", &[]),
        ] {
            assert_eq!(names_of(line.as_bytes()).expect(line), expected, "{line}");
        }
        for line in ["\"a b", "\"a\"b c", "\"a\" b,\"c", "a,\"\"\""] {
            assert!(names_of(line.as_bytes()).is_err(), "{line}");
        }
    }

    #[test]
    fn what_networkx_writes_behind_the_ends_is_one_column() {
        let line = b"a b {'weight': 3, 'x': 'y'}";
        assert_eq!(NameColumns::of(line, Separator::Blanks).count(&mut Vec::new()), Ok(3));
    }
}
