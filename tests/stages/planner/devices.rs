//! What counts in a case: the CPU, or a backend that only measures what arrives.

use rayon::ThreadPool;
use trimill::testing::count::cpu::Cpu;
use trimill::{Bytes, Result};
use trimill_counting::{
    CountBackend, CounterMemory, Detail, Footprint, PartitionCount, PartitionCounter, PartitionExtent, Resident,
    ResidentSize, RowBlockRoom, RowBlockView,
};

/// A backend that only stores the sections: in host memory, where their size is measured, or in `own_memory`, where it reports what its
/// footprint says and takes the resident section in runs of `own_memory` bytes.
pub(crate) struct Holder {
    pub(crate) own_memory: Option<Bytes>,
}

impl CountBackend for Holder {
    fn name(&self) -> &'static str {
        "holder"
    }
    fn method(&self) -> &'static str {
        "none"
    }
    fn footprint(&self) -> Footprint {
        Footprint {
            per_resident_arc: 4,
            per_local: 12,
            // A device allocates memory for row blocks in advance; host memory is allocated when they arrive.
            row_blocks: if self.own_memory.is_some() { RowBlockRoom::Always(2) } else { RowBlockRoom::UpTo(2) },
            fixed: Bytes(8),
            ..Footprint::NOTHING
        }
    }
    fn resident_chunk(&self) -> Option<Bytes> {
        self.own_memory
    }
    fn begin<'a>(&'a mut self, size: PartitionExtent, _: Detail) -> Result<Box<dyn PartitionCounter + 'a>> {
        let PartitionExtent { locals, arcs, numbered, row_block_limit } = size;
        let (resident, largest) = (ResidentSize { locals, arcs }, Bytes(row_block_limit));
        let footprint = self.footprint();
        let taken = footprint.resident(locals, arcs) + footprint.overhead(numbered);
        let own = self.own_memory.map(|_| (taken + largest + largest, largest));
        Ok(Box::new(Holding { announced: resident, numbered, own, resident: Resident::default() }))
    }
}

pub(crate) struct Holding {
    announced: ResidentSize,
    numbered: u32,
    /// Bytes of all memory, and of the largest row block.
    own: Option<(Bytes, Bytes)>,
    resident: Resident,
}

impl PartitionCounter for Holding {
    fn resident(&mut self, run: Resident, _: &ThreadPool) -> Result<Option<Resident>> {
        if self.own.is_none() {
            self.resident = run;
            return Ok(None);
        }
        self.resident.append(&run);
        Ok(Some(run))
    }
    fn row_block(&mut self, row_block: &RowBlockView<'_>, _: &ThreadPool) -> Result<()> {
        assert_eq!(self.resident.size(), self.announced);
        assert!(self.own.is_none_or(|(_, largest)| row_block.size().bytes() <= largest));
        assert!(row_block.range.end <= self.numbered);
        Ok(())
    }
    fn finish(self: Box<Self>) -> Result<PartitionCount> {
        Ok(PartitionCount { triangles: 0, device: None })
    }
    fn memory(&self) -> CounterMemory {
        match self.own {
            Some((taken, _)) => CounterMemory::All(taken),
            None => CounterMemory::BesidesSections(Bytes::ZERO),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Device {
    Cpu,
    Host,
    Own,
}

impl Device {
    pub(crate) fn backend(self, budget: Bytes, vertices: u32) -> Box<dyn CountBackend> {
        match self {
            Self::Cpu => Box::new(Cpu::new(budget, vertices)),
            Self::Host => Box::new(Holder { own_memory: None }),
            Self::Own => Box::new(Holder { own_memory: Some(Bytes(4000)) }),
        }
    }
}
