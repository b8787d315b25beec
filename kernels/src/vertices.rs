//! The counters of vertices on a device: see [`VertexCounters`].

use trimill_counting::{COUNTER_BYTES, VertexCounters};

use crate::engine::{Engine, ReservedMemory, Stream};
use crate::error::{GpuError, GpuResult};

/// Checks that the engine has memory for the counters of a pass, and enqueues zeros in the copy stream. Returns their address.
pub(crate) fn clear(counters: &VertexCounters, engine: &mut dyn Engine) -> GpuResult<u64> {
    let ReservedMemory { address, bytes } = engine.counters();
    let asked = COUNTER_BYTES * counters.held();
    if asked > bytes {
        return Err(GpuError::Budget { asked, used: 0, capacity: bytes });
    }
    engine.fill(Stream::Copy, address, 0, asked)?;
    Ok(address)
}
