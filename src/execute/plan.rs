//! What `trimill plan` does: what each partition will take, what fits, and which numbers of parts would. Counts nothing.

use super::building::Building;
use super::graph::Input;
use super::planned::{planned_with, with_assigner};
use super::setup::Setup;
use super::{host, machine};
use crate::assign::{Assigner, Helper};
use crate::bytes::Bytes;
use crate::control::Control;
use crate::count::Terms;
use crate::error::Result;
use crate::graph::OrientedGraph;
use crate::job::{FrameKind, Job, Partitioner};
use crate::partition::sizes::PartitionSize;
use crate::plan::frames::own_sized;
use crate::plan::sample::Share;
use crate::plan::{Assign, Limits, Sized, sized};
use crate::report::plan::Alternative;
use crate::report::{PlanReport, PlannedPartition};

/// Plans a job.
///
/// # Errors
/// What any station up to the plan reports; a budget below the floor.
pub fn plan(job: &Job, helper: Option<Helper>, control: &Control) -> Result<PlanReport> {
    machine::forget_peak();
    let setup = Setup::new(job, helper)?;
    let program = machine::resident_memory();
    let mut stations = Vec::new();
    let prepared = Input::open(job, &setup, control)?.graph(&setup, control, &mut stations)?;
    let preparing = (stations.iter().all(|station| station.name != "cached")).then(machine::peak_memory);
    machine::forget_peak();
    let planned = planned_with(prepared, job, &setup, job.keep_spill, control, &mut stations)?;
    // Mapped pages are added up apart.
    planned.graph.release();
    let counting = host::counting(job, &planned, &setup, machine::resident_memory());
    // Without the cache the job that follows prepares the graph again.
    let again = preparing.filter(|_| setup.cache.is_none()).unwrap_or_default();
    let host_peak = planned.peak.max(counting).max(again);
    let (graph, plan, terms) = (&planned.graph, &planned.plan, planned.backends[0].terms());
    let spills = plan.assignment.parts() > 1 || job.keep_spill;
    let partitions: Vec<PlannedPartition> = plan
        .sizes
        .iter()
        .zip(&plan.predictions)
        .enumerate()
        .map(|(id, (size, predicted))| PlannedPartition {
            id: id as u32,
            local_vertices: size.locals,
            proxies_kept: size.proxies_kept,
            arcs_induced: size.arcs_induced,
            arcs_kept: size.arcs_kept,
            resident_bytes: predicted.resident,
            frames: predicted.frames,
            largest_frame_bytes: predicted.largest_frame,
            spill_bytes: if spills { predicted.spill } else { Bytes::ZERO },
            stream_bytes: predicted.stream,
            peak_bytes_predicted: predicted.peak,
            ..PlannedPartition::default()
        })
        .collect();
    let parts = plan.assignment.parts();
    let alternatives = match planned.limits.whole {
        Some(_) => Vec::new(),
        None => with_assigner(job, &planned.partitioner, &setup, graph, terms, control, |assigner| {
            let limits = Limits { frames: plan.frames(), ..planned.limits };
            alternatives(graph, (&terms, plan.frame_limit, &limits), assigner, control)
        })?,
    };
    let mut estimates = plan.estimates;
    if let Some(estimates) = estimates.as_mut().filter(|estimates| !estimates.sized) {
        let limits = Limits { frames: FrameKind::Own, ..planned.limits };
        let (sizes, predictions) = match job.partitioner {
            Partitioner::Auto => {
                let by_id = &Partitioner::Contiguous;
                let own = with_assigner(job, by_id, &setup, graph, terms, control, |assigner| {
                    crate::plan::plan(graph, assigner, &terms, limits, control)
                })?;
                (own.sizes, own.predictions)
            }
            _ => {
                let limits = (&limits, plan.frame_limit);
                let size = || sized(graph, &plan.assignment, &terms, limits, Some(Share::default()), control);
                let own = setup.pool.install(size)?;
                (own.sizes, own.predictions)
            }
        };
        (estimates.own, estimates.sized) = (own_sized(&planned.limits.rates, &sizes, &predictions), true);
    }
    let mut advice = Vec::new();
    if plan.parts_asked != parts {
        advice.push(format!(
            "{} parts do not fit {}: they were split into {parts}; --parts {parts} or more avoids that",
            plan.parts_asked, planned.device
        ));
    }
    let n = u64::from(graph.vertices());
    let host_arrays = program + host::arrays(job, &planned, &setup);
    Ok(PlanReport {
        vertices: n,
        edges: graph.edges(),
        backend: planned.backends[0].name().into(),
        method: planned.backends[0].method().into(),
        methods: planned.methods.clone(),
        partitions,
        device_memory: planned.device,
        smallest_device_memory: planned.floor.device,
        frame_bytes: plan.frame_limit,
        host_memory: setup.host_memory,
        host_arrays_bytes: host_arrays,
        host_peak_bytes: host_peak,
        prepare_peak_bytes: preparing,
        disk_bytes: if plan.shared.is_some() || (parts == 1 && !job.keep_spill) {
            Bytes::ZERO
        } else {
            let order: Vec<u32> = (0..parts).collect();
            Building::choose((graph, plan, &order), job, planned.backends.len(), &setup)?.disk
        },
        alternatives,
        advice,
        frames: plan.frames(),
        partitioner: planned.partitioner.to_string(),
        estimates,
        ..PlanReport::of(job)
    }
    .complete())
}

/// What other numbers of parts would take, without splitting; nothing where asking the partitioner again is not cheap.
fn alternatives(
    graph: &OrientedGraph,
    (terms, frame_limit, limits): (&Terms, Bytes, &Limits),
    assigner: &Assigner<'_>,
    control: &Control,
) -> Result<Vec<Alternative>> {
    if !assigner.is_cheap() {
        return Ok(Vec::new());
    }
    [1u32, 2, 4, 8, 16, 32, 64, 128]
        .into_iter()
        .map(|parts| {
            let assignment = assigner.assign(parts)?;
            let Sized { sizes, predictions, .. } =
                sized(graph, &assignment, terms, (limits, frame_limit), None, control)?;
            let largest = predictions.iter().map(|p| p.peak).max().unwrap_or_default();
            let most = |of: fn(&PartitionSize) -> u64| sizes.iter().map(of).max().unwrap_or_default();
            let kept: u64 = sizes.iter().map(|size| size.arcs_kept).sum();
            Ok(Alternative {
                parts,
                largest_arcs_kept: most(|size| size.arcs_kept),
                largest_vertices_kept: most(|size| size.locals + size.proxies_kept),
                duplication: kept as f64 / graph.edges().max(1) as f64,
                largest_peak_bytes: largest,
                stream_bytes: predictions.iter().map(|p| p.stream).sum(),
                fits: largest <= limits.device,
            })
        })
        .collect()
}
