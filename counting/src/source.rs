//! Where a partition's sections come from.

use crate::{Resident, ResidentSize, RowBlock, RowBlockSize};
use trimill_system::{Bytes, Result};

/// Delivers a partition's sections in their order.
pub trait PartitionSource: Send {
    /// The vertices of the numbering: locals and kept proxies together, or all of the graph.
    fn numbered(&self) -> u32;

    /// The number of row blocks, at least one.
    fn row_blocks(&self) -> usize;

    fn row_block_size(&self, i: usize) -> RowBlockSize;

    /// Words of memory that reading row block `i` takes.
    fn row_block_words(&self, i: usize) -> u64 {
        self.row_block_size(i).words()
    }

    /// Words of memory into which every row block can be read, of this partition and of others of the same cut: buffers are kept from
    /// one partition to the next, since page-locked memory is slow to allocate.
    fn buffer_words(&self) -> u64 {
        (0..self.row_blocks()).map(|i| self.row_block_words(i)).max().unwrap_or(0)
    }

    fn largest_row_block(&self) -> Bytes {
        (0..self.row_blocks()).map(|i| self.row_block_size(i).bytes()).max().unwrap_or_default()
    }

    fn resident_size(&self) -> ResidentSize;

    /// The number of the first local if the locals have consecutive numbers, else [`Self::numbered`].
    fn locals_at(&self) -> u32;

    /// The rank of each number, where that is not the number itself. Read in the current thread pool.
    fn ranks(&mut self) -> Result<Option<Vec<u32>>>;

    /// Reads the next run of the resident section: rows of about `limit` bytes, or all that are left. Returns whether there
    /// are more. Called before row blocks are read, until there are no more.
    fn read_resident(&mut self, limit: Option<Bytes>, into: &mut Resident) -> Result<bool>;

    /// Reads row block `i`; called in ascending order, once each.
    fn read_row_block(&mut self, i: usize, into: &mut RowBlock) -> Result<()>;
}

impl<S: PartitionSource + ?Sized> PartitionSource for Box<S> {
    fn numbered(&self) -> u32 {
        (**self).numbered()
    }

    fn row_blocks(&self) -> usize {
        (**self).row_blocks()
    }

    fn row_block_size(&self, i: usize) -> RowBlockSize {
        (**self).row_block_size(i)
    }

    fn row_block_words(&self, i: usize) -> u64 {
        (**self).row_block_words(i)
    }

    fn buffer_words(&self) -> u64 {
        (**self).buffer_words()
    }

    fn resident_size(&self) -> ResidentSize {
        (**self).resident_size()
    }

    fn locals_at(&self) -> u32 {
        (**self).locals_at()
    }

    fn ranks(&mut self) -> Result<Option<Vec<u32>>> {
        (**self).ranks()
    }

    fn read_resident(&mut self, limit: Option<Bytes>, into: &mut Resident) -> Result<bool> {
        (**self).read_resident(limit, into)
    }

    fn read_row_block(&mut self, i: usize, into: &mut RowBlock) -> Result<()> {
        (**self).read_row_block(i, into)
    }
}
