//! Escapes text from outside, mostly file names, so that it cannot control the terminal that shows it.

use std::borrow::Cow;
use std::fmt::{Display, Write};
use std::path::Path;

use crate::url::public;

/// Whether a terminal would act on `c` instead of showing it: control characters, and those that change text direction.
fn steers(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn escaped(text: &str, kept: impl Fn(char) -> bool) -> Cow<'_, str> {
    let escapes = |c: char| steers(c) && !kept(c);
    if !text.contains(escapes) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        // Writing to a string cannot fail.
        let _ = if escapes(c) { write!(out, "{}", c.escape_default()) } else { out.write_char(c) };
    }
    Cow::Owned(out)
}

/// Text of several lines, safe to show: line ends and tabs stay, other control characters are escaped.
pub fn printable(text: &str) -> Cow<'_, str> {
    escaped(text, |c| matches!(c, '\n' | '\t'))
}

/// A path in one line, safe to show; of a URL only what [may be shown](public).
pub fn shown(path: &Path) -> String {
    escaped(&public(path).to_string_lossy(), |_| false).into_owned()
}

/// A number with the word for what it counts: `1 vertex`, `2 vertices`.
pub fn plural(many: impl Display, one: &str, more: &str) -> String {
    let many = many.to_string();
    let word = if many == "1" { one } else { more };
    many + " " + word
}

/// The first `most` names as a list, and the number of further ones.
pub fn listed(names: impl ExactSizeIterator<Item = String>, most: usize) -> String {
    let more = names.len().saturating_sub(most);
    let mut listed: Vec<String> = names.take(most).collect();
    if more > 0 {
        listed.push(format!("{more} more"));
    }
    listed.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_is_not_several() {
        let counted = [0, 1, 2, 11].map(|many| plural(many, "vertex", "vertices"));
        assert_eq!(counted, ["0 vertices", "1 vertex", "2 vertices", "11 vertices"]);
    }

    #[test]
    fn what_would_steer_a_terminal_is_written_out() {
        assert_eq!(shown(Path::new("plain ä ü.txt")), "plain ä ü.txt");
        assert_eq!(shown(Path::new("\u{1b}[2Jred\r\n\tx\u{7f}\u{9b}1m")), r"\u{1b}[2Jred\r\n\tx\u{7f}\u{9b}1m");
        assert_eq!(shown(Path::new("a\u{202e}txt.b")), r"a\u{202e}txt.b");
        assert_eq!(printable("two\n\tlines\u{7}"), "two\n\tlines\\u{7}");
        assert!(matches!(printable("┌─┐\n"), Cow::Borrowed(_)));
    }
}
