//! The edge array: makes 64-bit keys of the rows of the oriented graph and copies them to the device in chunks.

use bytemuck::cast_slice;
use trimill_counting::Resident;
use trimill_kernels::GpuResult;
use trimill_kernels::engine::Engine;

use super::machine::BaselineDevice;

/// Number of keys that are made and copied together.
const CHUNK: usize = 1 << 20;

/// Copies the arcs of a run, whose first row is that of number `first`, to `to`: a key with the tail in the high half, and if `both`
/// another one with the head there. Returns the bytes that were copied.
pub(super) fn upload<E: Engine>(
    machine: &mut BaselineDevice<'_, E>,
    to: u64,
    both: bool,
    first: u64,
    run: &Resident,
) -> GpuResult<u64> {
    let mut keys: Vec<u64> = Vec::with_capacity(CHUNK.min(run.successors.len() * (1 + usize::from(both))));
    let mut copied = 0;
    let start = run.offsets[0];
    for (tail, row) in (first..).zip(run.offsets.windows(2)) {
        for &successor in &run.successors[(row[0] - start) as usize..(row[1] - start) as usize] {
            keys.push(tail << 32 | u64::from(successor));
            if both {
                keys.push(u64::from(successor) << 32 | tail);
            }
            if keys.len() + 1 >= CHUNK {
                machine.upload(to + copied, cast_slice(&keys))?;
                copied += size_of_val(keys.as_slice()) as u64;
                keys.clear();
            }
        }
    }
    machine.upload(to + copied, cast_slice(&keys))?;
    Ok(copied + size_of_val(keys.as_slice()) as u64)
}
