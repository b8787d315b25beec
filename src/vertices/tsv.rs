//! Counts at vertices as text: a line for each vertex or each degree.

use std::io::Write as _;

use super::coefficient;
use super::order::VerticesInOrder;
use super::summary::OfDegree;
use crate::table::text::{Compress, put};
use trimill_system::disk::Output;
use trimill_system::error::Result;

pub(super) fn write(to: &mut Output, compress: Compress, counts: &dyn VerticesInOrder) -> Result<()> {
    compress.write_head(to, &["id", "degree", "triangles", "local_clustering"])?;
    counts.in_order(&mut |rows| {
        compress.write_rows(to, rows.count(), |places, text| {
            for row in rows.range(places) {
                put(row.id, b'\t', text);
                put(row.degree.into(), b'\t', text);
                put(row.triangles, b'\t', text);
                // Writing to memory does not fail.
                let _ = writeln!(text, "{}", coefficient(row.degree, row.triangles));
            }
        })
    })
}

pub(super) fn write_degrees(to: &mut Output, compress: Compress, by_degree: &[OfDegree]) -> Result<()> {
    compress.write_head(to, &["degree", "vertices", "triangles", "average_local_clustering"])?;
    compress.write_rows(to, by_degree.len(), |places, text| {
        for of in &by_degree[places] {
            let _ = writeln!(text, "{}\t{}\t{}\t{}", of.degree, of.vertices, of.triangles, of.average_local());
        }
    })
}
