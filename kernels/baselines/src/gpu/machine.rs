//! An engine as these methods use it: kernels by name with 64-bit arguments, one clock, and copies and kernels that take turns.
//!
//! Kernels go to queue 0, or to extra queues that run beside each other between [`Machine::fork`] and [`Machine::join`].

use bytemuck::{bytes_of, cast_slice_mut};
use trimill_kernels::engine::{Engine, Grid, Kernel, Mark, Queue};
use trimill_kernels::{Result, Source};

/// Marks: of kernels before an upload, of the upload, of the clock, of a fork, of each queue's end.
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

    /// Takes a piece of the arena and says where it lies.
    pub(crate) fn take(&mut self, bytes: u64) -> Result<u64> {
        let piece = self.engine.layout().take(bytes)?;
        Ok(self.engine.address() + piece.offset)
    }

    /// Copies to the device, after the kernels so far and before later ones.
    pub(crate) fn upload(&mut self, to: u64, bytes: &[u8]) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let engine = &mut *self.engine;
        engine.record(Queue::Compute, USED)?;
        engine.wait(Queue::Copy, USED)?;
        // SAFETY: the bytes stay until `sent` returned, which is called in any case.
        #[allow(unsafe_code, reason = "the one place of this crate that lends memory to a device")]
        let copied = unsafe { engine.copy(to, &[bytes]) };
        engine.sent()?;
        copied?;
        engine.record(Queue::Copy, UPLOADED)?;
        engine.wait(Queue::Compute, UPLOADED)
    }

    /// Sets bytes.
    pub(crate) fn fill(&mut self, at: u64, byte: u8, bytes: u64) -> Result<()> {
        self.engine.fill(Queue::Compute, at, byte, bytes)
    }

    /// Starts a kernel.
    pub(crate) fn launch(&mut self, queue: usize, name: &'static str, grid: Grid, arguments: &[u64]) -> Result<()> {
        let parameters: Vec<&[u8]> = arguments.iter().map(bytes_of).collect();
        self.engine.launch(queue_of(queue), grid, Kernel { source: self.source, name }, &parameters)
    }

    /// Starts a kernel with at least so many threads, in blocks of 256.
    pub(crate) fn run(&mut self, name: &'static str, threads: u64, arguments: &[u64]) -> Result<()> {
        self.launch(0, name, Grid::of(threads, 256)?, arguments)
    }

    /// Lets the queues `1..=queues` wait for queue 0.
    pub(crate) fn fork(&mut self, queues: usize) -> Result<()> {
        self.engine.record(Queue::Compute, FORKED)?;
        (1..=queues).try_for_each(|queue| self.engine.wait(queue_of(queue), FORKED))
    }

    /// Lets queue 0 wait for the queues `1..=queues`.
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

    /// The same of 32 bits.
    pub(crate) fn read_u32(&mut self, from: u64) -> Result<u32> {
        let mut value = [0u32];
        self.engine.read(Queue::Compute, from, cast_slice_mut(&mut value))?;
        Ok(value[0])
    }

    /// The device's clock starts when queue 0 gets here.
    pub(crate) fn start_clock(&mut self) -> Result<()> {
        self.engine.record(Queue::Compute, CLOCK[0])
    }

    /// Waits for queue 0; seconds since the clock was started.
    pub(crate) fn stop_clock(&mut self) -> Result<f64> {
        self.engine.record(Queue::Compute, CLOCK[1])?;
        self.engine.reach(CLOCK[1])?;
        self.engine.seconds(CLOCK[0], CLOCK[1])
    }
}

const fn queue_of(queue: usize) -> Queue {
    match queue {
        0 => Queue::Compute,
        extra => Queue::Extra(extra - 1),
    }
}
