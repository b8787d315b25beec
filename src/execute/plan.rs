//! What `trimill plan` does: predicts what each partition takes and whether it fits, also for other numbers of parts.

use std::sync::atomic::AtomicU64;

use super::assign::Assigner;
use super::estimates::{Estimating, least_to_prepare};
use super::planned::Planned;
use super::planning::Planning;
use super::session::{Purpose, Session};
use crate::job::{Job, Mode, Partitioner, Parts};
use crate::plan::predict::PlannedPartition;
use crate::plan::sets::VertexInfo;
use crate::plan::whole::WholeWork;
use crate::plan::{Assign, PlanLimits, Planner};
use crate::report::plan::{Alternative, PartsReason};
use crate::report::{PartitionFigures, PlanReport};
use trimill_input::arcs::EdgeSource;
use trimill_partitioners::partition::sizes::PartitionSize;
use trimill_system::child::Helper;
use trimill_system::disk::DiskNeeds;
use trimill_system::text::plural;
use trimill_system::{Bytes, Control, Result, parallel};

/// Plans a job for `edges`, else for its input.
pub fn plan(job: Job, edges: Option<&dyn EdgeSource>, metis: Option<Helper>, control: &Control) -> Result<PlanReport> {
    let opened = Session::open(job, Purpose::Plan, metis, control)?.input(edges)?;
    let has_rows = opened.has_rows();
    opened.prepare()?.plan(1)?.removing_damaged_graph(|planned| planned.report(has_rows))
}

impl Planned {
    fn advice_on_parts(&self) -> Option<String> {
        let (asked, parts, device) = (self.plan.parts_asked, self.plan.parts(), self.limits.device);
        (self.names_parts() && asked != parts).then(|| {
            format!("in {} the graph does not fit {device}: it was split into {parts}", plural(asked, "part", "parts"))
        })
    }

    /// The plan, and the costs of other numbers of parts. `has_rows`: whether the input's rows can be read in any order.
    fn report(self, has_rows: bool) -> Result<PlanReport> {
        let Self { graph, plan, limits, chosen, session, .. } = &self;
        let Session { job, pool, .. } = session;
        let spills = plan.cut.mode() == Mode::Spilled;
        let figures = |(id, planned): (u32, &PlannedPartition)| PartitionFigures {
            spill_bytes: if spills { planned.predicted.spill } else { Bytes::ZERO },
            ..PartitionFigures::planned(id, planned)
        };
        let partitions = (0..).zip(&plan.partitions).map(figures).collect();
        let planning = self.planning();
        let alternatives = match limits.whole_graph_method {
            Some(_) => Vec::new(),
            None => {
                let mode = job.settings.mode().unwrap_or(plan.cut.mode());
                parallel::within(pool, || planning.alternatives(mode, plan.row_block_limit, &self.partitioner))?
            }
        };
        let mut estimates = plan.estimates;
        if let Some(estimates) = estimates.as_mut().filter(|estimates| !estimates.sized && planning.builds) {
            let child_peak = AtomicU64::new(0);
            let runs = parallel::within(pool, || planning.sets(&Partitioner::Contiguous, &child_peak))?;
            estimates.spilled = planning.planner().spilled_seconds(&runs);
            estimates.sized = true;
        }
        let mut advice = Vec::from_iter(self.advice_on_parts());
        let keeps = job.settings.spill.keep();
        let batches = spills.then(|| self.plan_batches(plan.parts() as usize, keeps)).transpose()?;
        let disks = DiskNeeds::by_disk(self.disk_needs(batches.as_ref())?)?;
        advice.extend(disks.iter().filter_map(|disk| disk.check().err()).map(|error| error.to_string()));
        let (estimate, more_memory) = parallel::within(pool, || -> Result<_> {
            let work = match limits.machine.gpus {
                0 => WholeWork::of(graph, &session.control)?,
                _ => WholeWork::default(),
            };
            let estimating = Estimating { planning, plan, work, has_rows };
            Ok((estimating.now(), estimating.with_more()?))
        })?;
        let least_to_count = self.least_host_memory();
        // The need of a stage may grow with the budget, so the floors are computed with the least budget.
        let needs = session.host_needs(graph, job.settings.mode()).beside_file().within(least_to_count);
        let mut host_floors = vec![session.host.floor(&least_to_prepare(graph, session.workspace()))];
        host_floors.extend(needs.floors(chosen.least_on_host, limits.machine.gpus as u64));
        Ok(PlanReport {
            vertices: graph.vertices().into(),
            edges: graph.edges(),
            backend: chosen.backends[0].name().into(),
            method: planning.method.into(),
            methods: chosen.methods.clone(),
            partitions,
            device_memory: limits.device,
            smallest_device_memory: chosen.floor,
            block_bytes: plan.row_block_limit,
            host_memory: session.host.budget(),
            smallest_host_memory: least_to_count.max(host_floors[0].bytes),
            host_floors,
            disk_bytes: batches.map_or(Bytes::ZERO, |batches| batches.disk),
            disks,
            graph_bytes: graph.total_bytes(),
            preparing: estimate.preparing,
            counting_seconds: estimate.counting,
            peeling_seconds: estimate.peeling,
            seconds: estimate.seconds(limits.machine.gpus),
            more_memory,
            parts_reason: self.parts_reason(),
            alternatives,
            advice,
            mode: plan.cut.mode(),
            partitioner: self.partitioner.to_string(),
            estimates,
            job: job.name.clone(),
            prune: job.settings.partition.prune(),
            ..PlanReport::default()
        }
        .complete())
    }

    fn names_parts(&self) -> bool {
        let partition = &self.session.job.settings.partition;
        partition.parts() != Parts::Auto || matches!(partition.partitioner(), Partitioner::File(_))
    }

    fn parts_reason(&self) -> PartsReason {
        let Self { plan, limits, .. } = self;
        let named = self.names_parts();
        match plan.parts() {
            parts if named && parts != plan.parts_asked => PartsReason::Split,
            1 => PartsReason::Whole,
            _ if named => PartsReason::Asked,
            parts if parts == limits.parts => PartsReason::Devices,
            _ => PartsReason::Fewest,
        }
    }

    /// The least host memory for counting the graph, in any number of parts.
    fn least_host_memory(&self) -> Bytes {
        let Self { graph, limits, session, chosen, .. } = self;
        // The need of a stage may grow with the budget, so the search starts from 0.
        let needs = session.host_needs(graph, session.job.settings.mode()).beside_file().within(Bytes::ZERO);
        let least = needs.enough(chosen.least_on_host, limits.machine.gpus as u64);
        least.max(session.least_for_metis(&needs))
    }
}

impl Planning<'_> {
    /// The costs of several numbers of parts, without splitting; none if running the partitioner again is expensive, or takes too much memory.
    fn alternatives(&self, mode: Mode, row_block_limit: Bytes, partitioner: &Partitioner) -> Result<Vec<Alternative>> {
        const PARTS: [u32; 8] = [1, 2, 4, 8, 16, 32, 64, 128];
        let graph = self.graph;
        let limits = PlanLimits { row_block: Some(row_block_limit), ..*self.limits };
        let planner = Planner { limits: &limits, ..self.planner() };
        let budget = limits.device;
        let alternative = |parts, planned: &[PlannedPartition]| {
            let largest = planned.iter().map(|p| p.predicted.peak).max().unwrap_or_default();
            let most = |of: fn(&PartitionSize) -> u64| planned.iter().map(|p| of(&p.size)).max().unwrap_or_default();
            let kept: u64 = planned.iter().map(|p| p.size.arcs_kept).sum();
            Alternative {
                parts,
                largest_arcs_kept: most(|size| size.arcs_kept),
                largest_vertices_kept: most(PartitionSize::numbered),
                duplication: kept as f64 / graph.edges().max(1) as f64,
                largest_peak_bytes: largest,
                stream_bytes: planned.iter().map(|p| p.predicted.stream).sum(),
                fits: largest <= budget,
            }
        };
        if mode == Mode::InPlace {
            let of = |parts| Ok(alternative(parts, &planner.even_ranges(parts)?));
            return PARTS.into_iter().map(of).collect();
        }
        if !self.session.host_needs(graph, Some(mode)).can_plan_again() {
            return Ok(Vec::new());
        }
        let (vertices, child_peak) = (VertexInfo::of(graph)?, AtomicU64::new(0));
        let assigner = Assigner { planning: *self, partitioner, vertices: &vertices, child_peak: &child_peak };
        if !assigner.is_cheap() {
            return Ok(Vec::new());
        }
        let of = |parts| {
            let locals = assigner.assign(parts)?.by_rank(&vertices.order);
            Ok(alternative(parts, &planner.sized(&locals, row_block_limit)?))
        };
        PARTS.into_iter().map(of).collect()
    }
}
