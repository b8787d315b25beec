//! What the published methods do not count.

use trimill_counting::{Detail, EdgeShare, PartitionExtent, Scope};
use trimill_kernels::{GpuError, GpuResult};

/// Errors: [`GpuError::Shape`]: a method of this scope does not count such a partition, share or detail.
pub(crate) fn check(
    method: &str,
    scope: Scope,
    size: &PartitionExtent,
    share: EdgeShare,
    detail: &Detail,
) -> GpuResult<()> {
    let refused = if *detail != Detail::Total {
        "counts the total only"
    } else if scope != Scope::Partitions && size.locals != u64::from(size.numbered) {
        "counts whole graphs only"
    } else if scope != Scope::SharesOfGraphs && share != EdgeShare::ALL {
        "does not count a share of the edges"
    } else {
        return Ok(());
    };
    Err(GpuError::Shape(format!("method {method} {refused}")))
}
