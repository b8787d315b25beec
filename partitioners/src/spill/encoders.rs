//! Encoders that writers share: only as many exist as are in use at a time, however many spills are being written.

use std::sync::{Arc, Mutex};

use super::codec::BlockEncoder;
use trimill_system::{Result, lock};

/// Idle encoders; clones share them.
#[derive(Clone, Default)]
pub struct Encoders(Arc<Mutex<Vec<BlockEncoder>>>);

impl Encoders {
    pub(super) fn encode(&self, block: &[u8]) -> Result<Vec<u8>> {
        let idle = lock(&self.0).pop();
        let mut encoder = idle.map_or_else(BlockEncoder::new, Ok)?;
        let stored = encoder.encode(block);
        lock(&self.0).push(encoder);
        stored
    }
}
