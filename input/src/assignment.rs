//! Assignments from files, as METIS and KaMinPar write them (`graph.part.8`), or as lines of `id part`. Input: a text file, and the input's ids.
//! Output: the part of each compact id, and the number of parts: the largest part in the file plus one. The first line tells the form:
//!
//! - one column: line `i` (from 0) is the part of vertex `first_id + i`, for every declared vertex, isolated or not. Only if ids are dense.
//! - two columns (blanks, tabs or a comma between): an original id and its part, in any order; isolated vertices may be missing.
//!
//! Lines that begin with `#` or `%`, and blank lines at the end, are skipped. The file, which may be compressed, is read once, sequentially; the
//! result, which also marks vertices without a line yet, takes 4 bytes per vertex.

use std::path::Path;

use super::file::InputFile;
use super::head::Head;
use super::number::{columns, describe, shown, whole};
use trimill_system::{Control, Error, Result};

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
    /// The largest part in the file plus one, lines of isolated vertices included.
    pub parts: u32,
}

/// Reads the assignment file at `path`; a pipe is first copied to `work_dir`. Errors, `Kind::Data` with path and line: unreadable or empty, no
/// number or a negative one, a part of `most_parts` or more, one and two columns mixed, blank lines before the end, too few or many lines, a
/// vertex with no line or several.
pub fn read(
    path: &Path,
    declared: Declared<'_>,
    most_parts: u32,
    work_dir: &Path,
    control: &Control,
) -> Result<FileAssignment> {
    let opened = InputFile::open(path).map_err(|error| error.expected("a file that assigns the vertices"))?;
    let file = opened.or_else(|pipe| InputFile::copied(pipe, work_dir, control))?;
    let (mut head, mut reading) = (Head::new(&file)?, AssignmentReader::new(declared, most_parts));
    while let Some(line) = head.next()? {
        reading.take(line.trim_ascii()).map_err(|error| head.error_of(error))?;
    }
    reading.finish().map_err(|error| error.at(path))
}

const ONE_OR_TWO: &str = "a part number, or an id and a part number";

struct AssignmentReader<'a> {
    declared: Declared<'a>,
    most_parts: u32,
    assignment: Vec<u32>,
    columns: Option<usize>,
    /// The line that is being read, from 1.
    line: u64,
    data_lines: u64,
    /// The first of the blank lines just read; a line with numbers after them is an error.
    blank: Option<u64>,
    largest: u32,
}

impl<'a> AssignmentReader<'a> {
    fn new(declared: Declared<'a>, most_parts: u32) -> Self {
        let assignment = vec![UNSEEN; declared.vertices as usize];
        Self { declared, most_parts, assignment, columns: None, line: 0, data_lines: 0, blank: None, largest: 0 }
    }

    /// Takes the next line, which is trimmed.
    fn take(&mut self, line: &[u8]) -> Result<()> {
        self.line += 1;
        if line.is_empty() {
            self.blank.get_or_insert(self.line);
            return Ok(());
        }
        if matches!(line[0], b'#' | b'%') {
            return Ok(());
        }
        if let Some(blank) = self.blank {
            let found = format!("a line with numbers after the blank line {blank}");
            return Err(wrong(found).expected("blank lines at the end only"));
        }
        let mut fields = columns(line);
        let (Some(first), second, None) = (fields.next(), fields.next(), fields.next()) else {
            return Err(wrong(format!("'{}'", shown(line))).expected(ONE_OR_TWO));
        };
        self.same_columns(if second.is_some() { 2 } else { 1 })?;
        let id = match second {
            None => self.next_id()?,
            Some(_) => self.known_id(number(first, "id")?)?,
        };
        self.data_lines += 1;
        let part = number(second.unwrap_or(first), "part")?;
        if part >= u64::from(self.most_parts) {
            return Err(wrong(format!("the part {part}")).expected(format!("a part below {}", self.most_parts)));
        }
        let part = part as u32;
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

    fn finish(self) -> Result<FileAssignment> {
        let Declared { lines, vertices, original, .. } = self.declared;
        if self.data_lines == 0 && (vertices > 0 || lines.is_some_and(|lines| lines > 0)) {
            return Err(wrong("no assignment in it: the file has no line with numbers")
                .expected(ONE_OR_TWO.to_owned() + " a line"));
        }
        if let (Some(1), Some(lines)) = (self.columns, lines)
            && self.data_lines < lines
        {
            let found = format!("too few lines: {} with a part number", self.data_lines);
            return Err(wrong(found).at_line(self.line).expected(self.declared.all_lines(lines)));
        }
        if let Some(compact) = self.assignment.iter().position(|&part| part == UNSEEN) {
            let missing = self.assignment.iter().filter(|&&part| part == UNSEEN).count();
            let id = original(compact as u32);
            let found = format!("{missing} vertices with edges have no line; the first is the vertex {id}");
            return Err(wrong(found).at_line(self.line).expected(format!("{vertices} vertices with a part")));
        }
        Ok(FileAssignment { assignment: self.assignment, parts: self.largest + 1 })
    }
}

fn wrong(found: impl Into<String>) -> Error {
    Error::data("", found)
}

fn number(field: &[u8], what: &str) -> Result<u64> {
    let refused = || wrong(describe(field)).expected(format!("{what} numbers in decimal digits, from 0"));
    whole(field).ok_or_else(refused)
}

#[cfg(test)]
mod tests;
