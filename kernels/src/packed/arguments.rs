//! The kernels, and their arguments as `packed.cu` declares them.

/// The kernels, in the order in which they are started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kernel {
    Resident,
    RowBlock,
    Clear,
    CountArcs,
    Sum,
    SumOfSums,
    Scan,
    AssignArcs,
    List,
    ByThread,
    ByWarp,
    ByBlock,
}

impl Kernel {
    pub(crate) const ALL: [Self; 12] = [
        Self::Resident,
        Self::RowBlock,
        Self::Clear,
        Self::CountArcs,
        Self::Sum,
        Self::SumOfSums,
        Self::Scan,
        Self::AssignArcs,
        Self::List,
        Self::ByThread,
        Self::ByWarp,
        Self::ByBlock,
    ];

    /// What the source calls it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Resident => "packed_resident",
            Self::RowBlock => "packed_row_block",
            Self::Clear => "packed_clear",
            Self::CountArcs => "packed_count_arcs",
            Self::Sum => "packed_sum",
            Self::SumOfSums => "packed_sum_of_sums",
            Self::Scan => "packed_scan",
            Self::AssignArcs => "packed_assign_arcs",
            Self::List => "packed_list",
            Self::ByThread => "packed_by_thread",
            Self::ByWarp => "packed_by_warp",
            Self::ByBlock => "packed_by_block",
        }
    }
}

/// `Arguments` of `packed.cu`, field by field. Addresses are on the device; zero is null.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Arguments {
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PACKED;

    #[test]
    fn the_fields_are_those_of_the_source() {
        assert_eq!(crate::testing::fields(PACKED.code), crate::testing::fields_of(&Arguments::default()));
        assert_eq!(size_of::<Arguments>(), 18 * 8 + 14 * 4);
    }

    #[test]
    fn every_kernel_is_in_the_source() {
        let declared = PACKED.code.matches("extern \"C\" __global__").count();
        assert_eq!(declared, Kernel::ALL.len());
        for kernel in Kernel::ALL {
            assert!(PACKED.code.contains(&format!(" {}(Arguments g)", kernel.name())), "{kernel:?}");
        }
    }
}
