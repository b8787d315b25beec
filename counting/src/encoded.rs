//! Encoded rows of file blocks, for a device to decode.

use bytemuck::{Pod, Zeroable};

/// The rows of a file block within a run: `Part` of `unpack.cu`, field by field.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub struct EncodedPart {
    /// Where its distances begin in the run's bytes: at the control bits or, in LEB128, at the first number (the preceding byte ends another number).
    pub begin: u32,
    /// Where the data begin, behind the control bits; both are in words of 8 bytes.
    pub data: u32,
    pub end: u32,
    /// The bits of a number's first group, plus 256 times the bits of a further group; 0: LEB128.
    pub groups: u32,
    /// Its first row, counted from the first row of the run.
    pub row: u32,
    pub rows: u32,
    /// Its first arc, counted from the first arc of the run.
    pub arc: u32,
    pub arcs: u32,
    /// All successors of its first row are below this bound.
    pub bound: u32,
    /// By how much the bound grows with each row: 1 if rows have consecutive numbers, 0 if one bound holds for all.
    pub bound_step: u32,
}

#[allow(unsafe_code, reason = "a device copies it as bytes")]
// SAFETY: ten `u32`, without padding; any bit pattern is valid.
unsafe impl Zeroable for EncodedPart {}
#[allow(unsafe_code, reason = "as above")]
// SAFETY: as above.
unsafe impl Pod for EncodedPart {}

#[derive(Debug, Clone, Copy)]
pub struct EncodedRows<'a> {
    pub bytes: &'a [u8],
    /// The file blocks, in order; together they have all rows of the run.
    pub parts: &'a [EncodedPart],
}

impl EncodedRows<'_> {
    pub fn arcs(&self) -> u64 {
        self.parts.iter().map(|part| u64::from(part.arcs)).sum()
    }
}
