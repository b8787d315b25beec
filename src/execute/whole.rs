//! Counts a graph that is one partition: its rows go to the counter directly, nothing is spilled.
//!
//! A method that can split whole graphs by their edges does so over all devices: each holds the graph and counts its share.
//! Else one device counts, however many there are.

use std::time::Instant;

use super::busy::device_stations;
use super::count::partition_result;
use super::devices::{all_or_cause, device_result};
use super::planned::Planned;
use super::setup::Setup;
use crate::bytes::Bytes;
use crate::control::{Control, Unit};
use crate::count::{Backend, DeviceTimes};
use crate::error::Result;
use crate::partition::prune::Pruned;
use crate::report::{DeviceResult, PartitionResult, Station};
use crate::run_dir::Journal;
use crate::stream::source::Whole;
use crate::stream::{Counted, count_partition, joined};

/// Counts the one partition of a plan.
///
/// # Errors
/// The first error of a device, the others are then stopped; a stop.
pub(super) fn count_whole(
    planned: &mut Planned,
    setup: &Setup,
    control: &Control,
    stations: &mut Vec<Station>,
) -> Result<(Vec<PartitionResult>, Vec<DeviceResult>)> {
    let Planned { graph, plan, backends, fingerprint, .. } = planned;
    let journal = setup.run.as_ref().map(|run| run.journal(*fingerprint, 1));
    if let Some(result) = journal.as_ref().map(Journal::counted).transpose()?.and_then(|mut all| all.remove(&0)) {
        return Ok((vec![result], Vec::new()));
    }
    let many = backends.len() as u32;
    let shared = many > 1 && backends.iter_mut().zip(0..).all(|(backend, i)| backend.share(i, many));
    let backends = if shared { &mut backends[..] } else { &mut backends[..1] };
    let task = control.task("count", Some(1), Unit::Partitions);
    let start = Instant::now();
    let pruned = Pruned::whole(graph);
    stations.push(Station::since("induce", start, graph.csr_bytes(), Bytes::ZERO));
    let start = Instant::now();
    let shares = counted_together(&pruned, backends, setup, control)?;
    let all = sum(&shares);
    stations.push(Station::since("count", start, all.streamed, Bytes::ZERO));
    stations.extend(device_stations(all.device, all.streamed));
    task.advance(1);
    let result = |counted: &Counted| partition_result(plan, 0, counted, Bytes::ZERO, start.elapsed());
    let each = shares.iter().zip(&*backends);
    let devices = each.filter_map(|(share, backend)| device_result(backend.as_ref(), &[result(share)], share.counting));
    let devices: Vec<DeviceResult> = devices.collect();
    let device = devices.first().filter(|_| !shared).map(|device| device.device);
    let result = PartitionResult { device, ..result(&all) };
    if let Some(journal) = &journal {
        journal.record(&result)?;
    }
    Ok((vec![result], devices))
}

/// What each backend found, in a thread of its own for each.
fn counted_together(
    pruned: &Pruned<'_>,
    backends: &mut [Box<dyn Backend>],
    setup: &Setup,
    control: &Control,
) -> Result<Vec<Counted>> {
    let together = control.part();
    let count = |backend: &mut Box<dyn Backend>| {
        let mut source = setup.pool.install(|| Whole::new(pruned));
        count_partition(&mut source, backend.as_mut(), &setup.pool, &together).inspect_err(|_| together.stop())
    };
    let count = &count;
    let outcomes: Vec<Result<Counted>> = std::thread::scope(|scope| {
        let threads: Vec<_> = backends.iter_mut().map(|backend| scope.spawn(move || count(backend))).collect();
        threads.into_iter().map(|thread| joined(thread.join()).and_then(|counted| counted)).collect()
    });
    all_or_cause(outcomes, control)
}

/// All shares together: triangles and bytes add up, and so do the devices' times.
fn sum(shares: &[Counted]) -> Counted {
    shares.iter().skip(1).fold(shares[0], |all, share| Counted {
        triangles: all.triangles + share.triangles,
        peak: all.peak.max(share.peak),
        streamed: all.streamed + share.streamed,
        reading: all.reading + share.reading,
        counting: all.counting + share.counting,
        device: all.device.zip(share.device).map(|(a, b)| DeviceTimes {
            kernels: a.kernels + b.kernels,
            copies: a.copies + b.copies,
            preprocessing: a.preprocessing + b.preprocessing,
        }),
        ..all
    })
}
