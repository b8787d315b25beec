//! A row block as counters of `trimill-kernels` take it.

use trimill_kernels::RowBlockSlices;

use crate::partition::section::{RowBlockView, RowsIn};

/// The slices of a row block, the rows of whose range are where `rows` says; no more than `arcs_into` resident arcs lead there.
pub(super) fn slices<'a>(rows: &'a RowsIn, row_block: &RowBlockView<'a>, arcs_into: u64) -> RowBlockSlices<'a> {
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
        RowsIn::RowBlock { first } => RowBlockSlices { first_local: *first as u32, ..everything },
        // The row block has no rows, and nothing of it is sent.
        RowsIn::Resident { first } => {
            RowBlockSlices { offsets: &[0], first_local: *first as u32, all_local: true, ..everything }
        }
        RowsIn::Both { first, local } => RowBlockSlices {
            local_words: local.words(),
            local_ranks: local.ranks(),
            first_local: *first as u32,
            ..everything
        },
    }
}
