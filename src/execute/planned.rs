//! A job up to its plan: what counting, partitioning and planning have in common.

use std::sync::atomic::{AtomicU64, Ordering};

use xxhash_rust::xxh3::xxh3_128;

use super::graph::Input;
use super::machine;
use super::setup::{Chosen, Setup};
use crate::assign::Assigner;
use crate::bytes::Bytes;
use crate::clean::cache::Origin;
use crate::control::Control;
use crate::count::{Backend, Terms};
use crate::error::{Kind, Result};
use crate::graph::OrientedGraph;
use crate::job::{FrameKind, Job, Partitioner, Parts, Prune};
use crate::mapped::give_back_the_rest;
use crate::plan::auto::auto;
use crate::plan::choose::MethodEstimate;
use crate::plan::frames::Rates;
use crate::plan::{BudgetFrom, Floor, Limits, Plan, again, plan};
use crate::report::Station;

/// A job that is ready to be built and counted.
pub(super) struct Planned {
    /// The graph.
    pub(super) graph: OrientedGraph,
    /// Who cut it: never `auto`.
    pub(super) partitioner: Partitioner,
    /// The plan.
    pub(super) plan: Plan,
    /// What the plan keeps to.
    pub(super) limits: Limits,
    /// Bytes of the host's memory that counting takes.
    pub(super) on_host: Bytes,
    /// What counts: at least one, one for each device.
    pub(super) backends: Vec<Box<dyn Backend>>,
    /// How many, and how many of them have memory of their own.
    pub(super) devices: usize,
    pub(super) gpus: u64,
    /// The budget of the device.
    pub(super) device: Bytes,
    /// The smallest budget that works.
    pub(super) floor: Floor,
    /// The methods between which `auto` chose.
    pub(super) methods: Vec<MethodEstimate>,
    /// Marks the partitions of this job.
    pub(super) fingerprint: u128,
    /// The most that was resident up to the plan, a child process's added to what was resident while it ran. What is measured
    /// from here on starts anew.
    pub(super) peak: Bytes,
}

/// Takes a job up to its plan.
pub(super) fn planned(job: &Job, setup: &Setup, control: &Control, stations: &mut Vec<Station>) -> Result<Planned> {
    let prepared = Input::open(job, setup, control)?.graph(setup, control, stations)?;
    planned_with(prepared, job, setup, true, control, stations)
}

/// Takes a job whose graph is there up to its plan: that of the run directory, where an earlier start made one. With the graph
/// comes what tells its input from any other. `spills_whole`: whether a graph that is one partition is spilled, too.
pub(super) fn planned_with(
    (graph, origin): (OrientedGraph, Option<Origin>),
    job: &Job,
    setup: &Setup,
    spills_whole: bool,
    control: &Control,
    stations: &mut Vec<Station>,
) -> Result<Planned> {
    let recorded = match &setup.run {
        Some(run) => setup.pool.install(|| run.planned(graph.vertices()))?,
        None => None,
    };
    let before = recorded.as_ref().map(|(record, _)| record.fingerprint);
    let chosen = setup.backend(job, &graph)?;
    let (on_host, shared) = (chosen.on_host(), setup.shared_memory(&chosen, &graph));
    let rates = Rates::new(setup.pool.current_num_threads(), chosen.gpus());
    let gpus = chosen.gpus() as u64;
    let Chosen { mut backends, device, largest_frame, floor, methods } = chosen;
    let likely = job.frame_bytes.unwrap_or(Bytes(device.get() / 8).min(largest_frame));
    let counting = on_host + Bytes(2 * gpus * likely.get()) + setup.spill_memory(job);
    graph.limit_pages(setup.page_budget(counting, likely));
    let (frame, prune, frames, parts) = (job.frame_bytes, job.prune, job.frames, backends.len() as u32);
    let whole = backends[0].whole().then(|| backends[0].method());
    let device_from = if gpus == 0 && job.device_memory.is_none() { BudgetFrom::Host } else { BudgetFrom::Device };
    let limits =
        Limits { device, device_from, largest_frame, frame, prune, parts, frames, shared, rates, whole, spills_whole };
    let until_here = machine::peak_memory();
    machine::forget_peak();
    let planned = |backends: &[Box<dyn Backend>]| {
        let terms = backends[0].terms();
        let partitioner = resolved(&job.partitioner, job.frames == FrameKind::Own);
        with_assigner(job, partitioner, setup, &graph, terms, control, |assigner| {
            let plan = match &recorded {
                Some((record, assignment)) => {
                    again(&graph, assignment.clone(), record.settled(), &terms, limits, control)?
                }
                None if job.partitioner == Partitioner::Auto && job.frames == FrameKind::Auto => {
                    let by_id = Assigner { partitioner: &Partitioner::Contiguous, ..assigner.again() };
                    auto(&graph, [assigner, &by_id], &terms, limits, control)?
                }
                None => plan(&graph, assigner, &terms, limits, control)?,
            };
            Ok((plan, Bytes(assigner.child_peak.load(Ordering::Relaxed))))
        })
    };
    let (plan, child_peak) = match planned(&backends) {
        // Recorded parts may fit another method's terms.
        Err(error) if recorded.is_some() && error.kind() == Kind::Resource => {
            if !backends.iter_mut().map(|backend| backend.take_less()).fold(false, |some, less| some | less) {
                return Err(error);
            }
            planned(&backends)?
        }
        planned => planned?,
    };
    if plan.assignment.parts() != plan.parts_asked {
        tracing::warn!(
            "{} parts do not fit the device budget of {device}: they were split into {}",
            plan.parts_asked,
            plan.assignment.parts()
        );
    }
    if let Parts::Exactly(parts) = job.parts
        && parts.get() > plan.parts_asked
        && !matches!(job.partitioner, Partitioner::File(_))
    {
        tracing::info!(target: crate::NOTE, "of {parts} parts {} have vertices; the others are left out", plan.parts_asked);
    }
    graph.ease();
    give_back_the_rest();
    let peak = until_here.max(machine::peak_memory() + child_peak);
    machine::forget_peak();
    let ids = Bytes::of::<u32>(u64::from(graph.vertices()));
    stations.push(Station::new("assign", plan.times[0], Bytes::ZERO, ids));
    stations.push(Station::new("plan", plan.times[1], graph.csr_bytes(), Bytes::ZERO));
    let identity = origin.map_or(Ok(String::new()), |origin| origin.lasting())?;
    let own = job.frames == FrameKind::Own || (plan.shared.is_none() && plan.assignment.parts() > 1);
    let partitioner = resolved(&job.partitioner, own).clone();
    let fingerprint = fingerprint(&partitioner, job.seed, job.prune, &identity, &plan);
    if let Some(run) = setup.run.as_ref().filter(|_| before != Some(fingerprint)) {
        run.record_plan(fingerprint, &plan)?;
    }
    let devices = backends.len();
    Ok(Planned {
        graph,
        partitioner,
        plan,
        limits,
        on_host,
        backends,
        devices,
        gpus,
        device,
        floor,
        methods,
        fingerprint,
        peak,
    })
}

/// What `auto` stands for with own frames, and otherwise; any other partitioner is what it is.
fn resolved(partitioner: &Partitioner, own: bool) -> &Partitioner {
    match partitioner {
        Partitioner::Auto if own => &Partitioner::Contiguous,
        Partitioner::Auto => &Partitioner::Rank,
        other => other,
    }
}

/// Lends a partitioner with the settings of a job to `work`, in the job's threads.
pub(super) fn with_assigner<T: Send>(
    job: &Job,
    partitioner: &Partitioner,
    setup: &Setup,
    graph: &OrientedGraph,
    terms: Terms,
    control: &Control,
    work: impl FnOnce(&Assigner<'_>) -> Result<T> + Send,
) -> Result<T> {
    let weight = |id| terms.resident(1, u64::from(graph.out_degree(graph.rank_of(id)))).get();
    let assigner = Assigner {
        graph,
        partitioner,
        parts: job.parts,
        seed: job.seed,
        weight: &weight,
        helper: setup.helper.as_ref(),
        host_memory: setup.host_memory,
        work_dir: &setup.work_dir,
        control,
        child_peak: AtomicU64::new(0),
    };
    setup.pool.install(|| work(&assigner))
}

/// Marks the partitions of a job: the input, how it was cut, which frames pass, what was pruned, how large frames are.
fn fingerprint(partitioner: &Partitioner, seed: u64, prune: Prune, identity: &str, plan: &Plan) -> u128 {
    let text = format!(
        "{identity}\n{}\n{}\n{}\n{}\n{}\n{}",
        partitioner,
        seed,
        plan.assignment.parts(),
        plan.frames(),
        prune,
        plan.frame_limit.get()
    );
    let mut key = text.into_bytes();
    key.extend_from_slice(bytemuck::cast_slice(plan.assignment.part_of()));
    xxh3_128(&key)
}
