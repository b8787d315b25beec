//! Where a partition's sections come from.

use crate::{Resident, ResidentSize, RowBlock};
use trimill_system::{Bytes, Result};

/// What is known of a partition before it is read.
#[derive(Debug, Clone, Copy)]
pub struct PartitionOutline {
    /// The vertices of the numbering: locals and kept proxies together, or all of the graph.
    pub numbered: u32,
    /// The number of the first local if the locals have consecutive numbers, else `numbered`.
    pub locals_at: u32,
    pub resident: ResidentSize,
    /// At least one.
    pub row_blocks: usize,
    pub largest_row_block: Bytes,
    /// Words of memory into which every row block can be read, of this partition and of others of the same cut: buffers are kept from
    /// one partition to the next, since page-locked memory is slow to allocate.
    pub buffer_words: u64,
}

/// Delivers a partition's sections in their order.
pub trait PartitionSource: Send {
    fn outline(&self) -> PartitionOutline;

    /// The rank of each number, where that is not the number itself. Read in the current thread pool.
    fn ranks(&mut self) -> Result<Option<Vec<u32>>>;

    /// Reads the next run of the resident section: rows of about `limit` bytes, or all that are left. Returns whether there
    /// are more. Called before row blocks are read, until there are no more.
    fn read_resident(&mut self, limit: Option<Bytes>, into: &mut Resident) -> Result<bool>;

    /// Reads row block `i`; called in ascending order, once each.
    fn read_row_block(&mut self, i: usize, into: &mut RowBlock) -> Result<()>;
}
