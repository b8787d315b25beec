//! Counting: a backend takes a partition's resident section and its row blocks, one after another, and says how many
//! triangles start there.
//!
//! A triangle `a -> b, a -> c, b -> c` is counted where `a` is local, while the row block passes that covers `b`. Any other
//! partition that holds its corners has `a` as a proxy, and proxies start no count; so the sum over all partitions is
//! the number of triangles of the graph.

pub mod cpu;
pub mod cuda;
pub mod method;
pub mod serial;
mod successors;
#[cfg(test)]
mod testing;
pub mod verify;

use std::time::Duration;

use rayon::ThreadPool;

use crate::bytes::Bytes;
use crate::error::Result;
use crate::partition::section::{Resident, ResidentSize, RowBlock, RowBlockView};

/// What a method keeps on the device besides arcs and row blocks.
#[derive(Debug, Clone, Copy)]
pub struct Terms {
    /// Bytes for each resident arc.
    pub per_resident_arc: u64,
    /// Bytes for each local vertex: its number, the offset of its row, and what the method adds.
    pub per_local: u64,
    /// Bytes for the tables at most, when a partition numbers so many vertices.
    pub tables: fn(numbered: u32, workers: u64) -> Bytes,
    /// How many workers have a table of their own.
    pub workers: u64,
    /// Row blocks for which there is room on the device, of a partition that has so many.
    pub slots: fn(row_blocks: u64) -> u64,
    /// Bytes whatever the partition.
    pub fixed: Bytes,
    /// What the device sets apart to unpack rows in, whatever the method.
    pub scratch: Bytes,
    /// What a method takes in all where the budget has room for more than it must have; none: no more than that.
    pub preferred: Option<fn(Preferred) -> Bytes>,
}

/// What a wish for memory depends on.
#[derive(Debug, Clone, Copy)]
pub struct Preferred {
    /// The resident section.
    pub resident: ResidentSize,
    /// Vertices that are numbered.
    pub numbered: u32,
    /// The largest row block.
    pub row_block: Bytes,
}

impl Terms {
    /// Bytes of a resident section.
    pub fn resident(&self, locals: u64, arcs: u64) -> Bytes {
        Bytes(self.per_resident_arc * arcs + self.per_local * locals)
    }

    /// What is taken under a budget, when at `least` so much must be.
    pub fn taken(&self, least: Bytes, budget: Bytes, preferred: Preferred) -> Bytes {
        self.preferred.map_or(least, |of| least.max(budget.min(of(preferred) + self.scratch)))
    }

    /// Bytes for a partition that numbers `numbered` vertices, besides its resident section and its row blocks.
    pub fn overhead(&self, numbered: u32) -> Bytes {
        (self.tables)(numbered, self.workers) + self.fixed + self.scratch
    }
}

/// A device with memory of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// The driver's number.
    pub ordinal: u32,
    /// The product.
    pub name: String,
    /// What this program may allocate, and has taken.
    pub budget: Bytes,
    /// What was in use before: the context, the driver's own, other programs.
    pub context: Bytes,
    /// What the driver says is in use now, all in all.
    pub used: Bytes,
}

/// A place that counts, by one method.
pub trait Backend: Send {
    /// Its name: `cpu` or `cuda`.
    fn name(&self) -> &'static str;
    /// The name of the method.
    fn method(&self) -> &'static str;
    /// The device, where it is not the host itself.
    fn device(&self) -> Option<Device> {
        None
    }
    /// What the method takes.
    fn terms(&self) -> Terms;
    /// Whether the method needs the whole graph as one partition.
    fn whole(&self) -> bool {
        false
    }
    /// Counts share `share` of `of` of a whole graph's edges from now on, where the method can: then all shares are to be
    /// counted, each on a device of its own, and added.
    fn share(&mut self, share: u32, of: u32) -> bool {
        let _ = (share, of);
        false
    }
    /// Takes a method that needs less memory, where the method was its own choice and there is one; whether it did.
    fn take_less(&mut self) -> bool {
        false
    }
    /// A buffer for row blocks of up to so many words: plain memory, or memory that the device reads without a copy between.
    fn row_block_buffer(&mut self, words: u64) -> RowBlock {
        let _ = words;
        RowBlock::default()
    }
    /// A buffer for runs of a resident section of such a size, as above.
    fn resident_buffer(&mut self, size: ResidentSize) -> Resident {
        let _ = size;
        Resident::default()
    }
    /// The most stored bytes of a file block that the device unpacks; none: it takes plain rows.
    fn stored_rows(&self) -> Option<Bytes> {
        None
    }
    /// The most bytes in which the counter wants the resident section at a time; none: all of it at once.
    fn resident_chunk(&self) -> Option<Bytes> {
        None
    }
    /// Begins a partition with such a resident section that numbers `numbered` vertices and none of whose row blocks takes more
    /// than `largest_row_block`.
    ///
    /// # Errors
    /// When the device refuses.
    fn begin<'a>(
        &'a mut self,
        resident: ResidentSize,
        numbered: u32,
        largest_row_block: Bytes,
    ) -> Result<Box<dyn PartitionCounter + 'a>>;
}

/// What a counter found, and how long the device was at work where it has a clock of its own.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PartitionCount {
    /// Triangles that start at a local vertex.
    pub triangles: u64,
    /// Kernels and copies, by the device's clock.
    pub device: Option<DeviceTimes>,
}

/// Times by the clock of a device.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DeviceTimes {
    /// Counting.
    pub kernels: Duration,
    /// Copying to the device.
    pub copies: Duration,
    /// What the method makes there of its input before it counts.
    pub preprocessing: Duration,
}

/// A partition being counted.
pub trait PartitionCounter: Send {
    /// Takes the next run of the resident section; returns a run that it no longer needs, to be filled again. All runs come before
    /// the first row block, ascending.
    ///
    /// # Errors
    /// When the device refuses.
    fn resident(&mut self, run: Resident, pool: &ThreadPool) -> Result<Option<Resident>>;

    /// Counts the triangles whose middle corner the row block's range covers; parallel work of the host runs in `pool`.
    /// Row blocks come in ascending order, each once.
    ///
    /// # Errors
    /// When the device refuses.
    fn row_block(&mut self, row_block: &RowBlockView<'_>, pool: &ThreadPool) -> Result<()>;

    /// What was found.
    ///
    /// # Errors
    /// When the device refuses.
    fn finish(self: Box<Self>) -> Result<PartitionCount>;

    /// Bytes that this partition takes of the device, as measured.
    fn memory(&self) -> CounterMemory;
}

/// What a counter measures of its device's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CounterMemory {
    /// The device is the host's memory: this much on top of the resident section and of the row blocks as they were read.
    BesidesSections(Bytes),
    /// The device has memory of its own, and so much of it is taken, all in all.
    All(Bytes),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_apart_comes_on_top_of_what_a_method_takes() {
        let least = Terms {
            per_resident_arc: 4,
            per_local: 8,
            tables: |_, _| Bytes::ZERO,
            workers: 1,
            slots: |_| 1,
            fixed: Bytes(100),
            scratch: Bytes(1000),
            preferred: None,
        };
        let wishing = Terms { preferred: Some(|_| Bytes(5000)), ..least };
        let preferred = Preferred { resident: ResidentSize { locals: 1, arcs: 1 }, numbered: 1, row_block: Bytes(4) };
        assert_eq!(least.overhead(1), Bytes(1100));
        for (terms, budget, taken) in
            [(&least, 9000, 1200), (&wishing, 9000, 6000), (&wishing, 5500, 5500), (&wishing, 1100, 1200)]
        {
            assert_eq!(terms.taken(Bytes(1200), Bytes(budget), preferred), Bytes(taken));
        }
    }
}
