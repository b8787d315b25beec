//! What a counter on a device has received of a partition: the runs of the resident section, then row blocks without a gap.

use crate::engine::Engine;
use crate::error::{GpuError, GpuResult};
use crate::sections::{RowBlockSlices, check_run};
use rayon::ThreadPool;
use trimill_counting::{CounterMemory, NumberRuns, PartitionExtent, Resident, RowBlockView, RowsLocation};
use trimill_system::Bytes;

#[derive(Debug)]
pub struct Received {
    size: PartitionExtent,
    /// The locals' numbers so far: all that the host keeps of the resident section.
    numbers: NumberRuns,
    locals: u32,
    arcs: u64,
    next: u32,
    row_blocks: bool,
}

impl Received {
    /// Errors: [`GpuError::Section`] for more locals than vertices.
    pub fn new(size: PartitionExtent) -> GpuResult<Self> {
        if size.locals > u64::from(size.numbered) {
            return Err(GpuError::Section("resident section: more locals than vertices".into()));
        }
        Ok(Self { size, numbers: NumberRuns::default(), locals: 0, arcs: 0, next: 0, row_blocks: false })
    }

    /// Takes a run of the resident section, and makes its offsets those of the whole section.
    pub fn run(&mut self, run: &mut Resident) -> GpuResult<()> {
        if self.row_blocks {
            return Err(GpuError::Section("resident section: a run after the first row block".into()));
        }
        if run.offsets.first().is_some_and(|&first| first != self.arcs) {
            // In one thread: those of the pool are reading the next run.
            run.offsets.iter_mut().for_each(|offset| *offset += self.arcs);
        }
        check_run(run, &self.size, u64::from(self.locals), self.arcs)?;
        self.numbers.append(&run.numbers);
        self.locals += run.offsets.len() as u32 - 1;
        self.arcs += run.arcs();
        Ok(())
    }

    pub fn location(&self, row_block: &RowBlockView<'_>, pool: &ThreadPool) -> RowsLocation {
        Resident::rows_in(&self.numbers, row_block, Some(pool))
    }

    pub fn row_block(&mut self, row_block: &RowBlockSlices<'_>) -> GpuResult<()> {
        if (u64::from(self.locals), self.arcs) != (self.size.locals, self.size.arcs) {
            let text =
                format!("resident section: {} rows of {} before the first row block", self.locals, self.size.locals);
            return Err(GpuError::Section(text));
        }
        row_block.check(self.next, self.size.numbered, self.locals)?;
        let (bytes, limit) = (row_block.bytes(), self.size.row_block_limit);
        if bytes > limit {
            return Err(GpuError::RowBlockTooLarge { bytes, limit });
        }
        self.next = row_block.range.end;
        self.row_blocks = true;
        Ok(())
    }

    pub(crate) fn is_first_row_block(&self) -> bool {
        !self.row_blocks
    }

    /// To be called after the last row block. Errors: [`GpuError::Section`]: row blocks are missing.
    pub fn finish(&self) -> GpuResult<()> {
        if self.next != self.size.numbered {
            let text = format!("row blocks end at {} of {} vertices", self.next, self.size.numbered);
            return Err(GpuError::Section(text));
        }
        Ok(())
    }

    pub(crate) fn take_numbers(&mut self) -> NumberRuns {
        std::mem::take(&mut self.numbers)
    }

    pub(crate) fn locals(&self) -> u32 {
        self.locals
    }

    pub fn arcs(&self) -> u64 {
        self.arcs
    }

    pub(crate) fn numbered(&self) -> u32 {
        self.size.numbered
    }
}

/// The device memory of a counter that takes `bytes` of the arena, with the reserved pieces.
pub fn all_memory(engine: &dyn Engine, bytes: u64) -> CounterMemory {
    CounterMemory::All(Bytes(bytes + engine.scratch().bytes + engine.counters().bytes))
}
