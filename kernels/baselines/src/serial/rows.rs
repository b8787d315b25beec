//! Finds the rows of the successors in a row block's range: locals' rows are resident, proxies' rows are in the row block.

use trimill_counting::{RowBlockView, RowPlace, RowsLocation};

/// The row of `b`, a number in the row block's range; `resident` has the rows of locals.
pub(super) fn row_of<'a>(
    row_block: &RowBlockView<'a>,
    location: &RowsLocation,
    b: u32,
    resident: impl FnOnce(usize) -> &'a [u32],
) -> &'a [u32] {
    match location.place(b - row_block.range.start) {
        RowPlace::Resident(local) => resident(local),
        RowPlace::RowBlock(row) => row_block.row(row),
    }
}

/// The entries of an ascending row that are in the row block's range.
pub(super) fn covered<'r>(row: &'r [u32], row_block: &RowBlockView<'_>) -> &'r [u32] {
    let start = row.partition_point(|&b| b < row_block.range.start);
    let end = row.partition_point(|&b| b < row_block.range.end);
    &row[start..end]
}
