//! The kernels of a source, loaded on a GPU.

use std::ffi::{CString, c_void};
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream, result, sys};

use crate::engine::Grid;
use crate::error::{GpuError, GpuResult, driver};
use crate::source::CudaSource;
use crate::waiting::bind;

/// Unloaded on drop.
#[derive(Debug)]
pub(super) struct Module {
    context: Arc<CudaContext>,
    handle: sys::CUmodule,
    pub(super) source: &'static CudaSource,
    kernels: Vec<Loaded>,
}

#[derive(Debug)]
struct Loaded {
    name: &'static str,
    function: sys::CUfunction,
    parameters: Vec<usize>,
}

// SAFETY: the handles are opaque; the driver accepts them from any thread with the context bound.
unsafe impl Send for Module {}
// SAFETY: as above; nothing in it changes.
unsafe impl Sync for Module {}

impl Module {
    /// Loads an image: a CUBIN, or zero-terminated PTX.
    pub(super) fn load(context: &Arc<CudaContext>, source: &'static CudaSource, image: &[u8]) -> GpuResult<Self> {
        let doing = "loading the kernels";
        let loading = driver(doing);
        bind(context, doing)?;
        // SAFETY: an ELF image whose header has its length, or zero-terminated text; embedded in the program, or just compiled.
        let handle = unsafe { result::module::load_data(image.as_ptr().cast()) }.map_err(&loading)?;
        let mut module = Self { context: Arc::clone(context), handle, source, kernels: Vec::new() };
        for (name, parameters) in source.kernels() {
            // SAFETY: the module was just loaded.
            let function = unsafe { result::module::get_function(handle, CString::new(name).unwrap_or_default()) };
            let function = function.map_err(&loading)?;
            let parameters =
                (0..parameters).map(|index| size_of(function, index).map_err(&loading)).collect::<GpuResult<_>>()?;
            module.kernels.push(Loaded { name, function, parameters });
        }
        Ok(module)
    }

    pub(super) fn launch(&self, stream: &CudaStream, grid: Grid, name: &str, values: &[&[u8]]) -> GpuResult<()> {
        let refused = |reason: String| GpuError::Launch { doing: "starting it", reason: format!("{name}: {reason}") };
        let known = self.kernels.iter().find(|kernel| kernel.name == name);
        let kernel = known.ok_or_else(|| refused(format!("not a kernel of {}", self.source.name)))?;
        if !kernel.parameters.iter().copied().eq(values.iter().map(|value| value.len())) {
            let found: Vec<_> = values.iter().map(|value| value.len()).collect();
            return Err(refused(format!("parameters of {found:?} bytes; it has {:?}", kernel.parameters)));
        }
        let mut parameters: Vec<*mut c_void> =
            values.iter().map(|value| value.as_ptr().cast_mut().cast::<c_void>()).collect();
        // SAFETY: number and sizes of the parameters are the kernel's (just checked), and the driver copies them during the call;
        // callers pass addresses of pieces of the arena, which live as long as the stream works on them.
        unsafe {
            result::launch_kernel(
                kernel.function,
                (grid.blocks, 1, 1),
                (grid.threads, 1, 1),
                grid.shared,
                stream.cu_stream(),
                &mut parameters,
            )
        }
        .map_err(|error| match driver("starting it")(error) {
            GpuError::Driver { reason, .. } => refused(reason),
            other => other,
        })
    }
}

fn size_of(function: sys::CUfunction, index: usize) -> std::result::Result<usize, result::DriverError> {
    let (mut offset, mut size) = (0, 0);
    // SAFETY: the function is of a loaded module; both numbers outlive the call.
    unsafe { sys::cuFuncGetParamInfo(function, index, &mut offset, &mut size) }.result()?;
    Ok(size)
}

impl Drop for Module {
    fn drop(&mut self) {
        if bind(&self.context, "unloading the kernels").is_ok() {
            // SAFETY: loaded in `load`, unloaded once. This fails only if the device is lost.
            let _ = unsafe { result::module::unload(self.handle) };
        }
    }
}
