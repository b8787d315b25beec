//! What a thread needs to decode the blocks of a spill.

use super::codec::BlockDecoder;
use trimill_system::Result;

pub(super) struct DecodeSlot {
    pub(super) decoder: BlockDecoder,
    pub(super) stored: Vec<u8>,
    pub(super) block: Vec<u8>,
    pub(super) lengths: Vec<u32>,
}

impl DecodeSlot {
    pub(super) fn new() -> Result<Self> {
        Ok(Self { decoder: BlockDecoder::new()?, stored: Vec::new(), block: Vec::new(), lengths: Vec::new() })
    }
}
