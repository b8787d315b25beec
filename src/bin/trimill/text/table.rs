//! Builds tables and lists, with numbers in readable form.

use std::io::stdout;

use comfy_table::{
    Cell, CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle, Width, presets,
};
use terminal_size::terminal_size_of;
use trimill::Bytes;

/// A column over rows of type `T`: its heading (of several lines if it is wide) and its cells.
pub(crate) struct TableColumn<T> {
    pub(crate) heading: &'static str,
    pub(crate) cell: fn(&T) -> String,
}

pub(crate) fn grid<'a, T: 'a>(
    columns: impl IntoIterator<Item = &'a TableColumn<T>>,
    rows: impl IntoIterator<Item = &'a T>,
) -> String {
    let columns: Vec<&TableColumn<T>> = columns.into_iter().collect();
    let headings = columns.iter().map(|column| column.heading.to_owned()).collect();
    let rows = rows.into_iter().map(|row| columns.iter().map(|column| (column.cell)(row)).collect());
    plain_grid(headings, rows)
}

/// As [`grid`], for texts. Right-aligns columns of only numbers, sizes or dashes. Fits a terminal's width: see [`arranged`].
pub(crate) fn plain_grid(headings: Vec<String>, rows: impl IntoIterator<Item = Vec<String>>) -> String {
    arranged(headings, rows.into_iter().collect(), terminal_width())
}

/// None if standard output is not a terminal.
fn terminal_width() -> Option<u16> {
    terminal_size_of(stdout()).map(|(width, _)| width.0)
}

/// The table within `width` columns, if given: first drops the lines between columns, then wraps long texts, then drops numeric columns from the
/// second on. The first column says what a row is, and the last ones are the most important.
fn arranged(mut headings: Vec<String>, mut rows: Vec<Vec<String>>, width: Option<u16>) -> String {
    let natural = drawn(&headings, &rows, presets::UTF8_FULL_CONDENSED, None);
    let Some(width) = width.filter(|width| wide(&natural) > usize::from(*width)) else { return natural };
    let mut plain = drawn(&headings, &rows, BELOW_HEADER, None);
    while wide(&plain) > usize::from(width) {
        plain = drawn(&headings, &rows, BELOW_HEADER, Some(width));
        let spare = (1..headings.len().saturating_sub(1)).find(|&i| is_numeric(&rows, i));
        let Some(spare) = spare.filter(|_| wide(&plain) > usize::from(width)) else { break };
        headings.remove(spare);
        rows.iter_mut().filter(|row| spare < row.len()).for_each(|row| drop(row.remove(spare)));
    }
    plain
}

fn is_numeric(rows: &[Vec<String>], column: usize) -> bool {
    rows.iter().all(|row| row.get(column).is_none_or(|text| numeric(text)))
}

/// A line below the header, and no others.
const BELOW_HEADER: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// Texts up to this length are not wrapped, and longer ones not narrower than this.
const SHORT_TEXT: usize = 16;

fn wide(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
}

fn drawn(headings: &[String], rows: &[Vec<String>], style: TableStyle, width: Option<u16>) -> String {
    let mut table = Table::new();
    table.load_style(style);
    match width {
        Some(width) => table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width),
        None => table.set_content_arrangement(ContentArrangement::Disabled),
    };
    let right: Vec<bool> = (0..headings.len()).map(|i| is_numeric(rows, i)).collect();
    let cells = |texts: &[String]| -> Vec<Cell> {
        let aligned = texts.iter().zip(&right).map(|(text, right)| {
            Cell::new(text).set_alignment(if *right { CellAlignment::Right } else { CellAlignment::Left })
        });
        aligned.collect()
    };
    table.set_header(cells(headings));
    for row in rows {
        table.add_row(cells(row));
    }
    for (i, column) in table.column_iter_mut().enumerate() {
        if style == BELOW_HEADER {
            column.set_padding((0, 1));
        }
        let widest = rows.iter().filter_map(|row| row.get(i)).chain([&headings[i]]).map(|text| wide(text)).max();
        column.set_constraint(if right[i] || widest <= Some(SHORT_TEXT) {
            ColumnConstraint::ContentWidth
        } else {
            ColumnConstraint::LowerBoundary(Width::Fixed(SHORT_TEXT as u16 + column.padding_width()))
        });
    }
    format!("{table}\n")
}

fn numeric(text: &str) -> bool {
    text.is_empty() || text == "all" || text == "-" || text.starts_with(|c: char| c.is_ascii_digit())
}

/// Lines of `name  value` with aligned values, wrapped on a terminal.
pub(crate) fn list(entries: &[(&str, String)]) -> String {
    listed(entries, terminal_width().map_or(usize::MAX, usize::from))
}

fn listed(entries: &[(&str, String)], most: usize) -> String {
    let width = entries.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let line = |(name, value): &(&str, String)| {
        let (mut text, mut at) = (format!("{name:width$} "), width + 1);
        for (i, word) in value.split(' ').enumerate() {
            let len = word.chars().count() + 1;
            if i > 0 && at + len > most {
                text += &format!("\n{:width$} ", "");
                at = width + 1;
            }
            text += &format!(" {word}");
            at += len;
        }
        text + "\n"
    };
    entries.iter().map(line).collect()
}

/// `20,977,629`
pub(crate) fn thousands(number: impl Into<u128>) -> String {
    let digits = number.into().to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1.50 s` with three significant digits; whole seconds from 100 on, minutes and hours from an hour on.
pub(crate) fn seconds(seconds: f64) -> String {
    match seconds {
        s if s >= 3600.0 => format!("{} h {:02} min", (s / 3600.0) as u64, (s % 3600.0 / 60.0) as u64),
        s if s >= 0.9995 => format!("{} s", three_digits(s)),
        s => format!("{s:.3} s"),
    }
}

pub(crate) fn three_digits(value: f64) -> String {
    match value {
        value if value >= 99.95 => format!("{value:.0}"),
        value if value >= 9.995 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}

/// Three digits and a prefix: `152 M`.
pub(crate) fn prefixed(number: f64) -> String {
    let prefixes = ["", " k", " M", " G", " T", " P"];
    let (mut scaled, mut thousands) = (number, 0);
    while scaled >= 999.5 && thousands + 1 < prefixes.len() {
        (scaled, thousands) = (scaled / 1000.0, thousands + 1);
    }
    format!("{}{}", three_digits(scaled), prefixes[thousands])
}

/// A rate in bytes a second; a dash if there are none, or less time than tables show.
pub(crate) fn rate(bytes: Bytes, seconds: f64) -> String {
    if bytes == Bytes::ZERO || seconds < 0.001 {
        return "-".into();
    }
    format!("{}/s", Bytes((bytes.get() as f64 / seconds) as u64))
}

pub(crate) fn yes(is_so: bool) -> String {
    if is_so { "yes" } else { "no" }.into()
}

pub(crate) fn or_dash<T>(value: Option<T>, text: impl Fn(T) -> String) -> String {
    value.map_or_else(|| "-".into(), text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_stand_in_threes() {
        for (number, text) in [(0u128, "0"), (999, "999"), (1000, "1,000"), (20_977_629, "20,977,629")] {
            assert_eq!(thousands(number), text);
        }
        assert_eq!(thousands(u128::MAX).matches(',').count(), 12);
    }

    #[test]
    fn a_table_keeps_to_the_width_and_numbers_stay_whole() {
        let headings = ["job", "triangles", "edges", "outcome"].map(str::to_owned);
        let outcome = "data: graph.txt:17: a line with three numbers after lines with two";
        let row = ["crawl", "20,977,629", "2,738,969", outcome].map(str::to_owned).to_vec();
        let at = |width| arranged(headings.to_vec(), vec![row.clone()], width);
        let natural = at(None);
        assert!(natural.starts_with('┌') && wide(&natural) > 100, "{natural}");
        assert_eq!(at(Some(200)), natural);
        let plain = at(Some(wide(&natural) as u16 - 1));
        assert!(plain.contains(outcome) && !plain.contains('│'), "{plain}");
        for width in [60, 80, 100] {
            let narrow = at(Some(width));
            assert!(wide(&narrow) <= usize::from(width), "{width}: {narrow}");
            assert!(narrow.contains("20,977,629") && narrow.contains("2,738,969"), "{narrow}");
            let words =
                |text: &str| text.split_whitespace().map(str::to_owned).collect::<std::collections::BTreeSet<_>>();
            assert!(words(&narrow).is_superset(&words(outcome)), "{narrow}");
        }
        let narrowest = at(Some(24));
        assert!(wide(&narrowest) <= 24 && narrowest.contains("crawl"), "{narrowest}");
        assert!(!narrowest.contains("20,977,629"), "{narrowest}");
    }

    #[test]
    fn columns_that_do_not_fit_are_left_out_from_the_second_on() {
        let headings: Vec<String> = (0..15).map(|i| format!("heading{i:02}")).collect();
        let rows = vec![(0..15).map(|i| i.to_string()).collect::<Vec<_>>()];
        let narrow = arranged(headings, rows, Some(80));
        assert!(wide(&narrow) <= 80 && narrow.lines().count() == 3, "{narrow}");
        let shown: Vec<&str> = narrow.lines().next().unwrap_or_default().split_whitespace().collect();
        assert_eq!(shown, ["heading00", "heading09", "heading10", "heading11", "heading12", "heading13", "heading14"]);
    }

    #[test]
    fn values_of_a_list_are_broken_at_words() {
        let entries = [("name", "one two three".to_owned()), ("x", "four".into())];
        assert_eq!(listed(&entries, usize::MAX), "name  one two three\nx     four\n");
        assert_eq!(listed(&entries, 13), "name  one two\n      three\nx     four\n");
    }

    #[test]
    fn times_have_three_digits() {
        let below_ten = [0.0123, 0.9994, 0.9996, 1.5, 9.994].map(seconds);
        assert_eq!(below_ten, ["0.012 s", "0.999 s", "1.00 s", "1.50 s", "9.99 s"]);
        let above = [9.996, 12.34, 99.94, 99.96, 123.4, 7260.0].map(seconds);
        assert_eq!(above, ["10.0 s", "12.3 s", "99.9 s", "100 s", "123 s", "2 h 01 min"]);
    }
}
