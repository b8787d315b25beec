//! The public counter. It owns a run while the device copies it, so that the host can read the next one meanwhile.

use bytemuck::cast_slice_mut;
use rayon::ThreadPool;
use trimill_counting::{CounterMemory, PartitionCount, PartitionCounter, Resident, RowBlockView, VertexCounts};
use trimill_system::{Result, parallel};

use super::{PackedCounter, RESIDENT};
use crate::engine::{Engine, Stream};
use crate::received::{all_memory, counts_of};
use crate::sections::RowBlockSlices;
use crate::{compact, edges};

#[derive(Debug)]
pub(super) struct PackedPartition<'g, E: Engine> {
    // Dropped first: that waits for the device, which reads the run.
    pub(super) counting: PackedCounter<'g, E>,
    copied: Option<Resident>,
}

impl<'g, E: Engine> PackedPartition<'g, E> {
    pub(super) fn new(counting: PackedCounter<'g, E>) -> Self {
        Self { counting, copied: None }
    }
}

impl<E: Engine + Send> PartitionCounter for PackedPartition<'_, E> {
    fn resident(&mut self, mut run: Resident, pool: &ThreadPool) -> Result<Option<Resident>> {
        match &mut self.counting.into {
            Some(_) if run.encoded_rows().is_some() => self.counting.binned = true,
            Some(into) => parallel::within(pool, || into.add(&run.successors)),
            None => {}
        }
        // SAFETY: the run is kept until the next call but one has waited for its copy, or until `counting` is dropped.
        let ordered = unsafe { self.counting.resident(&mut run) };
        // Kept even after an error: a part of it may still be being copied.
        let before = self.copied.replace(run);
        ordered?;
        self.counting.run_before_is_copied()?;
        Ok(before)
    }

    fn row_block(&mut self, row_block: &RowBlockView<'_>, pool: &ThreadPool) -> Result<()> {
        let PackedCounter { engine, received, into, binned, arcs_into, .. } = &mut self.counting;
        if let Some(into) = into {
            if std::mem::take(binned) {
                into.add_bins(&compact::bins(*engine)?);
            }
            *arcs_into = into.most(&row_block.range);
        }
        let location = received.location(row_block, pool);
        // SAFETY: the slices live until `sent` has returned, which is called in any case.
        let queued = unsafe { self.counting.row_block(&RowBlockSlices::new(row_block, &location)) };
        let sent = self.counting.engine.sent();
        Ok(queued.and(sent)?)
    }

    fn vertices(&mut self) -> Result<VertexCounts> {
        let PackedCounter { engine, all, vertices, received, .. } = &mut self.counting;
        counts_of(vertices, received, |counts| {
            // If nothing was counted, no kernel has waited for the zeros.
            engine.wait(Stream::Compute, RESIDENT.copied)?;
            engine.read(Stream::Compute, all.counters, cast_slice_mut(counts))
        })
    }

    fn row_block_edges(&mut self, into: &mut [u32], _: &ThreadPool) -> Result<()> {
        let PackedCounter { engine, edges, .. } = &mut self.counting;
        Ok(edges.as_mut().ok_or_else(edges::missing)?.read_row_block(*engine, into)?)
    }

    fn resident_edges(&mut self, first: u64, into: &mut [u32], _: &ThreadPool) -> Result<()> {
        let PackedCounter { engine, edges, .. } = &mut self.counting;
        engine.wait(Stream::Compute, RESIDENT.copied)?;
        Ok(edges.as_ref().ok_or_else(edges::missing)?.read_resident(*engine, first, into)?)
    }

    fn memory(&self) -> CounterMemory {
        all_memory(self.counting.engine, self.counting.so_far.peak_bytes)
    }

    fn finish(self: Box<Self>) -> Result<PartitionCount> {
        let Self { counting, copied } = *self;
        let counted = counting.end();
        drop(copied);
        Ok(counted?.into())
    }
}
