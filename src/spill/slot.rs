//! What a thread needs to decode the blocks of a spill.

use super::codec::Decoder;
use trimill_system::error::Result;

/// A decoder and its buffers.
pub(super) struct Slot {
    pub(super) decoder: Decoder,
    pub(super) stored: Vec<u8>,
    pub(super) block: Vec<u8>,
    pub(super) lengths: Vec<u32>,
}

impl Slot {
    /// With empty buffers.
    pub(super) fn new() -> Result<Self> {
        Ok(Self { decoder: Decoder::new()?, stored: Vec::new(), block: Vec::new(), lengths: Vec::new() })
    }
}
