//! Predicts what a partition takes.

use serde::Serialize;

use trimill_counting::{Footprint, PartitionExtent, ResidentSize, RowBlockRoom, RowBlockSize, longest_row_block_range};

use crate::partition::sizes::PartitionSize;
use crate::spill;
use trimill_system::bytes::Bytes;

/// Bytes of one partition.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Prediction {
    /// The resident section on the device.
    pub resident: Bytes,
    /// The number of row blocks; for a spilled partition approximate.
    pub row_blocks: u64,
    /// The largest row block.
    pub largest_row_block: Bytes,
    /// The spill file, at most.
    pub spill: Bytes,
    /// Bytes streamed to the device: the resident section and all row blocks; for a spilled partition an upper bound.
    pub stream: Bytes,
    /// The most that is on the device at a time; for a spilled partition, and where the host counts, an upper bound.
    pub peak: Bytes,
}

/// The row blocks of a partition in numbers, and its bytes on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowBlockTotals {
    pub row_blocks: u64,
    pub largest_row_block: Bytes,
    /// The most that two row blocks take together.
    pub two_row_blocks: Bytes,
    pub all_row_blocks: Bytes,
    pub spill: Bytes,
}

impl RowBlockTotals {
    /// Upper bounds from the size: full row blocks, and successors that are all far from each other.
    pub fn bound(size: &PartitionSize, limit: Bytes) -> Self {
        let (numbered, row_block_arcs) = (size.numbered() as u32, size.arcs_kept - size.resident_arcs);
        let all = RowBlockSize { range: numbered, rows: size.proxies_kept, arcs: row_block_arcs }.most_bytes();
        let by_range = u64::from(numbered).div_ceil(u64::from(longest_row_block_range(limit)));
        let row_blocks = all.get().div_ceil(limit.get().max(1)).max(by_range);
        // A row block and the next one's first row are more than the limit; each has an offset and words of bits of its own.
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

/// Predicts what a partition takes under a method and a budget.
pub fn predict(size: &PartitionSize, footprint: &Footprint, layout: &RowBlockTotals, budget: Bytes) -> Prediction {
    let rows = ResidentSize { locals: size.locals, arcs: size.resident_arcs };
    let numbered = size.numbered() as u32;
    let resident = footprint.resident(size.locals, size.resident_arcs);
    let overhead = footprint.overhead(numbered);
    // A method that reserves memory for two row blocks does so for one row block, too; others hold only those that exist.
    let row_blocks = match footprint.row_blocks {
        RowBlockRoom::Always(many) => Bytes(layout.largest_row_block.get() * many),
        RowBlockRoom::UpTo(_) => layout.two_row_blocks,
    };
    let row_block_limit = layout.largest_row_block.get();
    let whole = PartitionExtent { locals: rows.locals, arcs: rows.arcs, numbered, row_block_limit };
    Prediction {
        resident,
        row_blocks: layout.row_blocks,
        largest_row_block: layout.largest_row_block,
        spill: layout.spill,
        stream: rows.bytes() + layout.all_row_blocks,
        peak: footprint.taken(resident + overhead + row_blocks, &whole, budget),
    }
}
