//! Encoders that writers lend each other, and blocks that become stored bytes with them.
//!
//! An encoder holds a few MiB. As many exist as are at work at a time, however many spills are being written.

use std::sync::{Arc, Mutex};

use rayon::prelude::*;
use xxhash_rust::xxh3::xxh3_64;

use super::block::{Offset, Rows};
use super::codec::{Codec, Encoder};
use crate::error::Result;
use crate::lock;

/// Encoders that are not at work; clones share them.
#[derive(Clone, Default)]
pub struct Encoders(Arc<Mutex<Vec<Slot>>>);

/// What a thread encodes with, and the stored bytes of a block.
pub(super) struct Slot {
    encoder: Encoder,
    pub(super) stored: Vec<u8>,
    pub(super) checksum: u64,
}

impl Encoders {
    /// Encodes blocks, each in a thread of the current pool, and hands on each one's stored bytes, in order.
    pub(super) fn encode<O: Offset>(
        &self,
        codec: Codec,
        blocks: &[Rows<'_, O>],
        mut each: impl FnMut(usize, &Slot) -> Result<()>,
    ) -> Result<()> {
        let mut slots = self.take(blocks.len())?;
        let encode = |(slot, block): (&mut Slot, &Rows<'_, O>)| {
            slot.encoder.encode(codec, block, &mut slot.stored)?;
            slot.checksum = xxh3_64(&slot.stored);
            Ok(())
        };
        match blocks {
            // Left to the pool, one block would be encoded in this thread, too, but after others' work.
            [block] => encode((&mut slots[0], block))?,
            _ => slots.par_iter_mut().zip(blocks).try_for_each(encode)?,
        }
        slots.iter().enumerate().try_for_each(|(i, slot)| each(i, slot))?;
        lock(&self.0).extend(slots);
        Ok(())
    }

    /// So many, new ones where there are too few.
    fn take(&self, many: usize) -> Result<Vec<Slot>> {
        let mut slots = {
            let mut idle = lock(&self.0);
            let left = idle.len().saturating_sub(many);
            idle.split_off(left)
        };
        while slots.len() < many {
            slots.push(Slot { encoder: Encoder::new()?, stored: Vec::new(), checksum: 0 });
        }
        Ok(slots)
    }
}
