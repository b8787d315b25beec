//! Pieces of an SVG picture that stands alone: no fonts, scripts or files beside it, and legible on light and dark pages.
//!
//! Colours are classes with a second set for dark pages. Written by hand, for a picture of texts, bars and lines is not worth
//! a drawing library, and those for charts know neither classes nor dark pages.

use std::fmt::Write as _;

/// Where a text stands by its place.
#[derive(Debug, Clone, Copy)]
pub(super) enum Anchor {
    /// It begins there.
    Start,
    /// Its middle is there.
    Middle,
    /// It ends there.
    End,
}

/// A picture that grows.
#[derive(Debug, Default)]
pub(super) struct Drawing(String);

const STYLE: &str = "\
text { font: 13px system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif; fill: #1f2328 }
.page { fill: #ffffff }
.title { font-size: 19px; font-weight: 600 }
.graph { font-size: 14px; font-weight: 600 }
.muted { fill: #59636e }
.small { font-size: 12px }
.wrong { fill: #cf222e; font-weight: 600 }
.cuda { fill: #2f72c4 }
.cpu { fill: #bd7413 }
.bad { fill: #cf222e }
.grid { stroke: #d5dbe1; stroke-width: 1 }
.whole { stroke: #7d8792; stroke-width: 1.5 }
.range { stroke: #1f2328; stroke-width: 1.5 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .page { fill: #0d1117 }
  .muted { fill: #9aa4af }
  .wrong { fill: #ff7b72 }
  .cuda { fill: #58a6ff }
  .cpu { fill: #e0a243 }
  .bad { fill: #ff7b72 }
  .grid { stroke: #2c333c }
  .whole { stroke: #8b95a1 }
  .range { stroke: #f0f6fc }
}";

impl Drawing {
    /// A text with the classes `class`.
    pub(super) fn text(&mut self, (x, y): (f64, f64), anchor: Anchor, class: &str, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let text = escaped(text);
        let _ = writeln!(self.0, r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}" class="{class}">{text}</text>"#);
    }

    /// A rectangle.
    pub(super) fn bar(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), class: &str) {
        let _ = writeln!(
            self.0,
            r#"<rect x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" rx="1.5" class="{class}"/>"#
        );
    }

    /// A line.
    pub(super) fn line(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), class: &str) {
        let _ = writeln!(self.0, r#"<line x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}" class="{class}"/>"#);
    }

    /// Begins a group that shows `note` when it is pointed at.
    pub(super) fn open(&mut self, note: &str) {
        let _ = writeln!(self.0, "<g><title>{}</title>", escaped(note));
    }

    /// Ends it.
    pub(super) fn close(&mut self) {
        self.0.push_str("</g>\n");
    }

    /// The whole file.
    pub(super) fn finish(self, (width, height): (f64, f64), title: &str, description: &str) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\">\n<title>{}</title>\n<desc>{}</desc>\n\
             <style>\n{STYLE}\n</style>\n<rect width=\"100%\" height=\"100%\" class=\"page\"/>\n{}</svg>\n",
            escaped(title),
            escaped(description),
            self.0
        )
    }
}

/// `text` as XML has it; what XML has no place for is left out.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(' '),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {}
            c => out.push(c),
        }
    }
    out
}

/// `text`, its end left out where it is longer than `most` characters.
pub(super) fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_breaks_the_picture() {
        assert_eq!(escaped("a<b> & \"c\"\n\u{1}é"), "a&lt;b&gt; &amp; &quot;c&quot; é");
        assert_eq!(shortened("abcdef", 6), "abcdef");
        assert_eq!(shortened("abcdefg", 6), "abcde…");
    }
}
