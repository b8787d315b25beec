//! The CPU backend with one of the published single-threaded methods (`trimill-baselines`).

use rayon::ThreadPool;
use trimill_baselines::SerialMethod;
use trimill_kernels::{EdgeShare, GpuCounter, PartitionExtent, Scope};

use super::slices::slices;
use super::translated::translated;
use super::{CountBackend, CounterMemory, Detail, Footprint, PartitionCount, PartitionCounter, RowBlockRoom};
use crate::partition::numbers::NumberRuns;
use crate::partition::section::{Resident, RowBlockView};
use trimill_system::bytes::Bytes;
use trimill_system::error::Result;

#[derive(Debug, Clone, Copy)]
pub struct Serial(pub SerialMethod);

impl Serial {
    pub fn footprint(self) -> Footprint {
        let footprint = self.0.footprint();
        Footprint::new(footprint, RowBlockRoom::UpTo(footprint.row_blocks), Bytes::ZERO)
    }
}

impl CountBackend for Serial {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn method(&self) -> &'static str {
        self.0.name()
    }

    fn footprint(&self) -> Footprint {
        Self::footprint(*self)
    }

    fn scope(&self) -> Scope {
        self.0.scope()
    }

    fn begin<'a>(
        &'a mut self,
        size: PartitionExtent,
        _: EdgeShare,
        detail: Detail,
    ) -> Result<Box<dyn PartitionCounter + 'a>> {
        if detail != Detail::Total {
            return Err(translated(trimill_kernels::GpuError::Total(self.0.name())));
        }
        let counter = self.0.begin(size).map_err(translated)?;
        Ok(Box::new(SerialPartition { counter, numbers: NumberRuns::default() }))
    }
}

struct SerialPartition {
    counter: Box<dyn GpuCounter<Resident>>,
    numbers: NumberRuns,
}

impl PartitionCounter for SerialPartition {
    fn resident(&mut self, run: Resident, _: &ThreadPool) -> Result<Option<Resident>> {
        self.numbers.add(&run.numbers);
        self.counter.resident(run).map_err(translated)
    }

    fn row_block(&mut self, row_block: &RowBlockView<'_>, pool: &ThreadPool) -> Result<()> {
        let rows = Resident::rows_in(self.numbers.all(), row_block, Some(pool));
        self.counter.row_block(&slices(&rows, row_block, u64::MAX)).map_err(translated)
    }

    fn finish(self: Box<Self>) -> Result<PartitionCount> {
        let counted = self.counter.finish().map_err(translated)?;
        Ok(PartitionCount { triangles: counted.triangles, device: None })
    }

    fn memory(&self) -> CounterMemory {
        CounterMemory::BesidesSections(Bytes(self.counter.bytes()))
    }
}
