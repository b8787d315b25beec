//! Counts with shared frames, on one device or several.
//!
//! The graph's rows are gathered once, in memory or in a temporary file; then a thread for each device takes the next
//! partition, gathers its resident rows and lets all frames pass. With several devices the largest partitions come first.
//! With a run directory each result is recorded, and what earlier starts counted is left out.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use super::count::partition_result;
use super::devices::{Share, all_or_cause, order, together_of};
use super::planned::Planned;
use super::setup::Setup;
use crate::bytes::Bytes;
use crate::clean::cache::free_space;
use crate::control::{Control, Task, Unit};
use crate::count::Backend;
use crate::count::cuda::RUNS_AHEAD;
use crate::error::{Error, Result};
use crate::plan::{Plan, SharedPlan};
use crate::report::{DeviceResult, PartitionResult, Station};
use crate::run_dir::Journal;
use crate::shared::{Place, SharedGraph, SharedPart};
use crate::stream::ahead::Ahead;
use crate::stream::{count_partition, joined};

/// Rows that are gathered at a time, however small the host's budget: the graph is scanned once for each so many bytes.
const LEAST_WINDOW: Bytes = Bytes::mib(8);

/// What the threads of all devices have in common.
struct Work<'a> {
    plan: &'a Plan,
    setup: &'a Setup,
    shared: &'a SharedGraph<'a>,
    order: &'a [u32],
    /// Where results are recorded, with a run directory.
    journal: Option<&'a Journal>,
    /// Where in the order the next partition is.
    next: AtomicUsize,
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
    let shared = gathered(planned, setup, control)?;
    // One device locks the pages for all.
    let _locks: Vec<_> = shared.memory().into_iter().flatten().map(|memory| backends[0].lock_pages(memory)).collect();
    let graph = &planned.graph;
    stations.push(Station::since("gather", start, graph.csr_bytes(), Bytes::of::<u32>(graph.edges())));

    let plan = &planned.plan;
    let task = control.task("count", Some(u64::from(parts)), Unit::Partitions);
    task.advance(before.len() as u64);
    let together = control.part();
    let work = Work {
        plan,
        setup,
        shared: &shared,
        order: &order,
        journal: journal.as_ref(),
        next: AtomicUsize::new(0),
        task: &task,
        control: &together,
    };
    let outcomes = std::thread::scope(|scope| {
        let threads: Vec<_> = backends
            .iter_mut()
            .map(|backend| {
                let work = &work;
                scope.spawn(move || {
                    let share = count_parts(backend.as_mut(), work);
                    if share.is_err() {
                        work.control.stop();
                    }
                    share
                })
            })
            .collect();
        threads.into_iter().map(|thread| joined(thread.join()).and_then(|share| share)).collect()
    });
    let (mut all, devices) = together_of(all_or_cause(outcomes, control)?, &backends);
    let read = if shared.memory().is_some() { Bytes::ZERO } else { shared.disk() };
    stations.extend(all.busy.shared_stations(Bytes(read.get() * order.len() as u64)));
    all.results.extend(before.into_values());
    Ok((all.results, devices))
}

/// What gathering takes of the host's memory.
pub(super) struct Gathering {
    /// Rows that stay there.
    pub(super) rows: Bytes,
    /// Bytes of the graph's own rows that are mapped at a time.
    pub(super) window: Bytes,
    /// Rows that are gathered at a time, where they go to a file.
    pub(super) batch: Option<Bytes>,
}

/// How the rows are gathered: by what the budget has left beside counting.
pub(super) fn gathering(planned: &Planned, setup: &Setup) -> Gathering {
    let Planned { graph, plan, .. } = planned;
    let rest = setup.host_memory.saturating_sub(planned.on_host + graph.held_bytes());
    let rows = Bytes::of::<u32>(graph.edges());
    match &plan.shared {
        Some(SharedPlan { frames, in_memory: true }) => {
            Gathering { rows, window: rest.saturating_sub(rows + frames.table_bytes()), batch: None }
        }
        _ => {
            // Two frames are on their way to each device, and two runs of a resident section, each as long as a window.
            let devices = planned.devices as u64;
            let frames = Bytes(2 * plan.frame_limit.get() * devices);
            let part = Bytes(rest.saturating_sub(frames).get() / (2 * devices + 1)).max(LEAST_WINDOW);
            Gathering { rows: Bytes::ZERO, window: part, batch: Some(part.min(rows)) }
        }
    }
}

/// The rows in the order of numbers, where the plan has them.
fn gathered<'p>(planned: &'p Planned, setup: &Setup, control: &Control) -> Result<SharedGraph<'p>> {
    let Planned { graph, plan, .. } = planned;
    let Some(SharedPlan { frames, .. }) = &plan.shared else {
        return Err(Error::resource("shared frames that were not planned").advice("this is a defect; please report it"));
    };
    let Gathering { window, batch, .. } = gathering(planned, setup);
    let place = match batch {
        None => Place::Memory,
        Some(batch) => {
            let (free, rows) = (free_space(&setup.work_dir)?, Bytes::of::<u32>(graph.edges()));
            if free < rows {
                return Err(Error::resource(format!("{free} free on its disk"))
                    .at(&setup.work_dir)
                    .expected(format!("{rows} for the graph's rows"))
                    .advice("free some space, name another --work-dir, or use --frames own"));
            }
            Place::File { dir: &setup.work_dir, batch }
        }
    };
    setup.pool.install(|| SharedGraph::new(graph, frames, place, window, control))
}

impl<'a> Work<'a> {
    /// The next partition that nobody has taken, of whose resident section up to `room` bytes are read, in runs of `chunk`.
    fn take(&self, chunk: Bytes, room: Bytes) -> Option<(u32, Result<Ahead<SharedPart<'a>>>)> {
        let &part = self.order.get(self.next.fetch_add(1, Ordering::Relaxed))?;
        let locals = self.plan.assignment.locals(part);
        let read = || Ahead::new(SharedPart::new(self.shared, locals, self.control), chunk, room);
        Some((part, self.setup.pool.install(read)))
    }
}

/// A device's thread: counts one partition after another. Where the device has memory of its own, the next one's first rows
/// are read meanwhile.
fn count_parts(backend: &mut dyn Backend, work: &Work<'_>) -> Result<Share> {
    let mut share = Share::default();
    let device = backend.device().map(|device| device.ordinal);
    let chunk = backend.resident_chunk();
    let take = |room| work.take(chunk.unwrap_or_default(), room);
    let mut taken = take(Bytes::ZERO);
    while let Some((part, source)) = taken {
        let start = Instant::now();
        let mut source = source?;
        let (counted, next) = std::thread::scope(|scope| {
            let next = chunk.map(|chunk| scope.spawn(move || take(Bytes(RUNS_AHEAD * chunk.get()))));
            let counted = count_partition(&mut source, backend, &work.setup.pool, work.control);
            (counted, next.map(|thread| joined(thread.join())))
        });
        let mut counted = counted?;
        counted.reading += source.reading();
        share.busy.add_counted(&counted);
        let result = partition_result(work.plan, part, &counted, Bytes::ZERO, start.elapsed());
        let result = PartitionResult { device, ..result };
        if let Some(journal) = work.journal {
            journal.record(&result)?;
        }
        share.results.push(result);
        work.task.advance(1);
        taken = next.unwrap_or_else(|| Ok(take(Bytes::ZERO)))?;
    }
    Ok(share)
}
