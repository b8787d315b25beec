//! Runs the devices that count together, the first in the caller's thread, each other one in its own ([`super::device`]), and joins their results.
//! Input: backends, and a [`Queue`] of work items or of partitions that exist. Output: the results of each, or the error of the job.
//!
//! A device that fails requeues what it holds and takes no more; the others continue. Nothing is lost or counted twice: a count is added only when
//! the whole item was counted. If no device is left for the rest, the last one's error is the job's. A panic, or an error that is not a device's,
//! stops all at once, since another device would fail in the same way.

use std::cmp::Reverse;
use std::thread;

use super::device::count_queue;
use super::queue::{Item, Queue};
use super::session::Session;
use super::work::{DeviceOutcome, PartitionsToCount, SharedWork};
use crate::report::DeviceResult;
use crate::stream::PartitionFailure;
use trimill_counting::CountBackend;
use trimill_system::control::{Task, Unit};
use trimill_system::threads::{WORKER, guarded, joined, spawn};
use trimill_system::{Control, Error, Kind, Result};

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
            items.sort_by_key(|item| Reverse(known[item.part() as usize].predicted.stream));
        }
        let Session { pool, control, .. } = session;
        let arcs = items.iter().map(|item| known[item.part() as usize].counted_arcs()).sum();
        let (task, unit) = task_of(backends, items.len() as u64, arcs, control);
        let together = control.part();
        let queue = Queue::of(items, backends.len());
        let work = SharedWork {
            partitions: self,
            pool,
            queue: &queue,
            batch_builder: None,
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

pub(super) fn count_all(backends: &mut [Box<dyn CountBackend>], work: &SharedWork<'_>) -> Vec<Result<DeviceOutcome>> {
    let SharedWork { queue, control, .. } = work;
    if control.is_recorded() {
        backends.iter_mut().for_each(|backend| backend.record_work());
    }
    thread::scope(|scope| {
        let member = |backend: &mut Box<dyn CountBackend>| {
            let (mut share, who) = (DeviceOutcome::default(), name(backend.as_ref()));
            let thread = format!("the thread that counts on {who}");
            let outcome = guarded(&thread, || count_queue(backend.as_mut(), work, &mut share));
            let done_by_others = queue.leave();
            match outcome.unwrap_or_else(|panic| Err(panic.into())) {
                Ok(()) => Ok(share),
                Err(PartitionFailure::Device(error)) if done_by_others => {
                    tracing::warn!(
                        "{}; the other devices go on without it",
                        error.while_doing(&format!("{who} failed"))
                    );
                    Ok(DeviceOutcome { failed: true, ..share })
                }
                Err(failed) => {
                    control.stop();
                    Err(match failed {
                        PartitionFailure::Device(error) => error.while_doing(&format!("{who} failed")),
                        PartitionFailure::Job(error) => error,
                    })
                }
            }
        };
        let Some((first, others)) = backends.split_first_mut() else { return Vec::new() };
        let threads: Vec<Result<_>> =
            others.iter_mut().map(|backend| spawn(scope, "counting", move || member(backend))).collect();
        for _ in threads.iter().filter(|thread| thread.is_err()) {
            queue.leave();
            control.stop();
        }
        let share =
            |thread: Result<thread::ScopedJoinHandle<'_, Result<DeviceOutcome>>>| joined(WORKER, thread?.join())?;
        std::iter::once(member(first)).chain(threads.into_iter().map(share)).collect()
    })
}

fn name(backend: &dyn CountBackend) -> String {
    backend.device().map_or_else(|| "the CPU".into(), |device| format!("GPU {} ({})", device.ordinal, device.name))
}

/// All shares, if they were finished before the job was stopped; else the error that stopped the other devices, or the error of a stopped job.
pub(super) fn all_or_first_error<S>(outcomes: Vec<Result<S>>, control: &Control) -> Result<Vec<S>> {
    let (mut shares, mut cause) = (Vec::with_capacity(outcomes.len()), None::<Error>);
    for outcome in outcomes {
        match outcome {
            Ok(share) => shares.push(share),
            Err(error) if cause.as_ref().is_none_or(|cause| cause.kind() == Kind::Interrupted) => cause = Some(error),
            Err(_) => {}
        }
    }
    match cause {
        None => Ok(shares),
        Some(error) => control.check().and(Err(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_finished_before_the_job_was_stopped_is_kept() {
        let control = Control::silent();
        control.stop();
        assert_eq!(all_or_first_error(vec![Ok(1), Ok(2)], &control).unwrap(), [1, 2]);
        let failed = vec![Ok(1), Err(Error::defect("a device"))];
        assert_eq!(all_or_first_error(failed, &control).unwrap_err().kind(), Kind::Interrupted);
        let failed = vec![Err(Error::interrupted()), Err::<u32, _>(Error::defect("a device"))];
        assert_eq!(all_or_first_error(failed, &Control::silent()).unwrap_err().kind(), Kind::Defect);
    }
}
