//! Reads the tables that a count wrote as text: a line of names, then a line for each row, its columns separated by tabs. Memory: that
//! of the columns, and a line.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::str::Split;

use trimill::{Control, Error, Result};

/// Lines between two looks whether to stop.
const LINES: usize = 1 << 16;

/// The columns of a table.
pub(crate) trait TextColumns {
    /// What a row is.
    const ROW: &'static str;

    /// Columns with room for `rows`.
    fn with_room(rows: usize) -> Self;

    /// Adds a row, which must have all columns.
    fn push(&mut self, row: &mut Split<'_, char>) -> Option<()>;
}

/// The vertices (`docs/vertices.md`): 28 bytes each.
pub(crate) struct Vertices {
    pub(crate) ids: Vec<u64>,
    pub(crate) degrees: Vec<u32>,
    pub(crate) triangles: Vec<u64>,
    /// Local clustering coefficients.
    pub(crate) coefficients: Vec<f64>,
}

impl TextColumns for Vertices {
    const ROW: &'static str = "vertex";

    fn with_room(rows: usize) -> Self {
        Self {
            ids: Vec::with_capacity(rows),
            degrees: Vec::with_capacity(rows),
            triangles: Vec::with_capacity(rows),
            coefficients: Vec::with_capacity(rows),
        }
    }

    fn push(&mut self, row: &mut Split<'_, char>) -> Option<()> {
        self.ids.push(row.next()?.parse().ok()?);
        self.degrees.push(row.next()?.parse().ok()?);
        self.triangles.push(row.next()?.parse().ok()?);
        self.coefficients.push(row.next()?.parse().ok()?);
        Some(())
    }
}

/// The edges of a truss decomposition (`docs/truss.md`): 20 bytes each.
pub(crate) struct Trussness {
    /// The smaller ids.
    pub(crate) u: Vec<u64>,
    /// The larger ones.
    pub(crate) v: Vec<u64>,
    pub(crate) trussness: Vec<u32>,
}

impl TextColumns for Trussness {
    const ROW: &'static str = "edge";

    fn with_room(rows: usize) -> Self {
        Self { u: Vec::with_capacity(rows), v: Vec::with_capacity(rows), trussness: Vec::with_capacity(rows) }
    }

    fn push(&mut self, row: &mut Split<'_, char>) -> Option<()> {
        self.u.push(row.next()?.parse().ok()?);
        self.v.push(row.next()?.parse().ok()?);
        self.trussness.push(row.next()?.parse().ok()?);
        Some(())
    }
}

/// Reads the table in `path`, of `rows` rows.
///
/// # Errors
/// A file that cannot be read, or is no such table of so many rows; a stop.
pub(crate) fn read<C: TextColumns>(path: &Path, rows: usize, control: &Control) -> Result<C> {
    let failed = |error| Error::read(path, error);
    let mut lines = BufReader::with_capacity(1 << 20, File::open(path).map_err(failed)?);
    let mut columns = C::with_room(rows);
    let mut line = String::new();
    lines.read_line(&mut line).map_err(failed)?;
    let mut found = 0;
    loop {
        if found % LINES == 0 {
            control.check()?;
        }
        line.clear();
        if lines.read_line(&mut line).map_err(failed)? == 0 {
            break;
        }
        let mut row = line.trim_end().split('\t');
        if columns.push(&mut row).is_none() || row.next().is_some() {
            let names = format!("a line that is no {}", C::ROW);
            return Err(Error::data(path, names).line(found as u64 + 2).expected("a number in each column"));
        }
        found += 1;
    }
    if found != rows {
        return Err(Error::data(path, format!("{found} rows")).expected(format!("{rows}")));
    }
    Ok(columns)
}
