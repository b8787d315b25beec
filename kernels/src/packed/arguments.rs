//! The kernels, and their arguments as `packed.cu` declares them.

/// The kernels, in the order in which they are started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kernel {
    Resident,
    Frame,
    Clear,
    Tally,
    Sum,
    SumOfSums,
    Scan,
    Deal,
    List,
    Few,
    Some,
    Many,
}

impl Kernel {
    pub(crate) const ALL: [Self; 12] = [
        Self::Resident,
        Self::Frame,
        Self::Clear,
        Self::Tally,
        Self::Sum,
        Self::SumOfSums,
        Self::Scan,
        Self::Deal,
        Self::List,
        Self::Few,
        Self::Some,
        Self::Many,
    ];

    /// What the source calls it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Resident => "packed_resident",
            Self::Frame => "packed_frame",
            Self::Clear => "packed_clear",
            Self::Tally => "packed_tally",
            Self::Sum => "packed_sum",
            Self::SumOfSums => "packed_sum_of_sums",
            Self::Scan => "packed_scan",
            Self::Deal => "packed_deal",
            Self::List => "packed_list",
            Self::Few => "packed_few",
            Self::Some => "packed_some",
            Self::Many => "packed_many",
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
    pub(crate) frame_offsets: u64,
    pub(crate) heads: u64,
    pub(crate) local_words: u64,
    pub(crate) local_ranks: u64,
    pub(crate) ends: u64,
    pub(crate) arcs: u64,
    pub(crate) list: u64,
    pub(crate) state: u64,
    pub(crate) sums: u64,
    pub(crate) list_length: u64,
    pub(crate) heads_first: u64,
    pub(crate) heads_end: u64,
    pub(crate) first: u32,
    pub(crate) count: u32,
    pub(crate) locals: u32,
    pub(crate) frame_start: u32,
    pub(crate) range_start: u32,
    pub(crate) range_end: u32,
    pub(crate) frame_locals: u32,
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
