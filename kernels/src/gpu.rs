//! An opened GPU: its context, streams, loaded kernels, and its arena. Any thread may use it, one at a time. Only the arena is allocated here; memory
//! of the context, the driver and other programs is reported separately.

mod clock;
mod engine;
mod module;

use std::sync::Arc;
use std::time::Duration;

use bytemuck::Pod;
use cudarc::driver::{CudaContext, CudaEvent, CudaStream, result, sys};
use trimill_system::timeline::TimedWork;

use crate::arena::Arena;
use crate::compact::{longest_part, scratch_bytes};
use crate::engine::{EVENTS, ReservedMemory, STREAMS, Stream};
use crate::error::{GpuError, GpuResult, driver};
use crate::find::{GpuInfo, find};
use crate::images::ImageForm;
use crate::pinned::Pinned;
use crate::staging::StagingBuffers;
use crate::waiting::bind;
use clock::Clock;
use module::Module;

#[derive(Debug)]
pub struct Gpu {
    // Fields drop in this order: first what needs the streams, then the streams; the context last.
    /// Empty before [`Self::reserve`].
    arena: Arena,
    staging: StagingBuffers,
    /// For reads of a few bytes; allocated by the first one.
    few: Option<Pinned<u8>>,
    events: Vec<CudaEvent>,
    /// By [`Stream::index`]; extra ones are created when a method asks for them.
    streams: Vec<Arc<CudaStream>>,
    modules: Vec<Module>,
    form: ImageForm,
    /// The reserved pieces after the arena's layout: for unpacking rows, and for counters of vertices.
    scratch: ReservedMemory,
    counters: ReservedMemory,
    device: GpuInfo,
    held: u64,
    clock: Option<Clock>,
}

impl Gpu {
    /// Opens GPU `ordinal`; methods load kernels of this form. Takes tenths of a second, [`crate::STAGING_BYTES`] of page-locked memory.
    pub fn open(ordinal: u32, form: ImageForm) -> GpuResult<Self> {
        let devices = find()?.devices;
        let count = devices.len() as u32;
        let found = devices.into_iter().find(|device| device.ordinal == ordinal);
        let device = found.ok_or(GpuError::NoSuchDevice { ordinal, count })?;
        let doing = "opening the GPU";
        let opening = driver(doing);
        let context = CudaContext::new(ordinal as usize).map_err(&opening)?;
        bind(&context, doing)?;
        // Of highest priority: if unpacking waited for a counting kernel, the next copies would, too.
        let (_, greatest) = result::stream::get_priority_range().map_err(&opening)?;
        let unpacking = context.new_stream_with_priority(greatest).map_err(&opening)?;
        let copies = context.new_stream().map_err(&opening)?;
        let kernels = context.new_stream().map_err(&opening)?;
        let event = |_| context.new_event(Some(sys::CUevent_flags::CU_EVENT_DEFAULT)).map_err(&opening);
        let events = (0..EVENTS).map(event).collect::<GpuResult<_>>()?;
        let staging = StagingBuffers::new(&context, &copies)?;
        let (free, total) = result::mem_get_info().map_err(&opening)?;
        let held = (total - free) as u64;
        Ok(Self {
            arena: Arena::new(&context, 0)?,
            staging,
            few: None,
            events,
            streams: vec![copies, kernels, unpacking],
            modules: Vec::new(),
            form,
            scratch: ReservedMemory::default(),
            counters: ReservedMemory::default(),
            device,
            held,
            clock: None,
        })
    }

    /// Abandons the device after `limit` (by default [`crate::USUAL_LIMIT`]) without an answer; what it holds is not freed then.
    pub fn wait_at_most(&mut self, limit: Duration) {
        self.staging.waiting.at_most(limit);
    }

    /// From now on, records when each timed copy and kernel runs; waits for the device once.
    pub fn record_work(&mut self) -> GpuResult<()> {
        self.bind()?;
        self.clock = Some(Clock::start(self.stream(Stream::Compute)?)?);
        Ok(())
    }

    pub fn take_work(&mut self) -> Vec<TimedWork> {
        self.clock.as_mut().map(Clock::take).unwrap_or_default()
    }

    pub fn device(&self) -> &GpuInfo {
        &self.device
    }

    /// Bytes of device memory in use right after opening, before any arena and kernels: the context, the driver, other programs.
    pub fn held(&self) -> u64 {
        self.held
    }

    /// Free and total bytes of the device, according to the driver.
    pub fn memory(&self) -> GpuResult<(u64, u64)> {
        self.bind()?;
        let (free, total) = self.context().mem_get_info().map_err(driver("asking for free memory"))?;
        Ok((free as u64, total as u64))
    }

    /// Allocates an arena of at most `bytes`; frees an earlier one first.
    pub fn reserve(&mut self, bytes: u64) -> GpuResult<()> {
        self.arena = Arena::new(self.context(), 0)?;
        (self.scratch, self.counters) = (ReservedMemory::default(), ReservedMemory::default());
        self.arena = Arena::new(self.context(), bytes)?;
        Ok(())
    }

    /// As [`Self::reserve`], but a large enough arena gets a piece for unpacking rows ([`Self::scratch_bytes`]).
    pub fn reserve_for_encoded_rows(&mut self, bytes: u64) -> GpuResult<()> {
        self.reserve(bytes)?;
        self.scratch = self.set_apart(scratch_bytes(bytes));
        Ok(())
    }

    /// Reserves `bytes` of the arena, a multiple of [`crate::ALIGNMENT`], for counters of vertices. Call once, after [`Self::reserve`].
    pub fn reserve_counters(&mut self, bytes: u64) {
        self.counters = self.set_apart(bytes);
    }

    pub fn counter_bytes(&self) -> u64 {
        self.counters.bytes
    }

    fn set_apart(&mut self, bytes: u64) -> ReservedMemory {
        ReservedMemory { address: self.arena.address + self.arena.set_apart(bytes), bytes }
    }

    /// The arena's size in bytes, reserved pieces included; 0 before [`Gpu::reserve`].
    pub fn reserved(&self) -> u64 {
        self.arena.layout.capacity() + self.scratch.bytes + self.counters.bytes
    }

    /// Bytes reserved for unpacking; 0 if this device cannot unpack rows.
    pub fn scratch_bytes(&self) -> u64 {
        self.scratch.bytes
    }

    /// The largest file block, in stored bytes, that this device can unpack.
    pub fn longest_part(&self) -> u64 {
        longest_part(self.scratch_bytes())
    }

    /// Zeros in page-locked host memory; copies from there need no staging.
    pub fn pinned<T: Pod>(&self, len: usize) -> GpuResult<Pinned<T>> {
        Pinned::new(self.context(), len)
    }

    pub(crate) fn context(&self) -> &Arc<CudaContext> {
        self.streams[Stream::Copy.index()].context()
    }

    fn stream(&self, stream: Stream) -> GpuResult<&Arc<CudaStream>> {
        let missing =
            || GpuError::Launch { doing: "finding its stream", reason: format!("there is no stream {stream:?}") };
        self.streams.get(stream.index()).ok_or_else(missing)
    }

    fn make_stream(&mut self, stream: Stream) -> GpuResult<()> {
        self.bind()?;
        while self.streams.len() < STREAMS.min(stream.index() + 1) {
            self.streams.push(self.context().new_stream().map_err(driver("making a stream"))?);
        }
        Ok(())
    }

    fn await_stream(&self, stream: Stream) -> GpuResult<()> {
        let doing = if stream == Stream::Copy { "copying to the device" } else { "waiting for the GPU" };
        self.staging.waiting.for_stream(self.stream(stream)?, doing)
    }

    fn bind(&self) -> GpuResult<()> {
        bind(self.context(), "binding the context")
    }
}
