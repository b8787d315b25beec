//! A device that does not answer in time. Nothing of it is freed from then on, so the test runs in a process of its own.

use std::process::Command;
use std::time::Duration;

use trimill_kernels::testing::gpu;
use trimill_kernels::testing::partitions::{Partition, random};
use trimill_kernels::{Gpu, GpuError, ImageForm, Lstc, any_abandoned};

use crate::{begin, footprint};

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
    let partition = Partition::new(random(1, 20_000, 200, 3, 0.0).rows, vec![true; 20_000]);
    let row_blocks = partition.row_blocks(&[]);
    let size = partition.size_with(&row_blocks);
    let count = |gpu: &mut Gpu| {
        gpu.reserve(footprint().least(&size))?;
        let mut counter = begin(&Lstc::default(), gpu, size)?;
        partition.runs(7000).into_iter().try_for_each(|run| counter.resident(run).map(drop))?;
        row_blocks.iter().try_for_each(|row_block| counter.row_block(&row_block.slices()))?;
        counter.finish()
    };
    assert_eq!(count(&mut gpu).unwrap().triangles, partition.triangles());
    // No device is done when the host polls first.
    gpu.wait_at_most(Duration::ZERO);
    let ended = count(&mut gpu);
    assert!(matches!(ended, Err(GpuError::Hung { .. })), "{ended:?}");
    assert!(any_abandoned());
    drop(gpu);
    // The context is the same one, and nothing in it can be relied on.
    let mut again = Gpu::open(0, ImageForm::Portable).unwrap();
    let ended = count(&mut again);
    assert!(matches!(ended, Err(GpuError::Hung { .. })), "{ended:?}");
}
