//! A device that does not answer in time. None of its memory is freed from then on, so the test runs in a process of its own.

use std::process::Command;
use std::time::Duration;

use trimill_counting::{Detail, PartitionCount};
use trimill_kernels::testing::gpu;
use trimill_kernels::testing::partitions::{Partition, random};
use trimill_kernels::{Gpu, GpuError, ImageForm, Lstc, any_abandoned};

use trimill_system::Result;

use crate::footprint;

#[test]
fn a_device_that_does_not_answer_is_abandoned() {
    let Some((free, alone)) = gpu() else { return };
    drop((free, alone));
    let program = std::env::current_exe().unwrap();
    let output = Command::new(program).args(["--ignored", "--exact", "hung::child", "--nocapture"]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
#[ignore = "abandons the device: a process of its own"]
fn child() {
    let Some((mut gpu, _alone)) = gpu() else { return };
    let partition = Partition::whole(random(1, 20_000, 200, 3, 0.0).rows);
    let row_blocks = partition.row_blocks(&[]);
    let size = partition.size_with(&row_blocks);
    let count = |gpu: &mut Gpu| -> Result<PartitionCount> {
        gpu.reserve(footprint().least(&size))?;
        partition.count(gpu, &Lstc::default(), Detail::Total, &row_blocks)
    };
    assert_eq!(count(&mut gpu).unwrap().triangles, partition.triangles());
    // No device is done when the host polls first.
    gpu.wait_at_most(Duration::ZERO);
    let ended = count(&mut gpu);
    assert!(ended.is_err_and(|error| error.to_string().contains("did not answer")));
    assert!(any_abandoned());
    // Nothing that could block is asked of the driver. Opened again, the device has the same context.
    let asked = [gpu.reserve(1 << 20), gpu.memory().map(drop), gpu.pinned::<u64>(1).map(drop), gpu.record_work()];
    drop(gpu);
    for ended in asked.into_iter().chain([Gpu::open(0, ImageForm::Portable).map(drop)]) {
        assert!(matches!(ended, Err(GpuError::Hung { .. })), "{ended:?}");
    }
}
