//! The interface between the code that streams a partition and the code that counts it. A [`PartitionSource`] delivers the sections of a partition. A
//! [`CountBackend`] is a device or the host, with a method. Its [`PartitionCounter`] takes runs of the resident section, then the row blocks,
//! ascending and without a gap, and then gives the count.
//!
//! A triangle `a -> b, a -> c, b -> c` is counted where `a` is local, with the row block that covers `b`. In any other partition that contains its
//! corners, `a` is a proxy, for which nothing is counted. So the counts of all partitions add up to that of the graph.

use std::ops::AddAssign;
use std::time::Duration;

use rayon::ThreadPool;

use crate::{
    Detail, Footprint, GraphToPeel, Lent, NumberRuns, PartitionExtent, Peeling, Resident, ResidentSize, RowBlock,
    RowBlockView, VertexCounters,
};
use trimill_system::control::{Control, Progress};
use trimill_system::timeline::TimedWork;
use trimill_system::{Bytes, Error, Result};

/// What is known of a partition before it is read.
#[derive(Debug, Clone, Copy)]
pub struct PartitionOutline {
    /// How many vertices are numbered: locals and kept proxies, or the whole graph.
    pub numbered: u32,
    /// The number of the first local if the locals have consecutive numbers, else `numbered`.
    pub locals_at: u32,
    pub resident: ResidentSize,
    /// At least one.
    pub row_blocks: usize,
    pub largest_row_block: Bytes,
    /// The most words of a row block in any partition: buffers are reused, as page-locked memory is slow to allocate.
    pub buffer_words: u64,
}

pub trait PartitionSource: Send {
    fn outline(&self) -> PartitionOutline;

    /// The rank of each number; `None` if that is the number itself. Read in the current thread pool.
    fn ranks(&mut self) -> Result<Option<Vec<u32>>>;

    /// Reads the next run of the resident section (about `limit` bytes, or the rest); returns whether more is left. All runs come before row blocks.
    fn read_resident(&mut self, limit: Option<Bytes>, into: &mut Resident) -> Result<bool>;

    /// Reads row block `i`; called once for each, in ascending order.
    fn read_row_block(&mut self, i: usize, into: &mut RowBlock) -> Result<()>;
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// The driver's number.
    pub ordinal: u32,
    pub name: String,
    pub budget: Bytes,
    /// Device memory in use before the program allocates: by the context, the driver and other programs.
    pub context: Bytes,
    /// Device memory that is in use now in total, as the driver reports it.
    pub used: Bytes,
}

pub trait CountBackend: Send {
    /// `cpu` or `cuda`.
    fn name(&self) -> &'static str;
    fn method(&self) -> &'static str;
    /// The GPU; `None` if the backend counts on the host.
    fn device(&self) -> Option<Device> {
        None
    }
    fn footprint(&self) -> Footprint;
    /// Memory for `words` words of rows or counts, which the device accesses without another copy; `None` if plain memory is as good.
    fn lend(&mut self, words: u64) -> Option<Box<dyn Lent>> {
        let _ = words;
        None
    }
    /// The largest file block, in encoded bytes, that the device decodes; `None` if it takes plain rows.
    fn encoded_rows(&self) -> Option<Bytes> {
        None
    }
    /// The most bytes of the resident section that the counter takes at a time; `None`: all at once.
    fn resident_chunk(&self) -> Option<Bytes> {
        None
    }
    /// Where to put a [`Progress`] that gets the number of resident arcs counted; `None` if the backend does not report it.
    fn progress(&mut self) -> Option<&mut Option<Progress>> {
        None
    }
    /// From now on, measures when each copy and each kernel runs, if the device has a clock.
    fn record_work(&mut self) {}
    fn recorded_work(&mut self) -> Vec<TimedWork> {
        Vec::new()
    }
    /// Host bytes, beside the graph, for the data that does not fit the device while a graph of this size is peeled; `None` if it cannot be peeled.
    fn peels(&self, vertices: u64, edges: u64) -> Option<u64> {
        let _ = (vertices, edges);
        None
    }
    /// Begins to peel a graph that [`Self::peels`] accepts; no other work may be under way. Long rounds end when `control` is stopped.
    fn peel<'a>(&'a mut self, graph: GraphToPeel<'_>, control: &Control) -> Result<Box<dyn Peeling + 'a>> {
        let _ = (graph, control);
        Err(Error::defect("a backend that does not peel"))
    }
    /// Begins a partition of this size; the backend must be set up for `detail`. Errors: the device refuses, or the method does not count `detail`.
    fn begin<'a>(&'a mut self, size: PartitionExtent, detail: Detail) -> Result<Box<dyn PartitionCounter + 'a>>;
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PartitionCount {
    /// Triangles whose corner with the largest number is local.
    pub triangles: u64,
    /// Kernels and copies, by the device's clock.
    pub device: Option<DeviceTimes>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DeviceTimes {
    /// Kernels that count, and those that add up the sums.
    pub kernels: Duration,
    /// From the start to the end of each section's copy, including waits until the host has filled page-locked buffers.
    pub copies: Duration,
    /// Preprocessing by the method on the device before it counts, such as packing.
    pub preprocessing: Duration,
}

impl AddAssign for DeviceTimes {
    fn add_assign(&mut self, other: Self) {
        self.kernels += other.kernels;
        self.copies += other.copies;
        self.preprocessing += other.preprocessing;
    }
}

pub trait PartitionCounter: Send {
    /// Takes the next run of the resident section, in ascending order and before any row block; returns a run whose memory can be reused.
    fn resident(&mut self, run: Resident, pool: &ThreadPool) -> Result<Option<Resident>>;

    /// Counts the triangles with the middle corner in the row block's range; host work runs in `pool`. Row blocks ascend, without repeats.
    fn row_block(&mut self, row_block: &RowBlockView<'_>, pool: &ThreadPool) -> Result<()>;

    /// The triangles at each vertex. To be called after the last row block, if the partition was begun with counters.
    fn vertices(&mut self) -> Result<VertexCounts> {
        Err(Error::defect("no counters of vertices"))
    }

    /// Waits for the oldest row block whose counts were not read, and copies the triangles on its arcs to `into`, one per arc. At most two row blocks
    /// may be unread, or one if the counter is [on the host](CounterMemory::BesidesSections). Host work runs in `pool`.
    fn row_block_edges(&mut self, into: &mut [u32], pool: &ThreadPool) -> Result<()> {
        let _ = (into, pool);
        Err(Error::defect("no counters of edges"))
    }

    /// Waits for the last row block, and copies the triangles on resident arcs from `first` on; called after the counts of all row blocks were read.
    fn resident_edges(&mut self, first: u64, into: &mut [u32], pool: &ThreadPool) -> Result<()> {
        let _ = (first, into, pool);
        Err(Error::defect("no counters of edges"))
    }

    fn finish(self: Box<Self>) -> Result<PartitionCount>;

    fn memory(&self) -> CounterMemory;
}

/// The triangles at vertices of a partition: those whose corner of the largest number is local.
#[derive(Debug)]
pub struct VertexCounts {
    pub of: VertexCounters,
    /// The counters in the window of `of`.
    pub counts: Vec<u64>,
    pub locals: NumberRuns,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CounterMemory {
    /// Counting on the host: bytes in addition to the resident section and the row blocks as read.
    BesidesSections(Bytes),
    /// Counting on a device with its own memory: all bytes taken there.
    All(Bytes),
}
