//! Counts with shared frames, on one device or several.
//!
//! The graph's rows are read into memory once, where they fit; then a thread for each device takes the next partition,
//! copies its resident rows and lets all frames pass. With several devices the largest partitions come first.
//! With a run directory each result is recorded, and what earlier starts counted is left out.

use std::time::Instant;

use super::count::partition_result;
use super::crew::{all_or_cause, counted_by_all};
use super::devices::{Share, order, together_of};
use super::planned::Planned;
use super::queue::{Hand, Queue};
use super::setup::Setup;
use crate::bytes::Bytes;
use crate::control::{Control, Task, Unit};
use crate::count::Backend;
use crate::count::cuda::RUNS_AHEAD;
use crate::error::{Error, Result};
use crate::plan::{Plan, SharedPlan};
use crate::report::{DeviceResult, PartitionResult, Station};
use crate::run_dir::Journal;
use crate::shared::{SharedGraph, SharedPart};
use crate::stream::ahead::Ahead;
use crate::stream::{Failed, count_partition};
use crate::threads::joined;

/// What messages call the thread that reads the next partition.
const READER_AHEAD: &str = "the thread that reads the next partition";

/// What the threads of all devices have in common.
struct Work<'a> {
    plan: &'a Plan,
    setup: &'a Setup,
    shared: &'a SharedGraph<'a>,
    /// The partitions that are to be counted.
    queue: &'a Queue<u32>,
    /// Where results are recorded, with a run directory.
    journal: Option<&'a Journal>,
    task: &'a Task,
    /// Stops all devices when one of them fails.
    control: &'a Control,
}

/// Counts all partitions of a plan with shared frames.
///
/// # Errors
/// The first error of a device, the others are then stopped; a work directory without room; a stop.
pub(super) fn count_shared(
    planned: &mut Planned,
    setup: &Setup,
    control: &Control,
    stations: &mut Vec<Station>,
) -> Result<(Vec<PartitionResult>, Vec<DeviceResult>)> {
    let mut backends = std::mem::take(&mut planned.backends);
    let parts = planned.plan.assignment.parts();
    let journal = setup.run.as_ref().map(|run| run.journal(planned.fingerprint, parts));
    let before = journal.as_ref().map(Journal::counted).transpose()?.unwrap_or_default();
    let mut order = order(&planned.plan, backends.len());
    order.retain(|part| !before.contains_key(part));
    if order.is_empty() {
        return Ok((before.into_values().collect(), Vec::new()));
    }
    let start = Instant::now();
    let shared = opened(planned, setup, control)?;
    // One device locks the pages for all.
    let _locks: Vec<_> = shared.memory().into_iter().flatten().map(|memory| backends[0].lock_pages(memory)).collect();
    let rows = Bytes::of::<u32>(planned.graph.edges());
    stations.push(Station::since("rows", start, rows.saturating_sub(shared.disk()), Bytes::ZERO));

    let plan = &planned.plan;
    let task = control.task("count", Some(u64::from(parts)), Unit::Partitions);
    task.advance(before.len() as u64);
    let together = control.part();
    let (passes, queue) = (order.len() as u64, Queue::of(order, backends.len()));
    let work = Work {
        plan,
        setup,
        shared: &shared,
        queue: &queue,
        journal: journal.as_ref(),
        task: &task,
        control: &together,
    };
    let outcomes =
        counted_by_all(&mut backends, &queue, &together, |backend, share| count_parts(backend, &work, share));
    let (mut all, devices) = together_of(all_or_cause(outcomes, control)?, &backends);
    stations.extend(all.busy.shared_stations(Bytes(shared.disk().get() * passes)));
    all.results.extend(before.into_values());
    Ok((all.results, devices))
}

/// The rows, where the plan has shared frames.
fn opened<'p>(planned: &'p Planned, setup: &Setup, control: &Control) -> Result<SharedGraph<'p>> {
    let Planned { graph, plan, .. } = planned;
    let Some(SharedPlan { frames, in_memory }) = &plan.shared else {
        return Err(Error::resource("shared frames that were not planned").advice("this is a defect; please report it"));
    };
    setup.pool.install(|| SharedGraph::new(graph, frames, *in_memory, control))
}

/// A partition that was taken, and its source or why there is none.
type Taken<'a> = (Hand<'a, u32>, Result<Ahead<SharedPart<'a>>>);

impl<'a> Work<'a> {
    /// A partition, of whose resident section up to `room` bytes are read, in runs of `chunk`.
    fn open(&self, hand: Hand<'a, u32>, chunk: Bytes, room: Bytes) -> Taken<'a> {
        let locals = self.plan.assignment.locals(hand.item);
        let read = || Ahead::new(SharedPart::new(self.shared, locals, self.control), chunk, room);
        (hand, self.setup.pool.install(read))
    }
}

/// A device's thread: counts one partition after another. Where the device has memory of its own, the next one's first rows
/// are read meanwhile.
fn count_parts<'a>(backend: &mut dyn Backend, work: &'a Work<'a>, share: &mut Share) -> Result<(), Failed> {
    let device = backend.device().map(|device| device.ordinal);
    let chunk = backend.resident_chunk();
    let mut next: Option<Taken<'a>> = None;
    loop {
        let first = || Some(work.open(work.queue.take()?, chunk.unwrap_or_default(), Bytes::ZERO));
        let Some((hand, source)) = next.take().or_else(first) else { return Ok(()) };
        let start = Instant::now();
        let mut source = source?;
        let (counted, ahead) = std::thread::scope(|scope| {
            let read = |chunk: Bytes| Some(work.open(work.queue.take_now()?, chunk, Bytes(RUNS_AHEAD * chunk.get())));
            let ahead = chunk.map(|chunk| scope.spawn(move || read(chunk)));
            let counted = count_partition(&mut source, backend, &work.setup.pool, work.control);
            (counted, ahead.map(|thread| joined(READER_AHEAD, thread.join())))
        });
        next = ahead.transpose()?.flatten();
        let mut counted = match counted {
            Ok(counted) => counted,
            Err(failed) => {
                let part = hand.item;
                if let Failed::Device(_) = failed {
                    next.into_iter().for_each(|(hand, _)| hand.put_back());
                    hand.put_back();
                }
                return Err(failed.at_partition(part));
            }
        };
        counted.reading += source.reading();
        share.busy.add_counted(&counted);
        let result = partition_result(work.plan, hand.item, &counted, Bytes::ZERO, start.elapsed());
        let result = PartitionResult { device, ..result };
        if let Some(journal) = work.journal {
            journal.record(&result)?;
        }
        share.results.push(result);
        work.task.advance(1);
    }
}
