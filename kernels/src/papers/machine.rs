//! What the methods ask of a device: memory of its arena, copies, kernels by name, and times.
//!
//! Kernels go to queues, each of which carries them out in order. Queue 0 is the one that all else goes by: copies and fills
//! are done before its later kernels, and [`Machine::read`] waits for it. The other queues run beside each other between
//! [`Machine::fork`] and [`Machine::join`]. [`super::program::Lane`] is a GPU; the other machine is an emulation for tests.

use crate::arena::Layout;
use crate::engine::Grid;
use crate::error::{Error, Result};

/// Blocks of a grid, at most.
pub(super) const LONGEST_GRID: u64 = i32::MAX as u64;

/// A device.
pub(crate) trait Machine {
    /// The arena's bookkeeping.
    fn layout(&mut self) -> &mut Layout;

    /// Where the arena begins.
    fn address(&self) -> u64;

    /// Its multiprocessors.
    fn processors(&self) -> u32;

    /// Copies to the device and waits for the end.
    fn upload(&mut self, to: u64, bytes: &[u8]) -> Result<()>;

    /// Sets bytes.
    fn fill(&mut self, at: u64, byte: u8, bytes: u64) -> Result<()>;

    /// Starts a kernel, all of whose parameters are 64 bits wide.
    fn launch(&mut self, queue: usize, kernel: &'static str, grid: Grid, arguments: &[u64]) -> Result<()>;

    /// Lets the queues `1..=queues` wait for queue 0.
    fn fork(&mut self, queues: usize) -> Result<()>;

    /// Lets queue 0 wait for the queues `1..=queues`.
    fn join(&mut self, queues: usize) -> Result<()>;

    /// Waits for queue 0 and copies back.
    fn read(&mut self, from: u64, to: &mut [u8]) -> Result<()>;

    /// The device's clock starts when queue 0 gets here.
    fn start_clock(&mut self) -> Result<()>;

    /// Waits for queue 0; seconds since the clock was started.
    fn stop_clock(&mut self) -> Result<f64>;
}

/// What is the same on every machine.
pub(crate) trait Orders: Machine {
    /// Takes a piece of the arena and says where it lies.
    fn take(&mut self, bytes: u64) -> Result<u64> {
        let piece = self.layout().take(bytes)?;
        Ok(self.address() + piece.offset)
    }

    /// Starts a kernel with at least so many threads, in blocks of 256, in queue 0.
    fn run(&mut self, kernel: &'static str, threads: u64, arguments: &[u64]) -> Result<()> {
        self.launch(0, kernel, grid(threads, 256)?, arguments)
    }

    /// Reads one number.
    fn read_u64(&mut self, from: u64) -> Result<u64> {
        let mut bytes = [0; 8];
        self.read(from, &mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// Reads one number of 32 bits.
    fn read_u32(&mut self, from: u64) -> Result<u32> {
        let mut bytes = [0; 4];
        self.read(from, &mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }
}

impl<M: Machine> Orders for M {}

/// As many blocks as give at least so many threads.
pub(super) fn grid(threads: u64, block: u32) -> Result<Grid> {
    let blocks = threads.div_ceil(u64::from(block)).max(1);
    if blocks > LONGEST_GRID {
        return Err(Error::Shape(format!("a kernel of {threads} threads; a grid has at most {LONGEST_GRID} blocks")));
    }
    Ok(Grid { blocks: blocks as u32, threads: block, shared: 0 })
}
