//! The interface between what streams a partition and what counts it.
//!
//! A [`PartitionSource`] delivers the sections of a partition. A [`CountBackend`] is a device, or the host, with a method. For a partition
//! it begins a [`PartitionCounter`], which takes runs of the resident section, then the row blocks, ascending and without a gap, and then
//! gives the count.
//!
//! A triangle `a -> b, a -> c, b -> c` starts at `a`: it is counted where `a` is local, with the row block that covers `b`. In
//! any other partition that holds its corners `a` is a proxy, and no triangle is counted from a proxy; so the sum over all
//! partitions is the number of triangles of the graph.

use std::ops::AddAssign;
use std::time::{Duration, Instant};

use rayon::ThreadPool;

use crate::{
    Detail, EdgeShare, Footprint, GraphToPeel, Lent, NumberRuns, PartitionExtent, Peeling, Resident, ResidentSize,
    RowBlock, RowBlockView, Scope, VertexCounters,
};
use trimill_system::control::Progress;
use trimill_system::timeline::TrackKind;
use trimill_system::{Bytes, Error, Result};

/// What is known of a partition before it is read.
#[derive(Debug, Clone, Copy)]
pub struct PartitionOutline {
    /// The vertices of the numbering: locals and kept proxies together, or all of the graph.
    pub numbered: u32,
    /// The number of the first local if the locals have consecutive numbers, else `numbered`.
    pub locals_at: u32,
    pub resident: ResidentSize,
    /// At least one.
    pub row_blocks: usize,
    pub largest_row_block: Bytes,
    /// Words of memory into which every row block can be read, of this partition and of others of the same cut: buffers are kept from
    /// one partition to the next, since page-locked memory is slow to allocate.
    pub buffer_words: u64,
}

/// Delivers a partition's sections in their order.
pub trait PartitionSource: Send {
    fn outline(&self) -> PartitionOutline;

    /// The rank of each number, where that is not the number itself. Read in the current thread pool.
    fn ranks(&mut self) -> Result<Option<Vec<u32>>>;

    /// Reads the next run of the resident section: rows of about `limit` bytes, or all that are left. Returns whether there
    /// are more. Called before row blocks are read, until there are no more.
    fn read_resident(&mut self, limit: Option<Bytes>, into: &mut Resident) -> Result<bool>;

    /// Reads row block `i`; called in ascending order, once each.
    fn read_row_block(&mut self, i: usize, into: &mut RowBlock) -> Result<()>;
}

/// A device with memory of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// The driver's number.
    pub ordinal: u32,
    pub name: String,
    pub budget: Bytes,
    /// What was in use before: the context, the driver's own, other programs.
    pub context: Bytes,
    /// What is in use now in total, as the driver reports it.
    pub used: Bytes,
}

/// A device or the host, counting by one method.
pub trait CountBackend: Send {
    /// Its name: `cpu` or `cuda`.
    fn name(&self) -> &'static str;
    fn method(&self) -> &'static str;
    /// The device, where it is not the host itself.
    fn device(&self) -> Option<Device> {
        None
    }
    fn footprint(&self) -> Footprint;
    fn scope(&self) -> Scope {
        Scope::Partitions
    }
    /// Memory for `words` words of rows or counts, which the device reads and writes without another copy; none: plain memory does as well.
    fn lend(&mut self, words: u64) -> Option<Box<dyn Lent>> {
        let _ = words;
        None
    }
    /// The most encoded bytes of a file block that the device decodes; none: it takes plain rows.
    fn encoded_rows(&self) -> Option<Bytes> {
        None
    }
    /// The most bytes of the resident section that the counter takes at a time; none: all of it at once.
    fn resident_chunk(&self) -> Option<Bytes> {
        None
    }
    /// The place for a [`Progress`] to which the backend reports the resident arcs that it has counted; none: it does not report them.
    fn progress(&mut self) -> Option<&mut Option<Progress>> {
        None
    }
    /// Measures from now on when each copy and each kernel runs, where the device has a clock.
    fn record_work(&mut self) {}
    /// What was measured since this was last called.
    fn recorded_work(&mut self) -> Vec<DeviceWork> {
        Vec::new()
    }
    /// How many counters of vertices it holds at a time; 0: it was not set up to count the triangles at each vertex.
    fn vertex_counters(&self) -> u64 {
        0
    }
    /// The bytes of the host's memory that peeling a graph of `vertices` vertices and `edges` edges takes beside the graph, for what does
    /// not fit the device; `None`: it cannot peel this graph.
    fn peels(&self, vertices: u64, edges: u64) -> Option<u64> {
        let _ = (vertices, edges);
        None
    }
    /// Begins to peel a graph that it [peels](Self::peels); nothing else may be under way.
    fn peel<'a>(&'a mut self, graph: GraphToPeel<'_>) -> Result<Box<dyn Peeling + 'a>> {
        let _ = graph;
        Err(Error::defect("a backend that does not peel"))
    }
    /// Begins a partition of this size, or a share of the edges of a whole graph. The backend was set up for the `detail`. Errors: when
    /// the device refuses, or the method counts the total only.
    fn begin<'a>(
        &'a mut self,
        size: PartitionExtent,
        share: EdgeShare,
        detail: Detail,
    ) -> Result<Box<dyn PartitionCounter + 'a>>;
}

/// The count of a partition, and the device's times where it has a clock of its own.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PartitionCount {
    /// Triangles that start at a local vertex.
    pub triangles: u64,
    /// Kernels and copies, by the device's clock.
    pub device: Option<DeviceTimes>,
}

/// A copy or some kernels, by the clock of a device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DeviceWork {
    pub queue: TrackKind,
    pub name: &'static str,
    /// When it began, by the host's clock.
    pub start: Instant,
    pub time: Duration,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DeviceTimes {
    pub kernels: Duration,
    pub copies: Duration,
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
    /// Takes the next run of the resident section; returns a run that it no longer needs, for reuse. All runs come before the first
    /// row block, ascending.
    fn resident(&mut self, run: Resident, pool: &ThreadPool) -> Result<Option<Resident>>;

    /// Counts the triangles whose middle corner the row block's range covers; parallel work of the host runs in `pool`.
    /// Row blocks come in ascending order, each once.
    fn row_block(&mut self, row_block: &RowBlockView<'_>, pool: &ThreadPool) -> Result<()>;

    /// The triangles at each vertex. Called after the last row block, where the partition was begun with counters.
    fn vertices(&mut self) -> Result<VertexCounts> {
        Err(Error::defect("no counters of vertices"))
    }

    /// Waits for the oldest row block whose counts were not read, and copies the triangles on its arcs; `into` is as long as it has
    /// arcs. At most two row blocks wait for that, if the partition was begun with edges. Parallel work of the host runs in `pool`.
    fn row_block_edges(&mut self, into: &mut [u32], pool: &ThreadPool) -> Result<()> {
        let _ = (into, pool);
        Err(Error::defect("no counters of edges"))
    }

    /// Waits for the last row block, and copies the triangles on resident arcs from `first` on. Called after the last row block's
    /// counts were read, if the partition was begun with edges. Parallel work of the host runs in `pool`.
    fn resident_edges(&mut self, first: u64, into: &mut [u32], pool: &ThreadPool) -> Result<()> {
        let _ = (first, into, pool);
        Err(Error::defect("no counters of edges"))
    }

    fn finish(self: Box<Self>) -> Result<PartitionCount>;

    /// Bytes that this partition takes of the device, as measured.
    fn memory(&self) -> CounterMemory;
}

/// The triangles at vertices of a partition: those of which one corner is local, and the largest.
#[derive(Debug)]
pub struct VertexCounts {
    pub of: VertexCounters,
    /// The values of the counters that `of` describes, from the first one of its window on.
    pub counts: Vec<u64>,
    pub locals: NumberRuns,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CounterMemory {
    /// The device is the host's memory: this much on top of the resident section and of the row blocks as they were read.
    BesidesSections(Bytes),
    /// The device has memory of its own, of which this much is taken in total.
    All(Bytes),
}
