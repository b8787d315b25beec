//! Lines of two numbers: what edge lists and coordinate matrices share.
//!
//! Columns are separated by runs of blanks, tabs and commas; lines end with LF or CR LF; blank lines and lines that
//! begin with `#` or `%` are skipped; columns after the second are not looked at. One pass over the bytes, no
//! allocation; what a bad line holds is worked out only once it has failed.

use super::batch::{Batch, Failure};
use super::number::{columns, describe, digits, separates, whole};

/// What a format allows beyond two numbers.
pub(super) trait Dialect: Sync {
    /// Checks a line's two numbers; `more`: whether a third column follows. `Err((found, expected))`.
    fn check(&self, tail: u64, head: u64, more: bool) -> Result<(), (String, String)>;
}

/// Parses whole lines.
pub(super) fn parse<D: Dialect>(bytes: &[u8], dialect: &D, batch: &mut Batch<'_>) -> Result<(), Failure> {
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        while matches!(bytes.get(at), Some(b' ' | b'\t')) {
            at += 1;
        }
        let Some((tail, end)) = digits(bytes, at) else {
            at = skip(bytes, start, at)?;
            continue;
        };
        at = end;
        while at < bytes.len() && separates(bytes[at]) {
            at += 1;
        }
        let Some((head, mut next)) = digits(bytes, at).filter(|_| at > end) else {
            return Err(explain(bytes, start));
        };
        let mut more = false;
        match bytes.get(next) {
            Some(b'\n') => next += 1,
            Some(b'\r') if matches!(bytes.get(next + 1), None | Some(b'\n')) => next += 2,
            Some(&byte) if separates(byte) => {
                let line = line_end(bytes, next);
                more = bytes[next..line].iter().any(|&b| !separates(b) && b != b'\r');
                next = line + 1;
            }
            Some(_) => return Err(explain(bytes, start)),
            None => {}
        }
        if let Err((found, expected)) = dialect.check(tail, head, more) {
            return Err(Failure::bad(start, found, expected));
        }
        batch.push(tail, head)?;
        at = next;
    }
    Ok(())
}

/// Where the line of `at` ends: its LF, or the end of the bytes.
pub(super) fn line_end(bytes: &[u8], at: usize) -> usize {
    memchr::memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |n| at + n)
}

/// Passes a line from `start` that does not begin with a number at `at`: the beginning of the next line.
#[inline]
fn skip(bytes: &[u8], start: usize, at: usize) -> Result<usize, Failure> {
    match bytes.get(at) {
        None => Ok(at),
        Some(b'\n') => Ok(at + 1),
        Some(b'#' | b'%') => Ok(line_end(bytes, at) + 1),
        Some(b'\r') if matches!(bytes.get(at + 1), None | Some(b'\n')) => Ok(at + 2),
        Some(_) => Err(explain(bytes, start)),
    }
}

/// Says what is wrong with the line at `start`.
#[cold]
fn explain(bytes: &[u8], start: usize) -> Failure {
    let line = &bytes[start..line_end(bytes, start)];
    let mut columns = columns(line);
    let expected = "two non-negative integers";
    let found = match (columns.next(), columns.next()) {
        (Some(tail), _) if whole(tail).is_none() => describe(tail),
        (Some(_), Some(head)) => describe(head),
        (Some(_), None) => "a line with one column only".to_string(),
        (None, _) => "a line without numbers".to_string(),
    };
    Failure::bad(start, found, expected)
}

/// Whether a line (without its end) is blank or a comment.
pub(super) fn is_blank_or_comment(line: &[u8]) -> bool {
    matches!(line.trim_ascii().first(), None | Some(b'#' | b'%'))
}
