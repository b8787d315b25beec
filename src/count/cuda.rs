//! The CUDA backend, method `lstc`: Algorithm 3 of LSTC on one GPU, a frame at a time.
//!
//! The kernels and everything that touches the driver are in the crate `trimill-kernels`; here its sections, terms and
//! errors are made those of the pipeline. All device memory is one arena of the size of the budget.
//!
//! Of a partition, the host holds the locals' numbers and, of all else, what is on its way: two runs of the resident section,
//! and two frames, which are decoded into page-locked memory and copied from there.

mod buffers;

use std::path::Path;
use std::time::Duration;

use rayon::ThreadPool;
use rayon::prelude::*;
use trimill_kernels::{Counter, FrameSlices, Gpu, Images, ResidentSlices, Shape, Size};

use super::{Backend, CounterMemory, Device, DeviceTimes, PartitionCounter, Tally, Terms};
use crate::bytes::Bytes;
use crate::error::{Error, Result};
use crate::partition::section::{Frame, FrameView, Resident, ResidentSize, RowsIn};
use buffers::Buffers;

/// Bytes of the resident section that pass at a time.
const CHUNK: Bytes = Bytes::mib(32);

/// Bytes of the host's memory for one GPU, apart from its frames: two runs, whose offsets may take as much as their heads or
/// twice that, and page-locked buffers.
pub const ON_HOST: Bytes = Bytes(6 * CHUNK.get() + trimill_kernels::STAGING_BYTES);

/// A GPU with the budget of a job reserved.
pub struct Cuda {
    // Before the GPU, which their memory belongs to.
    buffers: Buffers,
    gpu: Gpu,
    shape: Shape,
}

impl Cuda {
    /// Opens GPU number `ordinal`; compiled kernels are kept in the folder `cache`, if there is one. Nothing is reserved
    /// yet.
    ///
    /// # Errors
    /// [`crate::error::Kind::Resource`]: why there is no usable GPU, and what to do. [`crate::error::Kind::Usage`]: block
    /// threads or a tile out of bounds.
    pub fn open(ordinal: u32, block_threads: u32, tile: u32, cache: Option<&Path>) -> Result<Self> {
        let shape = Shape::new(block_threads, tile).map_err(translated)?;
        let gpu = Gpu::open(ordinal, &Images { cache, embedded_only: false }).map_err(translated)?;
        tracing::info!("{}: kernels {:?}", gpu.device().name, gpu.origin());
        Ok(Self { buffers: Buffers::default(), gpu, shape })
    }

    /// Bytes of the device that are free now.
    ///
    /// # Errors
    /// When the device is lost.
    pub fn free(&self) -> Result<Bytes> {
        self.gpu.memory().map(|(free, _)| Bytes(free)).map_err(translated)
    }

    /// The numbers of all GPUs.
    ///
    /// # Errors
    /// [`crate::error::Kind::Resource`]: why there is none.
    pub fn all() -> Result<Vec<u32>> {
        let found = trimill_kernels::find().map_err(|absence| translated(absence.into()))?;
        Ok(found.devices.iter().map(|device| device.ordinal).collect())
    }

    /// Takes the arena, all that this backend will ever allocate, in place of one taken before. Where the device refuses so
    /// many bytes: how many it says are free.
    ///
    /// # Errors
    /// When the device is lost.
    pub fn reserve(&mut self, budget: Bytes) -> Result<Option<Bytes>> {
        match self.gpu.reserve(budget.get()) {
            Ok(()) => Ok(None),
            Err(trimill_kernels::Error::DeviceMemory { free, .. }) => Ok(Some(Bytes(free))),
            Err(error) => Err(translated(error)),
        }
    }
}

impl Backend for Cuda {
    fn name(&self) -> &'static str {
        "cuda"
    }

    fn method(&self) -> &'static str {
        "lstc"
    }

    fn device(&self) -> Option<Device> {
        let device = self.gpu.device();
        // A lost device says nothing of its memory; what asks it to count reports that.
        let used = self.gpu.memory().map_or(0, |(free, total)| total - free);
        Some(Device {
            ordinal: device.ordinal,
            name: device.name.clone(),
            budget: Bytes(self.gpu.reserved()),
            context: Bytes(self.gpu.held()),
            used: Bytes(used),
        })
    }

    fn terms(&self) -> Terms {
        terms()
    }

    fn frame_buffer(&mut self, words: u64) -> Frame {
        match self.buffers.lend(&self.gpu, words) {
            Some(memory) => Frame::lent(memory),
            None => Frame::default(),
        }
    }

    fn lock_pages<'m>(&self, memory: &'m [u32]) -> Option<Box<dyn Send + 'm>> {
        match self.gpu.lock(memory) {
            Ok(locked) => Some(Box::new(locked)),
            Err(error) => {
                tracing::debug!("shared frames pass through pageable memory: {error}");
                None
            }
        }
    }

    fn resident_chunk(&self) -> Option<Bytes> {
        Some(CHUNK)
    }

    fn begin<'a>(
        &'a mut self,
        size: ResidentSize,
        numbered: u32,
        largest_frame: Bytes,
    ) -> Result<Box<dyn PartitionCounter + 'a>> {
        let size = Size { locals: size.locals, arcs: size.arcs, numbered, frame_limit: largest_frame.get() };
        let counter = Counter::begin(&mut self.gpu, self.shape, size).map_err(translated)?;
        Ok(Box::new(Counting { counter, numbers: Vec::with_capacity(size.locals as usize), arcs: 0 }))
    }
}

/// What the method takes, of whatever GPU.
pub fn terms() -> Terms {
    let terms = trimill_kernels::TERMS;
    Terms {
        per_resident_arc: terms.per_resident_arc,
        per_local: terms.per_local,
        tables: |_, _| Bytes::ZERO,
        workers: 1,
        slots: |_| 2,
        fixed: Bytes(terms.fixed),
    }
}

struct Counting<'a> {
    counter: Counter<'a>,
    /// The locals' numbers so far: all that the host keeps of the resident section.
    numbers: Vec<u32>,
    /// Arcs of the resident section so far.
    arcs: u64,
}

impl PartitionCounter for Counting<'_> {
    fn resident(&mut self, mut run: Resident, pool: &ThreadPool) -> Result<Option<Resident>> {
        let base = self.arcs;
        if base > 0 {
            pool.install(|| run.offsets.par_iter_mut().for_each(|offset| *offset += base));
        }
        self.arcs += run.heads.len() as u64;
        self.numbers.extend_from_slice(&run.numbers);
        self.counter.resident(&ResidentSlices { offsets: &run.offsets, heads: &run.heads }).map_err(translated)?;
        Ok(Some(run))
    }

    fn frame(&mut self, frame: &FrameView<'_>, pool: &ThreadPool) -> Result<()> {
        let rows = pool.install(|| Resident::rows_in(&self.numbers, frame));
        let everything = FrameSlices {
            range: frame.range.clone(),
            offsets: frame.offsets,
            heads: frame.heads,
            local_words: &[],
            local_ranks: &[],
            first_local: 0,
            all_local: false,
        };
        let slices = match &rows {
            RowsIn::Frame => everything,
            // The frame has no rows, and nothing of it is sent.
            RowsIn::Resident { first } => {
                FrameSlices { offsets: &[0], first_local: *first as u32, all_local: true, ..everything }
            }
            RowsIn::Both { first, local } => FrameSlices {
                local_words: local.words(),
                local_ranks: local.ranks(),
                first_local: *first as u32,
                ..everything
            },
        };
        self.counter.frame(&slices).map_err(translated)
    }

    fn finish(self: Box<Self>) -> Result<Tally> {
        let counted = self.counter.finish().map_err(translated)?;
        Ok(Tally {
            triangles: counted.triangles,
            device: Some(DeviceTimes {
                kernels: Duration::from_secs_f64(counted.kernel_seconds + counted.sum_seconds),
                copies: Duration::from_secs_f64(counted.copy_seconds),
            }),
        })
    }

    fn memory(&self) -> CounterMemory {
        CounterMemory::All(Bytes(self.counter.bytes()))
    }
}

/// An error of the kernels as this crate's.
fn translated(error: trimill_kernels::Error) -> Error {
    use trimill_kernels::Error as E;
    let text = error.to_string();
    match error {
        E::Shape(_) => Error::usage(text),
        E::Absent(_) | E::NoSuchDevice { .. } => {
            Error::resource(format!("no usable GPU: {text}")).advice("use --backend cpu")
        }
        E::DeviceMemory { .. } => Error::resource(text).advice("lower --device-memory to what is free"),
        E::Budget { .. } | E::FrameTooLarge { .. } => {
            Error::resource(text).advice("lower --frame-bytes or raise --device-memory")
        }
        _ => Error::resource(text).advice("use --backend cpu, or see what nvidia-smi says of the device"),
    }
}
