//! The CUDA backend: one GPU counts a partition, a row block at a time; by default by whichever of `packed` and `lstc`, Algorithm 3
//! of LSTC, is estimated to be sooner done.
//!
//! The kernels and everything that touches the driver are in the crate `trimill-kernels`; here its sections, terms and
//! errors are made those of the pipeline. All device memory is one arena of the size of the budget.
//!
//! Of a partition, the host holds the locals' numbers and, of all else, what is on its way: three runs of the resident section,
//! and two row blocks, which are decoded into page-locked memory and copied from there.

mod buffers;
mod counter;
mod into;

use std::path::Path;
use std::time::Duration;

use rayon::ThreadPool;
use trimill_kernels::papers::{self, Program};
use trimill_kernels::{Gpu, Images, RowBlockSlices, Shape, Size, packed};

use super::method::CudaMethod;
use super::{Backend, CounterMemory, Device, PartitionCount, PartitionCounter, Preferred, Terms};
use crate::bytes::Bytes;
use crate::error::{Error, Result};
use crate::graph::GraphSize;
use crate::partition::numbers::Gathered;
use crate::partition::section::{Resident, ResidentSize, RowBlock, RowBlockView, RowsIn};
use crate::plan::choose::{Candidate, MethodEstimate, choose};
use crate::plan::{Floor, floor};
use crate::rates::Rates;
use buffers::Buffers;
use counter::Counter;
use into::ArcsInto;

/// Bytes of the resident section that pass at a time, at most.
pub const CHUNK: Bytes = Bytes::mib(32);

/// And at least.
pub const LEAST_CHUNK: Bytes = Bytes::mib(1);

/// Runs of the resident section that are read, on their way, or copied to the device.
pub const RUNS_IN_FLIGHT: u64 = 3;

/// Runs of the next partition's resident section that may be read ahead.
pub const RUNS_AHEAD: u64 = 2;

/// Bytes of the host's memory for one GPU, apart from its row blocks and staging buffers: the runs in flight and those read
/// ahead. Offsets of short rows may take twice as much as their successors, and the rows' numbers as much.
pub const fn on_host(chunk: Bytes) -> Bytes {
    Bytes((RUNS_IN_FLIGHT + RUNS_AHEAD) * 4 * chunk.get())
}

/// A GPU with the budget of a job reserved.
pub struct Cuda {
    // Before the GPU, which their memory belongs to.
    buffers: Buffers,
    kernels: Kernels,
    gpu: Gpu,
    method: CudaMethod,
    /// Of `lstc`, and whether a job asked for it.
    shape: (Shape, bool),
    /// Whether the method is its own choice.
    chose: bool,
    /// Bytes of the resident section that pass at a time.
    chunk: Bytes,
}

/// What counts on the GPU.
enum Kernels {
    Lstc(Shape),
    Packed,
    Paper(papers::Method, Program),
}

/// How a job sets the kernels.
#[derive(Debug, Clone, Copy, Default)]
pub struct Settings {
    /// Threads of a block.
    pub block_threads: Option<u32>,
    /// The tile of `lstc`.
    pub tile: Option<u32>,
    /// How long a GPU may be silent.
    pub timeout: Option<Duration>,
}

impl Cuda {
    /// Opens GPU number `ordinal`; compiled kernels are kept in the folder `cache`, if there is one. Nothing is reserved
    /// yet.
    ///
    /// # Errors
    /// [`crate::error::Kind::Resource`]: why there is no usable GPU, and what to do. [`crate::error::Kind::Usage`]: block
    /// threads or a tile out of bounds.
    pub fn open(ordinal: u32, method: CudaMethod, settings: Settings, cache: Option<&Path>) -> Result<Self> {
        let Settings { block_threads, tile, timeout } = settings;
        let shape = Shape::new(block_threads.unwrap_or(128), tile.unwrap_or(128)).map_err(translated)?;
        let images = Images { cache, embedded_only: false };
        let mut gpu = Gpu::open(ordinal, &images).map_err(translated)?;
        gpu.wait_at_most(timeout.unwrap_or(trimill_kernels::USUAL_LIMIT));
        let (kernels, origin) = match method.of_papers(block_threads) {
            None if method == CudaMethod::Packed => (Kernels::Packed, gpu.origin().clone()),
            None => (Kernels::Lstc(shape), gpu.origin().clone()),
            Some(paper) => {
                let program = Program::load(&gpu, &images, &paper).map_err(translated)?;
                let origin = program.origin().clone();
                (Kernels::Paper(paper, program), origin)
            }
        };
        tracing::info!("{}: kernels of {} {origin:?}", gpu.device().name, method.name());
        let asked = block_threads.is_some() || tile.is_some();
        Ok(Self {
            buffers: Buffers::default(),
            kernels,
            gpu,
            method,
            shape: (shape, asked),
            chose: method == CudaMethod::Auto,
            chunk: CHUNK,
        })
    }

    /// Settles what the method leaves open, once the budget is reserved: between which methods it chose, if it did. Row blocks have
    /// at most `largest_row_block`.
    pub fn settle(&mut self, graph: &GraphSize, largest_row_block: Bytes, rates: &Rates) -> Vec<MethodEstimate> {
        if let Kernels::Paper(paper, _) = &mut self.kernels {
            *paper = paper.settled(graph.vertices, graph.edges, self.gpu.reserved());
        }
        if self.method != CudaMethod::Auto {
            return Vec::new();
        }
        let (budget, (shape, asked)) = (self.gpu.reserved(), self.shape);
        let only = asked || !packed::takes(graph.vertices, graph.edges, budget);
        let (lstc, packed) = (self.beside_scratch(terms()), self.beside_scratch(packed_terms()));
        let candidates = [
            Candidate { name: "lstc", terms: &lstc, speed: rates.lstc() },
            Candidate { name: "packed", terms: &packed, speed: rates.packed() },
        ];
        let candidates = if only { &candidates[..1] } else { &candidates[..] };
        let (chosen, estimates) = choose(graph, candidates, (Bytes(budget), largest_row_block), rates.gpu_arcs);
        (self.method, self.kernels) = match chosen {
            0 => (CudaMethod::Lstc, Kernels::Lstc(shape)),
            _ => (CudaMethod::Packed, Kernels::Packed),
        };
        estimates
    }

    /// Resident rows pass in runs of so many bytes from now on.
    pub fn pass_in_runs_of(&mut self, chunk: Bytes) {
        self.chunk = chunk;
    }

    /// What a method takes beside what is set apart for stored rows.
    fn beside_scratch(&self, terms: Terms) -> Terms {
        Terms { scratch: Bytes(self.gpu.scratch()), ..terms }
    }

    /// Does without memory that is set apart for stored rows: rows come plain then.
    ///
    /// # Errors
    /// When the device refuses or is lost.
    pub fn without_scratch(&mut self) -> Result<()> {
        self.gpu.reserve(self.gpu.reserved()).map_err(translated)
    }

    /// The smallest budget for a graph.
    pub fn floor(&self, graph: &GraphSize) -> Floor {
        floor(graph, &Terms { scratch: Bytes::ZERO, ..self.terms() })
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
        let reserved = match self.method {
            CudaMethod::Auto | CudaMethod::Lstc | CudaMethod::Packed => self.gpu.reserve_for_stored_rows(budget.get()),
            _ => self.gpu.reserve(budget.get()),
        };
        match reserved {
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
        self.method.name()
    }

    fn share(&mut self, share: u32, of: u32) -> bool {
        match &mut self.kernels {
            Kernels::Paper(papers::Method::Polak(options), _) => {
                options.share = (share, of);
                true
            }
            _ => false,
        }
    }

    fn take_less(&mut self) -> bool {
        let less = self.chose && self.method != CudaMethod::Lstc;
        if less {
            (self.method, self.kernels) = (CudaMethod::Lstc, Kernels::Lstc(self.shape.0));
        }
        less
    }

    fn whole(&self) -> bool {
        matches!(&self.kernels, Kernels::Paper(paper, _) if paper.whole())
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
        match &self.kernels {
            Kernels::Lstc(_) => self.beside_scratch(terms()),
            Kernels::Packed => self.beside_scratch(packed_terms()),
            Kernels::Paper(paper, _) => terms_of(paper),
        }
    }

    fn row_block_buffer(&mut self, words: u64) -> RowBlock {
        match self.buffers.lend(&self.gpu, words) {
            Some(memory) => RowBlock::lent(memory),
            None => RowBlock::default(),
        }
    }

    fn resident_buffer(&mut self, size: ResidentSize) -> Resident {
        let words = size.arcs.min(self.chunk.get() / 4);
        self.buffers.lend(&self.gpu, words).map_or_else(Resident::default, Resident::lent)
    }

    fn stored_rows(&self) -> Option<Bytes> {
        let takes = matches!(self.kernels, Kernels::Lstc(_) | Kernels::Packed) && self.gpu.scratch() > 0;
        takes.then(|| Bytes(self.gpu.longest_part()))
    }

    fn resident_chunk(&self) -> Option<Bytes> {
        Some(self.chunk)
    }

    fn begin<'a>(
        &'a mut self,
        size: ResidentSize,
        numbered: u32,
        largest_row_block: Bytes,
    ) -> Result<Box<dyn PartitionCounter + 'a>> {
        let size = Size { locals: size.locals, arcs: size.arcs, numbered, row_block_limit: largest_row_block.get() };
        let scratch = Bytes(self.gpu.scratch());
        let counter = Counter::begin(&mut self.gpu, &self.kernels, size).map_err(translated)?;
        // Where all are local, there is one row block and nothing to choose.
        let into =
            (self.method == CudaMethod::Packed && size.locals < u64::from(numbered)).then(|| ArcsInto::new(numbered));
        Ok(Box::new(Counting { counter, numbers: Gathered::default(), arcs: 0, into, binned: false, scratch }))
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
        preferred: None,
        fixed: Bytes(terms.fixed),
        scratch: Bytes::ZERO,
    }
}

/// What method `packed` takes, of whatever GPU.
fn packed_terms() -> Terms {
    let terms = packed::TERMS;
    Terms {
        per_resident_arc: terms.per_resident_arc,
        per_local: terms.per_local,
        tables: |_, _| Bytes::ZERO,
        workers: 1,
        slots: |_| packed::ROW_BLOCKS,
        fixed: Bytes(terms.fixed),
        scratch: Bytes::ZERO,
        preferred: Some(|Preferred { resident: ResidentSize { locals, arcs }, numbered, row_block }| {
            Bytes(packed::preferred_bytes(&Size { locals, arcs, numbered, row_block_limit: row_block.get() }))
        }),
    }
}

/// What a method of the papers takes, of whatever GPU.
fn terms_of(paper: &papers::Method) -> Terms {
    let terms = paper.terms();
    let per_numbered: fn(u32, u64) -> Bytes = match terms.per_numbered {
        0 => |_, _| Bytes::ZERO,
        _ => |numbered, _| Bytes(papers::skiff::PER_NUMBERED * u64::from(numbered)),
    };
    Terms {
        per_resident_arc: terms.per_resident_arc,
        per_local: terms.per_local,
        tables: per_numbered,
        workers: 1,
        slots: if paper.whole() { |_| 0 } else { |_| 1 },
        preferred: None,
        fixed: Bytes(terms.fixed),
        scratch: Bytes::ZERO,
    }
}

struct Counting<'a> {
    counter: Counter<'a>,
    /// The locals' numbers so far: all that the host keeps of the resident section.
    numbers: Gathered,
    /// Arcs of the resident section so far.
    arcs: u64,
    /// Where they lead, for a method that asks.
    into: Option<ArcsInto>,
    /// Whether the device has counted where they lead, since it unpacked them, and was not asked yet.
    binned: bool,
    /// What is set apart on the device beside what the method takes.
    scratch: Bytes,
}

impl PartitionCounter for Counting<'_> {
    fn resident(&mut self, mut run: Resident, pool: &ThreadPool) -> Result<Option<Resident>> {
        let base = self.arcs;
        self.arcs += run.size().arcs;
        if run.offsets.first().is_some_and(|&first| first != base) {
            // By this thread alone, since those of the pool are reading the next run.
            run.offsets.iter_mut().for_each(|offset| *offset += base);
        }
        self.numbers.add(&run.numbers);
        match &mut self.into {
            Some(_) if run.compact().is_some() => self.binned = true,
            Some(into) => pool.install(|| into.add(&run.successors)),
            None => {}
        }
        self.counter.resident(run).map_err(translated)
    }

    fn row_block(&mut self, row_block: &RowBlockView<'_>, pool: &ThreadPool) -> Result<()> {
        if std::mem::take(&mut self.binned)
            && let Some(into) = &mut self.into
        {
            into.add_bins(&self.counter.bins().map_err(translated)?);
        }
        let rows = Resident::rows_in(self.numbers.all(), row_block, Some(pool));
        let everything = RowBlockSlices {
            range: row_block.range.clone(),
            offsets: row_block.offsets,
            successors: row_block.successors,
            compact: row_block.stored,
            local_words: &[],
            local_ranks: &[],
            first_local: 0,
            arcs_into: self.into.as_ref().map_or(u64::MAX, |into| into.most(&row_block.range)),
            all_local: false,
        };
        let slices = match &rows {
            RowsIn::RowBlock { first } => RowBlockSlices { first_local: *first as u32, ..everything },
            // The row block has no rows, and nothing of it is sent.
            RowsIn::Resident { first } => {
                RowBlockSlices { offsets: &[0], first_local: *first as u32, all_local: true, ..everything }
            }
            RowsIn::Both { first, local } => RowBlockSlices {
                local_words: local.words(),
                local_ranks: local.ranks(),
                first_local: *first as u32,
                ..everything
            },
        };
        self.counter.row_block(&slices).map_err(translated)
    }

    fn finish(self: Box<Self>) -> Result<PartitionCount> {
        self.counter.finish().map_err(translated)
    }

    fn memory(&self) -> CounterMemory {
        CounterMemory::All(Bytes(self.counter.bytes()) + self.scratch)
    }
}

/// An error of the kernels as this crate's.
fn translated(error: trimill_kernels::Error) -> Error {
    use trimill_kernels::Error as E;
    let text = error.to_string();
    match error {
        E::Shape(_) => Error::usage(text),
        E::Rows => Error::data("the graph file", text).advice("remove it (trimill cache remove), and it is made again"),
        E::Whole { .. } => Error::resource(text).advice("use --parts 1 and a budget of so much, or another --method"),
        E::Absent(_) | E::NoSuchDevice { .. } => {
            Error::resource(format!("no usable GPU: {text}")).advice("use --backend cpu")
        }
        E::DeviceMemory { .. } => Error::resource(text).advice("lower --device-memory to what is free"),
        E::OutOfMemory { .. } => {
            Error::resource(text).advice("lower --device-memory, or end other programs on that GPU")
        }
        E::Hung { .. } => Error::resource(text)
            .advice("see what nvidia-smi and the system's log say of it; where its kernels take so long, raise --device-timeout"),
        E::HostMemory { .. } => {
            Error::resource(text).advice("lower --host-memory, or end other programs that lock memory")
        }
        E::Budget { .. } | E::RowBlockTooLarge { .. } => {
            Error::resource(text).advice("lower --block-bytes or raise --device-memory")
        }
        _ => Error::resource(text).advice("use --backend cpu, or see what nvidia-smi says of the device"),
    }
}
