//! The columns of the lines of an edge list: determined by the first line of a file, and the same in all others. A column ends at a run of blanks and
//! tabs, or at one comma with blanks around it, so two commas enclose an empty column. A list whose columns change is in another format (METIS, an
//! adjacency list), or two files in one. Columns are counted up to a third or later one that is text with separators.

use super::number::{digits, separates};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Columns {
    /// If the first column numbers the lines, as pandas and R write it: what separates it from the next one, a comma, a tab or a blank.
    pub(super) index: Option<u8>,
    /// Without the index column.
    pub(super) count: u32,
    /// Whether the last of them is text.
    pub(super) text: bool,
}

pub(super) struct RestOfLine {
    pub(super) end: usize,
    pub(super) count: u32,
    text: bool,
}

impl Columns {
    pub(super) const TWO: Self = Self { index: None, count: 2, text: false };

    /// The columns of a line; `None` if it does not begin with two numbers.
    pub(super) fn of(line: &[u8], index: Option<u8>) -> Option<Self> {
        let at = index.map_or_else(|| blanks(line, 0), |separator| skip_index(line, 0, separator));
        let (_, end) = digits(line, at)?;
        let mut head = blanks(line, end);
        if line.get(head) == Some(&b',') {
            head = blanks(line, head + 1);
        }
        let (_, end) = digits(line, head).filter(|_| head > end)?;
        let RestOfLine { count, text, .. } = rest(line, end)?;
        Some(Self { index, count, text })
    }

    #[inline]
    pub(super) fn hold(self, rest: &RestOfLine) -> bool {
        match (self.text, rest.text) {
            // One of the two lines has a word there, such as NA, and the other has a number.
            (true, false) => rest.count >= self.count,
            (false, true) => rest.count <= self.count,
            _ => rest.count == self.count,
        }
    }
}

/// Reads on from the end of a line's second number; `None` if a column does not end there, if a CR lacks its LF, or a quote another one.
#[inline]
pub(super) fn rest(bytes: &[u8], mut at: usize) -> Option<RestOfLine> {
    let mut count = 2;
    loop {
        let before = at;
        at = blanks(bytes, at);
        match bytes.get(at) {
            Some(b'0'..=b'9') if at > before => {
                count += 1;
                at = column_end(bytes, at);
                continue;
            }
            None => return Some(RestOfLine { end: at, count, text: false }),
            Some(b'\n') => return Some(RestOfLine { end: at + 1, count, text: false }),
            Some(b'\r') if matches!(bytes.get(at + 1), None | Some(b'\n')) => {
                return Some(RestOfLine { end: at + 2, count, text: false });
            }
            Some(b',') => {
                at = blanks(bytes, at + 1);
                count += 1;
                if matches!(bytes.get(at), None | Some(b'\n' | b'\r' | b',')) {
                    continue;
                }
            }
            Some(_) if at > before => count += 1,
            Some(_) => return None,
        }
        if !matches!(bytes[at], b'0'..=b'9' | b'+' | b'-' | b'.') {
            return text_end(bytes, at).map(|end| RestOfLine { end, count, text: true });
        }
        at = column_end(bytes, at);
    }
}

/// The end of the column at `at`, eight bytes at a time: numbers have bytes from `-` up, what ends them has smaller ones.
#[inline]
fn column_end(bytes: &[u8], mut at: usize) -> usize {
    const EACH: u64 = u64::from_le_bytes([1; 8]);
    loop {
        if let Some(next) = bytes.get(at..).and_then(<[u8]>::first_chunk::<8>) {
            let next = u64::from_le_bytes(*next);
            // The lowest bit that is set belongs to the first byte below `-`.
            let below = next.wrapping_sub(EACH * b'-' as u64) & !next & (EACH << 7);
            at += below.trailing_zeros() as usize / 8;
            if below == 0 {
                continue;
            }
        }
        match bytes.get(at) {
            Some(&byte) if !separates(byte) && !matches!(byte, b'\n' | b'\r') => at += 1,
            _ => return at,
        }
    }
}

/// As [`line_end`], of a line with text from `at` on; `None` also if a column between commas begins with a quote that does not end in the line.
fn text_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    let end = line_end(bytes, at)?;
    let line = &bytes[..end];
    if memchr::memchr(b'"', &line[at..]).is_none() || !line[..at].trim_ascii_end().ends_with(b",") {
        return Some(end);
    }
    loop {
        if line.get(at) == Some(&b'"') {
            let Some(end_of_column) = end_of_quotes(line, at) else {
                // Some programs write a quote within quotes behind a backslash, not twice.
                return memchr::memmem::find(&line[at..], b"\\\"").map(|_| end);
            };
            at = end_of_column;
        }
        let Some(comma) = memchr::memchr(b',', &line[at..]) else { return Some(end) };
        at = blanks(line, at + comma + 1);
    }
}

/// The end of the column that begins with a quote at `at`; `None` if the line ends before it.
pub(super) fn end_of_quotes(line: &[u8], at: usize) -> Option<usize> {
    let mut at = at + 1;
    loop {
        at += memchr::memchr(b'"', line.get(at..)?)? + 1;
        if line.get(at) != Some(&b'"') {
            return Some(at);
        }
        at += 1;
    }
}

/// The beginning of the next line; `None` if a CR without LF comes before it.
pub(super) fn line_end(bytes: &[u8], at: usize) -> Option<usize> {
    let Some(found) = memchr::memchr2(b'\n', b'\r', &bytes[at..]) else { return Some(bytes.len()) };
    let end = at + found + 1;
    match (bytes[end - 1], bytes.get(end)) {
        (b'\n', _) | (_, None) => Some(end),
        (_, Some(b'\n')) => Some(end + 1),
        _ => None,
    }
}

/// Whether a line's first numbers, behind any index column, are separated by a comma here and by blanks there, as if a comma grouped digits.
pub(super) fn mixes_separators(line: &[u8], index: Option<u8>) -> bool {
    let line = index.map_or(line, |separator| &line[skip_index(line, 0, separator)..]).trim_ascii_start();
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let (Some(first), Some(second)) = (words.next(), words.next()) else { return false };
    let numbers = |word: &[u8]| {
        word[0].is_ascii_digit() && word.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b',' | b'.'))
    };
    let grouped = |word: &[u8]| word.contains(&b',') && word.split(|&byte| byte == b',').all(|group| !group.is_empty());
    numbers(first) && numbers(second) && !first.ends_with(b",") && (grouped(first) || grouped(second))
}

/// Whether a line, with or without its LF, has a CR that no LF follows.
pub(super) fn has_bare_cr(line: &[u8]) -> bool {
    memchr::memchr_iter(b'\r', line).any(|at| !matches!(line.get(at + 1), None | Some(b'\n')))
}

/// Skips the column that numbers the lines, at a line's beginning; of a blank line or a comment, returns where its first character is.
#[inline]
pub(super) fn skip_index(bytes: &[u8], start: usize, separator: u8) -> usize {
    let first = blanks(bytes, start);
    if matches!(bytes.get(first), None | Some(b'\n' | b'\r' | b'#' | b'%')) {
        return first;
    }
    if separator == b' ' {
        return blanks(bytes, column_end(bytes, first));
    }
    // It may have blanks, or be empty.
    let line = &bytes[..memchr::memchr(b'\n', &bytes[first..]).map_or(bytes.len(), |length| first + length)];
    let from = if line[first] == b'"' { end_of_quotes(line, first).unwrap_or(first) } else { start };
    memchr::memchr(separator, &line[from..]).map_or(first, |length| blanks(line, from + length + 1))
}

#[inline(always)]
pub(super) fn blanks(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b' ' | b'\t')) {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_within_numbers_are_told_from_those_between_columns() {
        for line in ["1,002 1,003", "15\t1,003", "1,002,003 5", "1,2 0.5", "1 2,5 7"] {
            assert!(mixes_separators(line.as_bytes(), None), "{line}");
            assert!(mixes_separators(format!("0,{line}").as_bytes(), Some(b',')), "{line}");
        }
        for line in
            ["1 2 0,5", "1, 2,3", "1 ,2 ,3", "1,2,2020-01-01 10:00:00", "1,2,10 5th Ave", "1,2 {'a': 1}", "1,2", "1 2"]
        {
            assert!(!mixes_separators(line.as_bytes(), None), "{line}");
        }
        assert!(!mixes_separators(b"0,1 2", Some(b',')));
    }
}
