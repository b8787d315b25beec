//! The kernels' arguments: the structs of `packed_words.cuh` ([`PackedArguments`] is `Arguments` there). Addresses are on the device; zero is null.

use bytemuck::{Pod, Zeroable};

/// Arguments that are the same for all launches of a partition.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct SharedArguments {
    pub(crate) rows: u64,
    pub(crate) next: u64,
    pub(crate) words: u64,
    pub(crate) total: u64,
    pub(crate) longest: u64,
    pub(crate) counters: u64,
    pub(crate) on_arcs: u64,
    pub(crate) firsts: u64,
    pub(crate) numbered: u32,
    pub(crate) k: u32,
    pub(crate) counters_first: u32,
    pub(crate) counters_end: u32,
    pub(crate) locals_at: u32,
    pub(crate) chunk_first: u32,
    pub(crate) most_words: u32,
    pub(crate) unused: u32,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct RunArguments {
    pub(crate) offsets: u64,
    pub(crate) successors: u64,
    pub(crate) successors_first: u64,
    pub(crate) successors_end: u64,
    pub(crate) first: u32,
    pub(crate) count: u32,
    pub(crate) lanes: u32,
    pub(crate) unused: u32,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct RowBlockArguments {
    pub(crate) offsets: u64,
    pub(crate) successors: u64,
    pub(crate) local_words: u64,
    pub(crate) local_ranks: u64,
    pub(crate) start: u32,
    pub(crate) locals: u32,
    pub(crate) together: u32,
    pub(crate) counters: u32,
}

/// A range of a row block's numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct PieceArguments {
    pub(crate) table: u64,
    pub(crate) firsts: u64,
    pub(crate) successors_first: u64,
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) row_first: u32,
    pub(crate) lanes: u32,
}

/// Locals whose arcs into a piece are counted together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct BatchArguments {
    pub(crate) ends: u64,
    pub(crate) arcs: u64,
    pub(crate) arc_counters: u64,
    pub(crate) list: u64,
    pub(crate) state: u64,
    pub(crate) sums: u64,
    pub(crate) list_length: u64,
    pub(crate) first: u32,
    pub(crate) count: u32,
    pub(crate) owners: u32,
    pub(crate) lanes: u32,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct PackedArguments {
    pub(crate) all: SharedArguments,
    pub(crate) run: RunArguments,
    pub(crate) row_block: RowBlockArguments,
    pub(crate) piece: PieceArguments,
    pub(crate) batch: BatchArguments,
}

// SAFETY: 26 `u64` and 24 `u32`, an even number in each struct, so there is no padding; any bit pattern is valid.
unsafe impl Zeroable for PackedArguments {}
// SAFETY: as above.
unsafe impl Pod for PackedArguments {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::PACKED;
    use crate::testing::{fields, fields_of};

    #[test]
    fn the_fields_are_those_of_the_source() {
        let code = PACKED.code();
        let PackedArguments { all, run, row_block, piece, batch } = PackedArguments::default();
        assert_eq!(fields(&code, "SharedArguments"), fields_of(&all));
        assert_eq!(fields(&code, "RunArguments"), fields_of(&run));
        assert_eq!(fields(&code, "RowBlockArguments"), fields_of(&row_block));
        assert_eq!(fields(&code, "PieceArguments"), fields_of(&piece));
        assert_eq!(fields(&code, "BatchArguments"), fields_of(&batch));
        assert_eq!(fields(&code, "Arguments"), ["all", "run", "row_block", "piece", "batch"]);
        assert_eq!(size_of::<PackedArguments>(), 26 * 8 + 24 * 4);
        assert!(PACKED.kernels().all(|(_, parameters)| parameters == 1));
    }
}
