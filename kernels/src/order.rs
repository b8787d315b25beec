//! Checks the order of sections, for all methods: all runs of the resident section, then row blocks that leave no gap.

use crate::engine::Event;
use crate::error::{GpuError, GpuResult};
use crate::sections::{PartitionExtent, ResidentSlices, RowBlockSlices};

/// How much of a partition was received.
#[derive(Debug, Clone)]
pub(crate) struct Order {
    size: PartitionExtent,
    /// Locals and arcs of the resident section so far.
    locals: u32,
    arcs: u64,
    /// Where the next row block begins.
    next: u32,
    row_blocks: bool,
}

impl Order {
    /// # Errors
    /// [`Error::Section`]: sizes that are impossible.
    pub(crate) fn new(size: PartitionExtent) -> GpuResult<Self> {
        size.check()?;
        Ok(Self { size, locals: 0, arcs: 0, next: 0, row_blocks: false })
    }

    pub(crate) fn run(&mut self, run: &ResidentSlices<'_>) -> GpuResult<()> {
        if self.row_blocks {
            return Err(GpuError::Section("resident section: a run after the first row block".into()));
        }
        run.check(&self.size, u64::from(self.locals), self.arcs)?;
        self.locals += run.offsets.len() as u32 - 1;
        self.arcs += run.arcs();
        Ok(())
    }

    /// Takes a row block. Returns its bytes.
    pub(crate) fn row_block(&mut self, row_block: &RowBlockSlices<'_>) -> GpuResult<u64> {
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
        Ok(bytes)
    }

    pub(crate) fn is_first_row_block(&self) -> bool {
        !self.row_blocks
    }

    /// Checks that the row blocks are complete; to be called after the last one.
    ///
    /// # Errors
    /// [`Error::Section`] when row blocks are missing.
    pub(crate) fn finish(&self) -> GpuResult<()> {
        if self.next != self.size.numbered {
            let text = format!("row blocks end at {} of {} vertices", self.next, self.size.numbered);
            return Err(GpuError::Section(text));
        }
        Ok(())
    }

    pub(crate) fn locals(&self) -> u32 {
        self.locals
    }

    pub(crate) fn arcs(&self) -> u64 {
        self.arcs
    }

    /// Locals and proxies.
    pub(crate) fn numbered(&self) -> u32 {
        self.size.numbered
    }
}

/// The events around the copy and the kernels of a slot, or of another step that is timed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimedEvents {
    pub(crate) copy: Event,
    pub(crate) copied: Event,
    pub(crate) kernel: Event,
    pub(crate) counted: Event,
}

impl TimedEvents {
    pub(crate) const fn of(section: usize) -> Self {
        let first = 4 * section;
        Self { copy: first, copied: first + 1, kernel: first + 2, counted: first + 3 }
    }
}
