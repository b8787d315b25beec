//! The public counter. It owns a run while the device copies it, so that the host can read the next one in the meantime.

use bytemuck::cast_slice_mut;

use super::{PackedCounter, RESIDENT};
use crate::compact;
use crate::edges;
use crate::engine::{Engine, Stream};
use crate::error::GpuResult;
use crate::method::{GpuCounter, MethodCount, ResidentRun};
use crate::sections::RowBlockSlices;

/// A counter and the run that the device may still be copying.
#[derive(Debug)]
pub(super) struct Owning<'g, R: ResidentRun, E: Engine> {
    // Dropped first: that waits for the device, which reads the run.
    counting: PackedCounter<'g, E>,
    copied: Option<R>,
}

impl<'g, R: ResidentRun, E: Engine> Owning<'g, R, E> {
    pub(super) fn new(counting: PackedCounter<'g, E>) -> Self {
        Self { counting, copied: None }
    }
}

impl<R: ResidentRun, E: Engine + Send> GpuCounter<R> for Owning<'_, R, E> {
    fn resident(&mut self, run: R) -> GpuResult<Option<R>> {
        // SAFETY: the run is kept until the next call but one has waited for its copy, or until `counting` is dropped.
        let ordered = unsafe { self.counting.resident(&run.slices()) };
        // Kept even after an error, as a part of it may still be being copied.
        let before = self.copied.replace(run);
        ordered?;
        self.counting.run_before_is_copied()?;
        Ok(before)
    }

    fn row_block(&mut self, row_block: &RowBlockSlices<'_>) -> GpuResult<()> {
        // SAFETY: the slices live until `sent` has returned, which is called in any case.
        let queued = unsafe { self.counting.row_block(row_block) };
        let sent = self.counting.engine.sent();
        queued.and(sent)
    }

    fn bins(&mut self) -> GpuResult<Vec<u64>> {
        compact::bins(self.counting.engine)
    }

    fn vertices(&mut self, into: &mut [u64]) -> GpuResult<()> {
        let PackedCounter { engine, arguments, .. } = &mut self.counting;
        // Where nothing was counted, no kernel has waited for the zeros.
        engine.wait(Stream::Compute, RESIDENT.copied)?;
        engine.read(Stream::Compute, arguments.counters, cast_slice_mut(into))
    }

    fn row_block_edges(&mut self, into: &mut [u32]) -> GpuResult<()> {
        let PackedCounter { engine, edges, .. } = &mut self.counting;
        edges.as_mut().ok_or_else(edges::missing)?.read_row_block(*engine, into)
    }

    fn resident_edges(&mut self, first: u64, into: &mut [u32]) -> GpuResult<()> {
        let PackedCounter { engine, edges, .. } = &mut self.counting;
        // Where nothing was counted, no kernel has waited for the zeros.
        engine.wait(Stream::Compute, RESIDENT.copied)?;
        edges.as_ref().ok_or_else(edges::missing)?.read_resident(*engine, first, into)
    }

    fn bytes(&self) -> u64 {
        self.counting.so_far.peak_bytes
    }

    fn finish(self: Box<Self>) -> GpuResult<MethodCount> {
        let Self { counting, copied } = *self;
        let counted = counting.end();
        drop(copied);
        counted
    }
}
