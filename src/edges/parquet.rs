//! Counts on edges as a Parquet table: columns `u` and `v` (unsigned 64 bits) and `triangles` (unsigned 32 bits). Differences
//! from the row before are stored, in as few bits as they take: ids ascend, and supports are mostly small.

use parquet::data_type::{Int32Type, Int64Type};

use super::order::EdgesInOrder;
use super::rows::EdgeCount;
use crate::table::parquet::ParquetTable;
use trimill_system::disk::Output;
use trimill_system::error::Result;

/// Rows of a row group.
const GROUP: usize = 1 << 18;

const SCHEMA: &str = "message trimill {
    required int64 u (INTEGER(64, false));
    required int64 v (INTEGER(64, false));
    required int32 triangles (INTEGER(32, false));
}";

/// Writes the rows of all edges; runs in the current thread pool.
pub(super) fn write(to: &mut Output, counts: &dyn EdgesInOrder) -> Result<()> {
    let mut table = ParquetTable::begin(to, SCHEMA, &["u", "v", "triangles"])?;
    counts.in_order(&mut |all| {
        table.write(all.count().div_ceil(GROUP), |group, column, encoder| {
            let rows = all.range(group * GROUP..all.count().min((group + 1) * GROUP));
            // Unsigned numbers are stored as signed ones with the same bits.
            match column {
                0 => encoder.column::<Int64Type>(rows.map(|row: EdgeCount| row.u as i64)),
                1 => encoder.column::<Int64Type>(rows.map(|row| row.v as i64)),
                _ => encoder.column::<Int32Type>(rows.map(|row| row.triangles as i32)),
            }
        })
    })?;
    table.finish()
}
