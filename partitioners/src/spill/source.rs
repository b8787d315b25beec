//! The rows of a spilled partition, as a source for counting.

use trimill_counting::{PartitionOutline, PartitionSource, Resident, RowBlock};
use trimill_system::{Bytes, Result};

use super::SpillReader;

pub struct Spilled {
    spill: SpillReader,
    next: usize,
    encoded: bool,
}

impl Spilled {
    pub fn new(spill: SpillReader) -> Self {
        Self { next: spill.resident_blocks().start, spill, encoded: false }
    }

    /// Leaves rows encoded if no block has more than `longest` bytes; `None`: the counter does not take encoded rows.
    #[must_use]
    pub fn encoded(mut self, longest: Option<Bytes>) -> Self {
        self.encoded = longest.is_some_and(|longest| self.spill.longest_block() <= longest.get());
        self
    }
}

impl PartitionSource for Spilled {
    fn outline(&self) -> PartitionOutline {
        let (spill, numbered, resident) = (&self.spill, self.spill.header().numbered, self.spill.resident_size());
        let size = |i| spill.row_block_info(i).size();
        let words = |i| if self.encoded { spill.encoded_words(i) } else { size(i).words() };
        let row_blocks = spill.row_blocks();
        PartitionOutline {
            numbered,
            locals_at: if resident.locals == u64::from(numbered) { 0 } else { numbered },
            resident,
            row_blocks,
            largest_row_block: (0..row_blocks).map(|i| size(i).bytes()).max().unwrap_or_default(),
            buffer_words: (0..row_blocks).map(words).max().unwrap_or(0),
        }
    }

    fn ranks(&mut self) -> Result<Option<Vec<u32>>> {
        self.spill.ranks().map(Some)
    }

    fn read_resident(&mut self, limit: Option<Bytes>, into: &mut Resident) -> Result<bool> {
        let all = self.spill.resident_blocks().end;
        let (mut end, mut bytes) = (self.next, 0);
        while end < all {
            bytes += self.spill.resident_block_bytes(end);
            if end > self.next && limit.is_some_and(|limit| bytes > limit.get()) {
                break;
            }
            end += 1;
        }
        let blocks = self.next..end;
        self.next = end;
        self.spill.read_resident_run(blocks, self.encoded, into)?;
        Ok(self.next < all)
    }

    fn read_row_block(&mut self, i: usize, into: &mut RowBlock) -> Result<()> {
        self.spill.read_row_block(i, self.encoded, into)
    }
}
