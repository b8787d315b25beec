//! What `trimill cluster` does: writes scripts for a scheduler beside a prepared job.

use std::num::NonZeroU32;
use std::path::Path;

use super::host::HostNeeds;
use crate::cluster::{self, ClusterJob};
use crate::job::SpillTo;
use crate::job::file::ClusterTable;
use crate::report::ClusterReport;
use crate::run_dir::{PreparedJob, RunDir};
use trimill_graph::GraphSize;
use trimill_system::memory::HostMemory;
use trimill_system::text::plural;
use trimill_system::{Bytes, Error, Result};

/// Writes the scripts, which count with `program`; `force` replaces existing ones that differ.
pub fn cluster(run: &Path, cluster: &ClusterTable, program: Option<&Path>, force: bool) -> Result<ClusterReport> {
    cluster.check()?;
    let prepared = RunDir::open_for_shard(run)?.1;
    let (asked, parts, job) = tasks(cluster, &prepared);
    if asked > parts {
        tracing::warn!(
            "{asked} shards of {}: no more tasks are written than partitions; 'trimill prepare --shards {asked}' in another run directory \
             makes more partitions, if --parts does not say how many",
            plural(parts, "partition", "partitions")
        );
    }
    let program = program.ok_or_else(|| Error::usage("the program that counts is not known"))?;
    cluster::write(cluster, run, program, job, force)
}

/// Fails if a job is already prepared in `run` and its existing scripts differ, unless `force`.
pub fn check_scripts(run: &Path, cluster: &ClusterTable, program: Option<&Path>, force: bool) -> Result<()> {
    let (Ok((_, prepared)), Some(program)) = (RunDir::open_for_shard(run), program) else { return Ok(()) };
    cluster::scripts(cluster, run, program, tasks(cluster, &prepared).2, force).map(drop)
}

/// The requested number of shards, the number of partitions, and the data of the job for its scripts.
fn tasks(cluster: &ClusterTable, prepared: &PreparedJob) -> (NonZeroU32, NonZeroU32, ClusterJob) {
    let parts = NonZeroU32::new(prepared.parts()).unwrap_or(NonZeroU32::MIN);
    let asked = cluster.shards.or(prepared.report.shards).unwrap_or(parts);
    let (partitions, peels) = (prepared.report.device_memory, prepared.job.counts().truss.is_some());
    let merge = enough_to_merge(cluster, prepared);
    (asked, parts, ClusterJob { shards: asked.min(parts), partitions, peels, merge })
}

/// The least host budget of the merge, which has the graph in its file.
fn enough_to_merge(cluster: &ClusterTable, prepared: &PreparedJob) -> Bytes {
    let edges = prepared.report.edges;
    let vertices = u32::try_from(prepared.report.vertices).unwrap_or(u32::MAX);
    // No row is longer, see `crate::orient::ranked`, and no degree larger.
    let longest_row = ((2 * edges).isqrt() + 1).min(vertices.into()) as u32;
    let largest_degree = edges.min(vertices.saturating_sub(1).into()) as u32;
    let needs = HostNeeds {
        host: HostMemory::new(Bytes::ZERO, cluster.cpus_per_task().get() as usize),
        size: GraphSize { vertices, edges, longest_row, probes: 0 },
        largest_degree,
        held: Bytes::ZERO,
        listed: 0,
        counters: 0,
        parts: prepared.parts().into(),
        shards: 1,
        mode: Some(prepared.report.mode),
        counts: prepared.job.counts(),
        spill_to: SpillTo::Disk,
        counts_kept_spills: false,
        shard: false,
        metis: false,
        resumable: true,
        device_peels: None,
    };
    needs.enough_to_merge()
}
