//! The kernel's arguments.

use bytemuck::{Pod, Zeroable};

/// `Arguments` of `lstc.cu`, field by field. Addresses are on the device; zero is null.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct LstcArguments {
    pub(crate) offsets: u64,
    pub(crate) successors: u64,
    pub(crate) work: u64,
    pub(crate) cursors: u64,
    pub(crate) sums: u64,
    pub(crate) counters: u64,
    pub(crate) counters_first: u64,
    pub(crate) counters_end: u64,
    pub(crate) locals_at: u64,
    pub(crate) on_arcs: u64,
    pub(crate) row_block_on_arcs: u64,
    pub(crate) words: u64,
    pub(crate) ranks: u64,
    pub(crate) row_block_offsets: u64,
    pub(crate) row_block_successors: u64,
    pub(crate) work_first: u32,
    pub(crate) range_start: u32,
    pub(crate) range_end: u32,
    pub(crate) first_local: u32,
    pub(crate) whole: u32,
    pub(crate) tile_width: u32,
}

// SAFETY: 15 `u64` and six `u32`, without padding; any bit pattern is valid.
unsafe impl Zeroable for LstcArguments {}
// SAFETY: as above.
unsafe impl Pod for LstcArguments {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::LSTC;
    use crate::testing::{fields, fields_of};

    #[test]
    fn the_fields_are_those_of_the_source() {
        let code = LSTC.code();
        assert_eq!(fields(&code, "Arguments"), fields_of(&LstcArguments::default()));
        assert_eq!(size_of::<LstcArguments>(), 15 * 8 + 6 * 4);
    }
}
