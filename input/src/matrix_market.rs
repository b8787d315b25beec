//! Matrix Market coordinate files: a square sparse matrix as the arcs of a graph. `%%MatrixMarket matrix coordinate FIELD SYMMETRY`, comments, a line
//! `rows columns entries`, then one entry a line. Entry `i j` is the arc `i -> j`; ids are delivered 1-based as written, entries of symmetric
//! matrices once. Values are ignored, but all entries must have one, or none. All entries that the header declares must be there, inside the matrix.
//! Memory: a window per thread.
//!
//! The banner may be missing, as in files of Network Repository: then the first line that is no comment must be the size of a square
//! matrix, and entries stand for themselves only. That is unambiguous: as an arc the line would be a loop, which closes no triangle.

use super::arcs::SourceFacts;
use super::batch::ArcBatch;
use super::columns::Columns;
use super::file::InputFile;
use super::head::Head;
use super::number::{columns, shown, whole};
use super::pairs;
use super::text_blocks::{TextLines, parse_all};
use super::{ArcSink, Reader, check_vertices, not_square};
use trimill_system::control::{Control, NOTE, Task};
use trimill_system::text::plural;
use trimill_system::{Error, Kind, Result};

const ADVICE: pairs::Advice = pairs::Advice {
    differs: "each line after the header is an entry: row, column, and its value where the banner says so",
    names: false,
};

pub(super) struct MatrixMarket {
    file: InputFile,
    window: u64,
    rows: u64,
    symmetric: bool,
    columns: Columns,
    entries: u64,
    start: u64,
    has_banner: bool,
}

impl MatrixMarket {
    pub(super) fn open(file: InputFile, window: u64) -> Result<Self> {
        let mut head = Head::new(&file)?;
        let first = head.next()?.unwrap_or_default().to_vec();
        let has_banner = has_banner(&first);
        let Banner { values, symmetric } = if has_banner { banner(&first, &head)? } else { Banner::default() };
        let is_size = !has_banner && !matches!(first.trim_ascii().first(), None | Some(b'%'));
        let line = if is_size { Some(first.trim_ascii().to_vec()) } else { head.next_content()? };
        let Some(line) = line else {
            return Err(head.error("the file ends before the size of the matrix"));
        };
        let numbers: Vec<Option<u64>> = columns(&line).map(whole).collect();
        let [Some(rows), Some(cols), Some(entries)] = numbers[..] else {
            let error = head.error(format!("'{}'", shown(&line)));
            return Err(advised(error.expected("the size of the matrix: rows, columns, entries"), has_banner));
        };
        if rows != cols {
            return Err(advised(head.error_of(not_square(rows, cols)), has_banner));
        }
        if !has_banner {
            let (path, line) = (file.path.display(), head.number);
            tracing::info!(target: NOTE, "{path}:{line}: '{rows} {cols} {entries}' is the size of a matrix without a banner");
        }
        check_vertices(rows).map_err(|error| error.at(&file.path).at_line(head.number))?;
        let start = head.end;
        let entry = head.next_content()?.and_then(|entry| Columns::of(&entry, None));
        if values && entry.is_some_and(|entry| entry.count < 3) {
            return Err(head.error("an entry without a value").expected("three columns, as the banner says"));
        }
        drop(head);
        let columns = entry.unwrap_or(Columns::TWO);
        Ok(Self { rows, symmetric, columns, entries, start, has_banner, file, window })
    }

    fn first_surplus(&self) -> Result<u64> {
        let mut head = Head::new(&self.file)?;
        let mut left = self.entries;
        while let Some(line) = head.next()? {
            let entry = !pairs::is_blank_or_comment(line);
            if head.end > self.start && entry {
                if left == 0 {
                    break;
                }
                left -= 1;
            }
        }
        Ok(head.number)
    }

    #[inline(always)]
    fn check(&self, row: u64, column: u64) -> Result<()> {
        if row.wrapping_sub(1) >= self.rows || column.wrapping_sub(1) >= self.rows {
            let found = format!("the entry {row} {column}, which is outside of the matrix");
            return Err(Error::data("", found).expected(format!("rows and columns from 1 to {}", self.rows)));
        }
        Ok(())
    }

    fn scan_entries(&self, sink: &dyn ArcSink, control: &Control, task: &Task) -> Result<u64> {
        task.advance(self.start);
        let lines = TextLines { file: &self.file, skip: self.start, before: 0, window: self.window, task };
        let found = parse_all(&[lines], control, &|_, lines| {
            let mut batch = ArcBatch::new(sink, control);
            pairs::parse(lines, self.columns, |row, column| self.check(row, column), ADVICE, &mut batch)?;
            Ok(batch.finish()?)
        })?;
        let found: u64 = found.iter().sum();
        if found == self.entries {
            return Ok(found);
        }
        let line = if found > self.entries { self.first_surplus()? } else { self.file.line_of(self.file.bytes)? };
        Err(Error::data(&self.file.path, plural(found, "entry", "entries"))
            .at_line(line)
            .expected(format!("{}, as the header says", plural(self.entries, "entry", "entries")))
            .advice("the file may be cut or joined; fetch it again"))
    }
}

impl Reader for MatrixMarket {
    fn facts(&self) -> SourceFacts {
        SourceFacts {
            declared_vertices: Some(self.rows),
            first_id: 1,
            symmetric: self.symmetric,
            // The header's entries, but no more than fit into the file.
            arcs_at_most: self.entries.min(self.file.bytes.div_ceil(4)),
            ..SourceFacts::default()
        }
    }

    fn scan(&self, sink: &dyn ArcSink, control: &Control, task: &Task) -> Result<u64> {
        let scanned = self.scan_entries(sink, control, task);
        scanned.map_err(|error| if error.kind() == Kind::Data { advised(error, self.has_banner) } else { error })
    }
}

pub(super) fn has_banner(head: &[u8]) -> bool {
    head.get(..14).is_some_and(|word| word.eq_ignore_ascii_case(b"%%MatrixMarket"))
}

#[derive(Default)]
struct Banner {
    values: bool,
    symmetric: bool,
}

/// Adds that the file lacks its banner, if it does.
fn advised(error: Error, has_banner: bool) -> Error {
    if has_banner {
        return error;
    }
    error.also("the file lacks the banner '%%MatrixMarket matrix coordinate FIELD SYMMETRY'; if it is an edge list, name it with --format text")
}

fn banner(line: &[u8], head: &Head<'_>) -> Result<Banner> {
    let text = String::from_utf8_lossy(line).to_ascii_lowercase();
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let ["%%matrixmarket", object, layout, field, symmetry] = words[..] else {
        let expected = "the banner '%%MatrixMarket matrix coordinate FIELD SYMMETRY'";
        return Err(head.error("an incomplete Matrix Market banner").expected(expected));
    };
    if object != "matrix" || layout != "coordinate" {
        return Err(head.error(format!("'{object} {layout}'")).expected("'matrix coordinate', a sparse matrix"));
    }
    let values = match field {
        "pattern" => false,
        "integer" | "unsigned-integer" | "real" | "double" => true,
        _ => return Err(head.error(format!("a matrix of field '{field}'")).expected("pattern, integer or real")),
    };
    if !matches!(symmetry, "general" | "symmetric" | "skew-symmetric") {
        let expected = "general, symmetric or skew-symmetric";
        return Err(head.error(format!("a matrix of symmetry '{symmetry}'")).expected(expected));
    }
    Ok(Banner { values, symmetric: symmetry != "general" })
}
