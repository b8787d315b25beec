//! Finds the rows of the successors in a row block's range: locals' rows are resident, proxies' rows are in the row block.

use trimill_counting::Resident;
use trimill_kernels::RowBlockSlices;

/// The row of a local, where the resident section is one run.
pub(super) fn resident_row(resident: &Resident, local: usize) -> &[u32] {
    &resident.successors[resident.offsets[local] as usize..resident.offsets[local + 1] as usize]
}

/// The row of `b`, a number in the row block's range; `resident` has the rows of locals.
pub(super) fn row_of<'a>(
    row_block: &RowBlockSlices<'a>,
    b: u32,
    resident: impl FnOnce(usize) -> &'a [u32],
) -> &'a [u32] {
    let number = (b - row_block.range.start) as usize;
    let row = |row: usize| {
        let ends = [row, row + 1].map(|end| row_block.offsets[end] as usize);
        &row_block.successors[ends[0]..ends[1]]
    };
    let first = row_block.first_local as usize;
    if row_block.all_local {
        return resident(first + number);
    }
    let Some(word) = row_block.local_words.get(number / 64) else { return row(number) };
    let below = word & ((1 << (number % 64)) - 1);
    let before = row_block.local_ranks[number / 64] as usize + below.count_ones() as usize;
    if word >> (number % 64) & 1 == 1 { resident(first + before) } else { row(number - before) }
}

/// The entries of an ascending row that are in the row block's range.
pub(super) fn covered<'r>(row: &'r [u32], row_block: &RowBlockSlices<'_>) -> &'r [u32] {
    let start = row.partition_point(|&b| b < row_block.range.start);
    let end = row.partition_point(|&b| b < row_block.range.end);
    &row[start..end]
}
