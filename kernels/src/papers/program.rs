//! The kernels of one method, loaded on one GPU, and the GPU as a [`Machine`] that runs them.

use std::ffi::{CString, c_void};
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaEvent, CudaStream, result, sys};

use super::Method;
use super::machine::Machine;
use super::reverse_edge::STREAMS;
use crate::Gpu;
use crate::arena::Layout;
use crate::engine::{Engine, Grid};
use crate::error::{Error, Result, driver};
use crate::image::{Image, Images, Origin};
use crate::nvrtc::Source;
use crate::waiting::is_abandoned;

/// A kernel: its name and how many parameters it has, each 64 bits wide.
#[derive(Debug, Clone, Copy)]
struct Kernel {
    name: &'static str,
    parameters: usize,
    function: sys::CUfunction,
}

/// The kernels of a method, loaded.
#[derive(Debug)]
pub struct Program {
    context: Arc<CudaContext>,
    handle: sys::CUmodule,
    kernels: Vec<Kernel>,
    source: &'static Source,
    origin: Origin,
    queues: Vec<Arc<CudaStream>>,
    /// The clock's begin and end, the fork, and the end of each queue.
    clock: [CudaEvent; 2],
    forked: CudaEvent,
    joined: Vec<CudaEvent>,
}

// SAFETY: the handles are names that the driver takes from any thread with the context bound.
unsafe impl Send for Program {}
// SAFETY: as above; nothing in it changes.
unsafe impl Sync for Program {}

impl Program {
    /// Compiles, or finds compiled, the kernels of a method and loads them.
    ///
    /// # Errors
    /// What the driver refuses.
    pub fn load(gpu: &Gpu, images: &Images<'_>, method: &Method) -> Result<Self> {
        let source = method.source();
        let image = images.image(source, gpu.device().compute_capability);
        match Self::load_image(gpu, source, &image) {
            Err(error) if !matches!(image.origin, Origin::Embedded { .. }) => {
                Self::load_image(gpu, source, &Image::embedded(source, error.to_string()))
            }
            loaded => loaded,
        }
    }

    /// Where its kernels came from.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    fn load_image(gpu: &Gpu, source: &'static Source, image: &Image) -> Result<Self> {
        let loading = driver("loading the kernels");
        let context = gpu.context();
        context.bind_to_thread().map_err(&loading)?;
        let stream = || context.new_stream().map_err(&loading);
        let event = |_| context.new_event(Some(sys::CUevent_flags::CU_EVENT_BLOCKING_SYNC)).map_err(&loading);
        let queues = (0..STREAMS).map(|_| stream()).collect::<Result<_>>()?;
        let joined = (0..STREAMS).map(event).collect::<Result<_>>()?;
        let (clock, forked) = ([event(0)?, event(0)?], event(0)?);
        // SAFETY: an ELF image whose header says how long it is and whose checksum held or that was just made, or text that ends
        // in a zero.
        let handle = unsafe { result::module::load_data(image.bytes.as_ptr().cast()) }.map_err(&loading)?;
        let (context, origin) = (Arc::clone(context), image.origin.clone());
        let mut program = Self { context, handle, kernels: vec![], source, origin, queues, clock, forked, joined };
        for (name, parameters) in signatures(source.code) {
            // SAFETY: the module was just loaded.
            let function = unsafe { result::module::get_function(handle, CString::new(name).unwrap_or_default()) };
            program.kernels.push(Kernel { name, parameters, function: function.map_err(&loading)? });
        }
        Ok(program)
    }

    /// The GPU with these kernels, for a method that they are of.
    pub(super) fn on<'g>(&'g self, gpu: &'g mut Gpu, method: &Method) -> Result<Lane<'g>> {
        if self.source != method.source() {
            let text = format!("the kernels of {} for method {}", self.source.name, method.name());
            return Err(Error::Shape(text));
        }
        Ok(Lane { gpu, program: self })
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if !is_abandoned(&self.context) && self.context.bind_to_thread().is_ok() {
            // SAFETY: loaded in `load_image`, unloaded once. What fails here is a lost device.
            let _ = unsafe { result::module::unload(self.handle) };
        }
    }
}

/// The kernels that a source defines: names, and numbers of parameters.
pub(super) fn signatures(code: &'static str) -> impl Iterator<Item = (&'static str, usize)> {
    code.split("extern \"C\" __global__ void __launch_bounds__(").skip(1).filter_map(|rest| {
        let (_, rest) = rest.split_once(')')?;
        let (name, rest) = rest.split_once('(')?;
        let (parameters, _) = rest.split_once(')')?;
        Some((name.trim(), parameters.split(',').count()))
    })
}

/// A GPU and the kernels of a method.
pub(super) struct Lane<'g> {
    gpu: &'g mut Gpu,
    program: &'g Program,
}

impl Lane<'_> {
    fn queue(&self, queue: usize) -> &Arc<CudaStream> {
        match queue.checked_sub(1) {
            None => self.gpu.compute_queue(),
            Some(other) => &self.program.queues[other],
        }
    }
}

impl Machine for Lane<'_> {
    fn layout(&mut self) -> &mut Layout {
        Engine::layout(self.gpu)
    }

    fn address(&self) -> u64 {
        Engine::address(self.gpu)
    }

    fn processors(&self) -> u32 {
        self.gpu.device().multiprocessors
    }

    fn upload(&mut self, to: u64, bytes: &[u8]) -> Result<()> {
        // Kernels before it may still use what it overwrites.
        self.gpu.await_kernels()?;
        let queued = self.gpu.copy(to, &[bytes]);
        let sent = self.gpu.sent();
        queued.and(sent)?;
        self.gpu.await_copies()
    }

    fn fill(&mut self, at: u64, byte: u8, bytes: u64) -> Result<()> {
        self.program.context.bind_to_thread().map_err(driver("binding the context"))?;
        if bytes == 0 {
            return Ok(());
        }
        // SAFETY: a piece of the arena, as callers see to.
        unsafe { result::memset_d8_async(at, byte, bytes as usize, self.queue(0).cu_stream()) }
            .map_err(driver("filling device memory"))
    }

    fn launch(&mut self, queue: usize, kernel: &'static str, grid: Grid, arguments: &[u64]) -> Result<()> {
        self.program.context.bind_to_thread().map_err(driver("binding the context"))?;
        let known = self.program.kernels.iter().find(|known| known.name == kernel);
        let Some(known) = known.filter(|known| known.parameters == arguments.len()) else {
            let reason =
                format!("{kernel} with {} arguments is not a kernel of {}", arguments.len(), self.program.source.name);
            return Err(Error::Launch { doing: "looking it up", reason });
        };
        let mut parameters: Vec<*mut c_void> =
            arguments.iter().map(|argument| std::ptr::from_ref(argument).cast_mut().cast()).collect();
        // SAFETY: the parameters have the number that the kernel declares (just checked) and its type (64 bits each, as a test
        // checks), and the driver copies them during the call; addresses in them are pieces of the arena, as callers see to.
        unsafe {
            result::launch_kernel(
                known.function,
                (grid.blocks, 1, 1),
                (grid.threads, 1, 1),
                grid.shared,
                self.queue(queue).cu_stream(),
                &mut parameters,
            )
        }
        .map_err(|error| match driver("starting it")(error) {
            Error::Driver { doing, reason } => Error::Launch { doing, reason: format!("{kernel}: {reason}") },
            other => other,
        })
    }

    fn fork(&mut self, queues: usize) -> Result<()> {
        let forking = driver("joining queues");
        self.program.forked.record(self.queue(0)).map_err(&forking)?;
        (1..=queues).try_for_each(|queue| self.queue(queue).wait(&self.program.forked).map_err(&forking))
    }

    fn join(&mut self, queues: usize) -> Result<()> {
        let joining = driver("joining queues");
        (1..=queues).try_for_each(|queue| {
            let event = &self.program.joined[queue - 1];
            event.record(self.queue(queue)).and_then(|()| self.queue(0).wait(event)).map_err(&joining)
        })
    }

    fn read(&mut self, from: u64, to: &mut [u8]) -> Result<()> {
        self.gpu.await_kernels()?;
        // SAFETY: a piece of the arena, as callers see to; the call returns when the copy is done.
        unsafe { result::memcpy_dtoh_sync(to, from) }.map_err(driver("reading the result"))
    }

    fn start_clock(&mut self) -> Result<()> {
        self.program.clock[0].record(self.queue(0)).map_err(driver("recording an event"))
    }

    fn stop_clock(&mut self) -> Result<f64> {
        let [begin, end] = &self.program.clock;
        end.record(self.queue(0)).map_err(driver("recording an event"))?;
        self.gpu.await_event(end)?;
        begin.elapsed_ms(end).map(|milliseconds| f64::from(milliseconds) / 1000.0).map_err(driver("timing"))
    }
}

impl Drop for Lane<'_> {
    fn drop(&mut self) {
        // Where counting was given up kernels may still run, and the next partition takes the same memory.
        let _ = self.gpu.await_kernels();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::{POLAK, RADIX_BINNING, REVERSE_EDGE, SKIFF};

    #[test]
    fn every_parameter_of_every_kernel_is_64_bits_wide() {
        for source in [&POLAK, &REVERSE_EDGE, &SKIFF, &RADIX_BINNING] {
            let names: Vec<_> = signatures(source.code).map(|(name, _)| name).collect();
            assert_eq!(names.len(), source.code.matches("__global__").count(), "{}", source.name);
            for rest in source.code.split("__launch_bounds__(").skip(1) {
                let parameters = rest.split(['(', ')']).nth(2).unwrap_or("");
                for parameter in parameters.split(',') {
                    let wide = parameter.contains('*') || parameter.trim().starts_with("u64 ");
                    assert!(wide, "{}: {parameter}", source.name);
                }
            }
        }
        assert!(signatures(POLAK.code).any(|kernel| kernel == ("count_triangles", 6)));
    }
}
