//! The interface of the counter. It owns a run while the device copies it, so that the host can read the next one meanwhile.

use rayon::ThreadPool;
use trimill_counting::{CounterMemory, PartitionCount, PartitionCounter, Resident, RowBlockView, VertexCounts};
use trimill_system::{Result, parallel};

use super::PackedCounter;
use crate::received::all_memory;
use crate::sections::RowBlockSlices;
use crate::{compact, edges, vertices};

impl PartitionCounter for PackedCounter<'_> {
    fn resident(&mut self, mut run: Resident, pool: &ThreadPool) -> Result<Option<Resident>> {
        match &mut self.into {
            Some(_) if run.encoded_rows().is_some() => self.binned = true,
            Some(into) => parallel::within(pool, || into.add(&run.successors)),
            None => {}
        }
        // SAFETY: the run is kept until the next call has waited for its copy, or all streams are idle, for which dropping the counter waits.
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
        vertices::read(&mut self.vertices, &mut self.received, self.engine, self.row_blocks > 0)
    }

    fn row_block_edges(&mut self, into: &mut [u32], _: &ThreadPool) -> Result<()> {
        Ok(edges::present(&mut self.edges)?.read_row_block(self.engine, into)?)
    }

    fn resident_edges(&mut self, first: u64, into: &mut [u32], _: &ThreadPool) -> Result<()> {
        Ok(edges::present(&mut self.edges)?.read_resident(self.engine, first, into)?)
    }

    fn memory(&self) -> CounterMemory {
        all_memory(self.engine, self.peak_bytes)
    }

    fn finish(self: Box<Self>) -> Result<PartitionCount> {
        Ok(self.end()?)
    }
}
