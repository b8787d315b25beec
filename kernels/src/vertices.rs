//! The counters of vertices ([`VertexCounters`]) on a device.

use bytemuck::cast_slice_mut;
use trimill_counting::{COUNTER_BYTES, VertexCounters, VertexCounts};
use trimill_system::mapped::zeros;
use trimill_system::{Error, Result};

use crate::engine::{Engine, ReservedMemory, Stream};
use crate::error::{GpuError, GpuResult};
use crate::received::Received;

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

/// Waits for all kernels, and reads the counters of a pass. `began`: there was a kernel; otherwise nothing has waited for the zeros.
pub(crate) fn read(
    counters: &mut Option<VertexCounters>,
    received: &mut Received,
    engine: &mut dyn Engine,
    began: bool,
) -> Result<VertexCounts> {
    let of = counters.take().ok_or_else(|| Error::defect("no counters of vertices"))?;
    let mut counts = zeros(of.held() as usize);
    if began {
        let at = engine.counters().address;
        engine.read(Stream::Compute, at, cast_slice_mut(&mut counts))?;
    }
    Ok(VertexCounts { of, counts, locals: received.take_numbers() })
}
