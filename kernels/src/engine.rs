//! The interface of a device for counting methods: memory, streams and events as in CUDA, kernels. The host enqueues commands without waiting for
//! them. A stream runs its commands in order; streams run concurrently. An event recorded in a stream is reached when all commands before it are
//! done; another stream or the host can wait for it. Engines are [`crate::Gpu`] and the test double (module `testing`), which runs the same kernels
//! on the host, with delays as irregular as a device's.

use std::ops::DerefMut;
use std::time::Duration;

use bytemuck::cast_slice_mut;

use crate::arena::ArenaLayout;
use crate::error::{GpuError, GpuResult};
use crate::source::CudaSource;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    Copy,
    /// Kernels that unpack what was copied.
    Unpack,
    /// Most kernels.
    Compute,
    /// Further streams of kernels, numbered below [`EXTRA_STREAMS`].
    Extra(usize),
}

pub const EXTRA_STREAMS: usize = 16;

pub(crate) const STREAMS: usize = 3 + EXTRA_STREAMS;

impl Stream {
    pub(crate) const fn index(self) -> usize {
        match self {
            Self::Copy => 0,
            Self::Compute => 1,
            Self::Unpack => 2,
            Self::Extra(stream) => 3 + stream,
        }
    }
}

/// The number, below [`EVENTS`], of a point in a stream that can be waited for. Recording it again moves the point.
pub type Event = usize;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timed {
    Copy,
    /// Preprocessing of rows before counting, such as packing.
    Prepare,
    Count,
    Sum,
}

pub const EVENTS: usize = UNPACK_EVENTS + 6;

/// The first of the four events for unpacking rows ([`crate::compact`]), after those of row blocks and batches.
pub(crate) const UNPACK_EVENTS: Event = 4 * (2 * RING + 1);

/// The most row blocks, and batches, that the host enqueues ahead of the device.
pub(crate) const RING: usize = 6;

#[derive(Debug, Clone, Copy)]
pub struct Kernel {
    pub source: &'static CudaSource,
    pub name: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grid {
    pub blocks: u32,
    /// Per block.
    pub threads: u32,
    /// Dynamic shared memory per block, in bytes.
    pub shared: u32,
}

/// The most blocks that a grid may have.
pub const LONGEST_GRID: u64 = i32::MAX as u64;

impl Grid {
    /// The fewest blocks of `block` threads, at least one, for `threads` threads. Errors: [`GpuError::Shape`] above [`LONGEST_GRID`].
    pub fn of(threads: u64, block: u32) -> GpuResult<Self> {
        let blocks = threads.div_ceil(u64::from(block)).max(1);
        if blocks > LONGEST_GRID {
            let text = format!("a kernel of {threads} threads; a grid has at most {LONGEST_GRID} blocks");
            return Err(GpuError::Shape(text));
        }
        Ok(Self { blocks: blocks as u32, threads: block, shared: 0 })
    }
}

/// A piece of device memory outside the arena's layout.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReservedMemory {
    pub address: u64,
    /// 0 if there is no such piece.
    pub bytes: u64,
}

/// Words in host memory, page-locked if the engine is a GPU.
pub type HostWords = Box<dyn DerefMut<Target = [u64]> + Send + Sync>;

/// A device. Callers must pass only addresses within the arena and the reserved pieces.
pub trait Engine: Send {
    fn layout(&mut self) -> &mut ArenaLayout;

    fn address(&self) -> u64;

    fn take(&mut self, bytes: u64) -> GpuResult<u64> {
        Ok(self.layout().take(bytes)? + self.address())
    }

    /// Reserved for unpacking rows.
    fn scratch(&self) -> ReservedMemory;

    /// Reserved for the counters of vertices ([`trimill_counting::VertexCounters`]).
    fn counters(&self) -> ReservedMemory;

    fn processors(&self) -> u32;

    /// Zeros in host memory, page-locked where that makes copies faster.
    fn host_words(&mut self, words: usize) -> GpuResult<HostWords> {
        Ok(Box::new(vec![0u64; words]))
    }

    /// Loads the kernels of a source, unless they are loaded already.
    fn load(&mut self, source: &'static CudaSource) -> GpuResult<()>;

    /// Enqueues in the copy stream: copies `pieces`, one after another, to device memory at `to`.
    ///
    /// # Safety
    /// Pieces in page-locked memory may change only once [`Self::sent`] has returned or a later event is reached. Others are read during the call.
    unsafe fn copy(&mut self, to: u64, pieces: &[&[u8]]) -> GpuResult<()>;

    /// Waits until the pieces of all copies so far may be changed.
    fn sent(&mut self) -> GpuResult<()>;

    /// Enqueues in `stream`: sets `bytes` bytes to the value `byte`.
    fn fill(&mut self, stream: Stream, at: u64, byte: u8, bytes: u64) -> GpuResult<()>;

    /// Enqueues a loaded kernel in `stream`; `parameters` has the bytes of each. Errors: [`GpuError::Launch`]: not loaded, other parameters, refused.
    fn launch(&mut self, stream: Stream, grid: Grid, kernel: Kernel, parameters: &[&[u8]]) -> GpuResult<()>;

    fn record(&mut self, stream: Stream, event: Event) -> GpuResult<()>;

    /// Makes `stream` wait for the latest record of `event`.
    fn wait(&mut self, stream: Stream, event: Event) -> GpuResult<()>;

    fn reach(&mut self, event: Event) -> GpuResult<()>;

    /// The time between two events that were reached; `what` says what ran between them.
    fn time(&mut self, what: Timed, from: Event, to: Event) -> GpuResult<Duration>;

    /// Waits for a stream, then copies from the device.
    fn read(&mut self, stream: Stream, from: u64, to: &mut [u8]) -> GpuResult<()>;

    /// Waits for all streams and ignores failures: for a count that was given up.
    fn settle(&mut self);

    fn read_u64(&mut self, stream: Stream, from: u64) -> GpuResult<u64> {
        let mut value = [0u64];
        self.read(stream, from, cast_slice_mut(&mut value))?;
        Ok(value[0])
    }
}

/// The events around the copy and the kernels of a slot, or of another timed step.
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
