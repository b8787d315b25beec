//! How much device memory a method takes, for the planner.

use crate::Scope;
use trimill_system::Bytes;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartitionExtent {
    pub locals: u64,
    /// Arcs of the resident section.
    pub arcs: u64,
    /// Locals and proxies.
    pub numbered: u32,
    pub row_block_limit: u64,
}

/// The memory of a method for a partition: an upper bound, linear in the partition's size.
#[derive(Debug, Clone, Copy)]
pub struct Footprint {
    pub scope: Scope,
    pub per_resident_arc: u64,
    /// Bytes per local vertex: its number, the offset of its row, and what the method adds.
    pub per_local: u64,
    /// Bytes of the tables of one worker, in a partition of `numbered` locals and proxies.
    pub table: fn(numbered: u32) -> Bytes,
    /// How many workers have a table of their own.
    pub workers: u64,
    /// Additional bytes per local or proxy.
    pub per_numbered: u64,
    pub row_blocks: RowBlockRoom,
    /// The largest row block. Larger ones would not be faster, and methods reserve numbers for these.
    pub largest_row_block: Bytes,
    /// Bytes for any partition.
    pub fixed: Bytes,
    /// Bytes that the device reserves for decoding rows, and for counters of vertices.
    pub apart: Bytes,
    /// How many counters of vertices are in memory at a time; 0 if the triangles at each vertex are not counted.
    pub counters: u64,
    /// The most bytes of a resident section that the method can number, however much memory the device has.
    pub most_resident: Bytes,
    /// How many bytes of a budget the method takes; `None`: the fewest that suffice.
    pub of_budget: Option<fn(&PartitionExtent, u64) -> u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowBlockRoom {
    Always(u64),
    UpTo(u64),
}

impl RowBlockRoom {
    pub fn of(self, row_blocks: u64) -> u64 {
        match self {
            Self::Always(many) => many,
            Self::UpTo(most) => row_blocks.min(most),
        }
    }
}

impl Footprint {
    /// Zero in every field, for partitions; a method sets the fields that it needs.
    pub const NOTHING: Self = Self {
        scope: Scope::Partitions,
        per_resident_arc: 0,
        per_local: 0,
        table: |_| Bytes::ZERO,
        workers: 1,
        per_numbered: 0,
        row_blocks: RowBlockRoom::Always(0),
        largest_row_block: Bytes::mib(256),
        fixed: Bytes::ZERO,
        apart: Bytes::ZERO,
        counters: 0,
        most_resident: Bytes(u64::MAX),
        of_budget: None,
    };

    /// The least bytes with which a partition can be counted, with as many row blocks as there is room for.
    pub fn least(&self, size: &PartitionExtent) -> u64 {
        let row_blocks = self.row_blocks.of(u64::MAX) * size.row_block_limit;
        (self.resident(size.locals, size.arcs) + self.overhead(size.numbered)).get() + row_blocks
    }

    /// How often a partition with so many counters of vertices is counted: once for each window of them.
    pub fn passes(&self, counters: u64) -> u64 {
        if self.counters == 0 { 1 } else { counters.div_ceil(self.counters).max(1) }
    }

    pub fn resident(&self, locals: u64, arcs: u64) -> Bytes {
        Bytes(self.per_resident_arc * arcs + self.per_local * locals)
    }

    /// The bytes of `budget` that a partition of this size takes if it needs at least `least`.
    pub fn taken(&self, least: Bytes, size: &PartitionExtent, budget: Bytes) -> Bytes {
        let Some(of_budget) = self.of_budget else { return least };
        let arena = budget.saturating_sub(self.apart);
        least.max(Bytes(of_budget(size, arena.get())) + self.apart)
    }

    /// Bytes for `numbered` locals and proxies, beside the resident section and the row blocks.
    pub fn overhead(&self, numbered: u32) -> Bytes {
        let tables = (self.table)(numbered).get() * self.workers + self.per_numbered * u64::from(numbered);
        Bytes(tables) + self.fixed + self.apart
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_apart_comes_on_top_of_what_a_method_takes() {
        let least = Footprint {
            per_resident_arc: 4,
            per_local: 8,
            row_blocks: RowBlockRoom::Always(1),
            fixed: Bytes(100),
            apart: Bytes(1000),
            ..Footprint::NOTHING
        };
        let more = Footprint { of_budget: Some(|_, arena| arena.min(5000)), ..least };
        let size = PartitionExtent { locals: 1, arcs: 1, numbered: 1, row_block_limit: 4 };
        assert_eq!(least.overhead(1), Bytes(1100));
        assert_eq!(Footprint { per_numbered: 3, table: |_| Bytes(5), workers: 2, ..least }.overhead(7), Bytes(1131));
        for (footprint, budget, taken) in
            [(&least, 9000, 1200), (&more, 9000, 6000), (&more, 5500, 5500), (&more, 1100, 1200)]
        {
            assert_eq!(footprint.taken(Bytes(1200), &size, Bytes(budget)), Bytes(taken));
        }
    }
}
