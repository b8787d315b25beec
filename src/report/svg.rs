//! Elements of a self-contained SVG picture: it needs no fonts, scripts or other files, and is legible on light and dark pages, by
//! classes with a second set of colours.

use svg::Document;
use svg::node::Node;
use svg::node::element::{Description, Group, Line, Rectangle, Style, Text, Title};

/// How a text is aligned at its position.
#[derive(Debug, Clone, Copy)]
pub(super) enum Anchor {
    /// It begins there.
    Start,
    /// Its middle is there.
    Middle,
    /// It ends there.
    End,
}

/// A picture that is being drawn.
#[derive(Default)]
pub(super) struct Drawing {
    picture: Group,
    /// The group that was begun last and is not ended.
    open: Option<Group>,
}

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
        let text = Text::new(printable(text)).set("x", tenths(x)).set("y", tenths(y));
        self.add(text.set("text-anchor", anchor).set("class", class));
    }

    /// A rectangle.
    pub(super) fn bar(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), class: &str) {
        let place = Rectangle::new().set("x", tenths(x)).set("y", tenths(y));
        self.add(place.set("width", tenths(width)).set("height", tenths(height)).set("rx", 1.5).set("class", class));
    }

    /// A line.
    pub(super) fn line(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), class: &str) {
        let start = Line::new().set("x1", tenths(x1)).set("y1", tenths(y1));
        self.add(start.set("x2", tenths(x2)).set("y2", tenths(y2)).set("class", class));
    }

    /// Begins a group with the tooltip `note`.
    pub(super) fn open(&mut self, note: &str) {
        self.open = Some(Group::new().add(Title::new(printable(note))));
    }

    /// Ends the group.
    pub(super) fn close(&mut self) {
        if let Some(group) = self.open.take() {
            self.add(group);
        }
    }

    /// The whole file.
    pub(super) fn finish(self, (width, height): (f64, f64), title: &str, description: &str) -> String {
        let (width, height) = (width.round(), height.round());
        let page = Rectangle::new().set("width", "100%").set("height", "100%").set("class", "page");
        let picture = Document::new()
            .set("width", width)
            .set("height", height)
            .set("viewBox", (0, 0, width, height))
            .set("role", "img")
            .add(Title::new(printable(title)))
            .add(Description::new().add(svg::node::Text::new(printable(description))))
            .add(Style::new(STYLE))
            .add(page)
            .add(self.picture);
        format!("{picture}\n")
    }

    fn add(&mut self, element: impl Into<Box<dyn Node>>) {
        self.open.as_mut().unwrap_or(&mut self.picture).append(element);
    }
}

/// Positions and lengths to a tenth of a pixel.
fn tenths(pixels: f64) -> f64 {
    (pixels * 10.0).round() / 10.0
}

/// `text` without the characters that XML does not allow.
fn printable(text: &str) -> String {
    let text = text.chars().map(|c| if matches!(c, '\n' | '\t') { ' ' } else { c });
    text.filter(|c| !c.is_control() && !matches!(c, '\u{fffe}' | '\u{ffff}')).collect()
}

/// `text`, cut off where it is longer than `most` characters.
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
        let mut drawing = Drawing::default();
        drawing.text((1.0, 2.04), Anchor::Start, "", "a<b> & \"c\"\n\u{1}é");
        let file = drawing.finish((9.0, 9.0), "<t>", "&");
        for part in ["a&lt;b&gt; &amp; ", "y=\"2\"", "<title>", "&lt;t&gt;"] {
            assert!(file.contains(part), "{part}: {file}");
        }
        assert!(file.contains('é') && !file.contains('\u{1}'));
        assert_eq!(shortened("abcdef", 6), "abcdef");
        assert_eq!(shortened("abcdefg", 6), "abcde…");
    }
}
