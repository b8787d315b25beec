//! The interface of the counter. A run is copied before the call returns, so the caller gets it back.

use rayon::ThreadPool;
use trimill_counting::{CounterMemory, PartitionCount, PartitionCounter, Resident, RowBlockView, VertexCounts};
use trimill_system::Result;

use super::LstcCounter;
use crate::received::all_memory;
use crate::sections::RowBlockSlices;
use crate::{edges, vertices};

impl PartitionCounter for LstcCounter<'_> {
    fn resident(&mut self, mut run: Resident, _: &ThreadPool) -> Result<Option<Resident>> {
        // SAFETY: the run lives until `sent` has returned, which is called in any case.
        let queued = unsafe { self.enqueue_resident(&mut run) };
        let sent = self.engine.sent();
        queued.and(sent)?;
        Ok(Some(run))
    }

    fn row_block(&mut self, row_block: &RowBlockView<'_>, pool: &ThreadPool) -> Result<()> {
        let location = self.received.location(row_block, pool);
        // SAFETY: as above.
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
