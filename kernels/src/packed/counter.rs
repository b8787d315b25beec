//! The public counter. It owns a run while the device copies it, so that the host can read the next one meanwhile.

use bytemuck::cast_slice_mut;
use rayon::ThreadPool;
use trimill_counting::{CounterMemory, PartitionCount, PartitionCounter, Resident, RowBlockView, VertexCounts};
use trimill_system::{Result, parallel};

use super::{PackedCounter, RESIDENT};
use crate::engine::Stream;
use crate::received::{all_memory, counts_of};
use crate::sections::RowBlockSlices;
use crate::{compact, edges};

impl PartitionCounter for PackedCounter<'_> {
    fn resident(&mut self, mut run: Resident, pool: &ThreadPool) -> Result<Option<Resident>> {
        match &mut self.into {
            Some(_) if run.encoded_rows().is_some() => self.binned = true,
            Some(into) => parallel::within(pool, || into.add(&run.successors)),
            None => {}
        }
        // SAFETY: the run is kept until the next call has waited for its copy, or for all streams, as dropping the counter does, too.
        let ordered = unsafe { self.enqueue_resident(&mut run) };
        // Kept even after an error: a part of it may still be being copied.
        let before = self.copied.replace(run);
        let waited = ordered.and_then(|()| self.run_before_is_copied());
        waited.inspect_err(|_| self.engine.settle())?;
        Ok(before)
    }

    fn row_block(&mut self, row_block: &RowBlockView<'_>, pool: &ThreadPool) -> Result<()> {
        let Self { engine, received, into, binned, arcs_into, .. } = self;
        if let Some(into) = into {
            if std::mem::take(binned) {
                into.add_bins(&compact::bins(*engine)?);
            }
            *arcs_into = into.most(&row_block.range);
        }
        let location = received.location(row_block, pool);
        // SAFETY: the slices live until `sent` has returned, which is called in any case.
        let queued = unsafe { self.enqueue_row_block(&RowBlockSlices::new(row_block, &location)) };
        let sent = self.engine.sent();
        Ok(queued.and(sent)?)
    }

    fn vertices(&mut self) -> Result<VertexCounts> {
        let Self { engine, all, vertices, received, .. } = self;
        counts_of(vertices, received, |counts| {
            // If nothing was counted, no kernel has waited for the zeros.
            engine.wait(Stream::Compute, RESIDENT.copied)?;
            engine.read(Stream::Compute, all.counters, cast_slice_mut(counts))
        })
    }

    fn row_block_edges(&mut self, into: &mut [u32], _: &ThreadPool) -> Result<()> {
        let Self { engine, edges, .. } = self;
        Ok(edges.as_mut().ok_or_else(edges::missing)?.read_row_block(*engine, into)?)
    }

    fn resident_edges(&mut self, first: u64, into: &mut [u32], _: &ThreadPool) -> Result<()> {
        let Self { engine, edges, .. } = self;
        engine.wait(Stream::Compute, RESIDENT.copied)?;
        Ok(edges.as_ref().ok_or_else(edges::missing)?.read_resident(*engine, first, into)?)
    }

    fn memory(&self) -> CounterMemory {
        all_memory(self.engine, self.peak_bytes)
    }

    fn finish(self: Box<Self>) -> Result<PartitionCount> {
        Ok(self.end()?)
    }
}
