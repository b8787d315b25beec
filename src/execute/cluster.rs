//! What `trimill cluster` does: writes scripts for a scheduler beside a prepared job.

use std::num::NonZeroU32;
use std::path::Path;

use crate::cluster::{self, Cluster, ClusterJob};
use crate::report::ClusterReport;
use crate::run_dir::RunDir;
use trimill_system::text::plural;
use trimill_system::{Error, Result};

/// Writes the scripts, which count with `program`; `force` replaces those that are there and differ.
pub fn cluster(run: &Path, cluster: &Cluster, program: Option<&Path>, force: bool) -> Result<ClusterReport> {
    cluster.check()?;
    let prepared = RunDir::share(run)?.1;
    let parts = NonZeroU32::new(prepared.parts()).unwrap_or(NonZeroU32::MIN);
    let asked = cluster.asked.shards.or(prepared.report.shards).unwrap_or(parts);
    let shards = asked.min(parts);
    if asked > parts {
        tracing::warn!(
            "{asked} shards of {}: no more tasks are written than partitions; 'trimill prepare --shards {asked}' in another run directory \
             makes more partitions",
            plural(parts, "partition", "partitions")
        );
    }
    let program = program.ok_or_else(|| Error::usage("the program that counts is not known"))?;
    let (partitions, peels) = (prepared.report.device_memory, prepared.job.counts().truss.is_some());
    cluster::write(cluster, run, program, ClusterJob { shards, partitions, peels }, force)
}
