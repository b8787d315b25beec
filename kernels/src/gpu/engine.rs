//! A GPU as an engine: commands go to its streams.

use std::time::Duration;

use cudarc::driver::result;

use super::Gpu;
use super::clock::elapsed;
use super::module::Module;
use crate::arena::ArenaLayout;
use crate::engine::{Engine, Event, Grid, HostWords, Kernel, ReservedMemory, Stream, Timed};
use crate::error::{GpuError, GpuResult, driver};
use crate::images;
use crate::source::CudaSource;
use crate::staging::{ALONE, is_pinned};

/// Reads of up to this size go through page-locked memory: the copy is a command of the stream, and only its end is waited for.
const SMALL: usize = 64;

impl Gpu {
    fn module(&self, source: &'static CudaSource) -> Option<&Module> {
        self.modules.iter().find(|module| std::ptr::eq(module.source, source))
    }

    fn read_few(&mut self, stream: Stream, from: u64, to: &mut [u8]) -> GpuResult<()> {
        self.bind()?;
        let mut few = match self.few.take() {
            Some(few) => few,
            None => self.pinned(SMALL)?,
        };
        let few_bytes = &mut few[..to.len()];
        // SAFETY: callers pass a piece of the arena. The page-locked memory is kept until the copy is done, for ever if it never ends.
        unsafe { result::memcpy_dtoh_async(few_bytes, from, self.stream(stream)?.cu_stream()) }
            .map_err(driver("reading the result"))?;
        self.await_stream(stream)?;
        to.copy_from_slice(few_bytes);
        self.few = Some(few);
        Ok(())
    }
}

impl Engine for Gpu {
    fn layout(&mut self) -> &mut ArenaLayout {
        &mut self.arena.layout
    }

    fn address(&self) -> u64 {
        self.arena.address
    }

    fn scratch(&self) -> ReservedMemory {
        self.scratch
    }

    fn counters(&self) -> ReservedMemory {
        self.counters
    }

    fn processors(&self) -> u32 {
        self.device.multiprocessors
    }

    fn host_words(&mut self, words: usize) -> GpuResult<HostWords> {
        Ok(Box::new(self.pinned::<u64>(words)?))
    }

    fn load(&mut self, source: &'static CudaSource) -> GpuResult<()> {
        if self.module(source).is_none() {
            let image = images::image(source, self.device.compute_capability, self.form)?;
            self.modules.push(Module::load(self.context(), source, &image)?);
        }
        Ok(())
    }

    unsafe fn copy(&mut self, to: u64, pieces: &[&[u8]]) -> GpuResult<()> {
        self.bind()?;
        // SAFETY: as the caller promised.
        unsafe { self.staging.copy(to, pieces) }
    }

    fn sent(&mut self) -> GpuResult<()> {
        self.staging.sent()
    }

    fn fill(&mut self, stream: Stream, at: u64, byte: u8, bytes: u64) -> GpuResult<()> {
        self.bind()?;
        if bytes == 0 {
            return Ok(());
        }
        // SAFETY: callers pass a piece of the arena.
        unsafe { result::memset_d8_async(at, byte, bytes as usize, self.stream(stream)?.cu_stream()) }
            .map_err(driver("filling device memory"))
    }

    fn launch(&mut self, stream: Stream, grid: Grid, kernel: Kernel, parameters: &[&[u8]]) -> GpuResult<()> {
        self.make_stream(stream)?;
        let missing =
            || GpuError::Launch { doing: "finding it", reason: format!("{} is not loaded", kernel.source.name) };
        let module = self.module(kernel.source).ok_or_else(missing)?;
        module.launch(self.stream(stream)?, grid, kernel.name, parameters)
    }

    fn record(&mut self, stream: Stream, event: Event) -> GpuResult<()> {
        self.bind()?;
        self.events[event].record(self.stream(stream)?).map_err(driver("recording an event"))
    }

    fn wait(&mut self, stream: Stream, event: Event) -> GpuResult<()> {
        self.make_stream(stream)?;
        self.stream(stream)?.wait(&self.events[event]).map_err(driver("waiting for an event"))
    }

    fn reach(&mut self, event: Event) -> GpuResult<()> {
        self.staging.waiting.for_event(&self.events[event], "waiting for the GPU")
    }

    fn time(&mut self, what: Timed, from: Event, to: Event) -> GpuResult<Duration> {
        let time = elapsed(&self.events[from], &self.events[to])?;
        if let Some(clock) = &mut self.clock {
            clock.add(what, &self.events[from], time)?;
        }
        Ok(time)
    }

    fn read(&mut self, stream: Stream, from: u64, to: &mut [u8]) -> GpuResult<()> {
        if to.len() <= SMALL {
            return self.read_few(stream, from, to);
        }
        self.await_stream(stream)?;
        if to.len() > ALONE && !is_pinned(to) {
            return self.staging.receive(from, to);
        }
        // SAFETY: callers pass a piece of the arena; the call returns when the copy is done.
        unsafe { result::memcpy_dtoh_sync(to, from) }.map_err(driver("reading the result"))
    }

    fn settle(&mut self) {
        // Failures are ignored: an error was reported already, or the result is not needed.
        for stream in &self.streams {
            let _ = self.staging.waiting.for_stream(stream, "waiting for the GPU");
        }
    }
}
