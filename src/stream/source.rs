//! Where a partition's sections come from.

use crate::spill::SpillReader;
use trimill_counting::{Resident, ResidentSize, RowBlock, RowBlockSize};
use trimill_system::bytes::Bytes;
use trimill_system::error::Result;

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

/// A partition that was spilled.
pub struct Spilled {
    spill: SpillReader,
    /// The block of the resident section that is read next.
    next: usize,
    /// Whether successors stay encoded, for a device to unpack.
    packed: bool,
}

impl Spilled {
    /// From the first block on.
    pub fn new(spill: SpillReader) -> Self {
        Self { spill, next: 0, packed: false }
    }

    /// Leaves rows packed where no block has more than `longest` bytes; `None`: the counter does not take such rows.
    #[must_use]
    pub fn packed(mut self, longest: Option<Bytes>) -> Self {
        self.packed = longest.is_some_and(|longest| self.spill.longest_block() <= longest.get());
        self
    }
}

impl PartitionSource for Spilled {
    fn numbered(&self) -> u32 {
        self.spill.header().numbered
    }

    fn row_blocks(&self) -> usize {
        self.spill.row_blocks()
    }

    fn row_block_size(&self, i: usize) -> RowBlockSize {
        let row_block = self.spill.row_block_info(i);
        RowBlockSize { range: row_block.range.len() as u32, rows: u64::from(row_block.rows), arcs: row_block.arcs }
    }

    fn row_block_words(&self, i: usize) -> u64 {
        if self.packed { self.spill.packed_words(i) } else { self.row_block_size(i).words() }
    }

    fn resident_size(&self) -> ResidentSize {
        ResidentSize { locals: u64::from(self.spill.header().locals), arcs: self.spill.resident_arcs() }
    }

    fn locals_at(&self) -> u32 {
        let header = self.spill.header();
        if header.locals == header.numbered { 0 } else { header.numbered }
    }

    fn ranks(&mut self) -> Result<Option<Vec<u32>>> {
        self.spill.ranks().map(Some)
    }

    fn read_resident(&mut self, limit: Option<Bytes>, into: &mut Resident) -> Result<bool> {
        let all = self.spill.resident_blocks();
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
        self.spill.read_resident_run(blocks, self.packed, into)?;
        Ok(self.next < all)
    }

    fn read_row_block(&mut self, i: usize, into: &mut RowBlock) -> Result<()> {
        if self.packed { self.spill.read_packed_row_block(i, into) } else { self.spill.read_row_block(i, into) }
    }
}
