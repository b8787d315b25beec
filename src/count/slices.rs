//! A row block in the form that counters of `trimill-kernels` take.

use trimill_kernels::RowBlockSlices;

use crate::partition::section::{RowBlockView, RowsLocation};

/// The slices of a row block; `rows` says where the rows of its range are, and at most `arcs_into` resident arcs lead there.
pub(super) fn slices<'a>(rows: &'a RowsLocation, row_block: &RowBlockView<'a>, arcs_into: u64) -> RowBlockSlices<'a> {
    let everything = RowBlockSlices {
        range: row_block.range.clone(),
        offsets: row_block.offsets,
        successors: row_block.successors,
        compact: row_block.stored,
        local_words: &[],
        local_ranks: &[],
        first_local: 0,
        arcs_into,
        all_local: false,
    };
    match rows {
        RowsLocation::RowBlock { first } => RowBlockSlices { first_local: *first as u32, ..everything },
        // The row block has no rows, and nothing of it is sent.
        RowsLocation::Resident { first } => {
            RowBlockSlices { offsets: &[0], first_local: *first as u32, all_local: true, ..everything }
        }
        RowsLocation::Both { first, local } => RowBlockSlices {
            local_words: local.words(),
            local_ranks: local.ranks(),
            first_local: *first as u32,
            ..everything
        },
    }
}
