//! The public counter. A run is copied before its call returns, so the caller has it back.

use bytemuck::cast_slice_mut;

use super::LstcCounter;
use crate::edges;
use crate::engine::{Engine, Stream};
use crate::error::GpuResult;
use crate::method::{GpuCounter, MethodCount, ResidentRun};
use crate::sections::RowBlockSlices;

impl<R: ResidentRun, E: Engine + Send> GpuCounter<R> for LstcCounter<'_, E> {
    fn resident(&mut self, run: R) -> GpuResult<Option<R>> {
        // SAFETY: the run lives until `sent` has returned, which is called in any case.
        let queued = unsafe { self.enqueue_resident(&run.slices()) };
        let sent = self.engine.sent();
        queued.and(sent).map(|()| Some(run))
    }

    fn row_block(&mut self, row_block: &RowBlockSlices<'_>) -> GpuResult<()> {
        // SAFETY: as above.
        let queued = unsafe { self.enqueue_row_block(row_block) };
        let sent = self.engine.sent();
        queued.and(sent)
    }

    fn vertices(&mut self, into: &mut [u64]) -> GpuResult<()> {
        if self.row_blocks == 0 {
            into.fill(0);
            return Ok(());
        }
        self.engine.read(Stream::Compute, self.arguments.counters, cast_slice_mut(into))
    }

    fn row_block_edges(&mut self, into: &mut [u32]) -> GpuResult<()> {
        match &mut self.edges {
            Some(edges) => edges.read_row_block(self.engine, into),
            None => Err(edges::missing()),
        }
    }

    fn resident_edges(&mut self, first: u64, into: &mut [u32]) -> GpuResult<()> {
        match &self.edges {
            // No kernel has waited for the zeros.
            Some(_) if self.row_blocks == 0 => into.fill(0),
            Some(edges) => edges.read_resident(self.engine, first, into)?,
            None => return Err(edges::missing()),
        }
        Ok(())
    }

    fn bytes(&self) -> u64 {
        self.so_far.peak_bytes
    }

    fn finish(self: Box<Self>) -> GpuResult<MethodCount> {
        self.end()
    }
}
