//! A device's thread: takes partitions from the queue and counts them, while the first rows of the next one are read.

use std::cmp::Reverse;
use std::time::Instant;

use super::queue::{Item, Queue, TakenItem};
use super::results::partition_result;
use super::session::Session;
use super::work::{DeviceOutcome, PartitionsToCount, SharedWork};
use super::workers::{all_or_first_error, run_on_all};
use crate::count::cuda::RUNS_AHEAD;
use crate::report::DeviceResult;
use crate::run_dir::CountedBy;
use crate::stream::ahead::Ahead;
use crate::stream::{CountedPartition, DeviceThread, PartitionFailure};
use trimill_counting::CountBackend;
use trimill_partitioners::spill::{SpillReader, Spilled};
use trimill_system::control::{Control, Task, Unit};
use trimill_system::threads::{joined, spawn};
use trimill_system::timeline::TrackKind;
use trimill_system::{Bytes, Kind, Result, disk, parallel};

const READER_AHEAD: &str = "the thread that reads the next partition";

pub(super) fn count_all(backends: &mut [Box<dyn CountBackend>], work: &SharedWork<'_>) -> Vec<Result<DeviceOutcome>> {
    run_on_all(backends, work.queue, work.control, |backend, share| count_queue(backend, work, share))
}

impl PartitionsToCount<'_> {
    /// Counts existing partitions in order or, on several devices, the largest first, to balance loads. A device's first error stops the others.
    pub(super) fn count(
        self,
        mut items: Vec<Item>,
        backends: &mut [Box<dyn CountBackend>],
        session: &Session,
    ) -> Result<(DeviceOutcome, Vec<DeviceResult>)> {
        let known = self.known;
        if backends.len() > 1 {
            items.sort_by_key(|item| Reverse(known.predictions[item.part() as usize].stream));
        }
        let Session { pool, control, .. } = session;
        let arcs = items.iter().map(|item| known.sizes[item.part() as usize].resident_arcs).sum();
        let (task, unit) = task_of(backends, items.len() as u64, arcs, control);
        let together = control.part();
        let queue = Queue::of(items, backends.len());
        let work = SharedWork {
            partitions: self,
            pool,
            queue: &queue,
            builders: None,
            keeps: true,
            task: &task,
            unit,
            control: &together,
        };
        let outcomes = count_all(backends, &work);
        Ok(merged_outcomes(all_or_first_error(outcomes, control)?, backends))
    }
}

/// The task of counting `parts` partitions with `arcs` arcs, in arcs if a single backend counts and reports progress, else in partitions.
pub(super) fn task_of(
    backends: &mut [Box<dyn CountBackend>],
    parts: u64,
    arcs: u64,
    control: &Control,
) -> (Task, Unit) {
    if let [backend] = backends
        && let Some(progress) = backend.progress()
    {
        let task = control.task("count", Some(arcs), Unit::Arcs);
        *progress = Some(task.clone());
        return (task, Unit::Arcs);
    }
    (control.task("count", Some(parts), Unit::Partitions), Unit::Partitions)
}

pub(super) fn merged_outcomes(
    shares: Vec<DeviceOutcome>,
    backends: &[Box<dyn CountBackend>],
) -> (DeviceOutcome, Vec<DeviceResult>) {
    let mut all = DeviceOutcome::default();
    let mut devices = Vec::new();
    for (share, backend) in shares.into_iter().zip(backends) {
        devices.extend(device_result(backend.as_ref(), &share));
        all.merge(share);
    }
    (all, devices)
}

fn device_result(backend: &dyn CountBackend, share: &DeviceOutcome) -> Option<DeviceResult> {
    let (device, results) = (backend.device()?, &share.results);
    Some(DeviceResult {
        device: device.ordinal,
        name: device.name,
        partitions: results.len() as u32,
        triangles: results.iter().map(|result| u128::from(result.counted().triangles)).sum(),
        stream_bytes: results.iter().map(|result| result.stream_bytes).sum(),
        seconds: share.times.counted.counting.as_secs_f64(),
        budget_bytes: device.budget,
        peak_bytes: results.iter().map(|result| result.counted().peak_bytes).max().unwrap_or_default(),
        context_bytes: device.context,
        used_bytes: device.used,
    })
}

pub(super) fn counted_by(backend: &dyn CountBackend, device_memory: Bytes) -> CountedBy {
    CountedBy { backend: backend.name().into(), method: backend.method().into(), device_memory }
}

type TakenSource<'a> = (TakenItem<'a, Item>, Result<Ahead<'a>>);

impl<'a> SharedWork<'a> {
    /// Opens a partition and reads up to `room` bytes of its resident rows, in runs of `chunk`.
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

fn count_queue<'a>(
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
        let spill = match &taken.item {
            Item::Range(_) | Item::Share(_) => Bytes::ZERO,
            Item::Built(built) => Bytes(built.spill.bytes),
        };
        let mut result = partition_result(work.partitions.known, taken.item.part(), &counted, spill, start.elapsed());
        if let Some(found) = &mut result.counted {
            found.device = device;
        }
        if let Some(journal) = work.partitions.journal {
            journal.record(&result, counted_by(backend, work.partitions.device_memory))?;
        }
        share.results.push(result);
        share.times.add_counted(&counted);
        if let Item::Built(built) = &taken.item
            && work.builders.is_some()
        {
            share.times.add_built(built);
            if work.keeps {
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
    match (count(source, item, backend), &mut *item, work.builders) {
        (Err(PartitionFailure::Job(error)), Item::Built(built), Some(builders))
            if error.kind() == Kind::Data && error.path() == Some(&*built.spill.path) =>
        {
            tracing::warn!("{}: partition {} is built again", error.unadvised(), built.part);
            **built = builders.batch(&[built.part], work.control)?.remove(0);
            let source = Spilled::new(SpillReader::reopen(&built.spill)?);
            count(Ahead::new(Box::new(source), Bytes::ZERO, Bytes::ZERO), item, backend)
        }
        (counted, ..) => counted,
    }
}
