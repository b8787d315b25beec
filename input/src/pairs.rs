//! Lines of two numbers, as in edge lists and coordinate matrices. Columns are separated by blanks, tabs and commas ([`Columns`] says how); lines end
//! with LF or CR LF, and a CR alone is an error; blank lines and lines that begin with `#` or `%` are skipped; columns after the second are ignored,
//! but all lines must have as many. One pass over the bytes, without allocation; a bad line is analysed only after it has failed.

use super::batch::{ArcBatch, DeliveryFailure};
use super::columns::{self, Columns, RestOfLine, has_bare_cr, skip_index};
use super::hints::{BYTE_ORDER_MARK, about, bare_cr, mark_within};
use super::number::{columns as split, describe, digits, separates, whole};
use trimill_system::Error;

/// What is advised about a line that is no pair.
#[derive(Clone, Copy)]
pub(super) struct Advice {
    /// What the file may be instead, if lines have different columns.
    pub(super) differs: &'static str,
    /// Whether ids of the format may be names, if the user says so.
    pub(super) names: bool,
}

/// `check`: what a format requires of the two numbers.
pub(super) fn parse(
    bytes: &[u8],
    columns: Columns,
    check: impl Fn(u64, u64) -> Result<(), Error>,
    advice: Advice,
    batch: &mut ArcBatch<'_>,
) -> Result<(), DeliveryFailure> {
    let two = columns == Columns::TWO;
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        let first = columns::blanks(bytes, start);
        at = columns.index.map_or(first, |separator| skip_index(bytes, start, separator));
        let Some((tail, end)) = digits(bytes, at) else {
            at = if at == first {
                skip(bytes, start, at, advice.names)?
            } else {
                return Err(explain(bytes, start, columns, advice.names));
            };
            continue;
        };
        at = end;
        let mut commas = 0;
        while at < bytes.len() && separates(bytes[at]) {
            commas += u32::from(bytes[at] == b',');
            at += 1;
        }
        let Some((head, next)) = digits(bytes, at).filter(|_| at > end && commas < 2) else {
            return Err(explain(bytes, start, columns, advice.names));
        };
        at = match bytes.get(next) {
            Some(b'\n') if two => next + 1,
            _ => match columns::rest(bytes, next) {
                Some(rest) if columns.hold(&rest) => rest.end,
                Some(rest) => return Err(differs(start, &rest, columns, advice.differs)),
                None => return Err(explain(bytes, start, columns, advice.names)),
            },
        };
        check(tail, head).map_err(|error| DeliveryFailure::Bad(start, error))?;
        batch.push(tail, head)?;
    }
    Ok(())
}

/// Skips a line without a number at `at`; returns the beginning of the next one.
#[inline]
fn skip(bytes: &[u8], start: usize, at: usize, names: bool) -> Result<usize, DeliveryFailure> {
    match bytes.get(at) {
        None => Ok(at),
        Some(b'\n') => Ok(at + 1),
        Some(b'#' | b'%') => columns::line_end(bytes, at).ok_or_else(|| DeliveryFailure::Bad(start, bare_cr())),
        Some(b'\r') if matches!(bytes.get(at + 1), None | Some(b'\n')) => Ok(at + 2),
        Some(_) => Err(explain(bytes, start, Columns::TWO, names)),
    }
}

#[cold]
fn differs(start: usize, rest: &RestOfLine, columns: Columns, advice: &str) -> DeliveryFailure {
    let index = u32::from(columns.index.is_some());
    let found = format!("a line with {} columns", rest.count + index);
    let expected = format!("{} columns, as in the lines before", columns.count + index);
    DeliveryFailure::Bad(start, Error::data("", found).expected(expected).advice(advice))
}

#[cold]
fn explain(bytes: &[u8], start: usize, columns: Columns, names: bool) -> DeliveryFailure {
    let end = memchr::memchr(b'\n', &bytes[start..]).map_or(bytes.len(), |n| start + n);
    let line = &bytes[start..end];
    if has_bare_cr(line) {
        return DeliveryFailure::Bad(start, bare_cr());
    }
    if line.starts_with(BYTE_ORDER_MARK) {
        return DeliveryFailure::Bad(start, mark_within());
    }
    // Two numbers before a quote are separated as they should be, so the quote is what is wrong.
    let up_to_quote = memchr::memrchr(b'"', line).and_then(|quote| Columns::of(&line[..quote], columns.index));
    let index = usize::from(columns.index.is_some());
    let mut between_commas = line.split(|&byte| byte == b',').map(<[u8]>::trim_ascii).skip(index);
    let is_empty = match (between_commas.next(), between_commas.next()) {
        (Some(b""), Some(_)) => true,
        (Some(tail), Some(b"")) => whole(tail).is_some(),
        _ => false,
    };
    let mut words = split(line).skip(index);
    let found = match (words.next(), words.next()) {
        (Some(tail), _) if whole(tail).is_none() => describe(tail),
        (Some(_), Some(head)) if whole(head).is_none() && !is_empty => describe(head),
        (Some(_), Some(_)) if up_to_quote.is_some() => {
            let error =
                Error::data("", "a quote that is not closed in its line").expected("a row of a table in each line");
            return DeliveryFailure::Bad(start, error.advice("write only the columns with the ends of edges"));
        }
        (Some(_), Some(_)) => "an empty column".to_string(),
        (Some(_), None) => "a line with one column only".to_string(),
        (None, _) => "a line without numbers".to_string(),
    };
    let error = Error::data("", found).expected("two non-negative integers");
    let advice = about(&bytes[start..], names);
    DeliveryFailure::Bad(start, if let Some(advice) = advice { error.advice(advice) } else { error })
}

pub(super) fn is_blank_or_comment(line: &[u8]) -> bool {
    matches!(line.trim_ascii().first(), None | Some(b'#' | b'%'))
}
