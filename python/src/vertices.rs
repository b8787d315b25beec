//! Reads the table of vertices that a count wrote (`docs/vertices.md`): a line of names, then `id`, `degree`, `triangles` and
//! `local_clustering` of each vertex, separated by tabs. Memory: 28 bytes a vertex and a line.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use trimill::{Control, Error, Result};

/// Lines between two looks whether to stop.
const LINES: usize = 1 << 16;

/// The columns.
#[derive(Default)]
pub(crate) struct Vertices {
    pub(crate) ids: Vec<u64>,
    pub(crate) degrees: Vec<u32>,
    pub(crate) triangles: Vec<u64>,
    /// Local clustering coefficients.
    pub(crate) coefficients: Vec<f64>,
}

/// Reads the `count` vertices in `path`.
///
/// # Errors
/// A file that cannot be read, or is no such table of so many vertices; a stop.
pub(crate) fn read(path: &Path, count: usize, control: &Control) -> Result<Vertices> {
    let failed = |error| Error::read(path, error);
    let mut lines = BufReader::with_capacity(1 << 20, File::open(path).map_err(failed)?);
    let mut vertices = Vertices {
        ids: Vec::with_capacity(count),
        degrees: Vec::with_capacity(count),
        triangles: Vec::with_capacity(count),
        coefficients: Vec::with_capacity(count),
    };
    let mut line = String::new();
    lines.read_line(&mut line).map_err(failed)?;
    for number in 0.. {
        if number % LINES == 0 {
            control.check()?;
        }
        line.clear();
        if lines.read_line(&mut line).map_err(failed)? == 0 {
            break;
        }
        if vertices.push(&line).is_none() {
            return Err(Error::data(path, "a line that is no vertex").line(number as u64 + 2).expected("four columns"));
        }
    }
    match vertices.ids.len() {
        found if found == count => Ok(vertices),
        found => Err(Error::data(path, format!("{found} vertices")).expected(format!("{count}"))),
    }
}

impl Vertices {
    fn push(&mut self, line: &str) -> Option<()> {
        let mut columns = line.split('\t');
        let id = columns.next()?.parse().ok()?;
        let degree: u32 = columns.next()?.parse().ok()?;
        let triangles: u64 = columns.next()?.parse().ok()?;
        let coefficient = columns.next()?.trim_end().parse().ok()?;
        self.ids.push(id);
        self.degrees.push(degree);
        self.triangles.push(triangles);
        self.coefficients.push(coefficient);
        Some(())
    }
}
