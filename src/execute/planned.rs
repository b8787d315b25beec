//! The state [`Planned`]: partitions that fit, and what counts them; for counting, partitioning and planning alike.

use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::time::Instant;

use trimill_counting::{CountBackend, Footprint, Scope};
use xxhash_rust::xxh3::xxh3_128;

use super::backends::GraphToCount;
use super::building::{Building, BuildingSpace};
use super::chosen::ChosenBackends;
use super::graph::Prepared;
use super::session::Session;
use crate::assign::Assigner;
use crate::count::method::LEAST_MEMORY_METHOD;
use crate::job::{CutSettings, Mode, Partitioner, Parts};
use crate::plan::choose::MethodEstimate;
use crate::plan::sets::VertexInfo;
use crate::plan::{BudgetFrom, Floor, GraphCut, Plan, PlanLimits, Planner, RecordedCut, refuse_parts};
use crate::report::Stage;
use crate::run_dir::{PREPARE_AGAIN, PlanRecord, RunDir};
use trimill_graph::OrientedGraph;
use trimill_partitioners::build::Builder;
use trimill_partitioners::build::room::SpillMemory;
use trimill_partitioners::partition::locals::Locals;
use trimill_partitioners::partition::ranks::LocalsAndHeads;
use trimill_partitioners::spill::manifest::MANIFEST_VERSION;
use trimill_partitioners::spill::{Manifest, ManifestJob, ManifestPartition, SpillSummary};
use trimill_system::bytes::Bytes;
use trimill_system::error::{Error, Kind, Result};
use trimill_system::machine;
use trimill_system::mapped::trim_heap;
use trimill_system::memory::HostFloor;
use trimill_system::parallel;

/// A session whose partitions are planned, and can be built and counted.
pub(super) struct Planned {
    pub(super) stages: Vec<Stage>,
    pub(super) graph: OrientedGraph,
    /// The partitioner; never `auto`.
    pub(super) partitioner: Partitioner,
    pub(super) plan: Plan,
    pub(super) limits: PlanLimits,
    /// Host memory for building partitions; enough for one at a time.
    pub(super) building: Bytes,
    /// Host memory for spills that wait there.
    pub(super) spills: Bytes,
    /// Whether the host's memory suffices for building.
    pub(super) builds: bool,
    /// The floors of the host's memory for this job.
    pub(super) host_floors: Vec<HostFloor>,
    /// Bytes that the drivers of GPUs mapped in the process.
    pub(super) driver: Bytes,
    /// At least one; one for each device.
    pub(super) backends: Vec<Box<dyn CountBackend>>,
    pub(super) devices: usize,
    /// The budget of the device.
    pub(super) device: Bytes,
    /// The smallest budget that works.
    pub(super) floor: Floor,
    /// The methods between which `auto` chose.
    pub(super) methods: Vec<MethodEstimate>,
    /// Identifies the partitions of this job.
    pub(super) fingerprint: u128,
    /// The peak resident memory up to the plan, without what the drivers mapped, and with that of a child process while it ran; if GPUs
    /// were opened meanwhile, it may include a part of what the drivers mapped. The peak is measured anew from
    /// here on.
    pub(super) peak: Bytes,
    pub(super) session: Session,
}

impl Planned {
    /// How `parts` of its partitions are built; `kept`: all of them stay on disk.
    pub(super) fn building(&self, parts: usize, kept: bool) -> Result<Building> {
        let Self { session, plan, .. } = self;
        let space = BuildingSpace {
            memory: self.building,
            block: session.host_block(),
            spills: if kept { Bytes::ZERO } else { self.spills },
            dir: &session.spill_dir,
            // So many spills are on disk at a time beside those of two batches.
            counted: if kept { None } else { Some(self.devices) },
        };
        space.choose(self.graph.vertices(), plan, parts)
    }

    /// Seconds of counting, with building and streaming partitions.
    pub(super) fn counting_seconds(&self) -> f64 {
        let Self { graph, plan, limits, methods, backends, session, .. } = self;
        let size = graph.size();
        let method = backends.first().map_or("", |backend| backend.method());
        let estimated = methods.iter().find(|estimate| estimate.method == method).and_then(|found| found.seconds);
        let counting = estimated.unwrap_or_else(|| limits.machine.counting_about(size.edges, size.probes));
        let footprint = backends.first().map(|backend| backend.footprint()).unwrap_or(Footprint::NOTHING);
        let builds = self.builds;
        counting + Planning { session, graph, footprint: &footprint, limits, builds }.building(plan)
    }

    /// What builds its partitions, the sets `locals`, in `dir`; `durable`: they are synced to disk.
    pub(super) fn builder<'a>(
        &'a self,
        locals: &'a Locals,
        dir: &'a Path,
        room: &'a SpillMemory,
        durable: bool,
    ) -> Builder<'a> {
        let Self { graph, plan, fingerprint, session, .. } = self;
        let Plan { sizes, row_block_limit, .. } = plan;
        let (row_block_limit, prune, fingerprint) = (*row_block_limit, session.job.cut.prune, *fingerprint);
        Builder { graph, locals, sizes, row_block_limit, prune, dir, fingerprint, room, durable }
    }

    pub(super) fn manifest(&self, spills: &[SpillSummary]) -> Manifest {
        let Self { graph, partitioner, plan, fingerprint, session: Session { job, .. }, .. } = self;
        let partitions = spills.iter().map(ManifestPartition::from).collect();
        Manifest {
            version: MANIFEST_VERSION,
            fingerprint: *fingerprint,
            job: ManifestJob {
                input: job.title(),
                partitioner: partitioner.to_string(),
                prune: job.cut.prune.to_string(),
                seed: job.cut.seed.to_string(),
                parts: plan.parts().to_string(),
            },
            vertices: u64::from(graph.vertices()),
            edges: graph.edges(),
            graph: graph.figures(),
            partitions,
        }
    }
}

/// What a plan is made for.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlanRequest {
    /// Whether a graph that is one partition is spilled, too.
    pub(super) spills_whole: bool,
    /// The number of shards: there are at least as many partitions if the job names no number.
    pub(super) shards: u32,
}

impl Prepared {
    /// Plans, or takes the plan that an earlier start recorded in the run directory.
    /// A graph file that turns out to be damaged is removed, unless other processes share it.
    pub(super) fn plan(self, wanted: PlanRequest) -> Result<Planned> {
        let path = self.graph.path().filter(|_| !self.session.is_shard()).map(Path::to_path_buf);
        Session::unless_graph_damaged(self.planned(wanted), path.as_deref())
    }

    fn planned(self, wanted: PlanRequest) -> Result<Planned> {
        let Self { session, graph, origin, mut stages } = self;
        let Session { job, control, .. } = &session;
        let identity = origin.map_or(Ok(String::new()), |origin| origin.lasting())?;
        let recorded = session.recorded(&identity, graph.vertices())?;
        // The mode that an earlier start chose needs its share of the host's memory, whatever this one would have chosen.
        let mode = recorded.as_ref().map(|(record, _)| record.mode).or(job.cut.mode);
        let to_count = GraphToCount { size: graph.size(), held: graph.held_bytes(), mode };
        let start = Instant::now();
        let chosen = session.backends(to_count, None)?;
        control.did_stage("open devices", start);
        let start = Instant::now();
        let (division, driver, beside) = (chosen.division, chosen.driver, chosen.beside);
        let host_floors = session.host_needs(to_count).floors(chosen.least_on_host, chosen.gpus() as u64);
        let building = division.building.unwrap_or_default() + division.counting.saturating_sub(chosen.on_host);
        let limits = session.plan_limits(&chosen, &graph, wanted);
        let ChosenBackends { mut backends, device, floor, methods, .. } = chosen;
        let until_here = machine::peak_memory();
        machine::reset_peak();
        let planned = |backends: &[Box<dyn CountBackend>]| -> Result<(Plan, Bytes)> {
            let (footprint, child_peak) = (backends[0].footprint(), AtomicU64::new(0));
            let builds = division.building.is_some();
            let planning =
                Planning { session: &session, graph: &graph, footprint: &footprint, limits: &limits, builds };
            let plan = parallel::within(&session.pool, || match &recorded {
                Some((record, cut)) => planning.planner().replan(cut, record.block_bytes),
                None => planning.plan(&child_peak),
            })?;
            Ok((plan, Bytes(child_peak.into_inner())))
        };
        let (plan, child_peak) = match planned(&backends) {
            // Recorded parts may fit with the method that takes the least memory.
            Err(error)
                if recorded.is_some()
                    && error.kind() == Kind::Resource
                    && !methods.is_empty()
                    && backends[0].method() != LEAST_MEMORY_METHOD =>
            {
                drop(backends);
                backends = session.backends(to_count, Some(LEAST_MEMORY_METHOD))?.backends;
                planned(&backends)?
            }
            planned => planned?,
        };
        // Recorded plans, and those of files, come with their parts.
        refuse_parts(&limits, Some(plan.parts()))?;
        tell_other_parts(&plan, &job.cut, device);
        trim_heap();
        let until_here = if beside { until_here } else { until_here.saturating_sub(driver) };
        let peak = until_here.max((machine::peak_memory() + child_peak).saturating_sub(driver));
        machine::reset_peak();
        control.did_stage("plan", start);
        stages.push(Stage::new("assign", plan.times[0], Bytes::ZERO, Bytes::of::<u32>(graph.vertices().into())));
        stages.push(Stage::new("plan", plan.times[1], graph.stored_bytes(), Bytes::ZERO));
        let before = recorded.map(|(record, _)| record.fingerprint);
        let fingerprint = before.unwrap_or_else(|| fingerprint(&job.cut, &identity, &PartsRecord::of(&plan)));
        if let Some(run) = session.run.as_ref().filter(|_| before.is_none()) {
            run.record_plan(fingerprint, &plan)?;
        }
        Ok(Planned {
            partitioner: resolved(&job.cut.partitioner, plan.cut.mode()).clone(),
            session,
            stages,
            graph,
            plan,
            limits,
            building,
            spills: division.spills,
            builds: division.building.is_some(),
            host_floors,
            driver,
            devices: backends.len(),
            backends,
            device,
            floor,
            methods,
            fingerprint,
            peak,
        })
    }
}

impl Session {
    /// The plan that an earlier start recorded in the run directory, if there is one, of a graph of so many vertices.
    fn recorded(&self, identity: &str, vertices: u32) -> Result<Option<(PlanRecord, RecordedCut)>> {
        let Some(run) = &self.run else { return Ok(None) };
        let recorded = parallel::within(&self.pool, || recorded(run, &self.job.cut, identity, Some(vertices)))?;
        if run.is_shared() && recorded.is_none() {
            // Never planned anew: other shards count by that plan.
            return Err(
                Error::data(run.path(), "the plan of the prepared job is missing or damaged").advice(PREPARE_AGAIN)
            );
        }
        Ok(recorded)
    }

    fn plan_limits(&self, chosen: &ChosenBackends, graph: &OrientedGraph, wanted: PlanRequest) -> PlanLimits {
        let (job, backends) = (&self.job, &chosen.backends);
        let cached = graph.stored_bytes() <= Bytes(machine::memory().get() / 2);
        let of_host = chosen.gpus() == 0 && job.device_memory.is_none();
        PlanLimits {
            device: chosen.device,
            device_from: if of_host { BudgetFrom::Host } else { BudgetFrom::Device },
            largest_row_block: chosen.largest_row_block,
            row_block: job.cut.block_bytes,
            prune: job.cut.prune,
            parts: backends.len() as u32,
            shards: wanted.shards,
            machine: self.machine(chosen.gpus(), cached),
            whole: (backends[0].scope() != Scope::Partitions).then(|| backends[0].method()),
            spills_whole: wanted.spills_whole,
            host_block: self.host_block(),
        }
    }
}

/// Says where there are more parts than were asked for, or fewer.
fn tell_other_parts(plan: &Plan, asked: &CutSettings, device: Bytes) {
    if plan.parts() != plan.parts_asked {
        tracing::warn!(
            "{} parts do not fit the device budget of {device}: they were split into {}",
            plan.parts_asked,
            plan.parts()
        );
    }
    if let Parts::Exactly(parts) = asked.parts
        && parts.get() > plan.parts_asked
        && !matches!(asked.partitioner, Partitioner::File(_))
    {
        tracing::info!(target: trimill_system::control::NOTE, "of {parts} parts {} have vertices; the others are left out", plan.parts_asked);
    }
}

/// Resolves `auto` for a mode; returns any other partitioner unchanged.
fn resolved(partitioner: &Partitioner, mode: Mode) -> &Partitioner {
    match (partitioner, mode) {
        (Partitioner::Auto, Mode::InPlace) => &Partitioner::Rank,
        (Partitioner::Auto, Mode::Spilled) => &Partitioner::Contiguous,
        (other, _) => other,
    }
}

/// A graph to be partitioned, and the settings for that.
pub(super) struct Planning<'a> {
    pub(super) session: &'a Session,
    pub(super) graph: &'a OrientedGraph,
    pub(super) footprint: &'a Footprint,
    pub(super) limits: &'a PlanLimits,
    pub(super) builds: bool,
}

impl Planning<'_> {
    pub(super) fn planner(&self) -> Planner<'_> {
        let Self { session, graph, footprint, limits, .. } = *self;
        Planner { graph, footprint, limits, control: &session.control }
    }

    /// Seconds of building and streaming the partitions of a plan, where they are spilled.
    pub(super) fn building(&self, plan: &Plan) -> f64 {
        if plan.cut.mode() == Mode::Spilled { self.planner().spilled(plan) } else { 0.0 }
    }

    /// Plans; `child_peak` becomes the peak memory of a METIS child. Runs in the job's threads.
    pub(super) fn plan(&self, child_peak: &AtomicU64) -> Result<Plan> {
        let (job, planner) = (&self.session.job, self.planner());
        let parts = match job.cut.parts {
            Parts::Exactly(parts) => Some(parts.get()),
            Parts::Auto => None,
        };
        match (&job.cut.partitioner, job.cut.mode) {
            (Partitioner::Rank, _) => planner.ranges(parts),
            (Partitioner::Auto, None) if !self.builds => planner.ranges(parts),
            (Partitioner::Auto, None) => planner.auto(parts, || self.sets(&Partitioner::Contiguous, child_peak)),
            (Partitioner::Auto, Some(_)) => self.sets(&Partitioner::Contiguous, child_peak),
            (other, _) => self.sets(other, child_peak),
        }
    }

    pub(super) fn sets(&self, partitioner: &Partitioner, child_peak: &AtomicU64) -> Result<Plan> {
        let (graph, footprint, planner) = (self.graph, self.footprint, self.planner());
        let asked = self.assigner(partitioner, &NO_VERTICES, &|_| 0, child_peak);
        if let Some(whole) = planner.whole(&asked)? {
            return Ok(whole);
        }
        let assigned = {
            let vertices = VertexInfo::of(graph)?;
            let weight = |vertex: u32| footprint.resident(1, vertices.out_degrees[vertex as usize].into()).get();
            let assigner = self.assigner(partitioner, &vertices, &weight, child_peak);
            planner.assigned(&vertices, &assigner)?
        };
        planner.sets(assigned)
    }

    /// A partitioner with the settings of the job.
    pub(super) fn assigner<'b>(
        &'b self,
        partitioner: &'b Partitioner,
        vertices: &'b VertexInfo,
        weight: &'b (dyn Fn(u32) -> u64 + Sync),
        child_peak: &'b AtomicU64,
    ) -> Assigner<'b> {
        let Session { job, metis, host, work_dir, control, .. } = self.session;
        Assigner {
            graph: self.graph,
            vertices,
            partitioner,
            parts: job.cut.parts,
            seed: job.cut.seed,
            weight,
            helper: metis.as_ref(),
            host_memory: host.budget(),
            block: self.limits.host_block,
            work_dir,
            control,
            child_peak,
        }
    }
}

/// For an assigner of which only the settings are read, before the vertices are known.
static NO_VERTICES: VertexInfo = VertexInfo { order: Vec::new(), out_degrees: Vec::new() };

/// The plan that an earlier start recorded in `run`, if it is one of this job, whose input is `identity`; of a graph of `vertices`
/// vertices, if their number is known. A shard takes the plan as it is, which is compared with the prepared job elsewhere: its input need
/// not be there.
pub(super) fn recorded(
    run: &RunDir,
    settings: &CutSettings,
    identity: &str,
    vertices: Option<u32>,
) -> Result<Option<(PlanRecord, RecordedCut)>> {
    let Some((record, cut)) = run.planned(vertices)? else { return Ok(None) };
    let of_job = || fingerprint(settings, identity, &PartsRecord::recorded(&record, &cut));
    if run.is_shared() || record.fingerprint == of_job() {
        return Ok(Some((record, cut)));
    }
    tracing::warn!("{}: the recorded plan is that of another job: the job is planned anew", run.path().display());
    Ok(None)
}

/// How a graph is cut.
enum CutRecord<'a> {
    Ranges(&'a [LocalsAndHeads]),
    /// The part of each vertex.
    Sets(&'a [u32]),
}

/// The partitions of a plan.
struct PartsRecord<'a> {
    parts: u32,
    mode: Mode,
    /// The largest row block.
    block: Bytes,
    cut: CutRecord<'a>,
}

impl<'a> PartsRecord<'a> {
    fn of(plan: &'a Plan) -> Self {
        let cut = match &plan.cut {
            GraphCut::Ranges(ranges, _) => CutRecord::Ranges(ranges),
            GraphCut::Sets(locals) => CutRecord::Sets(locals.part_of()),
        };
        Self { parts: plan.parts(), mode: plan.cut.mode(), block: plan.row_block_limit, cut }
    }

    fn recorded(record: &PlanRecord, cut: &'a RecordedCut) -> Self {
        let cut = match cut {
            RecordedCut::Ranges(ranges) => CutRecord::Ranges(ranges),
            RecordedCut::Sets(locals) => CutRecord::Sets(locals.part_of()),
        };
        Self { parts: record.parts, mode: record.mode, block: record.block_bytes, cut }
    }
}

/// Identifies the partitions of a job: a hash of the input, the partitioner, the number of parts, the mode, the prune level, the size of
/// row blocks, and how the graph is cut.
fn fingerprint(settings: &CutSettings, identity: &str, of: &PartsRecord<'_>) -> u128 {
    let PartsRecord { parts, mode, block, cut } = of;
    let (partitioner, seed, prune) = (resolved(&settings.partitioner, *mode), settings.seed, settings.prune);
    let text = format!("{identity}\n{partitioner}\n{seed}\n{parts}\n{mode}\n{prune}\n{}", block.get());
    let mut key = text.into_bytes();
    let ends = |ranks: &LocalsAndHeads| [ranks.locals.end, ranks.heads.start, ranks.heads.end];
    match cut {
        CutRecord::Ranges(ranges) => {
            ranges.iter().flat_map(ends).for_each(|rank| key.extend_from_slice(&rank.to_le_bytes()));
        }
        CutRecord::Sets(part_of) => key.extend_from_slice(bytemuck::cast_slice(part_of)),
    }
    xxh3_128(&key)
}
