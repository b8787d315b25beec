//! Streaming: a partition is read and counted in bounded memory, reading overlapped with counting. Input: a [`PartitionSource`] (a spill, or a rank
//! range). Output: its triangles, and its peak memory. A reader thread reads and decodes; two row block buffers, which the backend may lend,
//! circulate between it and the counter (double buffering), so never more than two exist. Resident rows are handed over whole or, if the device has
//! its own memory, in runs of bounded size. A small partition is read by the counter's thread, before it is counted.

pub mod ahead;
pub mod edge_sinks;
pub mod edges;
pub mod meter;
pub mod ranges;
pub mod row_blocks;
#[cfg(test)]
mod tests;

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use rayon::ThreadPool;

use crate::count::cuda::RUNS_IN_FLIGHT;
use edge_sinks::PartitionEdgeSink;
use meter::Meter;
use trimill_counting::{
    CountBackend, CounterMemory, Detail, DeviceTimes, PartitionExtent, PartitionOutline, PartitionSource, Resident,
    ResidentSize, RowBlock, VertexCounts,
};
use trimill_system::disk::faults;
use trimill_system::threads::{self, joined, spawn};
use trimill_system::timeline::TrackKind;
use trimill_system::{Bytes, Control, Error, Result, parallel};

const IN_FLIGHT: usize = 2;

/// Partitions of fewer bytes are read before they are counted, in one thread, because starting another one would take longer than it saves.
pub const FEW: Bytes = Bytes::mib(1);

const RUNS: usize = RUNS_IN_FLIGHT as usize;

#[derive(Debug, Clone, Copy, Default)]
pub struct CountedPartition {
    /// Triangles whose corner of the largest rank is local.
    pub triangles: u64,
    /// The most bytes that resident rows, row blocks and tables took together.
    pub peak: Bytes,
    /// Decoded bytes of all sections.
    pub streamed: Bytes,
    pub largest_row_block: Bytes,
    pub row_blocks: u64,
    /// How long the reader thread was busy.
    pub reading: Duration,
    /// How long the counter was busy, by the host's clock.
    pub counting: Duration,
    /// How long kernels and copies took, if the device has a clock.
    pub device: Option<DeviceTimes>,
}

impl CountedPartition {
    /// Combines two passes over the same sections: sums of triangles, bytes and times, the larger peak.
    pub(crate) fn and(mut self, other: Self) -> Self {
        self.triangles += other.triangles;
        self.peak = self.peak.max(other.peak);
        self.streamed += other.streamed;
        self.reading += other.reading;
        self.counting += other.counting;
        self.largest_row_block = self.largest_row_block.max(other.largest_row_block);
        self.row_blocks = self.row_blocks.max(other.row_blocks);
        if let Some(times) = other.device {
            *self.device.get_or_insert_default() += times;
        }
        self
    }
}

/// Why a partition was not counted; a partial count is discarded.
#[derive(Debug)]
pub enum PartitionFailure {
    /// The device refused or is gone; another one may count the partition.
    Device(Error),
    /// Any other error: a damaged spill, a thread that panicked, an interruption.
    Job(Error),
}

impl PartitionFailure {
    /// Adds to a device's error which partition it was counting.
    #[must_use]
    pub fn at_partition(self, part: u32) -> Self {
        match self {
            Self::Device(error) => Self::Device(error.while_doing(&format!("partition {part}"))),
            job => job,
        }
    }
}

impl From<Error> for PartitionFailure {
    fn from(error: Error) -> Self {
        Self::Job(error)
    }
}

enum ReaderMessage {
    Resident(Resident),
    RowBlock(RowBlock),
}

/// Calls a device; marks an error as the device's, so that another one may count the partition.
fn asked<T>(call: impl FnOnce() -> Result<T>) -> Result<T, PartitionFailure> {
    faults::before_device().and_then(|()| call()).map_err(PartitionFailure::Device)
}

/// The thread of a device: its backend, the pool in which it reads and counts, and what stops the count of a partition.
pub struct DeviceThread<'a> {
    pub backend: &'a mut dyn CountBackend,
    pub pool: &'a ThreadPool,
    pub control: &'a Control,
}

impl DeviceThread<'_> {
    /// Counts what `detail` wants of one partition. `sink` gets the triangles on arcs when they are complete, even if counting fails afterwards.
    /// Errors: [`PartitionFailure::Device`] if the device refuses; else damaged or unreadable spills (`Kind::Data`); when stopped.
    pub fn count(
        &mut self,
        source: &mut dyn PartitionSource,
        detail: Detail,
        sink: Option<PartitionEdgeSink<'_>>,
    ) -> Result<(CountedPartition, Option<VertexCounts>), PartitionFailure> {
        let Self { backend, pool, control } = self;
        let (backend, pool, control) = (&mut **backend, *pool, *control);
        let meter = Meter::default();
        let partition = {
            // Moved, since a source may be sent to the pool but not shared with it.
            let source = &mut *source;
            parallel::within(pool, move || source.outline())
        };
        let chunk = backend.resident_chunk();
        let small = chunk.is_none() && is_small(&partition);
        let (to_counter, messages) = sync_channel(if small { 1 + IN_FLIGHT } else { 0 });
        let (give_row_block, row_blocks) = sync_channel(IN_FLIGHT);
        let (give_chunk, chunks) = sync_channel(RUNS);
        for _ in 0..IN_FLIGHT {
            let row_block = backend.lend(partition.buffer_words).map_or_else(RowBlock::default, RowBlock::lent);
            // The channels have room for all buffers, so this neither fails nor blocks.
            let _ = give_row_block.try_send(row_block);
        }
        let words = chunk.map_or(partition.resident.arcs, |chunk| partition.resident.arcs.min(chunk.get() / 4));
        for _ in 0..RUNS {
            let _ = give_chunk.try_send(backend.lend(words).map_or_else(Resident::default, Resident::lent));
        }
        let beside = if small { None } else { threads::beside(pool).map_err(PartitionFailure::Job)? };
        let reader_pool = beside.as_deref().unwrap_or(pool);
        let reading = ReaderThread { chunk, pool: reader_pool, meter: &meter, control, to_counter, chunks, row_blocks };
        let counting = CounterThread { partition, pool, meter: &meter, control, messages, give_chunk, give_row_block };
        let (reading, counted) = if small {
            // The channel has room for everything that is read, so no other thread is needed, and all runs in the pool.
            parallel::within(pool, move || Ok((reading.all_of(source)?, counting.count(detail, sink, backend))))
        } else {
            std::thread::scope(|scope| {
                let reader = spawn(scope, "reading", || reading.all_of(source))?;
                let counted = counting.count(detail, sink, backend);
                // If the reader failed, the counter only saw a closed channel, so the reader's error comes first.
                Ok((joined("the thread that reads partitions", reader.join())??, counted))
            })
        }
        .map_err(PartitionFailure::Job)?;
        let (counted, vertices) = counted?;
        Ok((CountedPartition { reading, ..counted }, vertices))
    }
}

fn is_small(partition: &PartitionOutline) -> bool {
    let row_blocks = partition.row_blocks as u64 * partition.largest_row_block.get();
    partition.row_blocks <= IN_FLIGHT && partition.resident.bytes().get() + row_blocks < FEW.get()
}

struct ReaderThread<'a> {
    chunk: Option<Bytes>,
    pool: &'a ThreadPool,
    meter: &'a Meter,
    control: &'a Control,
    to_counter: SyncSender<ReaderMessage>,
    chunks: Receiver<Resident>,
    row_blocks: Receiver<RowBlock>,
}

impl ReaderThread<'_> {
    /// Reads the resident rows, then all row blocks in order; returns how long it was busy. Ends early if the counter failed.
    fn all_of(self, source: &mut dyn PartitionSource) -> Result<Duration> {
        let mut busy = Duration::ZERO;
        let mut more = true;
        while more {
            self.control.check()?;
            let Some(mut chunk) = self.room(&self.chunks) else { return Ok(busy) };
            let start = Instant::now();
            let before = chunk.heap();
            more = parallel::within(self.pool, || source.read_resident(self.chunk, &mut chunk))?;
            self.meter.change(before, chunk.heap());
            busy += start.elapsed();
            self.control.did(TrackKind::Reading, ("resident rows", None), start, Some(chunk.size().bytes()));
            if !self.send(ReaderMessage::Resident(chunk)) {
                return Ok(busy);
            }
        }
        for i in 0..source.outline().row_blocks {
            self.control.check()?;
            let Some(mut row_block) = self.room(&self.row_blocks) else { break };
            let start = Instant::now();
            let before = row_block.heap();
            parallel::within(self.pool, || source.read_row_block(i, &mut row_block))?;
            self.meter.change(before, row_block.heap());
            busy += start.elapsed();
            let bytes = row_block.view().size().bytes();
            self.control.did(TrackKind::Reading, ("row block", Some(i as u64)), start, Some(bytes));
            if !self.send(ReaderMessage::RowBlock(row_block)) {
                break;
            }
        }
        Ok(busy)
    }

    /// Blocks until the counter returns a buffer; `None`: it failed.
    fn room<T>(&self, buffers: &Receiver<T>) -> Option<T> {
        let start = Instant::now();
        let buffer = buffers.recv().ok();
        self.control.waited(TrackKind::Reading, "a free buffer", start);
        buffer
    }

    /// Blocks until the counter takes a message; `false`: it failed.
    fn send(&self, message: ReaderMessage) -> bool {
        let start = Instant::now();
        let sent = self.to_counter.send(message).is_ok();
        self.control.waited(TrackKind::Reading, "the counter", start);
        sent
    }
}

/// The counter: runs on the caller's thread and in `pool`.
struct CounterThread<'a> {
    partition: PartitionOutline,
    pool: &'a ThreadPool,
    meter: &'a Meter,
    control: &'a Control,
    messages: Receiver<ReaderMessage>,
    /// Return buffers to the reader.
    give_chunk: SyncSender<Resident>,
    give_row_block: SyncSender<RowBlock>,
}

impl CounterThread<'_> {
    /// Counts what the reader sends. Closes the channels when it returns, so that the reader ends, too.
    fn count(
        self,
        detail: Detail,
        mut edges: Option<PartitionEdgeSink<'_>>,
        backend: &mut dyn CountBackend,
    ) -> Result<(CountedPartition, Option<VertexCounts>), PartitionFailure> {
        let Self { partition, pool, meter, control, messages, give_chunk, give_row_block } = self;
        let mut counted = CountedPartition::default();
        let start = Instant::now();
        let PartitionOutline { resident, numbered, largest_row_block, row_blocks, .. } = partition;
        let ResidentSize { locals, arcs } = resident;
        let size = PartitionExtent { locals, arcs, numbered, row_block_limit: largest_row_block.get() };
        let at_vertices = matches!(detail, Detail::Vertices(_));
        if let Some(edges) = &mut edges {
            edges.take_buffer(backend, largest_row_block.get() / 4, arcs);
        }
        let mut counter = asked(|| backend.begin(size, detail))?;
        counted.counting += start.elapsed();
        control.did(TrackKind::Counting, ("begin", None), start, None);
        let (mut own, mut peak_of_device) = (Bytes::ZERO, None);
        let next = || {
            let start = Instant::now();
            let message = messages.recv();
            control.waited(TrackKind::Counting, "rows", start);
            message
        };
        while let Ok(message) = next() {
            let row_block = match message {
                ReaderMessage::Resident(chunk) => {
                    let start = Instant::now();
                    let bytes = chunk.size().bytes();
                    counted.streamed += bytes;
                    edges.iter_mut().for_each(|edges| edges.locals(&chunk));
                    // The reader may be done already; then the buffer is dropped here.
                    let _ = asked(|| counter.resident(chunk, pool))?.map(|buffer| give_chunk.try_send(buffer));
                    counted.counting += start.elapsed();
                    control.did(TrackKind::Counting, ("resident rows", None), start, Some(bytes));
                    continue;
                }
                ReaderMessage::RowBlock(row_block) => row_block,
            };
            let start = Instant::now();
            asked(|| counter.row_block(&row_block.view(), pool))?;
            if let Some(edges) = &mut edges {
                edges.row_block(&mut *counter, &row_block.view())?;
            }
            counted.counting += start.elapsed();
            let size = row_block.view().size().bytes();
            control.did(TrackKind::Counting, ("row block", Some(counted.row_blocks)), start, Some(size));
            match counter.memory() {
                CounterMemory::BesidesSections(bytes) => {
                    meter.change(own, bytes);
                    own = bytes;
                }
                CounterMemory::All(bytes) => peak_of_device = peak_of_device.max(Some(bytes)),
            }
            counted.largest_row_block = counted.largest_row_block.max(size);
            counted.streamed += size;
            counted.row_blocks += 1;
            // The reader may be done already; then the buffer is dropped here.
            let _ = give_row_block.try_send(row_block);
        }
        let start = Instant::now();
        let vertices = if at_vertices { Some(asked(|| counter.vertices())?) } else { None };
        if let Some(edges) = edges {
            if counted.row_blocks < row_blocks as u64 {
                // Only after a failure of the reader, whose error is reported. Counts of resident arcs are incomplete.
                return Err(Error::defect("row blocks of a partition are missing").into());
            }
            edges.finish(&mut *counter, arcs)?;
        }
        let count = asked(|| counter.finish())?;
        counted.counting += start.elapsed();
        control.did(TrackKind::Counting, ("end", None), start, None);
        (counted.triangles, counted.device) = (count.triangles, count.device);
        // The reader is done: the meter has all that was held.
        counted.peak = peak_of_device.unwrap_or_else(|| meter.peak());
        Ok((counted, vertices))
    }
}
