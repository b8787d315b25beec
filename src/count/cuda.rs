//! The CUDA backend: a GPU counts a partition, one row block at a time, by the method that is asked for or estimated to be the fastest. Kernels,
//! methods and driver calls are in the crate `trimill-kernels`; this module chooses a method and lends page-locked memory. All device memory is one
//! arena of the budget's size. Of a partition, the host holds the locals' numbers, three runs of resident rows, and two row blocks.

mod absent;
mod buffers;

use std::time::Duration;

use trimill_counting::{
    COUNTER_BYTES, CountBackend, Detail, Device, Footprint, GraphToPeel, Lent, PartitionCounter, PartitionExtent,
    Peeling,
};
use trimill_kernels::truss::PeelingDevice;
use trimill_kernels::{ALIGNMENT, CountingMethod, Gpu, GpuError, ImageForm, Lstc, Packed, packed_takes};

use super::method::CudaMethod;
use super::vertex_counters;
use crate::job::file::CountTable;
pub use absent::Absent;
use buffers::Buffers;
use trimill_system::timeline::TimedWork;
use trimill_system::{Bytes, Control, Result};

pub const CHUNK: Bytes = Bytes::mib(32);

pub const LEAST_CHUNK: Bytes = Bytes::mib(1);

/// Runs of resident rows that are being read, waiting, or being copied to the device.
pub const RUNS_IN_FLIGHT: u64 = 3;

/// Runs of the next partition's resident rows that may be prefetched.
pub const RUNS_AHEAD: u64 = 2;

/// Host memory for one GPU besides row blocks and staging buffers: the runs in flight and prefetched. For short rows, the offsets may take twice
/// as much memory as the successors, and the rows' numbers as much.
pub const fn on_host(chunk: Bytes) -> Bytes {
    Bytes((RUNS_IN_FLIGHT + RUNS_AHEAD) * 4 * chunk.get())
}

pub struct Cuda {
    // Declared first, so dropped before the GPU that owns their memory.
    buffers: Buffers,
    gpu: Gpu,
    name: CudaMethod,
    method: Box<dyn CountingMethod>,
    /// `lstc`, and whether the job set its shape.
    lstc: (Lstc, bool),
    chunk: Bytes,
    edges: bool,
    /// If triangles at vertices are counted: the graph's vertices, a partition's counters, at most, and the most bytes of those in memory.
    vertices: Option<(u32, u64, Bytes)>,
}

impl CountTable {
    /// Method `lstc`. Errors, `Kind::Usage`: block threads or a tile out of bounds.
    pub fn lstc(&self) -> Result<Lstc> {
        let usual = Lstc::default();
        let (block_threads, tile) = (usual.block_threads(), usual.tile());
        Ok(Lstc::new(self.block_threads.unwrap_or(block_threads), self.tile.unwrap_or(tile))?)
    }

    fn asks_for_shape(&self) -> bool {
        self.block_threads.is_some() || self.tile.is_some()
    }
}

impl Cuda {
    /// Opens GPU number `ordinal`; reserves nothing. Errors: `Kind::Resource` if it cannot be used; `Kind::Usage` as for [`CountTable::lstc`].
    pub fn open(ordinal: u32, name: CudaMethod, settings: &CountTable) -> Result<Self> {
        let lstc = settings.lstc()?;
        let mut gpu = Gpu::open(ordinal, ImageForm::Best)?;
        let timeout = settings.device_timeout.map(|seconds| Duration::from_secs(seconds.get().into()));
        gpu.wait_at_most(timeout.unwrap_or(trimill_kernels::USUAL_LIMIT));
        let method: Box<dyn CountingMethod> = match name {
            CudaMethod::Auto | CudaMethod::Lstc => Box::new(lstc),
            CudaMethod::Packed => Box::new(Packed),
            #[cfg(feature = "baselines")]
            CudaMethod::Baseline(_, method) => {
                Box::new(settings.block_threads.map_or(method, |threads| method.with_block_threads(threads)))
            }
        };
        let (buffers, lstc) = (Buffers::default(), (lstc, settings.asks_for_shape()));
        Ok(Self { buffers, gpu, name, method, lstc, chunk: CHUNK, edges: false, vertices: None })
    }

    /// The methods that the caller may choose from, with their footprints; none if the job named its method. Call after [`Self::reserve`].
    pub fn choices(&self, vertices: u32) -> Vec<(CudaMethod, Footprint)> {
        if self.name != CudaMethod::Auto {
            return Vec::new();
        }
        let (lstc, asked) = self.lstc;
        let mut choices = vec![(CudaMethod::Lstc, self.footprint_of(&lstc))];
        if !asked && packed_takes(vertices) {
            choices.push((CudaMethod::Packed, self.footprint_of(&Packed)));
        }
        choices
    }

    /// The footprints of all methods that may be chosen, or of the one that the job named.
    pub fn footprints(&self, vertices: u32) -> Vec<Footprint> {
        let choices = self.choices(vertices);
        if choices.is_empty() { vec![self.footprint()] } else { choices.into_iter().map(|(_, one)| one).collect() }
    }

    pub fn use_method(&mut self, choice: CudaMethod) {
        match choice {
            CudaMethod::Packed => (self.name, self.method) = (choice, Box::new(Packed)),
            _ => (self.name, self.method) = (CudaMethod::Lstc, Box::new(self.lstc.0)),
        }
    }

    pub fn set_run_bytes(&mut self, chunk: Bytes) {
        self.chunk = chunk;
    }

    /// Frees the memory for encoded rows: rows are then sent uncompressed.
    pub fn without_scratch(&mut self) -> Result<()> {
        self.gpu.reserve(self.gpu.reserved())?;
        self.reserve_counters(Bytes::ZERO);
        Ok(())
    }

    /// The footprint without buffers for encoded rows, and with the fewest counters.
    pub fn least_footprint(&self) -> Footprint {
        let counters = self.vertices.map_or(0, |(vertices, all, _)| vertex_counters(vertices, all, Bytes::ZERO));
        footprint(&*self.method, self.edges, 0, COUNTER_BYTES * counters)
    }

    pub fn count_edges(&mut self) {
        self.edges = true;
    }

    /// Counts at vertices, too, with at most `most` bytes of counters at a time, at least [`vertex_counters`]. Call after [`Self::reserve`].
    pub fn count_vertices(&mut self, vertices: u32, of_partition: u64, most: Bytes) {
        self.vertices = Some((vertices, of_partition, most));
        self.reserve_counters(Bytes(self.gpu.reserved()));
    }

    fn reserve_counters(&mut self, budget: Bytes) {
        if let Some((vertices, of_partition, most)) = self.vertices {
            self.gpu.reserve_counters(counter_bytes(
                vertices,
                of_partition,
                budget.min(Bytes(4 * most.get())),
                self.gpu.reserved(),
            ));
        }
    }

    fn footprint_of(&self, method: &dyn CountingMethod) -> Footprint {
        footprint(method, self.edges, self.gpu.scratch_bytes(), self.gpu.counter_bytes())
    }

    /// Loads the kernels of every count, and allocates buffers for resident runs. Ignores failures: they recur, and are reported, on use.
    pub fn warm_up(&mut self) {
        self.buffers.stock(&self.gpu, RUNS_IN_FLIGHT, CHUNK.get() / 4);
        for source in [&trimill_kernels::PACKED, &trimill_kernels::UNPACK] {
            let _ = self.engine().load(source);
        }
    }

    pub fn engine(&mut self) -> &mut dyn trimill_kernels::engine::Engine {
        &mut self.gpu
    }

    pub fn free(&self) -> Result<Bytes> {
        Ok(self.gpu.memory().map(|(free, _)| Bytes(free))?)
    }

    pub fn all() -> Result<Vec<u32>> {
        let found = trimill_kernels::find().map_err(GpuError::from)?;
        Ok(found.devices.iter().map(|device| device.ordinal).collect())
    }

    /// Allocates the arena, all device memory of this backend, in place of an earlier one. Returns the free bytes if the device refuses.
    pub fn reserve(&mut self, budget: Bytes) -> Result<Option<Bytes>> {
        let reserved = match self.method.takes_encoded_rows() {
            true => self.gpu.reserve_for_encoded_rows(budget.get()),
            false => self.gpu.reserve(budget.get()),
        };
        if reserved.is_ok() {
            self.reserve_counters(budget);
        }
        match reserved {
            Ok(()) => Ok(None),
            Err(GpuError::DeviceMemory { free, .. }) => Ok(Some(Bytes(free))),
            Err(error) => Err(error.into()),
        }
    }
}

impl CountBackend for Cuda {
    fn name(&self) -> &'static str {
        "cuda"
    }

    fn method(&self) -> &'static str {
        self.name.name()
    }

    fn device(&self) -> Option<Device> {
        let device = self.gpu.device();
        // A lost device reports no memory; the next attempt to count with it reports the loss.
        let used = self.gpu.memory().map_or(0, |(free, total)| total - free);
        Some(Device {
            ordinal: device.ordinal,
            name: device.name.clone(),
            budget: Bytes(self.gpu.reserved()),
            context: Bytes(self.gpu.held()),
            used: Bytes(used),
        })
    }

    fn footprint(&self) -> Footprint {
        self.footprint_of(&*self.method)
    }

    fn lend(&mut self, words: u64) -> Option<Box<dyn Lent>> {
        self.buffers.lend(&self.gpu, words)
    }

    fn encoded_rows(&self) -> Option<Bytes> {
        let takes = self.method.takes_encoded_rows() && self.gpu.scratch_bytes() > 0;
        takes.then(|| Bytes(self.gpu.longest_part()))
    }

    fn resident_chunk(&self) -> Option<Bytes> {
        Some(self.chunk)
    }

    fn record_work(&mut self) {
        if let Err(error) = self.gpu.record_work() {
            tracing::debug!("the timeline will not have the work of GPU {}: {error}", self.gpu.device().ordinal);
        }
    }

    fn recorded_work(&mut self) -> Vec<TimedWork> {
        self.gpu.take_work()
    }

    fn peels(&self, vertices: u64, edges: u64) -> Option<u64> {
        PeelingDevice::on_host(vertices, edges, self.gpu.reserved())
    }

    fn peel<'a>(&'a mut self, graph: GraphToPeel<'_>, control: &Control) -> Result<Box<dyn Peeling + 'a>> {
        if self.gpu.scratch_bytes() + self.gpu.counter_bytes() > 0 {
            self.gpu.reserve(self.gpu.reserved())?;
        }
        Ok(Box::new(PeelingDevice::new(&mut self.gpu, graph, control)?))
    }

    fn begin<'a>(&'a mut self, size: PartitionExtent, detail: Detail) -> Result<Box<dyn PartitionCounter + 'a>> {
        Ok(self.method.begin(&mut self.gpu, size, detail)?)
    }
}

/// Bytes of the counters held at a time: within `budget`, and never more than half of `all`.
fn counter_bytes(vertices: u32, of_partition: u64, budget: Bytes, all: u64) -> u64 {
    let counters = vertex_counters(vertices, of_partition, budget);
    (COUNTER_BYTES * counters).min(all / 2 / ALIGNMENT * ALIGNMENT)
}

fn footprint(method: &dyn CountingMethod, edges: bool, scratch: u64, counters: u64) -> Footprint {
    let footprint = if edges { method.footprint_with_edges() } else { method.footprint() };
    Footprint { apart: Bytes(scratch + counters), counters: counters / COUNTER_BYTES, ..footprint }
}
