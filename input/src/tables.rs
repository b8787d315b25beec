//! Which two columns of a table hold the ends of arcs: those that the user names, else those whose names say so, else the first two.

use std::ops::Range;
use std::sync::Mutex;

use super::batch::ArcBatch;
use super::column_names::ColumnNames;
use super::ends::{begin_with_a_key, is_index, places};
use super::parallel::chunks;
use trimill_system::control::NOTE;
use trimill_system::text::{self, printable};
use trimill_system::{Error, Result, lock};

const MOST_LISTED: usize = 12;

pub(super) const ROWS: u64 = 1 << 13;

pub(super) fn listed(columns: impl ExactSizeIterator<Item = (String, String)>) -> String {
    let listed = text::listed(columns.map(|(name, kind)| format!("'{}' {kind}", printable(&name))), MOST_LISTED);
    format!("the columns {}", if listed.is_empty() { "(none)" } else { listed.as_str() })
}

/// The columns of tails and heads; errors name no file. `fields`: all columns' names; `column` makes a column of ids, or says why not.
pub(super) fn ends<T>(
    fields: &[&str],
    named: Option<&ColumnNames>,
    listed: &str,
    column: impl Fn(usize) -> Result<T>,
) -> Result<[T; 2]> {
    let advice = "name the columns with the ends of edges: --columns TAIL,HEAD";
    if let Some(names) = named {
        let of =
            |name: &String| {
                let mut found = (0..fields.len()).filter(|&at| fields[at] == name);
                match (found.next(), found.next()) {
                    (Some(field), None) => column(field).map_err(|error| error.also(&format!("there are {listed}"))),
                    (None, _) => Err(Error::data("", format!("no column '{}'", printable(name)))
                        .expected(format!("one of {listed}"))),
                    _ => Err(Error::data("", format!("several columns '{}'", printable(name))).expected("one")),
                }
            };
        let [tail, head] = names.ends();
        return Ok([of(tail)?, of(head)?]);
    }
    if fields.len() < 2 {
        return Err(Error::data("", format!("a table with {listed}")).expected("two columns of ids"));
    }
    let lower: Vec<String> = fields.iter().map(|name| name.to_lowercase()).collect();
    let known = places(&lower);
    // A further column of ids could hold an end as well.
    let unusual = known.is_none() && (2..fields.len()).any(|at| column(at).is_ok());
    let elsewhere = known.is_some_and(|found| found != (0, 1));
    if elsewhere || fields.len() > 2 && is_index(&lower[0]) || unusual && begin_with_a_key(&lower) {
        return Err(Error::data("", listed).expected("the ends of edges in the first two").advice(advice));
    }
    let of = |field| column(field).map_err(|error| error.also(&format!("there are {listed}; {advice}")));
    let ends = [of(0)?, of(1)?];
    if unusual {
        let [tail, head] = [0, 1].map(|end| printable(fields[end]));
        tell(format!(
            "the columns '{tail}' and '{head}' are taken for the ends of edges; --columns TAIL,HEAD names others"
        ));
    }
    Ok(ends)
}

/// Logs a note once for consecutive files with the same columns: those of one graph, or one that is opened again.
fn tell(note: String) {
    static LAST: Mutex<String> = Mutex::new(String::new());
    let mut last = lock(&LAST);
    if *last != note {
        tracing::info!(target: NOTE, "{note}");
        *last = note;
    }
}

pub(super) fn no_ids(name: &str, what: &str, names: bool) -> Error {
    let expected =
        if names { "a column of text, as --names says" } else { "a column of integers, or --names for text" };
    Error::data("", format!("the column '{}' is {what}", printable(name))).expected(expected)
}

/// Delivers the arcs of some rows. `read` reads the ids in the next rows of a column, which is that of tails (0) or of heads (1).
pub(super) fn deliver(
    rows: Range<u64>,
    mut batch: ArcBatch<'_>,
    mut read: impl FnMut(usize, Range<u64>, &mut Vec<u64>) -> Result<()>,
) -> Result<u64> {
    let (mut from, mut to) = (Vec::new(), Vec::new());
    for some in chunks(rows, ROWS) {
        read(0, some.clone(), &mut from)?;
        read(1, some, &mut to)?;
        for (&tail, &head) in from.iter().zip(&to) {
            batch.push(tail, head)?;
        }
    }
    batch.finish()
}

/// Checks the ids of rows from number `row` on. Signed ones must be sign-extended: then a negative one is larger than any id.
pub(super) fn check_ids(ids: &[u64], signed: bool, row: u64, wrong: impl Fn(&str) -> Error) -> Result<()> {
    let most = if signed { i64::MAX as u64 } else { u64::MAX - 1 };
    let Some(at) = ids.iter().position(|&id| id > most) else { return Ok(()) };
    let (row, id) = (row + at as u64, ids[at]);
    Err(match signed {
        true => wrong(&format!("the negative id {} in row {row}", id as i64)).expected("ids from 0"),
        false => wrong(&format!("the id {id} in row {row}")).expected(format!("ids up to {most}")),
    })
}
