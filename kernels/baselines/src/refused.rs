//! What the published methods do not count.

use trimill_counting::{Detail, PartitionExtent, Scope};
use trimill_kernels::{GpuError, GpuResult};

/// Errors: [`GpuError::Shape`]: a method of this scope does not count such a partition or detail.
pub(crate) fn check(method: &str, scope: Scope, size: &PartitionExtent, detail: &Detail) -> GpuResult<()> {
    let refused = if matches!(detail, Detail::Vertices(_) | Detail::Edges) {
        "counts the total only"
    } else if scope != Scope::Partitions && size.locals != u64::from(size.numbered) {
        "counts whole graphs only"
    } else if scope != Scope::SharesOfGraphs && matches!(detail, Detail::Share(_)) {
        "does not count a share of the edges"
    } else {
        return Ok(());
    };
    Err(GpuError::Shape(format!("method {method} {refused}")))
}
