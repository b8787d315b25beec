//! Counters of the triangles at each vertex.
//!
//! A triangle adds 1 to the counter of each of its corners. In a partition of `numbered` vertices, number `j` has counter `j`. The
//! corner of the largest number is a local, of which a device knows the place among the locals only: local `i` has counter
//! `locals_at + i`. Where the locals have consecutive numbers, that is the counter of its number; elsewhere locals have further
//! counters, after those of all numbers, and whoever reads the counters adds both.
//!
//! Counters have 64 bits. Where there is no memory for all of them, the partition is counted several times, each time with another
//! window of counters.

use std::ops::Range;

use crate::engine::{Engine, ReservedMemory, Stream};
use crate::error::{GpuError, GpuResult};
use crate::sections::PartitionExtent;

/// The counters of one pass over a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VertexCounters {
    /// The counters that are on the device during this pass.
    pub window: Range<u64>,
    /// The counter of the first local.
    pub locals_at: u64,
}

pub const COUNTER_BYTES: u64 = size_of::<u64>() as u64;

impl VertexCounters {
    /// How many counters the partition has.
    pub fn all(size: &PartitionExtent, locals_at: u64) -> u64 {
        u64::from(size.numbered).max(locals_at + size.locals)
    }

    /// How many counters are on the device.
    pub fn held(&self) -> u64 {
        self.window.end - self.window.start
    }

    /// Checks that the engine has memory for them, and enqueues zeros in the copy stream. Returns where they are.
    pub(crate) fn clear<E: Engine>(&self, engine: &mut E) -> GpuResult<u64> {
        let ReservedMemory { address, bytes } = engine.counters();
        let asked = COUNTER_BYTES * self.held();
        if asked > bytes {
            return Err(GpuError::Budget { asked, used: 0, capacity: bytes });
        }
        engine.fill(Stream::Copy, address, 0, asked)?;
        Ok(address)
    }
}
