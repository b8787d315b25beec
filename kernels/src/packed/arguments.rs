//! The kernels' arguments.

use bytemuck::{Pod, Zeroable};

/// `Arguments` of `packed.cu`, field by field. Addresses are on the device; zero is null.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct PackedArguments {
    pub(crate) rows: u64,
    pub(crate) next: u64,
    pub(crate) words: u64,
    pub(crate) total: u64,
    pub(crate) table: u64,
    pub(crate) offsets: u64,
    pub(crate) row_block_offsets: u64,
    pub(crate) successors: u64,
    pub(crate) local_words: u64,
    pub(crate) local_ranks: u64,
    pub(crate) ends: u64,
    pub(crate) arcs: u64,
    pub(crate) list: u64,
    pub(crate) state: u64,
    pub(crate) sums: u64,
    pub(crate) list_length: u64,
    pub(crate) counters: u64,
    pub(crate) on_arcs: u64,
    pub(crate) firsts: u64,
    pub(crate) piece_firsts: u64,
    pub(crate) arc_counters: u64,
    pub(crate) successors_first: u64,
    pub(crate) successors_end: u64,
    pub(crate) first: u32,
    pub(crate) count: u32,
    pub(crate) locals: u32,
    pub(crate) row_block_start: u32,
    pub(crate) range_start: u32,
    pub(crate) range_end: u32,
    pub(crate) row_block_locals: u32,
    pub(crate) row_first: u32,
    pub(crate) chunk_first: u32,
    pub(crate) together: u32,
    pub(crate) owners: u32,
    pub(crate) numbered: u32,
    pub(crate) lanes: u32,
    pub(crate) k: u32,
    pub(crate) counters_first: u32,
    pub(crate) counters_end: u32,
    pub(crate) locals_at: u32,
    pub(crate) row_block_counters: u32,
}

// SAFETY: 23 `u64` and 18 `u32`, without padding; any bit pattern is valid.
unsafe impl Zeroable for PackedArguments {}
// SAFETY: as above.
unsafe impl Pod for PackedArguments {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::PACKED;

    #[test]
    fn the_fields_are_those_of_the_source() {
        assert_eq!(crate::testing::fields(&PACKED.code()), crate::testing::fields_of(&PackedArguments::default()));
        assert_eq!(size_of::<PackedArguments>(), 23 * 8 + 18 * 4);
        assert!(PACKED.kernels().all(|(_, parameters)| parameters == 1));
    }
}
