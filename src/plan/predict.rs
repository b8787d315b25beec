//! Predicts what a partition takes.

use trimill_counting::{Footprint, PartitionExtent, ResidentSize, RowBlockRoom};

use trimill_partitioners::partition::sizes::PartitionSize;
use trimill_partitioners::partition::totals::RowBlockTotals;
use trimill_system::Bytes;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Prediction {
    /// The resident rows on the device.
    pub resident: Bytes,
    /// Approximate for a spilled partition.
    pub row_blocks: u64,
    pub largest_row_block: Bytes,
    /// The spill file, at most.
    pub spill: Bytes,
    /// How often the partition is counted: once for each window of its counters of vertices.
    pub passes: u64,
    /// Bytes streamed to the device: resident rows and all row blocks, in each pass; for a spilled partition an upper bound.
    pub stream: Bytes,
    /// The peak of device memory; an upper bound for a spilled partition, and if the host counts.
    pub peak: Bytes,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PlannedPartition {
    pub size: PartitionSize,
    pub predicted: Prediction,
}

impl PlannedPartition {
    /// Arcs of the locals, as often as they are counted.
    pub fn counted_arcs(&self) -> u64 {
        self.predicted.passes * self.size.resident_arcs
    }
}

pub fn predict(
    size: PartitionSize,
    numbered: u32,
    footprint: &Footprint,
    layout: &RowBlockTotals,
    budget: Bytes,
) -> PlannedPartition {
    let rows = ResidentSize { locals: size.locals, arcs: size.resident_arcs };
    let resident = footprint.resident(size.locals, size.resident_arcs);
    let overhead = footprint.overhead(numbered);
    // A method that reserves memory for two row blocks does so for one, too; others hold only existing ones.
    let row_blocks = match footprint.row_blocks {
        RowBlockRoom::Always(many) => Bytes(layout.largest_row_block.get() * many),
        RowBlockRoom::UpTo(_) => layout.two_row_blocks,
    };
    let row_block_limit = layout.largest_row_block.get();
    // With proxies, the locals have counters of their own.
    let own = if size.proxies_kept > 0 { size.locals } else { 0 };
    let passes = footprint.passes(u64::from(numbered) + own);
    let whole = PartitionExtent { locals: rows.locals, arcs: rows.arcs, numbered, row_block_limit };
    let predicted = Prediction {
        resident,
        row_blocks: layout.row_blocks,
        largest_row_block: layout.largest_row_block,
        spill: layout.spill,
        passes,
        stream: Bytes(passes * (rows.bytes() + layout.all_row_blocks).get()),
        peak: footprint.taken(resident + overhead + row_blocks, &whole, budget),
    };
    PlannedPartition { size, predicted }
}
