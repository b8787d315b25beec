//! What `trimill partition` does: from the input to kept spills and their manifest; nothing is counted.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use super::build::{Builder, file_name};
use super::building::{Builders, Building};
use super::machine;
use super::planned::{Planned, planned};
use super::room::Room;
use super::setup::Setup;
use super::spill_dir::SpillDir;
use crate::assign::Helper;
use crate::bytes::Bytes;
use crate::control::{Control, Unit};
use crate::error::{Error, Result};
use crate::graph::OrientedGraph;
use crate::job::{FrameKind, Job, Partitioner, SpillTo};
use crate::plan::Plan;
use crate::report::{PartitionReport, SpilledPartition, Station};
use crate::spill::manifest::MANIFEST_VERSION;
use crate::spill::{Manifest, ManifestJob, ManifestPartition, SpillSummary};

/// Spills the partitions of a job.
///
/// # Errors
/// What any station reports; a job that names no directory for the spills ([`crate::error::Kind::Usage`]).
pub fn partition(job: &Job, helper: Option<Helper>, control: &Control) -> Result<PartitionReport> {
    machine::forget_peak();
    if job.frames == FrameKind::Shared {
        return Err(Error::usage("shared frames, and partitions that are to be spilled")
            .expected("own frames: with shared ones nothing is spilled"));
    }
    let job = &Job { frames: FrameKind::Own, ..job.clone() };
    let Some(directory) = job.spill_dir.clone() else {
        return Err(Error::usage("no directory for the spilled partitions").advice("name it with --spill-dir"));
    };
    let setup = Setup::new(job, helper)?;
    let mut stations = Vec::new();
    let planned = planned(job, &setup, control, &mut stations)?;
    let Planned { graph, partitioner, plan, fingerprint, .. } = &planned;
    let mut dir = SpillDir::open(&directory, true, *fingerprint)?;
    let parts = plan.assignment.parts();
    let job = &Job { keep_spill: true, spill_to: SpillTo::Disk, ..job.clone() };
    let order: Vec<u32> = (0..parts).collect();
    let building = Building::choose((graph, plan, &order), job, 1, &setup)?;
    dir.check_space(building.disk)?;
    let room = Room::new(Bytes::ZERO);
    let builder = Builder { graph, plan, prune: job.prune, dir: &directory, fingerprint: *fingerprint, room: &room };
    let task = control.task("spill", Some(u64::from(parts)), Unit::Partitions);
    let (mut spills, mut partitions) = (Vec::new(), Vec::new());
    let [mut inducing, mut pruning, mut spilling] = [Duration::ZERO; 3];
    order.iter().for_each(|&part| dir.wrote(&directory.join(file_name(part))));
    let builders = Builders { builder, building, pool: &setup.pool };
    builders.build(
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
                frames: u64::from(built.spill.frames),
                largest_frame_bytes: Bytes(built.spill.largest_frame_bytes),
                spill_bytes: Bytes(built.spill.bytes),
                peak_bytes_predicted: predicted.peak,
            });
            spills.push(built.spill);
            task.advance(1);
            ControlFlow::Continue(())
        },
    )?;
    let start = Instant::now();
    dir.wrote(&manifest(job, partitioner, graph, plan, *fingerprint, &spills).write(&directory)?);
    dir.complete();
    let spilled = spills.iter().map(|spill| Bytes(spill.bytes)).sum();
    stations.push(Station::new("induce", inducing, graph.csr_bytes(), Bytes::ZERO));
    stations.push(Station::new("prune", pruning, graph.csr_bytes(), Bytes::ZERO));
    stations.push(Station::new("spill", spilling + start.elapsed(), graph.csr_bytes(), spilled));
    Ok(PartitionReport {
        vertices: u64::from(graph.vertices()),
        edges: graph.edges(),
        parts,
        partitions,
        stations,
        peak_host_bytes: machine::peak_memory().max(planned.peak),
        device_memory: planned.device,
        partitioner: planned.partitioner.to_string(),
        ..PartitionReport::of(job)
    })
}

/// The manifest of a job's spills.
pub(super) fn manifest(
    job: &Job,
    partitioner: &Partitioner,
    graph: &OrientedGraph,
    plan: &Plan,
    fingerprint: u128,
    spills: &[SpillSummary],
) -> Manifest {
    let partitions = spills
        .iter()
        .map(|spill| ManifestPartition {
            id: spill.header.partition,
            file: spill.path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            bytes: spill.bytes,
            checksum: spill.checksum,
            locals: spill.header.locals,
            numbered: spill.header.numbered,
            proxies_induced: spill.header.proxies_induced,
            proxies_kept: spill.header.proxies_kept,
            arcs_induced: spill.header.arcs_induced,
            arcs_kept: spill.header.arcs_kept,
            resident_arcs: spill.resident_arcs,
            frame_arcs: spill.frame_arcs,
            frames: spill.frames,
            largest_frame_bytes: spill.largest_frame_bytes,
            raw_bytes: spill.raw_bytes,
        })
        .collect();
    Manifest {
        version: MANIFEST_VERSION,
        fingerprint,
        job: ManifestJob {
            input: job.title(),
            partitioner: partitioner.to_string(),
            prune: job.prune.to_string(),
            seed: job.seed.to_string(),
            parts: plan.assignment.parts().to_string(),
        },
        vertices: u64::from(graph.vertices()),
        edges: graph.edges(),
        partitions,
    }
}
