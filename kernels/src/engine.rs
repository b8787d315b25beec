//! What counting asks of a device: memory, queues, marks in them, kernels.
//!
//! The host gives orders and goes on. Each queue carries its own out in their order, all queues beside each other. A mark, once
//! recorded in a queue, is reached when all before it is done; another queue or the host may wait for it. [`crate::Gpu`] is one
//! engine. The other is a double for tests (the module `testing`), which runs the same kernels on the host and carries orders out as
//! late or as unevenly as a device might.

use bytemuck::cast_slice_mut;

use crate::arena::ArenaLayout;
use crate::error::{Error, Result};
use crate::source::Source;

/// A queue of orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Queue {
    /// Copies to the device, and what is done to them there.
    Copy,
    /// Kernels.
    Compute,
    /// More kernels, beside those: below [`EXTRA_QUEUES`].
    Extra(usize),
}

/// How many extra queues there are.
pub const EXTRA_QUEUES: usize = 16;

/// A point in a queue that can be waited for, by number, below [`MARKS`]. Recording it again moves it.
pub type Mark = usize;

/// How many marks there are.
pub const MARKS: usize = 4 * (2 * RING + 1);

/// Row blocks, and batches of them, that the host orders ahead of the device at most, where it does.
pub(crate) const RING: usize = 6;

/// A kernel: one of those that a source defines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kernel {
    /// Where it is defined.
    pub source: &'static Source,
    /// Its name there.
    pub name: &'static str,
}

/// A grid of one dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grid {
    /// Blocks.
    pub blocks: u32,
    /// Threads of each.
    pub threads: u32,
    /// Dynamic shared memory of each, in bytes.
    pub shared: u32,
}

/// The most blocks that a grid may have.
pub const LONGEST_GRID: u64 = i32::MAX as u64;

impl Grid {
    /// As many blocks of `block` threads as give at least `threads`; one at least.
    ///
    /// # Errors
    /// [`Error::Shape`]: more than [`LONGEST_GRID`].
    pub fn of(threads: u64, block: u32) -> Result<Self> {
        let blocks = threads.div_ceil(u64::from(block)).max(1);
        if blocks > LONGEST_GRID {
            let text = format!("a kernel of {threads} threads; a grid has at most {LONGEST_GRID} blocks");
            return Err(Error::Shape(text));
        }
        Ok(Self { blocks: blocks as u32, threads: block, shared: 0 })
    }
}

/// A piece of device memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scratch {
    /// Where it begins.
    pub address: u64,
    /// Its bytes; none: there is no such piece.
    pub bytes: u64,
}

/// A device. Callers pass addresses of the arena and of the scratch piece only.
pub trait Engine {
    /// The arena's bookkeeping.
    fn layout(&mut self) -> &mut ArenaLayout;

    /// Where the arena begins.
    fn address(&self) -> u64;

    /// The piece that is set apart for unpacking rows ([`crate::compact`]).
    fn scratch(&self) -> Scratch;

    /// How many multiprocessors it has.
    fn processors(&self) -> u32;

    /// Loads the kernels of a source, unless they are loaded.
    ///
    /// # Errors
    /// What the driver refuses.
    fn load(&mut self, source: &'static Source) -> Result<()>;

    /// Orders in the copy queue: `pieces`, one after another, to the memory at `to`.
    ///
    /// # Errors
    /// What the driver refuses.
    ///
    /// # Safety
    /// Pieces in page-locked memory stay as they are until [`Self::sent`] returned, or until a mark was reached that was recorded
    /// behind the copy. Others are read before this returns.
    unsafe fn copy(&mut self, to: u64, pieces: &[&[u8]]) -> Result<()>;

    /// Waits until all that was to be copied may be changed.
    ///
    /// # Errors
    /// What the device fails with.
    fn sent(&mut self) -> Result<()>;

    /// Orders in a queue: so many bytes of this value.
    ///
    /// # Errors
    /// What the driver refuses.
    fn fill(&mut self, queue: Queue, at: u64, byte: u8, bytes: u64) -> Result<()>;

    /// Orders in a queue: a kernel whose source is loaded, with the bytes of each of its parameters.
    ///
    /// # Errors
    /// [`Error::Launch`]: it is not loaded, has other parameters, or is refused by the driver.
    fn launch(&mut self, queue: Queue, grid: Grid, kernel: Kernel, parameters: &[&[u8]]) -> Result<()>;

    /// Records a mark.
    ///
    /// # Errors
    /// What the driver refuses.
    fn record(&mut self, queue: Queue, mark: Mark) -> Result<()>;

    /// Lets a queue wait for a mark as recorded last.
    ///
    /// # Errors
    /// What the driver refuses.
    fn wait(&mut self, queue: Queue, mark: Mark) -> Result<()>;

    /// Lets the host wait for a mark.
    ///
    /// # Errors
    /// What the device fails with.
    fn reach(&mut self, mark: Mark) -> Result<()>;

    /// Seconds between two marks that were reached.
    ///
    /// # Errors
    /// What the driver refuses.
    fn seconds(&mut self, from: Mark, to: Mark) -> Result<f64>;

    /// Waits for a queue and copies back.
    ///
    /// # Errors
    /// What the device fails with.
    fn read(&mut self, queue: Queue, from: u64, to: &mut [u8]) -> Result<()>;

    /// Waits for all queues. Says nothing of failures: it is for giving up.
    fn settle(&mut self);

    /// Waits for a queue and reads a number.
    ///
    /// # Errors
    /// What the device fails with.
    fn read_u64(&mut self, queue: Queue, from: u64) -> Result<u64> {
        let mut value = [0u64];
        self.read(queue, from, cast_slice_mut(&mut value))?;
        Ok(value[0])
    }
}
