//! How many row blocks a partition will have, and their bytes, before they are cut.

use trimill_counting::{RowBlockSize, longest_row_block_range};
use trimill_system::Bytes;

use super::sizes::PartitionSize;
use crate::spill;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RowBlockTotals {
    pub row_blocks: u64,
    pub largest_row_block: Bytes,
    pub two_row_blocks: Bytes,
    pub all_row_blocks: Bytes,
    pub spill: Bytes,
}

impl RowBlockTotals {
    /// The exact totals of row blocks of these sizes; no spill is written.
    pub fn of(row_blocks: impl Iterator<Item = Bytes> + Clone) -> Self {
        let (many, largest_row_block) =
            (row_blocks.clone().count() as u64, row_blocks.clone().max().unwrap_or_default());
        Self {
            row_blocks: many,
            largest_row_block,
            two_row_blocks: Bytes(largest_row_block.get() * many.min(2)),
            all_row_blocks: row_blocks.sum(),
            spill: Bytes::ZERO,
        }
    }

    /// Upper bounds from a partition's size: assumes full row blocks, and that all successors are far from each other.
    pub fn bound(size: &PartitionSize, limit: Bytes) -> Self {
        let (numbered, row_block_arcs) = (size.numbered() as u32, size.arcs_kept - size.resident_arcs);
        let all = RowBlockSize { range: numbered, rows: size.proxies_kept, arcs: row_block_arcs }.most_bytes();
        let by_range = u64::from(numbered).div_ceil(u64::from(longest_row_block_range(limit)));
        let row_blocks = all.get().div_ceil(limit.get().max(1)).max(by_range);
        // Together, a row block and the next one's first row exceed the limit; each row block has its own offset and words of bits.
        let most_row_blocks = 2 * row_blocks + 1;
        let all_row_blocks = all + Bytes(16 * most_row_blocks);
        let largest_row_block = limit.min(all);
        Self {
            row_blocks,
            largest_row_block,
            two_row_blocks: (largest_row_block + largest_row_block).min(all_row_blocks),
            all_row_blocks,
            spill: Bytes(spill::most_bytes(numbered.into(), size.locals, size.arcs_kept, most_row_blocks)),
        }
    }
}
