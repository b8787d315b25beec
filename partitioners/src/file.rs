//! Assignments from files, as METIS and KaMinPar write them (`graph.part.8`), or as lines of `id part`. Input: a text file, and the input's ids.
//! Output: the part of each compact id, and the number of parts: the largest part in the file plus one. The first line tells the form:
//!
//! - one column: line `i` (from 0) is the part of vertex `first_id + i`, for every declared vertex, isolated or not. Only if ids are dense.
//! - two columns (blanks, tabs or a comma between): an original id and its part, in any order; isolated vertices may be missing.
//!
//! Lines that begin with `#` or `%`, and blank lines at the end, are skipped. The file is read once, sequentially, through a buffer of 1
//! MiB; the result, which also marks vertices without a line yet, takes 4 bytes per vertex.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use crate::MAX_PARTS;
use trimill_system::{Error, Result};

/// Enough for two numbers of 20 digits with many blanks, or a comment. Other kinds of files fail early by this limit.
const LONGEST_LINE: u64 = 1 << 16;

/// Marks a vertex without a line so far; larger than every allowed part.
const UNSEEN: u32 = u32::MAX;

/// The vertices that an assignment file is about.
#[derive(Clone, Copy)]
pub struct Declared<'a> {
    /// The number of vertices that the input declares, and of lines in a one-column file. `None` if ids are sparse: two columns are needed.
    pub lines: Option<u64>,
    /// The original id of the first declared vertex; 0 or 1 in most formats.
    pub first_id: u64,
    /// How many vertices have edges; compact ids are `0..vertices`.
    pub vertices: u32,
    /// The compact id of an original id; `None` if the vertex has no edges, so that its line is skipped.
    pub compact: &'a dyn Fn(u64) -> Option<u32>,
    /// The original id of a compact id, for messages.
    pub original: &'a dyn Fn(u32) -> u64,
}

impl Declared<'_> {
    /// Which lines a one-column file must have. For an edge list, which declares no vertices: one for every id up to the largest.
    fn all_lines(&self, lines: u64) -> String {
        let (first, last) = (self.first_id, self.first_id.saturating_add(lines).saturating_sub(1));
        format!("one line for each of the {lines} ids from {first} to {last}, also those without edges")
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileAssignment {
    pub assignment: Vec<u32>,
    /// The largest part in the file plus one, lines of isolated vertices included; at most [`MAX_PARTS`].
    pub parts: u32,
}

/// Reads the assignment file at `path`. Errors, `Kind::Data` with path and line: unreadable or empty, no number or a negative one, a part of
/// [`MAX_PARTS`] or more, one and two columns mixed, blank lines before the end, too few or many lines, a vertex with no line or several.
pub fn read(path: &Path, declared: Declared<'_>) -> Result<FileAssignment> {
    let unreadable = |error| Error::read(path, error);
    let mut lines = BufReader::with_capacity(1 << 20, File::open(path).map_err(unreadable)?);
    let mut reading = AssignmentReader::new(declared);
    let (mut text, mut number) = (Vec::new(), 0);
    loop {
        text.clear();
        let read = lines.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut text).map_err(unreadable)?;
        if read == 0 {
            return reading.finish(number).map_err(|error| error.at(path));
        }
        number += 1;
        let taken = if read as u64 == LONGEST_LINE {
            Err(wrong(format!("a line of {LONGEST_LINE} bytes or more")).expected(ONE_OR_TWO))
        } else {
            reading.take(text.trim_ascii(), number)
        };
        taken.map_err(|error| error.at(path).at_line(number))?;
    }
}

const ONE_OR_TWO: &str = "a part number, or an id and a part number";

struct AssignmentReader<'a> {
    declared: Declared<'a>,
    assignment: Vec<u32>,
    columns: Option<usize>,
    data_lines: u64,
    /// The first of the blank lines just read; a line with numbers after them is an error.
    blank: Option<u64>,
    largest: u32,
}

impl<'a> AssignmentReader<'a> {
    fn new(declared: Declared<'a>) -> Self {
        let assignment = vec![UNSEEN; declared.vertices as usize];
        Self { declared, assignment, columns: None, data_lines: 0, blank: None, largest: 0 }
    }

    /// Reads line `number`, which is trimmed.
    fn take(&mut self, line: &[u8], number: u64) -> Result<()> {
        if line.is_empty() {
            self.blank.get_or_insert(number);
            return Ok(());
        }
        if matches!(line[0], b'#' | b'%') {
            return Ok(());
        }
        if let Some(blank) = self.blank {
            let found = format!("a line with numbers after the blank line {blank}");
            return Err(wrong(found).expected("blank lines at the end only"));
        }
        let (first, second) = columns(line)?;
        self.same_columns(if second.is_some() { 2 } else { 1 })?;
        let id = match second {
            None => self.next_id()?,
            Some(_) => self.known_id(whole(first, "id")?)?,
        };
        self.data_lines += 1;
        let part = part(second.unwrap_or(first))?;
        self.largest = self.largest.max(part);
        let Some(compact) = (self.declared.compact)(id) else { return Ok(()) };
        let place = self
            .assignment
            .get_mut(compact as usize)
            .ok_or_else(|| wrong(format!("the vertex {id} is outside the {} of the graph", self.declared.vertices)))?;
        if *place != UNSEEN {
            return Err(wrong(format!("a second line for the vertex {id}")).expected("one line for each vertex"));
        }
        *place = part;
        Ok(())
    }

    fn same_columns(&mut self, found: usize) -> Result<()> {
        let expected = *self.columns.get_or_insert(found);
        if expected != found {
            return Err(wrong(format!("{found} column(s) after lines with {expected}"))
                .expected("the same number of columns in every line"));
        }
        if found == 1 && self.declared.lines.is_none() {
            return Err(wrong("a line without an id, while the ids of the input are sparse")
                .expected("lines of an original id and its part"));
        }
        Ok(())
    }

    fn next_id(&self) -> Result<u64> {
        match self.declared.lines {
            Some(lines) if self.data_lines >= lines => {
                Err(wrong(format!("too many lines: more than {lines}")).expected(self.declared.all_lines(lines)))
            }
            _ => Ok(self.declared.first_id.saturating_add(self.data_lines)),
        }
    }

    fn known_id(&self, id: u64) -> Result<u64> {
        let first = self.declared.first_id;
        match self.declared.lines {
            Some(lines) if id < first || id - first >= lines => {
                let found = format!("the id {id}, which the input does not have");
                let range = format!("an id from {first} and below {}", first.saturating_add(lines));
                Err(wrong(found).expected(range))
            }
            _ => Ok(id),
        }
    }

    /// `number`: how many lines the file has.
    fn finish(self, number: u64) -> Result<FileAssignment> {
        let Declared { lines, vertices, original, .. } = self.declared;
        if self.data_lines == 0 && (vertices > 0 || lines.is_some_and(|lines| lines > 0)) {
            return Err(wrong("no assignment in it: the file has no line with numbers")
                .expected(ONE_OR_TWO.to_owned() + " a line"));
        }
        if let (Some(1), Some(lines)) = (self.columns, lines)
            && self.data_lines < lines
        {
            let found = format!("too few lines: {} with a part number", self.data_lines);
            return Err(wrong(found).at_line(number).expected(self.declared.all_lines(lines)));
        }
        if let Some(compact) = self.assignment.iter().position(|&part| part == UNSEEN) {
            let missing = self.assignment.iter().filter(|&&part| part == UNSEEN).count();
            let id = original(compact as u32);
            let found = format!("{missing} vertices with edges have no line; the first is the vertex {id}");
            return Err(wrong(found).at_line(number).expected(format!("{vertices} vertices with a part")));
        }
        Ok(FileAssignment { assignment: self.assignment, parts: self.largest + 1 })
    }
}

fn wrong(found: impl Into<String>) -> Error {
    Error::data("", found)
}

fn columns(line: &[u8]) -> Result<(&[u8], Option<&[u8]>)> {
    let mut fields = line.split(|&b| b.is_ascii_whitespace() || b == b',').filter(|field| !field.is_empty());
    match (fields.next(), fields.next(), fields.next()) {
        (Some(first), second, None) => Ok((first, second)),
        _ => Err(wrong(format!("'{}'", shown(line))).expected(ONE_OR_TWO)),
    }
}

fn part(field: &[u8]) -> Result<u32> {
    let number = whole(field, "part")?;
    if number >= u64::from(MAX_PARTS) {
        return Err(wrong(format!("the part {number}")).expected(format!("a part below {MAX_PARTS}")));
    }
    Ok(number as u32)
}

fn whole(field: &[u8], what: &str) -> Result<u64> {
    let refused = |how: &str| {
        let found = format!("'{}', {how}", shown(field));
        Err(wrong(found).expected(format!("{what} numbers in decimal digits, from 0")))
    };
    if field.strip_prefix(b"-").is_some_and(|rest| !rest.is_empty() && rest.iter().all(u8::is_ascii_digit)) {
        return refused("a negative number");
    }
    if !field.iter().all(u8::is_ascii_digit) {
        return refused("which is not a whole number");
    }
    let value: Option<u64> = std::str::from_utf8(field).ok().and_then(|digits| digits.parse().ok());
    value.map_or_else(|| refused("a number of more than 64 bits"), Ok)
}

fn shown(bytes: &[u8]) -> String {
    let mut text = bytes[..bytes.len().min(40)].escape_ascii().to_string();
    if bytes.len() > 40 {
        text.push_str("...");
    }
    text
}

#[cfg(test)]
mod tests;
