//! Counts on edges as text: a line for each edge.

use super::order::EdgesInOrder;
use crate::table::text::{Compress, put};
use trimill_system::disk::Output;
use trimill_system::error::Result;

pub(super) fn write(to: &mut Output, compress: Compress, counts: &dyn EdgesInOrder) -> Result<()> {
    compress.write_head(to, &["u", "v", "triangles"])?;
    counts.in_order(&mut |rows| {
        compress.write_rows(to, rows.count(), |places, text| {
            for row in rows.range(places) {
                put(row.u, b'\t', text);
                put(row.v, b'\t', text);
                put(row.triangles.into(), b'\n', text);
            }
        })
    })
}
