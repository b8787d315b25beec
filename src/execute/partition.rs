//! What `trimill partition` does: from the input to kept spills and their manifest; nothing is counted.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use super::build::file_name;
use super::building::{Builders, Building};
use super::counting::builder;
use super::graph::{Input, unless_damaged};
use super::planned::{Planned, planned};
use super::room::SpillMemory;
use super::setup::Setup;
use super::spill_dir::SpillDir;
use crate::assign::Helper;
use crate::bytes::Bytes;
use crate::control::{Control, Unit};
use crate::error::{Error, Result};
use crate::job::{Job, SpillTo, Stream};
use crate::machine;
use crate::plan::Cut;
use crate::report::{PartitionReport, SpilledPartition, Stage};

/// Spills the partitions of a job.
///
/// # Errors
/// The error of any stage; a job that names no directory for the spills ([`crate::error::Kind::Usage`]).
pub fn partition(job: &Job, helper: Option<Helper>, control: &Control) -> Result<PartitionReport> {
    machine::reset_peak();
    if job.stream == Some(Stream::Graph) {
        return Err(Error::usage("the partitioner rank, and partitions that are to be spilled")
            .expected("another partitioner: rank ranges are not spilled"));
    }
    let Some(directory) = job.spill_dir.clone() else {
        return Err(Error::usage("no directory for the spilled partitions").advice("name it with --spill-dir"));
    };
    let job = &Job { stream: Some(Stream::Partition), keep_spill: true, spill_to: SpillTo::Disk, ..job.clone() };
    let setup = Setup::new(job, helper)?;
    let mut stages = Vec::new();
    let input = Input::open(job, &setup, control)?;
    setup.open_gpus(job, input.device_bytes_at_most())?;
    let prepared = input.graph(&setup, control, &mut stages)?;
    drop(input);
    let path = prepared.0.path().map(Path::to_path_buf);
    let planned = planned(prepared, job, &setup, true, control, &mut stages);
    let spilled = planned.and_then(|planned| spill(&planned, job, &setup, (&directory, control), stages));
    unless_damaged(spilled, path.as_deref())
}

/// Builds the partitions of a plan, spills them into `directory`, and writes the manifest.
fn spill(
    planned: &Planned,
    job: &Job,
    setup: &Setup,
    (directory, control): (&Path, &Control),
    mut stages: Vec<Stage>,
) -> Result<PartitionReport> {
    let Planned { graph, plan, fingerprint, .. } = planned;
    let Cut::Sets(locals) = &plan.cut else {
        return Err(Error::defect("rank ranges that are to be spilled"));
    };
    let mut dir = SpillDir::open(directory, true, *fingerprint)?;
    let parts = plan.parts();
    let order: Vec<u32> = (0..parts).collect();
    let building = Building::choose((graph, plan, order.len()), job, (1, planned.building, Bytes::ZERO), setup)?;
    dir.check_space(building.disk_at_least())?;
    let room = SpillMemory::new(Bytes::ZERO);
    let builder = builder(planned, locals, job, (directory, &room));
    let task = control.task("spill", Some(u64::from(parts)), Unit::Partitions);
    let (mut spills, mut partitions) = (Vec::new(), Vec::new());
    let [mut inducing, mut pruning, mut spilling] = [Duration::ZERO; 3];
    order.iter().for_each(|&part| dir.wrote(&directory.join(file_name(part))));
    Builders::new(builder, building, &setup.pool).build(
        &order,
        control,
        |_| Ok(None),
        |built| {
            let part = built.part;
            inducing += built.inducing;
            pruning += built.pruning;
            spilling += built.spilling;
            let (size, predicted) = (&plan.sizes[part as usize], &plan.predictions[part as usize]);
            partitions.push(SpilledPartition {
                id: part,
                file: built.spill.path.clone(),
                local_vertices: size.locals,
                proxies_induced: size.proxies_induced,
                proxies_kept: size.proxies_kept,
                arcs_induced: size.arcs_induced,
                arcs_kept: size.arcs_kept,
                resident_bytes: predicted.resident,
                row_blocks: u64::from(built.spill.row_blocks),
                largest_block_bytes: Bytes(built.spill.largest_block_bytes),
                spill_bytes: Bytes(built.spill.bytes),
                peak_bytes_predicted: predicted.peak,
            });
            spills.push(built.spill);
            task.advance(1);
            ControlFlow::Continue(())
        },
    )?;
    let start = Instant::now();
    dir.wrote(&planned.manifest(job, &spills).write(directory)?);
    dir.complete();
    let spilled = spills.iter().map(|spill| Bytes(spill.bytes)).sum();
    stages.push(Stage::new("induce", inducing, graph.stored_bytes(), Bytes::ZERO));
    stages.push(Stage::new("prune", pruning, graph.stored_bytes(), Bytes::ZERO));
    stages.push(Stage::new("spill", spilling + start.elapsed(), graph.stored_bytes(), spilled));
    Ok(PartitionReport {
        vertices: u64::from(graph.vertices()),
        edges: graph.edges(),
        parts,
        partitions,
        stages,
        peak_host_bytes: machine::peak_memory().saturating_sub(planned.driver).max(planned.peak),
        device_memory: planned.device,
        partitioner: planned.partitioner.to_string(),
        ..PartitionReport::of(job)
    })
}
