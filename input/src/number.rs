//! Decimal numbers in text, and messages about fields that are not numbers.

/// Reads the digits at `at`; returns their value and end. `None` without a digit, or if the value does not fit in `u64`.
#[inline(always)]
pub(super) fn digits(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    let mut end = at;
    let mut value = 0u64;
    while let Some(byte) = bytes.get(end) {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
        end += 1;
    }
    match end - at {
        0 => None,
        // 19 digits always fit.
        1..=19 => Some((value, end)),
        _ => checked(&bytes[at..end]).map(|value| (value, end)),
    }
}

#[cold]
fn checked(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0u64, |value, digit| value.checked_mul(10)?.checked_add(u64::from(digit - b'0')))
}

#[inline(always)]
pub(super) const fn separates(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b',')
}

/// The columns of a line without its line end, for code where speed does not matter.
pub(super) fn columns(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.strip_suffix(b"\r").unwrap_or(line).split(|&byte| separates(byte)).filter(|column| !column.is_empty())
}

pub(super) fn whole(column: &[u8]) -> Option<u64> {
    digits(column, 0).filter(|&(_, end)| end == column.len()).map(|(value, _)| value)
}

/// A column that is no id, for an error: `'abc'`, `the negative number -4`.
pub(super) fn describe(column: &[u8]) -> String {
    let shown = shown(column);
    let unsigned = column.strip_prefix(b"-").unwrap_or(column);
    let plain = unsigned.iter().all(u8::is_ascii_digit) && !unsigned.is_empty();
    if plain && unsigned.len() < column.len() {
        format!("the negative number {shown}")
    } else if plain {
        format!("the number {shown}, which is too large")
    } else if shown.parse::<f64>().is_ok() && unsigned.first().is_some_and(|b| b.is_ascii_digit() || *b == b'.') {
        format!("the number {shown}, which is not an integer")
    } else {
        format!("'{shown}'")
    }
}

/// At most 40 characters; unprintable ones are escaped.
pub(super) fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(160)]);
    let mut shown: String = text.chars().take(40).flat_map(|c| c.escape_debug()).collect();
    if text.chars().nth(40).is_some() {
        shown.push_str("...");
    }
    shown
}
