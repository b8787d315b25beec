//! Encoded rows of file blocks, for a device to decode.

use bytemuck::{Pod, Zeroable};

/// The rows of a file block within a run: `Part` of `unpack.cu`, field by field.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub struct EncodedPart {
    /// Where its encoded successors begin in the bytes of the run. The byte before is the last one of a number.
    pub begin: u32,
    /// Where they end.
    pub end: u32,
    /// Its first row, counted from the run's.
    pub row: u32,
    pub rows: u32,
    /// Its first arc, counted from the run's.
    pub arc: u32,
    pub arcs: u32,
    /// All successors of its first row are below this bound.
    pub bound: u32,
    /// By how much the bound grows for each further row: 1 where rows have consecutive numbers, 0 where one bound holds for all.
    pub bound_step: u32,
}

#[allow(unsafe_code, reason = "a device copies it as bytes")]
// SAFETY: eight `u32`, without padding; any bit pattern is valid.
unsafe impl Zeroable for EncodedPart {}
#[allow(unsafe_code, reason = "as above")]
// SAFETY: as above.
unsafe impl Pod for EncodedPart {}

/// A run of encoded rows.
#[derive(Debug, Clone, Copy)]
pub struct EncodedRows<'a> {
    /// The encoded bytes.
    pub bytes: &'a [u8],
    /// The file blocks, in order; together they hold all rows of the run.
    pub parts: &'a [EncodedPart],
}

impl EncodedRows<'_> {
    /// The arcs of all parts.
    pub fn arcs(&self) -> u64 {
        self.parts.iter().map(|part| u64::from(part.arcs)).sum()
    }
}
