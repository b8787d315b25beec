//! Identifies the partitions of a job: a recorded plan is used only if it belongs to this job.

use xxhash_rust::xxh3::xxh3_128;

use crate::job::file::Tables;
use crate::job::{Mode, Partitioner, Parts};
use crate::plan::GraphCut;
use crate::run_dir::{PlanRecord, RunDir};
use trimill_partitioners::partition::ranks::LocalsAndHeads;
use trimill_system::{Bytes, Result};

/// The plan that an earlier start recorded in `run`; `None` if it is another job's, or if the job leaves the number of parts to the program and there
/// are fewer than `shards`. `identity` is the job's input; if the graph's number of `vertices` is known, warns of a rejected plan. A shard accepts it
/// unchecked: it is compared with the prepared job elsewhere, and the input need not exist.
pub(super) fn recorded_plan(
    run: &RunDir,
    settings: &Tables,
    identity: &str,
    vertices: Option<u32>,
    shards: u32,
) -> Result<Option<(PlanRecord, GraphCut)>> {
    let Some((record, cut)) = run.planned(vertices)? else { return Ok(None) };
    let of_job = || fingerprint(settings, identity, &cut, record.block_bytes);
    let why = if run.is_for_shard() {
        return Ok(Some((record, cut)));
    } else if record.mode == Mode::InPlace && settings.spill.keep() {
        "has no spills, which are to be kept"
    } else if record.fingerprint != of_job() {
        "is that of another job"
    } else if settings.partition.parts() == Parts::Auto
        && cut.parts() < shards
        && run.prepared().ok().is_none_or(|prepared| prepared.fingerprint != record.fingerprint)
    {
        "has fewer partitions than there are shards"
    } else {
        return Ok(Some((record, cut)));
    };
    if vertices.is_some() {
        tracing::warn!("{}: the recorded plan {why}: the job is planned anew", run.path().display());
    }
    Ok(None)
}

/// A hash of what determines the partitions: input, partitioner, number of parts, mode, prune level, size of row blocks, and cut.
pub(super) fn fingerprint(settings: &Tables, identity: &str, cut: &GraphCut, row_block: Bytes) -> u128 {
    let (parts, mode) = (cut.parts(), cut.mode());
    let (seed, prune) = (settings.partition.seed(), settings.partition.prune());
    let partitioner = resolved(settings.partition.partitioner(), mode);
    let text = format!("{identity}\n{partitioner}\n{seed}\n{parts}\n{mode}\n{prune}\n{}", row_block.get());
    let mut key = text.into_bytes();
    let ends = |ranks: &LocalsAndHeads| [ranks.locals.end, ranks.heads.start, ranks.heads.end];
    match cut {
        GraphCut::Ranges(ranges) => {
            ranges.iter().flat_map(ends).for_each(|rank| key.extend_from_slice(&rank.to_le_bytes()));
        }
        GraphCut::Sets(locals) => key.extend_from_slice(bytemuck::cast_slice(locals.part_of())),
    }
    xxh3_128(&key)
}

pub(super) fn resolved(partitioner: &Partitioner, mode: Mode) -> &Partitioner {
    match (partitioner, mode) {
        (Partitioner::Auto, Mode::InPlace) => &Partitioner::Rank,
        (Partitioner::Auto, Mode::Spilled) => &Partitioner::Contiguous,
        (other, _) => other,
    }
}
