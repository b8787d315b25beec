//! A device's thread: takes partitions from the queue and counts them, while the first rows of the next one are read.

use std::time::Instant;

use super::queue::{Item, TakenItem};
use super::results::partition_result;
use super::work::{DeviceOutcome, SharedWork};
use crate::count::cuda::RUNS_AHEAD;
use crate::run_dir::CountedBy;
use crate::stream::ahead::Ahead;
use crate::stream::{CountedPartition, DeviceThread, PartitionFailure};
use trimill_counting::CountBackend;
use trimill_partitioners::spill::{SpillReader, Spilled};
use trimill_system::control::{Control, Unit};
use trimill_system::threads::{joined, spawn};
use trimill_system::timeline::TrackKind;
use trimill_system::{Bytes, Kind, Result, disk, parallel};

const READER_AHEAD: &str = "the thread that reads the next partition";

pub(super) fn counted_by(backend: &dyn CountBackend, device_memory: Bytes) -> CountedBy {
    CountedBy { backend: backend.name().into(), method: backend.method().into(), device_memory }
}

type TakenSource<'a> = (TakenItem<'a, Item>, Result<Ahead<'a>>);

impl<'a> SharedWork<'a> {
    /// Opens a partition and reads about `room` bytes of its resident rows, in runs of `chunk`.
    fn open(&self, taken: TakenItem<'a, Item>, chunk: Bytes, room: Bytes, by: &By) -> TakenSource<'a> {
        let start = Instant::now();
        let source = || Ahead::new(self.source(&taken.item, by.encoded)?, chunk, room);
        let source = parallel::within(self.pool, source);
        if room > Bytes::ZERO {
            let control = self.control.at(by.device, taken.item.part());
            control.did(TrackKind::Prefetching, ("first rows", None), start, None);
        }
        (taken, source)
    }
}

struct By {
    device: Option<u32>,
    /// The most encoded bytes of a file block that the device decodes, if it takes encoded rows.
    encoded: Option<Bytes>,
}

pub(super) fn count_queue<'a>(
    backend: &mut dyn CountBackend,
    work: &'a SharedWork<'a>,
    share: &mut DeviceOutcome,
) -> Result<(), PartitionFailure> {
    let device = backend.device().map(|device| device.ordinal);
    let (chunk, by) = (backend.resident_chunk(), By { device, encoded: backend.encoded_rows() });
    let mut next: Option<TakenSource<'a>> = None;
    loop {
        let begin = Instant::now();
        let first = || Some(work.open(work.queue.take()?, chunk.unwrap_or_default(), Bytes::ZERO, &by));
        let Some((mut taken, source)) = next.take().or_else(first) else { return Ok(()) };
        let start = Instant::now();
        let control = work.control.at(device, taken.item.part());
        control.waited(TrackKind::Counting, "a partition", begin);
        let (counted, ahead) = std::thread::scope(|scope| {
            let by = &by;
            let read =
                |chunk: Bytes| Some(work.open(work.queue.take_now()?, chunk, Bytes(RUNS_AHEAD * chunk.get()), by));
            // No reading ahead of a share: the device would take one that another device could count.
            let chunk = chunk.filter(|_| !matches!(taken.item, Item::Share(_)));
            let ahead = match chunk.map(|chunk| spawn(scope, "reading ahead", move || read(chunk))).transpose() {
                Ok(ahead) => ahead,
                Err(error) => return (Err(error.into()), None),
            };
            let counted = count_item(&mut taken.item, source, backend, work, &control);
            let counted_at = Instant::now();
            let ahead = ahead.map(|thread| joined(READER_AHEAD, thread.join()));
            control.waited(TrackKind::Counting, "the first rows of the next partition", counted_at);
            (counted, ahead)
        });
        next = ahead.transpose()?.flatten();
        backend.recorded_work().into_iter().for_each(|measured| control.record(measured));
        let counted = match counted {
            Ok(counted) => counted,
            Err(failed) => {
                let part = taken.item.part();
                if let PartitionFailure::Device(_) = failed {
                    next.into_iter().for_each(|(taken, _)| taken.requeue());
                    taken.requeue();
                }
                return Err(failed.at_partition(part));
            }
        };
        let result = partition_result(work.partitions.known, &taken.item, &counted, device, start.elapsed());
        if let Some(journal) = work.partitions.journal {
            journal.record(&result, counted_by(backend, work.partitions.device_memory))?;
        }
        share.results.push(result);
        share.times.add_counted(&counted);
        if let Item::Built(built) = &taken.item
            && let Some(batch_builder) = work.batch_builder
        {
            share.times.add_built(built);
            if batch_builder.builder.durable {
                share.kept.push(built.spill.clone());
            } else if built.spill.memory.is_none() {
                disk::remove(&built.spill.path)?;
            }
        }
        if work.unit == Unit::Partitions {
            work.task.advance(1);
        }
    }
}

/// Counts a partition. A damaged spill is rebuilt from the graph, and the partition counted again. If the graph file is damaged, which is read again
/// for counts on edges, the job ends: part of a row block's counts may have been added, and would be added twice.
fn count_item(
    item: &mut Item,
    source: Result<Ahead<'_>>,
    backend: &mut dyn CountBackend,
    work: &SharedWork<'_>,
    control: &Control,
) -> Result<CountedPartition, PartitionFailure> {
    let encoded = backend.encoded_rows();
    let count = |source: Result<Ahead<'_>>, item: &Item, backend: &mut dyn CountBackend| {
        let mut source = source?;
        let again = || work.source(item, encoded);
        let mut thread = DeviceThread { backend, pool: work.pool, control };
        let mut counted = work.partitions.details.count(item, &mut source, again, &mut thread)?;
        counted.reading += source.reading();
        Ok(counted)
    };
    match (count(source, item, backend), &mut *item, work.batch_builder) {
        (Err(PartitionFailure::Job(error)), Item::Built(built), Some(batch_builder))
            if error.kind() == Kind::Data && error.path() == Some(&*built.spill.path) =>
        {
            tracing::warn!("{}: partition {} is built again", error.unadvised(), built.part);
            **built = batch_builder.batch(&[built.part], work.control)?.remove(0);
            let source = Spilled::new(SpillReader::reopen(&built.spill)?);
            count(Ahead::new(Box::new(source), Bytes::ZERO, Bytes::ZERO), item, backend)
        }
        (counted, ..) => counted,
    }
}
