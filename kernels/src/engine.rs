//! What counting asks of a device: two queues, marks in them, and memory.
//!
//! The host gives orders and goes on; each queue carries its own out in their order, the two beside each other. A mark, once
//! recorded in a queue, is reached when all before it is done; the other queue or the host may wait for it. [`crate::Gpu`] is one
//! engine; the other is a double for tests, which carries orders out as late or as unevenly as a device might.

use crate::arena::Layout;
use crate::compact::Unpack;
use crate::error::Result;
use crate::lstc::arguments::Arguments;
use crate::packed::arguments::{Arguments as PackedArguments, Kernel as PackedKernel};

/// One of the two queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Queue {
    /// Copies to the device.
    Copy,
    /// Kernels.
    Compute,
}

/// A point in a queue that can be waited for, by number, below [`MARKS`]. Recording it again moves it.
pub(crate) type Mark = usize;

/// How many marks there are.
pub(crate) const MARKS: usize = 4 * (2 * RING + 1);

/// Row blocks, and batches of them, that the host orders ahead of the device at most, where it does.
pub(crate) const RING: usize = 6;

/// A kernel and what it is called with.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Call {
    /// Method `lstc` with tiles in shared memory.
    Tiled(Arguments),
    /// Method `lstc` without.
    Global(Arguments),
    /// The sums of each block's share of `len` numbers at `values`, to `sums`.
    Sum { values: u64, len: u64, sums: u64 },
    /// One of method `packed`.
    Packed(PackedKernel, PackedArguments),
}

/// A grid of one dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Grid {
    pub(crate) blocks: u32,
    pub(crate) threads: u32,
    /// Dynamic shared memory of a block, in bytes.
    pub(crate) shared: u32,
}

/// A device. Callers pass addresses within its arena only.
pub(crate) trait Engine {
    /// The arena's bookkeeping.
    fn layout(&mut self) -> &mut Layout;

    /// Where the arena begins.
    fn address(&self) -> u64;

    /// How many multiprocessors it has.
    fn processors(&self) -> u32;

    /// Orders in the copy queue: `pieces`, one after another, to the memory at `to`. They may be changed once [`Self::sent`]
    /// returns.
    fn copy(&mut self, to: u64, pieces: &[&[u8]]) -> Result<()>;

    /// Orders in the copy queue: rows as they are stored, to be made rows that kernels read. They may be changed once [`Self::sent`]
    /// returns.
    fn unpack(&mut self, order: &Unpack<'_>) -> Result<()>;

    /// Waits until all that was to be copied or unpacked may be changed.
    fn sent(&mut self) -> Result<()>;

    /// Orders in the copy queue: nothing was wrong with unpacked rows yet, and none was counted; numbers are below `numbered`.
    fn begin_unpacking(&mut self, numbered: u32) -> Result<()>;

    /// Waits for the copy queue: how many unpacked successors that were to be counted are in each bin.
    fn bins(&mut self) -> Result<Vec<u64>>;

    /// Waits for the copy queue: fails where unpacked rows were not rows.
    ///
    /// # Errors
    /// [`crate::Error::Rows`].
    fn unpacked(&mut self) -> Result<()>;

    /// Orders in the copy queue: zeros.
    fn zero(&mut self, at: u64, bytes: u64) -> Result<()>;

    /// Orders in the compute queue: a kernel.
    fn launch(&mut self, grid: Grid, call: &Call) -> Result<()>;

    /// Records a mark.
    fn record(&mut self, queue: Queue, mark: Mark) -> Result<()>;

    /// Lets a queue wait for a mark as recorded last.
    fn wait(&mut self, queue: Queue, mark: Mark) -> Result<()>;

    /// Lets the host wait for a mark.
    fn reach(&mut self, mark: Mark) -> Result<()>;

    /// Seconds between two marks that were reached.
    fn seconds(&mut self, from: Mark, to: Mark) -> Result<f64>;

    /// Waits for the compute queue and reads a number.
    fn read(&mut self, at: u64) -> Result<u64>;

    /// Waits for both queues. Says nothing of failures: it is for giving up.
    fn settle(&mut self);
}
