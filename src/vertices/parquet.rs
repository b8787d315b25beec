//! Counts at vertices as a Parquet table: columns `id` and `triangles` (unsigned 64 bits), `degree` (unsigned 32 bits) and
//! `local_clustering` (double).

use parquet::data_type::{DoubleType, Int32Type, Int64Type};

use super::coefficient;
use super::order::{VertexCount, VerticesInOrder};
use crate::table::parquet::ParquetTable;
use trimill_system::disk::Output;
use trimill_system::error::Result;

/// Rows of a row group.
const GROUP: usize = 1 << 17;

const SCHEMA: &str = "message trimill {
    required int64 id (INTEGER(64, false));
    required int32 degree (INTEGER(32, false));
    required int64 triangles (INTEGER(64, false));
    required double local_clustering;
}";

/// Writes the rows of all vertices; runs in the current thread pool.
pub(super) fn write(to: &mut Output, counts: &dyn VerticesInOrder) -> Result<()> {
    let mut table = ParquetTable::begin(to, SCHEMA, &[])?;
    counts.in_order(&mut |all| {
        table.write(all.count().div_ceil(GROUP), |group, column, encoder| {
            let rows = all.range(group * GROUP..all.count().min((group + 1) * GROUP));
            // Unsigned numbers are stored as signed ones with the same bits.
            match column {
                0 => encoder.column::<Int64Type>(rows.map(|row: VertexCount| row.id as i64)),
                1 => encoder.column::<Int32Type>(rows.map(|row| row.degree as i32)),
                2 => encoder.column::<Int64Type>(rows.map(|row| row.triangles as i64)),
                _ => encoder.column::<DoubleType>(rows.map(|row| coefficient(row.degree, row.triangles))),
            }
        })
    })?;
    table.finish()
}
