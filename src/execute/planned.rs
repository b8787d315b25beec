//! The state [`Planned`]: partitions that fit, and the backends that count them; for counting, partitioning and planning alike.

use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::time::Instant;

use trimill_counting::Scope;

use super::chosen::{ChosenBackends, with_enough};
use super::graph::Prepared;
use super::host::HostNeeds;
use super::planning::Planning;
use super::recorded_plan::{fingerprint, recorded_plan, resolved};
use super::session::Session;
use crate::count::method::{Choice, LEAST_MEMORY_METHOD};
use crate::job::file::PartitionTable;
use crate::job::{Mode, Partitioner, Parts};
use crate::plan::{BudgetFrom, GraphCut, Plan, PlanLimits, below_floor};
use crate::report::Stage;
use crate::run_dir::{PREPARE_AGAIN, PlanRecord};
use crate::vertices::order::array_len;
use trimill_graph::OrientedGraph;
use trimill_graph::writing::moved_to_file;
use trimill_partitioners::metis::BYTES_PER_ARC;
use trimill_partitioners::spill::manifest::MANIFEST_VERSION;
use trimill_partitioners::spill::{Manifest, ManifestJob, ManifestPartition, SpillSummary};
use trimill_system::disk::{DiskNeed, check_room};
use trimill_system::mapped::trim_heap;
use trimill_system::text::plural;
use trimill_system::{Bytes, Error, Kind, Result, machine, parallel};

const LARGEST_RECORDED: &str = "the largest partition of the recorded plan";

pub(super) struct Planned {
    pub(super) stages: Vec<Stage>,
    pub(super) graph: OrientedGraph,
    /// Never `auto`.
    pub(super) partitioner: Partitioner,
    pub(super) plan: Plan,
    pub(super) limits: PlanLimits,
    pub(super) chosen: ChosenBackends,
    pub(super) fingerprint: u128,
    /// Whether an earlier start recorded the plan.
    plan_is_recorded: bool,
    /// Peak resident memory up to the plan, with a child process, without what drivers mapped (part of which may be included if GPUs were opened
    /// meanwhile). After the plan, the peak is measured anew.
    pub(super) peak: Bytes,
    pub(super) session: Session,
}

impl Planned {
    pub(super) fn peak_now(&self) -> Bytes {
        machine::peak_memory().saturating_sub(self.chosen.driver_bytes).max(self.peak)
    }

    pub(super) fn removing_damaged_graph<T>(self, step: impl FnOnce(Self) -> Result<T>) -> Result<T> {
        let path = self.graph.path().map(Path::to_path_buf);
        Session::removing_damaged_graph(step(self), path.as_deref())
    }

    /// Records plan and outputs in the run directory, if any; removes an earlier result; called after all checks: a refused start changes nothing.
    pub(super) fn begin(&self) -> Result<()> {
        let Session { job, run, .. } = &self.session;
        let Some(run) = run else { return Ok(()) };
        if !self.plan_is_recorded {
            PlanRecord::write(run.path(), self.fingerprint, &self.plan)?;
        }
        run.announce(job.replaced(), job.temporary_spills(), false)
    }

    pub(super) fn counting_seconds(&self) -> f64 {
        let Self { graph, plan, limits, .. } = self;
        let size = graph.size();
        self.planning().counting(plan, || limits.machine.counting_about(size.edges, size.probes, limits.device))
    }

    pub(super) fn planning(&self) -> Planning<'_> {
        Planning::new(&self.session, &self.graph, &self.chosen, &self.limits)
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
                prune: job.settings.partition.prune(),
                seed: job.settings.partition.seed().to_string(),
                parts: plan.parts().to_string(),
            },
            vertices: u64::from(graph.vertices()),
            edges: graph.edges(),
            graph: graph.figures(),
            partitions,
        }
    }
}

impl Prepared {
    /// Plans at least `shards` partitions unless the job names a number; or uses a recorded plan. Removes a damaged graph unless it is shared.
    pub(super) fn plan(self, shards: u32) -> Result<Planned> {
        let path = self.graph.path().filter(|_| !self.session.is_shard()).map(Path::to_path_buf);
        Session::removing_damaged_graph(self.plan_now(shards), path.as_deref())
    }

    fn plan_now(self, shards: u32) -> Result<Planned> {
        let Self { session, graph, origin, mut stages } = self;
        let Session { job, control, .. } = &session;
        job.settings.output.check_ids(array_len(&graph))?;
        let identity = origin.map_or(Ok(String::new()), |origin| origin.lasting())?;
        let recorded = session.recorded_plan(&identity, graph.vertices(), shards)?;
        let record = recorded.as_ref().map(|(record, _)| record);
        let graph = session.in_file_if_memory_lacks(graph, |graph| session.needs_of_plan(graph, record, shards))?;
        let needs = session.needs_of_plan(&graph, record, shards);
        let start = Instant::now();
        let mut chosen = session
            .backends(&needs, None)
            .map_err(|error| session.advising_for_recorded(error, recorded.as_ref(), &graph, &needs))?;
        control.did_stage("open devices", start);
        let start = Instant::now();
        let limits = session.plan_limits(&chosen, &graph, shards);
        // Otherwise the doubled graph would be refused only after everything else is counted.
        if session.counts_doubled() && limits.device < chosen.floor {
            return Err(below_floor(limits.device, chosen.floor));
        }
        let until_here = machine::peak_memory();
        machine::reset_peak();
        let planned = |chosen: &ChosenBackends| -> Result<(Plan, Bytes)> {
            let (planning, child_peak) = (Planning::new(&session, &graph, chosen, &limits), AtomicU64::new(0));
            let plan = parallel::within(&session.pool, || match &recorded {
                Some((record, cut)) => planning.planner().replan(cut.clone(), record.block_bytes),
                None => planning.plan(&child_peak),
            })?;
            if recorded.is_some() {
                let fits = chosen.holds(plan.largest_peak(), LARGEST_RECORDED, &needs, job.settings.memory.device);
                fits.map_err(|error| error.also("or start anew in another --run-dir"))?;
            }
            Ok((plan, Bytes(child_peak.into_inner())))
        };
        let (plan, child_peak) = match planned(&chosen) {
            // The recorded parts may fit if the method that takes the least memory counts them.
            Err(error)
                if recorded.is_some()
                    && error.kind() == Kind::Resource
                    && !chosen.methods.is_empty()
                    && chosen.backends[0].method() != LEAST_MEMORY_METHOD =>
            {
                chosen.backends.clear();
                chosen.backends = session.backends(&needs, Some(LEAST_MEMORY_METHOD))?.backends;
                planned(&chosen)?
            }
            planned => planned?,
        };
        // Several parts that the job names were refused when the session was opened; an earlier start may have recorded others.
        if plan.parts() > 1 {
            let cut = format!("an earlier start recorded {} parts", plan.parts());
            Choice::check_partitions(&job.settings.count, &cut)?;
        }
        tell_other_parts(&plan, &job.settings.partition, limits.device);
        trim_heap();
        let until_here = if chosen.opened_early { until_here } else { until_here.saturating_sub(chosen.driver_bytes) };
        let peak = until_here.max((machine::peak_memory() + child_peak).saturating_sub(chosen.driver_bytes));
        machine::reset_peak();
        control.did_stage("plan", start);
        stages.push(Stage::new("assign", plan.times[0], Bytes::ZERO, Bytes::of::<u32>(graph.vertices().into())));
        stages.push(Stage::new("plan", plan.times[1], graph.stored_bytes(), Bytes::ZERO));
        let before = recorded.map(|(record, _)| record.fingerprint);
        let fingerprint =
            before.unwrap_or_else(|| fingerprint(&job.settings, &identity, &plan.cut, plan.row_block_limit));
        Ok(Planned {
            partitioner: resolved(job.settings.partition.partitioner(), plan.cut.mode()).clone(),
            session,
            stages,
            graph,
            plan,
            limits,
            chosen,
            fingerprint,
            plan_is_recorded: before.is_some(),
            peak,
        })
    }
}

impl Session {
    /// The host memory of a start that plans for `shards` shards, or uses a recorded plan.
    fn needs_of_plan(&self, graph: &OrientedGraph, recorded: Option<&PlanRecord>, shards: u32) -> HostNeeds {
        // The recorded mode needs its share of host memory, even if this start would choose another mode.
        let mode = recorded.map(|record| record.mode).or(self.job.settings.mode());
        let needs = self.host_needs(graph, mode);
        // A later start of a job needs no more than the first, which did not know the number.
        let known = recorded.filter(|_| self.is_shard()).map(|record| u64::from(record.parts));
        HostNeeds { parts: known.unwrap_or(needs.parts), shards, ..needs }
    }

    /// Moves a graph in memory to a temporary file if it leaves too little of the host's budget for later stages.
    fn in_file_if_memory_lacks(
        &self,
        graph: OrientedGraph,
        needs: impl Fn(&OrientedGraph) -> HostNeeds,
    ) -> Result<OrientedGraph> {
        let needs = needs(&graph);
        let (least, gpus) = self.least_to_count(&needs.size);
        let fits = needs.divided(least, gpus).is_ok() && self.least_for_metis(&needs) <= self.host.budget();
        if needs.held == Bytes::ZERO || fits {
            return Ok(graph);
        }
        tracing::info!("the graph is moved from memory to a file in {}", self.work_dir.display());
        check_room([DiskNeed::new("the graph file", &self.work_dir, [needs.held; 2], "--work-dir")])?;
        parallel::within(&self.pool, || moved_to_file(graph, &self.work_dir))
    }

    /// The least host memory for planning beside METIS, if METIS assigns the vertices. Not known, so 0, if runs of vertices are joined first.
    pub(super) fn least_for_metis(&self, needs: &HostNeeds) -> Bytes {
        let joins = self.job.settings.partition.metis.contract.is_some();
        let child = Bytes(2 * needs.size.edges * BYTES_PER_ARC);
        if needs.metis && !joins { needs.floor_of_planning() + child } else { Bytes::ZERO }
    }

    fn recorded_plan(&self, identity: &str, vertices: u32, shards: u32) -> Result<Option<(PlanRecord, GraphCut)>> {
        let Some(run) = &self.run else { return Ok(None) };
        let recorded = || recorded_plan(run, &self.job.settings, identity, Some(vertices), shards);
        let recorded = parallel::within(&self.pool, recorded)?;
        if run.is_for_shard() && recorded.is_none() {
            // Never replanned, because other shards count by that plan.
            return Err(
                Error::data(run.path(), "the plan of the prepared job is missing or damaged").advice(PREPARE_AGAIN)
            );
        }
        Ok(recorded)
    }

    /// Returns `error`, with a larger host budget in its advice if the recorded partitions need that when the cores count them.
    fn advising_for_recorded(
        &self,
        error: Error,
        recorded: Option<&(PlanRecord, GraphCut)>,
        graph: &OrientedGraph,
        needs: &HostNeeds,
    ) -> Error {
        let Some((record, cut)) = recorded else { return error };
        // Computing the sizes of sets of vertices takes memory, too.
        if record.mode == Mode::Spilled && needs.floor_of_planning() > needs.host.budget() {
            return error;
        }
        let asked = self.job.settings.memory.device;
        with_enough(error, needs, |needs| {
            let chosen = self.backends_within(needs, false, asked)?;
            let limits = self.plan_limits(&chosen, graph, 1);
            let planning = Planning::new(self, graph, &chosen, &limits);
            let replan = || planning.planner().replan(cut.clone(), record.block_bytes);
            let plan = parallel::within(&self.pool, replan)?;
            chosen.holds(plan.largest_peak(), LARGEST_RECORDED, needs, asked)
        })
    }

    fn plan_limits(&self, chosen: &ChosenBackends, graph: &OrientedGraph, shards: u32) -> PlanLimits {
        let (job, backends) = (&self.job, &chosen.backends);
        let cached = graph.stored_bytes() <= Bytes(machine::memory().get() / 2);
        let of_host = chosen.gpus() == 0 && job.settings.memory.device.is_none();
        PlanLimits {
            device: chosen.device_budget,
            device_from: if of_host { BudgetFrom::Host } else { BudgetFrom::Device },
            largest_row_block: chosen.largest_row_block,
            row_block: job.settings.memory.block,
            prune: job.settings.partition.prune(),
            parts: backends.len() as u32,
            shards,
            machine: self.machine(chosen.gpus(), cached),
            whole_graph_method: (backends[0].footprint().scope != Scope::Partitions).then(|| backends[0].method()),
            spills_one_part: job.settings.spill.keep(),
            host_block: self.host_block(),
        }
    }
}

/// Tells the user if the number of parts is not the requested one.
fn tell_other_parts(plan: &Plan, asked: &PartitionTable, device: Bytes) {
    if plan.parts() != plan.parts_asked {
        tracing::warn!(
            "in {} the graph does not fit the device budget of {device}: it was split into {}",
            plural(plan.parts_asked, "part", "parts"),
            plan.parts()
        );
    }
    if let Parts::Exactly(parts) = asked.parts()
        && parts.get() > plan.parts_asked
        && !matches!(asked.partitioner(), Partitioner::File(_))
    {
        tracing::info!(target: trimill_system::control::NOTE, "of {parts} parts {} have vertices; the others are left out", plan.parts_asked);
    }
}
