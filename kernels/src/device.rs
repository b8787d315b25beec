//! A GPU that was opened: its context, a queue for copies and one for kernels, the loaded kernels, and its arena.
//!
//! Used by one thread at a time, any thread. Nothing but the arena is allocated on the device by this program; what the
//! context, the driver and other programs hold is reported apart.

use std::ffi::{CString, c_void};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytemuck::Pod;
use cudarc::driver::{CudaContext, CudaEvent, CudaStream, result, sys};

use crate::arena::{Arena, Layout};
use crate::compact::{
    BINS, BINS_AT, BYTES_AT, CompactPart, CompactSlices, Offsets, PARTS_AT, THREADS, Unpack, bin_shift, group,
    scratch_bytes,
};
use crate::compile::{LSTC, PACKED, UNPACK};
use crate::engine::{Call, Engine, Grid, MARKS, Mark, Queue};
use crate::error::{Error, Result, driver};
use crate::find::{Device, find};
use crate::image::{Image, Images, Origin};
use crate::nvrtc::Source;
use crate::packed::arguments::Kernel;
use crate::staging::{Pinned, Staging};
use crate::waiting::{USUAL_LIMIT, Waiting, is_abandoned};

/// The kernels of `lstc.cu`.
const LSTC_KERNELS: [&str; 3] = ["lstc_tiled", "lstc_global", "sum"];

/// Where later kernels come from: what [`Images`] said.
#[derive(Debug)]
struct OwnedImages {
    cache: Option<PathBuf>,
    embedded_only: bool,
}

/// An opened GPU.
#[derive(Debug)]
pub struct Gpu {
    // Dropped in this order: what needs the streams before them, the context last.
    arena: Option<Arena>,
    staging: Staging,
    waiting: Waiting,
    marks: Vec<CudaEvent>,
    copies: Arc<CudaStream>,
    kernels: Arc<CudaStream>,
    lstc: Module,
    packed: Option<Module>,
    unpack: Option<Module>,
    /// Where the scratch piece for unpacking begins, behind the arena's pieces.
    scratch: u64,
    /// The bits that unpacked successors lose to find their bin.
    bin_shift: u32,
    images: OwnedImages,
    processors: u32,
    device: Device,
    origin: Origin,
    held: u64,
    nothing: Layout,
}

impl Gpu {
    /// Opens the GPU of this number and loads the kernels. Takes some tenths of a second, and [`crate::STAGING_BYTES`] of
    /// page-locked host memory.
    ///
    /// # Errors
    /// That there is none, that it does not work, or that it takes none of the kernels.
    pub fn open(ordinal: u32, images: &Images<'_>) -> Result<Self> {
        let devices = find()?.devices;
        let count = devices.len() as u32;
        let found = devices.into_iter().find(|device| device.ordinal == ordinal);
        let device = found.ok_or(Error::NoSuchDevice { ordinal, count })?;
        let opening = driver("opening the GPU");
        let context = CudaContext::new(ordinal as usize).map_err(&opening)?;
        // Rows are unpacked between copies: were that to wait until a counting kernel is done, so would the copies behind it.
        let (_, greatest) = result::stream::get_priority_range().map_err(&opening)?;
        let copies = context.new_stream_with_priority(greatest).map_err(&opening)?;
        let kernels = context.new_stream().map_err(&opening)?;
        // With timing.
        let mark = |_| context.new_event(Some(sys::CUevent_flags::CU_EVENT_DEFAULT)).map_err(&opening);
        let marks = (0..MARKS).map(mark).collect::<Result<_>>()?;
        let waiting = Waiting::new(&context, USUAL_LIMIT)?;
        let staging = Staging::new(&context, &copies)?;
        let image = images.image(&LSTC, device.compute_capability);
        let (lstc, origin) = Module::load_any(&context, &LSTC, image, &LSTC_KERNELS)?;
        let processors = sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
        let processors = context.attribute(processors).map_err(&opening)? as u32;
        let (free, total) = result::mem_get_info().map_err(&opening)?;
        let held = (total - free) as u64;
        Ok(Self {
            arena: None,
            staging,
            waiting,
            marks,
            copies,
            kernels,
            lstc,
            packed: None,
            unpack: None,
            scratch: 0,
            bin_shift: 0,
            images: OwnedImages { cache: images.cache.map(Path::to_owned), embedded_only: images.embedded_only },
            processors,
            device,
            origin,
            held,
            nothing: Layout::new(0),
        })
    }

    /// Abandons the device where it does not answer for so long, instead of [`crate::USUAL_LIMIT`]: all that it holds is then
    /// never freed.
    pub fn wait_at_most(&mut self, limit: Duration) {
        self.waiting.at_most(limit);
        self.staging.wait_at_most(limit);
    }

    /// What it is.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Where its kernels came from.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Bytes of device memory that were held when it had been opened, before any arena: the context with its kernels, the
    /// driver's own, and what other programs held.
    pub fn held(&self) -> u64 {
        self.held
    }

    /// Bytes that the driver says are free now, and all.
    ///
    /// # Errors
    /// When the device is lost.
    pub fn memory(&self) -> Result<(u64, u64)> {
        let (free, total) = self.context().mem_get_info().map_err(driver("asking for free memory"))?;
        Ok((free as u64, total as u64))
    }

    /// Takes the arena from which everything is cut, of at most `bytes`. An arena taken before is freed first.
    ///
    /// # Errors
    /// [`Error::DeviceMemory`]: the device refuses so many.
    pub fn reserve(&mut self, bytes: u64) -> Result<()> {
        self.arena = None;
        self.arena = Some(Arena::new(self.context(), bytes)?);
        Ok(())
    }

    /// The same; of an arena that is large enough, a piece is set apart for rows that are unpacked here ([`Self::scratch`]).
    ///
    /// # Errors
    /// As [`Self::reserve`].
    pub fn reserve_for_stored_rows(&mut self, bytes: u64) -> Result<()> {
        self.reserve(bytes)?;
        if let Some(arena) = &mut self.arena {
            self.scratch = arena.address() + arena.set_apart(scratch_bytes(bytes));
        }
        Ok(())
    }

    /// Bytes of the arena, with what is set apart; none before [`Gpu::reserve`].
    pub fn reserved(&self) -> u64 {
        self.arena.as_ref().map_or(0, |arena| arena.layout().capacity()) + self.scratch()
    }

    /// Bytes that are set apart for unpacking; 0: rows cannot be unpacked here.
    pub fn scratch(&self) -> u64 {
        self.arena.as_ref().map_or(0, Arena::apart)
    }

    /// The most stored bytes of a file block that can be unpacked here.
    pub fn longest_part(&self) -> u64 {
        self.scratch().saturating_sub(BYTES_AT + 32)
    }

    /// A slice of zeros in page-locked host memory. What is copied from there is not staged.
    ///
    /// # Errors
    /// [`Error::HostMemory`].
    pub fn pinned<T: Pod>(&self, len: usize) -> Result<Pinned<T>> {
        Pinned::new(self.context(), len)
    }

    /// Loads the kernels of method `packed`, unless they are there.
    pub(crate) fn load_packed(&mut self) -> Result<()> {
        if self.packed.is_none() {
            let images = Images { cache: self.images.cache.as_deref(), embedded_only: self.images.embedded_only };
            let image = images.image(&PACKED, self.device.compute_capability);
            let (module, _) = Module::load_any(self.context(), &PACKED, image, &Kernel::ALL.map(Kernel::name))?;
            self.packed = Some(module);
        }
        Ok(())
    }

    /// Loads the kernel that unpacks rows, unless it is there.
    fn load_unpack(&mut self) -> Result<sys::CUfunction> {
        let module = match self.unpack.take() {
            Some(module) => module,
            None => {
                let images = Images { cache: self.images.cache.as_deref(), embedded_only: self.images.embedded_only };
                let image = images.image(&UNPACK, self.device.compute_capability);
                Module::load_any(self.context(), &UNPACK, image, &["unpack"])?.0
            }
        };
        let function = module.functions[0];
        self.unpack = Some(module);
        Ok(function)
    }

    /// The queue of kernels, for those of other methods.
    pub(crate) fn compute_queue(&self) -> &Arc<CudaStream> {
        &self.kernels
    }

    /// Waits for the queue of kernels.
    pub(crate) fn await_kernels(&self) -> Result<()> {
        self.bind()?;
        self.waiting.for_queue(&self.kernels, "waiting for the GPU")
    }

    /// Waits for an event.
    pub(crate) fn await_event(&self, event: &CudaEvent) -> Result<()> {
        self.waiting.for_event(event, "waiting for the GPU")
    }

    /// Waits for the queue of copies.
    pub(crate) fn await_copies(&self) -> Result<()> {
        self.bind()?;
        self.waiting.for_queue(&self.copies, "copying to the device")
    }

    pub(crate) fn context(&self) -> &Arc<CudaContext> {
        self.copies.context()
    }

    fn queue(&self, queue: Queue) -> &CudaStream {
        match queue {
            Queue::Copy => &self.copies,
            Queue::Compute => &self.kernels,
        }
    }

    fn bind(&self) -> Result<()> {
        self.context().bind_to_thread().map_err(driver("binding the context"))
    }
}

impl Engine for Gpu {
    fn layout(&mut self) -> &mut Layout {
        self.arena.as_mut().map_or(&mut self.nothing, Arena::layout_mut)
    }

    fn address(&self) -> u64 {
        self.arena.as_ref().map_or(0, Arena::address)
    }

    fn processors(&self) -> u32 {
        self.processors
    }

    fn copy(&mut self, to: u64, pieces: &[&[u8]]) -> Result<()> {
        self.bind()?;
        self.staging.copy(to, pieces)
    }

    fn sent(&mut self) -> Result<()> {
        self.staging.sent()
    }

    fn unpack(&mut self, order: &Unpack<'_>) -> Result<()> {
        let CompactSlices { bytes, parts } = order.compact;
        let Some(&CompactPart { row: first_row, arc: first_arc, .. }) = parts.first() else { return Ok(()) };
        self.bind()?;
        let function = self.load_unpack()?;
        let (room, at) = (self.scratch().saturating_sub(BYTES_AT), self.scratch);
        let mut first = 0;
        while first < parts.len() {
            let (end, begin) = group(parts, first, room);
            if end == first {
                return Err(Error::Section("a file block is larger than the scratch piece".into()));
            }
            let group = &parts[first..end];
            // In the queue of copies, where the kernel of the group before comes first.
            self.staging.copy(at + PARTS_AT, &[bytemuck::cast_slice(group)])?;
            self.staging.copy(at + BYTES_AT, &[&bytes[begin as usize..group[group.len() - 1].end as usize]])?;
            let arguments: [u64; 11] = [
                (at + BYTES_AT).wrapping_sub(u64::from(begin)),
                at + PARTS_AT,
                order.offsets_at,
                u64::from(matches!(order.offsets, Offsets::Wide(_))),
                order.base,
                u64::from(first_row),
                u64::from(first_arc),
                order.successors_at,
                at,
                if order.counted { at + BINS_AT } else { 0 },
                u64::from(self.bin_shift),
            ];
            let mut parameters: Vec<*mut c_void> =
                arguments.iter().map(|argument| std::ptr::from_ref(argument).cast_mut().cast()).collect();
            let grid = (group.len() as u32, 1, 1);
            // SAFETY: as in `launch`; the kernel stays within the parts' rows, which callers made places for.
            unsafe {
                result::launch_kernel(function, grid, (THREADS, 1, 1), 0, self.copies.cu_stream(), &mut parameters)
            }
            .map_err(driver("unpacking rows"))?;
            first = end;
        }
        Ok(())
    }

    fn begin_unpacking(&mut self, numbered: u32) -> Result<()> {
        self.bin_shift = bin_shift(numbered);
        if self.scratch() > 0 { self.zero(self.scratch, self.scratch()) } else { Ok(()) }
    }

    fn bins(&mut self) -> Result<Vec<u64>> {
        self.await_copies()?;
        let mut bins = vec![0u64; BINS];
        // SAFETY: in the scratch piece, which is there where rows were unpacked; the call returns when the copy is done.
        unsafe { result::memcpy_dtoh_sync(&mut bins, self.scratch + BINS_AT) }.map_err(driver("reading the bins"))?;
        Ok(bins)
    }

    fn unpacked(&mut self) -> Result<()> {
        if self.scratch() == 0 {
            return Ok(());
        }
        self.await_copies()?;
        let mut wrong = [0u64];
        // SAFETY: as in `bins`.
        unsafe { result::memcpy_dtoh_sync(&mut wrong, self.scratch) }.map_err(driver("reading the result"))?;
        if wrong[0] == 0 { Ok(()) } else { Err(Error::Rows) }
    }

    fn zero(&mut self, at: u64, bytes: u64) -> Result<()> {
        self.bind()?;
        // SAFETY: a piece of the arena, as callers see to.
        unsafe { result::memset_d8_async(at, 0, bytes as usize, self.copies.cu_stream()) }
            .map_err(driver("clearing device memory"))
    }

    fn launch(&mut self, grid: Grid, call: &Call) -> Result<()> {
        self.bind()?;
        let parameter = |value: *const c_void| value.cast_mut();
        let (function, mut parameters) = match call {
            Call::Tiled(arguments) => (self.lstc.functions[0], vec![parameter(std::ptr::from_ref(arguments).cast())]),
            Call::Global(arguments) => (self.lstc.functions[1], vec![parameter(std::ptr::from_ref(arguments).cast())]),
            Call::Packed(kernel, arguments) => {
                let functions = self.packed.as_ref().map_or(&[][..], |module| &module.functions);
                let missing = || Error::Launch { doing: "starting it", reason: "its kernels are not loaded".into() };
                let function = *functions.get(*kernel as usize).ok_or_else(missing)?;
                (function, vec![parameter(std::ptr::from_ref(arguments).cast())])
            }
            Call::Sum { values, len, sums } => {
                (self.lstc.functions[2], [values, len, sums].map(|n| parameter(std::ptr::from_ref(n).cast())).to_vec())
            }
        };
        // SAFETY: the parameters have the number and the types that the kernel declares, and the driver copies them during the
        // call; addresses in them are pieces of the arena that stay as long as the queue works on them, as callers see to.
        unsafe {
            result::launch_kernel(
                function,
                (grid.blocks, 1, 1),
                (grid.threads, 1, 1),
                grid.shared,
                self.kernels.cu_stream(),
                &mut parameters,
            )
        }
        .map_err(|error| match driver("starting it")(error) {
            Error::Driver { doing, reason } => Error::Launch { doing, reason },
            other => other,
        })
    }

    fn record(&mut self, queue: Queue, mark: Mark) -> Result<()> {
        self.marks[mark].record(self.queue(queue)).map_err(driver("recording an event"))
    }

    fn wait(&mut self, queue: Queue, mark: Mark) -> Result<()> {
        self.queue(queue).wait(&self.marks[mark]).map_err(driver("waiting for an event"))
    }

    fn reach(&mut self, mark: Mark) -> Result<()> {
        self.waiting.for_event(&self.marks[mark], "waiting for the GPU")
    }

    fn seconds(&mut self, from: Mark, to: Mark) -> Result<f64> {
        let milliseconds = self.marks[from].elapsed_ms(&self.marks[to]).map_err(driver("timing"))?;
        Ok(f64::from(milliseconds) / 1000.0)
    }

    fn read(&mut self, at: u64) -> Result<u64> {
        self.await_kernels()?;
        let mut value = [0u64];
        // SAFETY: a piece of the arena, as callers see to; the call returns when the copy is done.
        unsafe { result::memcpy_dtoh_sync(&mut value, at) }.map_err(driver("reading the result"))?;
        Ok(value[0])
    }

    fn settle(&mut self) {
        // For giving up: an error was reported already, or nobody asks for the result.
        let _ = self.await_copies();
        let _ = self.await_kernels();
    }
}

/// The loaded kernels of a source.
#[derive(Debug)]
struct Module {
    context: Arc<CudaContext>,
    handle: sys::CUmodule,
    /// In the order in which they were asked for.
    functions: Vec<sys::CUfunction>,
}

// SAFETY: the handles are names that the driver takes from any thread with the context bound.
unsafe impl Send for Module {}
// SAFETY: as above; nothing in it changes.
unsafe impl Sync for Module {}

impl Module {
    /// Loads the image; where the driver refuses what was compiled (by a compiler of a later release, say), the embedded PTX.
    fn load_any(context: &Arc<CudaContext>, source: &Source, image: Image, names: &[&str]) -> Result<(Self, Origin)> {
        match Self::load(context, &image, names) {
            Err(error) if !matches!(image.origin, Origin::Embedded { .. }) => {
                let image = Image::embedded(source, error.to_string());
                Ok((Self::load(context, &image, names)?, image.origin))
            }
            loaded => Ok((loaded?, image.origin)),
        }
    }

    fn load(context: &Arc<CudaContext>, image: &Image, names: &[&str]) -> Result<Self> {
        let loading = driver("loading the kernels");
        context.bind_to_thread().map_err(&loading)?;
        // SAFETY: an ELF image whose header says how long it is and whose checksum held or that was just made, or text that ends
        // in a zero.
        let handle = unsafe { result::module::load_data(image.bytes.as_ptr().cast()) }.map_err(&loading)?;
        let mut module = Self { context: Arc::clone(context), handle, functions: Vec::with_capacity(names.len()) };
        for name in names {
            // SAFETY: the module was just loaded.
            let function = unsafe {
                result::module::get_function(handle, CString::new(*name).unwrap_or_default()).map_err(&loading)?
            };
            module.functions.push(function);
        }
        Ok(module)
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        if !is_abandoned(&self.context) && self.context.bind_to_thread().is_ok() {
            // SAFETY: loaded in `load`, unloaded once. What fails here is a lost device.
            let _ = unsafe { result::module::unload(self.handle) };
        }
    }
}
