//! Counts at vertices as text: a line with the names of the columns, then a line for each vertex or each degree.

use std::io::Write as _;

use super::coefficient;
use super::compressed::Compress;
use super::order::{Row, Rows};
use super::summary::OfDegree;
use crate::disk::Output;
use crate::error::Result;

/// Rows of a piece of text.
const PIECE: usize = 1 << 14;

/// The columns of the vertices.
pub(super) const COLUMNS: [&str; 4] = ["id", "degree", "triangles", "local_clustering"];

/// The columns of the degrees.
pub(super) const DEGREE_COLUMNS: [&str; 4] = ["degree", "vertices", "triangles", "average_local_clustering"];

/// Writes the names of the columns.
///
/// # Errors
/// [`crate::error::Kind::Resource`].
pub(super) fn write_head(to: &mut Output, compress: Compress, columns: &[&str]) -> Result<()> {
    compress.write(to, 1, |_| (columns.join("\t") + "\n").into_bytes())
}

/// Writes the lines of some vertices.
///
/// # Errors
/// [`crate::error::Kind::Resource`].
pub(super) fn write_rows(to: &mut Output, compress: Compress, rows: &Rows<'_>) -> Result<()> {
    compress.write(to, rows.count().div_ceil(PIECE) as u64, |piece| {
        let first = piece as usize * PIECE;
        let mut text = Vec::with_capacity(48 * PIECE);
        rows.range(first..rows.count().min(first + PIECE)).for_each(|row| line(&row, &mut text));
        text
    })
}

fn line(row: &Row, text: &mut Vec<u8>) {
    let mut digits = itoa::Buffer::new();
    let mut put = |number: u64, text: &mut Vec<u8>| {
        text.extend_from_slice(digits.format(number).as_bytes());
        text.push(b'\t');
    };
    put(row.id, text);
    put(row.degree.into(), text);
    put(row.triangles, text);
    // Writing to memory does not fail.
    let _ = writeln!(text, "{}", coefficient(row.degree, row.triangles));
}

/// Writes the lines of all degrees.
///
/// # Errors
/// [`crate::error::Kind::Resource`].
pub(super) fn write_degrees(to: &mut Output, compress: Compress, by_degree: &[OfDegree]) -> Result<()> {
    write_head(to, compress, &DEGREE_COLUMNS)?;
    compress.write(to, by_degree.len().div_ceil(PIECE) as u64, |piece| {
        let mut text = Vec::new();
        for of in by_degree.iter().skip(piece as usize * PIECE).take(PIECE) {
            let _ = writeln!(text, "{}\t{}\t{}\t{}", of.degree, of.vertices, of.triangles, of.average_local());
        }
        text
    })
}
