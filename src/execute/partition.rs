//! What `trimill partition` does: from the input to kept spills and their manifest; nothing is counted.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use super::build::BuiltPartition;
use super::building::{Builders, Building};
use super::counting::builder;
use super::graph::{Input, unless_graph_damaged};
use super::planned::{PlanRequest, Planned, planned};
use super::room::SpillMemory;
use super::setup::Setup;
use super::spill_dir::SpillDir;
use crate::assign::Helper;
use crate::job::{Job, Mode, SpillTo};
use crate::partition::locals::Locals;
use crate::plan::GraphCut;
use crate::report::{PartitionReport, SpilledPartition, Stage};
use crate::spill::{SpillSummary, file_name};
use trimill_system::bytes::Bytes;
use trimill_system::control::{Control, Unit};
use trimill_system::error::{Error, Result};
use trimill_system::machine;

/// Spills the partitions of a job.
///
/// # Errors
/// The error of any stage; a job that names no directory for the spills ([`trimill_system::error::Kind::Usage`]).
pub fn partition(job: &Job, helper: Option<Helper>, control: &Control) -> Result<PartitionReport> {
    machine::reset_peak();
    if job.stream == Some(Mode::Graph) {
        return Err(Error::usage("the partitioner rank, and partitions that are to be spilled")
            .expected("another partitioner: rank ranges are not spilled"));
    }
    let Some(directory) = job.spill_dir.clone() else {
        return Err(Error::usage("no directory for the spilled partitions").advice("name it with --spill-dir"));
    };
    let job = &Job { stream: Some(Mode::Partition), keep_spill: true, spill_to: SpillTo::Disk, ..job.clone() };
    let setup = Setup::new(job, helper)?;
    let mut stages = Vec::new();
    let input = Input::open(job, &setup, control)?;
    setup.open_gpus(job, input.device_bytes_at_most())?;
    let prepared = input.graph(&setup, control, &mut stages)?;
    drop(input);
    let path = prepared.0.path().map(Path::to_path_buf);
    let planned = planned(prepared, job, &setup, PlanRequest::by(job), control, &mut stages);
    let spilled = planned.and_then(|planned| spill(&planned, job, &setup, (&directory, control), stages));
    unless_graph_damaged(spilled, path.as_deref())
}

/// Spills the partitions of a plan into `directory`, and reports them.
fn spill(
    planned: &Planned,
    job: &Job,
    setup: &Setup,
    (directory, control): (&Path, &Control),
    mut stages: Vec<Stage>,
) -> Result<PartitionReport> {
    let Planned { graph, plan, fingerprint, .. } = planned;
    let GraphCut::Sets(locals) = &plan.cut else {
        return Err(Error::defect("rank ranges that are to be spilled"));
    };
    let dir = SpillDir::open(directory, true, job.force, *fingerprint)?;
    let spills = write_spills((planned, locals), job, setup, dir, control, &mut stages)?;
    let reported = |spill: SpillSummary| {
        let part = spill.header.partition;
        let (size, predicted) = (&plan.sizes[part as usize], &plan.predictions[part as usize]);
        SpilledPartition {
            id: part,
            file: spill.path.clone(),
            local_vertices: size.locals,
            proxies_induced: size.proxies_induced,
            proxies_kept: size.proxies_kept,
            arcs_induced: size.arcs_induced,
            arcs_kept: size.arcs_kept,
            resident_bytes: predicted.resident,
            row_blocks: u64::from(spill.row_blocks),
            largest_block_bytes: Bytes(spill.largest_block_bytes),
            spill_bytes: Bytes(spill.bytes),
            peak_bytes_predicted: predicted.peak,
        }
    };
    Ok(PartitionReport {
        vertices: u64::from(graph.vertices()),
        edges: graph.edges(),
        parts: plan.parts(),
        partitions: spills.into_iter().map(reported).collect(),
        stages,
        peak_host_bytes: machine::peak_memory().saturating_sub(planned.driver).max(planned.peak),
        device_memory: planned.device,
        partitioner: planned.partitioner.to_string(),
        ..PartitionReport::of(job)
    })
}

/// Builds the partitions of a plan, spills those into `dir` that are not there, and writes the manifest.
///
/// # Errors
/// Too little disk space; rows that cannot be read; when stopped.
pub(super) fn write_spills(
    (planned, locals): (&Planned, &Locals),
    job: &Job,
    setup: &Setup,
    mut dir: SpillDir,
    control: &Control,
    stages: &mut Vec<Stage>,
) -> Result<Vec<SpillSummary>> {
    let Planned { graph, plan, fingerprint, .. } = planned;
    let (parts, directory) = (plan.parts(), dir.path().to_path_buf());
    let order: Vec<u32> = (0..parts).collect();
    // All of them are on disk in the end.
    let job = &Job { keep_spill: true, ..job.clone() };
    let building = Building::choose((graph, plan, order.len()), job, (1, planned.building, Bytes::ZERO), setup)?;
    dir.check_space(building.disk_at_least())?;
    let room = SpillMemory::new(Bytes::ZERO);
    let builder = builder(planned, locals, job, (&directory, &room));
    let task = control.task("spill", Some(u64::from(parts)), Unit::Partitions);
    let mut spills = Vec::new();
    let [mut inducing, mut pruning, mut spilling] = [Duration::ZERO; 3];
    order.iter().for_each(|&part| dir.wrote(&directory.join(file_name(part))));
    let found = |part| match dir.lasts() {
        true => BuiltPartition::found(&directory, part, *fingerprint),
        false => Ok(None),
    };
    Builders::new(builder, building, &setup.pool).build(&order, control, found, |built| {
        inducing += built.inducing;
        pruning += built.pruning;
        spilling += built.spilling;
        spills.push(built.spill);
        task.advance(1);
        ControlFlow::Continue(())
    })?;
    let start = Instant::now();
    spills.sort_by_key(|spill| spill.header.partition);
    dir.wrote(&planned.manifest(job, &spills).write(&directory)?);
    dir.complete();
    let spilled = spills.iter().map(|spill| Bytes(spill.bytes)).sum();
    stages.push(Stage::new("induce", inducing, graph.stored_bytes(), Bytes::ZERO));
    stages.push(Stage::new("prune", pruning, graph.stored_bytes(), Bytes::ZERO));
    stages.push(Stage::new("spill", spilling + start.elapsed(), graph.stored_bytes(), spilled));
    Ok(spills)
}
