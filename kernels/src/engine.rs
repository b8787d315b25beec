//! The interface of a device to the counting methods: memory, streams and events (as CUDA's), kernels.
//!
//! The host enqueues commands without waiting for them. A stream runs its commands in order; streams run concurrently. An event recorded
//! in a stream is reached when all commands before it are done; another stream or the host can wait for it. [`crate::Gpu`] is one
//! engine. The other is a test double (the module `testing`), which runs the same kernels on the host and delays commands as much and
//! as irregularly as a device might.

use std::ops::{Deref, DerefMut};

use bytemuck::cast_slice_mut;

use crate::arena::ArenaLayout;
use crate::error::{GpuError, GpuResult};
use crate::pinned::Pinned;
use crate::source::CudaSource;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Copies to the device.
    Copy,
    /// Kernels that unpack what was copied.
    Unpack,
    /// Kernels.
    Compute,
    /// Further streams of kernels, numbered below [`EXTRA_STREAMS`].
    Extra(usize),
}

pub const EXTRA_STREAMS: usize = 16;

/// A point in a stream that can be waited for, by number, below [`EVENTS`]. Recording it again moves it.
pub type Event = usize;

/// The kind of work that is timed between two events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timed {
    Copy,
    /// What a method does with rows before it counts, such as packing.
    Prepare,
    Count,
    Sum,
}

pub const EVENTS: usize = UNPACK_EVENTS + 6;

/// The first of four events of the rows that are unpacked ([`crate::compact`]), after those of row blocks and batches.
pub(crate) const UNPACK_EVENTS: Event = 4 * (2 * RING + 1);

/// How many row blocks, and batches, the host enqueues ahead of the device at most.
pub(crate) const RING: usize = 6;

/// A kernel that a source defines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kernel {
    pub source: &'static CudaSource,
    pub name: &'static str,
}

/// A grid of one dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grid {
    pub blocks: u32,
    /// Threads of each.
    pub threads: u32,
    /// Dynamic shared memory of each, in bytes.
    pub shared: u32,
}

/// The most blocks that a grid may have.
pub const LONGEST_GRID: u64 = i32::MAX as u64;

impl Grid {
    /// The fewest blocks of `block` threads, at least one, that have `threads` threads together.
    ///
    /// # Errors
    /// [`GpuError::Shape`]: more than [`LONGEST_GRID`].
    pub fn of(threads: u64, block: u32) -> GpuResult<Self> {
        let blocks = threads.div_ceil(u64::from(block)).max(1);
        if blocks > LONGEST_GRID {
            let text = format!("a kernel of {threads} threads; a grid has at most {LONGEST_GRID} blocks");
            return Err(GpuError::Shape(text));
        }
        Ok(Self { blocks: blocks as u32, threads: block, shared: 0 })
    }
}

/// A piece of device memory that is not part of the arena's layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReservedMemory {
    pub address: u64,
    /// Its bytes; 0: there is no such piece.
    pub bytes: u64,
}

impl ReservedMemory {
    pub const NONE: Self = Self { address: 0, bytes: 0 };
}

/// Words in the host's memory, page-locked where the engine is a GPU.
#[derive(Debug)]
pub enum HostWords {
    Pinned(Pinned<u64>),
    /// Pageable.
    Plain(Vec<u64>),
}

impl Deref for HostWords {
    type Target = [u64];

    fn deref(&self) -> &[u64] {
        match self {
            Self::Pinned(words) => words,
            Self::Plain(words) => words,
        }
    }
}

impl DerefMut for HostWords {
    fn deref_mut(&mut self) -> &mut [u64] {
        match self {
            Self::Pinned(words) => words,
            Self::Plain(words) => words,
        }
    }
}

/// A device. Callers must pass only addresses within the arena and the reserved pieces.
pub trait Engine {
    fn layout(&mut self) -> &mut ArenaLayout;

    /// Where the arena begins.
    fn address(&self) -> u64;

    /// Takes a piece of the arena; returns its address.
    fn take(&mut self, bytes: u64) -> GpuResult<u64> {
        let piece = self.layout().take(bytes)?;
        Ok(self.address() + piece.offset)
    }

    /// The piece reserved for unpacking rows ([`crate::compact`]).
    fn scratch(&self) -> ReservedMemory;

    /// The piece reserved for the counters of vertices ([`trimill_counting::VertexCounters`]).
    fn counters(&self) -> ReservedMemory;

    /// How many multiprocessors it has.
    fn processors(&self) -> u32;

    /// Zeros in the host's memory, page-locked where that makes copies faster.
    fn host_words(&mut self, words: usize) -> GpuResult<HostWords> {
        Ok(HostWords::Plain(vec![0; words]))
    }

    /// Loads the kernels of a source, unless they are loaded already.
    fn load(&mut self, source: &'static CudaSource) -> GpuResult<()>;

    /// Enqueues in the copy stream: copies `pieces`, one after another, to the memory at `to`.
    ///
    /// # Safety
    /// Pieces in page-locked memory must stay unchanged until [`Self::sent`] has returned, or until an event recorded after the copy
    /// is reached. Others are read before this returns.
    unsafe fn copy(&mut self, to: u64, pieces: &[&[u8]]) -> GpuResult<()>;

    /// Waits until the pieces of all copies so far may be changed.
    fn sent(&mut self) -> GpuResult<()>;

    /// Enqueues in a stream: sets `bytes` bytes to this value.
    fn fill(&mut self, stream: Stream, at: u64, byte: u8, bytes: u64) -> GpuResult<()>;

    /// Enqueues in a stream: a kernel whose source is loaded, with the bytes of each of its parameters.
    ///
    /// # Errors
    /// [`GpuError::Launch`]: it is not loaded, has other parameters, or the driver refuses it.
    fn launch(&mut self, stream: Stream, grid: Grid, kernel: Kernel, parameters: &[&[u8]]) -> GpuResult<()>;

    /// Enqueues in a stream: records an event.
    fn record(&mut self, stream: Stream, event: Event) -> GpuResult<()>;

    /// Makes a stream wait for the latest record of an event.
    fn wait(&mut self, stream: Stream, event: Event) -> GpuResult<()>;

    /// Makes the host wait for an event.
    fn reach(&mut self, event: Event) -> GpuResult<()>;

    /// Seconds between two events that were reached, which timed this.
    fn seconds(&mut self, what: Timed, from: Event, to: Event) -> GpuResult<f64>;

    /// Waits for a stream and copies from the device.
    fn read(&mut self, stream: Stream, from: u64, to: &mut [u8]) -> GpuResult<()>;

    /// Waits for all streams, ignoring failures: for when counting is given up.
    fn settle(&mut self);

    /// Waits for a stream and reads a number.
    fn read_u64(&mut self, stream: Stream, from: u64) -> GpuResult<u64> {
        let mut value = [0u64];
        self.read(stream, from, cast_slice_mut(&mut value))?;
        Ok(value[0])
    }
}

/// The events around the copy and the kernels of a slot, or of another step that is timed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimedEvents {
    pub(crate) copy: Event,
    pub(crate) copied: Event,
    pub(crate) kernel: Event,
    pub(crate) counted: Event,
}

impl TimedEvents {
    pub(crate) const fn of(slot: usize) -> Self {
        let first = 4 * slot;
        Self { copy: first, copied: first + 1, kernel: first + 2, counted: first + 3 }
    }
}
