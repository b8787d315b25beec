//! A simpler interface of an engine: kernels by name with 64-bit arguments, one clock, and copies and kernels that alternate.
//!
//! Kernels go to queue 0, or to extra queues that run concurrently between [`Machine::fork`] and [`Machine::join`].

use bytemuck::{bytes_of, cast_slice_mut};
use trimill_kernels::engine::{Engine, Grid, Kernel, Mark, Queue, Timed};
use trimill_kernels::{Result, Source};

/// Marks of: kernels before an upload, the upload, the clock, a fork, the end of each queue.
const USED: Mark = 0;
const UPLOADED: Mark = 1;
const CLOCK: [Mark; 2] = [2, 3];
const FORKED: Mark = 4;
const JOINED: Mark = 5;

/// A device and the source of a method's kernels, loaded.
pub(crate) struct Machine<'e, E: Engine> {
    pub(crate) engine: &'e mut E,
    source: &'static Source,
}

impl<'e, E: Engine> Machine<'e, E> {
    pub(crate) fn new(engine: &'e mut E, source: &'static Source) -> Result<Self> {
        engine.load(source)?;
        Ok(Self { engine, source })
    }

    /// Takes a piece of the arena; returns its address.
    pub(crate) fn take(&mut self, bytes: u64) -> Result<u64> {
        let piece = self.engine.layout().take(bytes)?;
        Ok(self.engine.address() + piece.offset)
    }

    /// Copies to the device, after all earlier kernels and before all later ones.
    pub(crate) fn upload(&mut self, to: u64, bytes: &[u8]) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let engine = &mut *self.engine;
        engine.record(Queue::Compute, USED)?;
        engine.wait(Queue::Copy, USED)?;
        // SAFETY: the bytes live until `sent` has returned, which is called in any case.
        #[allow(unsafe_code, reason = "the only place of this crate that lends memory to a device")]
        let copied = unsafe { engine.copy(to, &[bytes]) };
        engine.sent()?;
        copied?;
        engine.record(Queue::Copy, UPLOADED)?;
        engine.wait(Queue::Compute, UPLOADED)
    }

    /// Sets `bytes` bytes to `byte`.
    pub(crate) fn fill(&mut self, at: u64, byte: u8, bytes: u64) -> Result<()> {
        self.engine.fill(Queue::Compute, at, byte, bytes)
    }

    /// Starts a kernel.
    pub(crate) fn launch(&mut self, queue: usize, name: &'static str, grid: Grid, arguments: &[u64]) -> Result<()> {
        let parameters: Vec<&[u8]> = arguments.iter().map(bytes_of).collect();
        self.engine.launch(queue_of(queue), grid, Kernel { source: self.source, name }, &parameters)
    }

    /// Starts a kernel with at least `threads` threads, in blocks of 256.
    pub(crate) fn run(&mut self, name: &'static str, threads: u64, arguments: &[u64]) -> Result<()> {
        self.launch(0, name, Grid::of(threads, 256)?, arguments)
    }

    /// Makes the queues `1..=queues` wait for queue 0.
    pub(crate) fn fork(&mut self, queues: usize) -> Result<()> {
        self.engine.record(Queue::Compute, FORKED)?;
        (1..=queues).try_for_each(|queue| self.engine.wait(queue_of(queue), FORKED))
    }

    /// Makes queue 0 wait for the queues `1..=queues`.
    pub(crate) fn join(&mut self, queues: usize) -> Result<()> {
        (1..=queues).try_for_each(|queue| {
            let mark = JOINED + queue - 1;
            self.engine.record(queue_of(queue), mark)?;
            self.engine.wait(Queue::Compute, mark)
        })
    }

    /// Waits for queue 0 and reads one number.
    pub(crate) fn read_u64(&mut self, from: u64) -> Result<u64> {
        self.engine.read_u64(Queue::Compute, from)
    }

    /// The same for 32 bits.
    pub(crate) fn read_u32(&mut self, from: u64) -> Result<u32> {
        let mut value = [0u32];
        self.engine.read(Queue::Compute, from, cast_slice_mut(&mut value))?;
        Ok(value[0])
    }

    /// Starts the clock when queue 0 reaches this point.
    pub(crate) fn start_clock(&mut self) -> Result<()> {
        self.engine.record(Queue::Compute, CLOCK[0])
    }

    /// Waits for queue 0; returns the seconds since the clock was started.
    pub(crate) fn stop_clock(&mut self) -> Result<f64> {
        self.engine.record(Queue::Compute, CLOCK[1])?;
        self.engine.reach(CLOCK[1])?;
        self.engine.seconds(Timed::Count, CLOCK[0], CLOCK[1])
    }
}

const fn queue_of(queue: usize) -> Queue {
    match queue {
        0 => Queue::Compute,
        extra => Queue::Extra(extra - 1),
    }
}
