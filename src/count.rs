//! Counts a partition's triangles from its resident rows and row blocks ([`trimill_counting`] has the interface); and the verifier.

pub mod cpu;
pub mod cuda;
pub mod method;
mod successors;
pub mod verify;

use trimill_counting::COUNTER_BYTES;
use trimill_kernels::ALIGNMENT;

use trimill_system::Bytes;

/// The number of counters of vertices in memory at a time: the `most` of any partition if they fit a quarter of `budget`, but at least 8,192, or one
/// for each of `vertices`.
pub fn vertex_counters(vertices: u32, most: u64, budget: Bytes) -> u64 {
    const LEAST: u64 = 8192;
    let fit = budget.get() / 4 / COUNTER_BYTES;
    most.min(fit.max(LEAST.min(vertices.into()))).next_multiple_of(ALIGNMENT / COUNTER_BYTES)
}
