//! Plans for a GPU on a machine that has none, whose memory the job names.

use super::chosen::{ChosenBackends, host_holds, method_for};
use super::counters::on_the_way;
use super::host::{HostNeeds, OnGpus, blocks_of_gpu, least_on_gpus, on_gpus};
use super::opening::settings;
use crate::count::CountBackend;
use crate::count::cuda::{Absent, DeviceCounters};
use crate::count::method::CudaMethod;
use crate::graph::GraphSize;
use crate::job::{Devices, Job};
use crate::plan::floor;
use crate::rates::Rates;
use trimill_system::bytes::Bytes;
use trimill_system::error::{Error, Result};
use trimill_system::memory::HostMemory;

/// What [`super::setup::Setup::backend`] would choose on a machine with such GPUs; they cannot count.
///
/// # Errors
/// A budget of the host below the floor ([`trimill_system::error::Kind::Resource`]); block threads or a tile out of bounds.
pub(super) fn absent(
    (host, rates): (HostMemory, &Rates),
    method: CudaMethod,
    job: &Job,
    graph: &GraphSize,
    asked: &HostNeeds<'_>,
) -> Result<ChosenBackends> {
    let device = job.device_memory.unwrap_or_default();
    let gpus = match &job.devices {
        Some(Devices::List(list)) => list.len() as u64,
        Some(Devices::All) | None => 1,
    };
    let shape = (gpus, blocks_of_gpu(job));
    let least_on_host = least_on_gpus(shape, graph.longest_row);
    let division = asked.divided(least_on_host, gpus)?;
    let OnGpus { block: largest_row_block, all: on_host, .. } = on_gpus(shape, division.counting);
    host_holds(job.block_bytes.unwrap_or_default(), largest_row_block)?;
    let settings = settings(job);
    let counters = match (job.counts_edges(), job.counts_vertices()) {
        (true, _) => DeviceCounters::Edges,
        (false, true) => DeviceCounters::Vertices { most: on_the_way(host, gpus) },
        (false, false) => DeviceCounters::Total,
    };
    let of_each = |_| Absent::choices(method, &settings, graph, device, counters);
    let choices: Vec<_> = of_each(0)?.iter().map(|absent| (absent.choice(), absent.footprint())).collect();
    let compared = if method == CudaMethod::Auto { &choices[..] } else { &[] };
    let (chosen, methods) = method_for(rates, compared, graph, (device, largest_row_block));
    let backend = |i| {
        let found = of_each(i)?.into_iter().find(|absent| chosen.is_none_or(|chosen| chosen == absent.choice()));
        let found = found.ok_or_else(|| Error::defect("a method without a footprint"))?;
        Ok(Box::new(found) as Box<dyn CountBackend>)
    };
    let backends = (0..gpus).map(backend).collect::<Result<Vec<_>>>()?;
    let floor = floor(graph, &backends[0].footprint());
    Ok(ChosenBackends {
        backends,
        device,
        largest_row_block,
        floor,
        methods,
        on_host,
        division,
        least_on_host,
        driver: Bytes::ZERO,
        beside: false,
    })
}
