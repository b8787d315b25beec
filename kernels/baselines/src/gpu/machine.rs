//! A simpler interface of an engine: kernels by name with 64-bit arguments, one clock, and copies and kernels that alternate. Kernels go to stream 0,
//! or to extra streams that run concurrently between [`BaselineDevice::fork`] and [`BaselineDevice::join`].

use std::time::Duration;

use bytemuck::{bytes_of, cast_slice_mut};
use trimill_counting::DeviceTimes;
use trimill_kernels::engine::{Engine, Event, Grid, Kernel, Stream, Timed};
use trimill_kernels::{CudaSource, GpuResult};

/// Events after: the kernels before an upload; the upload; a start and a stop of the clock; a fork; each stream's last kernel.
const USED: Event = 0;
const UPLOADED: Event = 1;
const CLOCK: [Event; 2] = [2, 3];
const FORKED: Event = 4;
const JOINED: Event = 5;

pub(crate) struct BaselineDevice<'e> {
    pub(crate) engine: &'e mut dyn Engine,
    source: &'static CudaSource,
    /// The triangles so far, and the times that counting them took.
    pub(crate) triangles: u64,
    pub(crate) times: DeviceTimes,
    pub(crate) peak_bytes: u64,
}

impl<'e> BaselineDevice<'e> {
    pub(crate) fn new(engine: &'e mut dyn Engine, source: &'static CudaSource) -> GpuResult<Self> {
        engine.load(source)?;
        Ok(Self { engine, source, triangles: 0, times: DeviceTimes::default(), peak_bytes: 0 })
    }

    /// Copies to the device, after all earlier kernels and before all later ones.
    pub(crate) fn upload(&mut self, to: u64, bytes: &[u8]) -> GpuResult<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let engine = &mut *self.engine;
        engine.record(Stream::Compute, USED)?;
        engine.wait(Stream::Copy, USED)?;
        // SAFETY: the bytes live until `sent` has returned, which is called in any case.
        #[allow(unsafe_code, reason = "the only place of this crate that lends memory to a device")]
        let copied = unsafe { engine.copy(to, &[bytes]) };
        engine.sent()?;
        copied?;
        engine.record(Stream::Copy, UPLOADED)?;
        engine.wait(Stream::Compute, UPLOADED)
    }

    pub(crate) fn fill(&mut self, at: u64, byte: u8, bytes: u64) -> GpuResult<()> {
        self.engine.fill(Stream::Compute, at, byte, bytes)
    }

    pub(crate) fn launch(&mut self, stream: usize, name: &'static str, grid: Grid, arguments: &[u64]) -> GpuResult<()> {
        let parameters: Vec<&[u8]> = arguments.iter().map(bytes_of).collect();
        self.engine.launch(stream_of(stream), grid, Kernel { source: self.source, name }, &parameters)
    }

    /// Starts a kernel with at least `threads` threads, in blocks of 256.
    pub(crate) fn run(&mut self, name: &'static str, threads: u64, arguments: &[u64]) -> GpuResult<()> {
        self.launch(0, name, Grid::of(threads, 256)?, arguments)
    }

    /// Makes the streams `1..=streams` wait for stream 0.
    pub(crate) fn fork(&mut self, streams: usize) -> GpuResult<()> {
        self.engine.record(Stream::Compute, FORKED)?;
        (1..=streams).try_for_each(|stream| self.engine.wait(stream_of(stream), FORKED))
    }

    /// Makes stream 0 wait for the streams `1..=streams`.
    pub(crate) fn join(&mut self, streams: usize) -> GpuResult<()> {
        (1..=streams).try_for_each(|stream| {
            let event = JOINED + stream - 1;
            self.engine.record(stream_of(stream), event)?;
            self.engine.wait(Stream::Compute, event)
        })
    }

    /// Waits for stream 0 and reads one number.
    pub(crate) fn read_u64(&mut self, from: u64) -> GpuResult<u64> {
        self.engine.read_u64(Stream::Compute, from)
    }

    pub(crate) fn read_u32(&mut self, from: u64) -> GpuResult<u32> {
        let mut value = [0u32];
        self.engine.read(Stream::Compute, from, cast_slice_mut(&mut value))?;
        Ok(value[0])
    }

    /// Starts the clock when stream 0 reaches this point.
    pub(crate) fn start_clock(&mut self) -> GpuResult<()> {
        self.engine.record(Stream::Compute, CLOCK[0])
    }

    /// Waits for stream 0; adds the time since the clock was started to one of the times.
    pub(crate) fn stop_clock(&mut self, which: fn(&mut DeviceTimes) -> &mut Duration) -> GpuResult<()> {
        self.engine.record(Stream::Compute, CLOCK[1])?;
        self.engine.reach(CLOCK[1])?;
        let time = self.engine.time(Timed::Count, CLOCK[0], CLOCK[1])?;
        *which(&mut self.times) += time;
        Ok(())
    }
}

const fn stream_of(stream: usize) -> Stream {
    match stream {
        0 => Stream::Compute,
        extra => Stream::Extra(extra - 1),
    }
}
