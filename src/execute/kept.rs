//! Counts the spills that `trimill partition` or `trimill count --keep-spill` kept, without the graph; the result is the same as with the graph. Each
//! spill is compared with the manifest before it is counted, and stays on disk.

use std::path::Path;
use std::time::Instant;

use super::details::Details;
use super::host::HostNeeds;
use super::results::result_of;
use super::session::{Purpose, Session};
use super::spilled::SpillsToCount;
use crate::count::method::Choice;
use crate::job::file::{PartitionTable, Tables};
use crate::job::{Job, Mode, Partitioner, Parts};
use crate::report::RunResult;
use trimill_partitioners::spill::Manifest;
use trimill_partitioners::spill::manifest::MANIFEST_NAME;
use trimill_system::{Bytes, Control, Error, Result, machine};

impl Job {
    /// Refuses settings that do not apply to the kept spills in `dir`.
    pub(super) fn check_kept_spills(&self, dir: &Path) -> Result<()> {
        let Tables { partition, memory, input, run, spill, .. } = &self.settings;
        let fixed = [
            (*partition.partitioner() != Partitioner::Auto, "--partitioner"),
            (partition.parts() != Parts::Auto, "--parts"),
            (partition.prune.is_some(), "--prune"),
            (partition.seed() != PartitionTable::default().seed(), "--seed"),
            (memory.block.is_some(), "--block-bytes"),
            (input.format.is_some(), "--format"),
            (input.header.is_some(), "--header"),
            (input.columns.is_some(), "--columns"),
            (input.names(), "--names"),
            (run.dir.is_some(), "--run-dir"),
            (spill.keep(), "--keep-spill"),
        ];
        if let Some((_, option)) = fixed.into_iter().find(|(named, _)| *named) {
            return Err(Error::usage(format!("has spilled partitions, for which {option} cannot be set"))
                .at(dir)
                .expected(
                    "settings of budgets, backend, devices and output only: all else was fixed by 'trimill partition'",
                ));
        }
        let counts = self.counts();
        let asked = [
            (counts.truss.is_some(), "the trussness of edges"),
            (counts.vertices, "the triangles at each vertex"),
            (counts.edges, "the triangles on each edge"),
        ];
        match asked.into_iter().find(|(asked, _)| *asked) {
            Some((_, what)) => Err(Error::usage(format!("has spilled partitions, from which {what} cannot be found"))
                .at(dir)
                .expected("the total alone: ids and degrees are not in spills")
                .advice("name the graph's file")),
            None => Ok(()),
        }
    }
}

pub(super) fn count(job: Job, dir: &Path, control: &Control) -> Result<RunResult> {
    job.check_kept_spills(dir)?;
    let manifest = Manifest::read(dir)?;
    if manifest.partitions.len() > 1 {
        let cut = format!("{} has {} partitions", dir.display(), manifest.partitions.len());
        Choice::check_partitions(&job.settings.count, &cut)?;
    }
    let seed: u64 = manifest.job.seed.parse().map_err(|_| {
        Error::data(dir.join(MANIFEST_NAME), format!("the seed '{}'", manifest.job.seed)).expected("a whole number")
    })?;
    let size = manifest.graph.size;
    let session = Session::open(job.without_cache(), Purpose::Count, None, control)?;
    let Session { job, control, .. } = &session;
    let needs = session.host_needs_of(size, Bytes::ZERO, job.settings.mode());
    let needs = HostNeeds { parts: manifest.partitions.len() as u64, ..needs };
    let spills = SpillsToCount { manifest: &manifest, dir, wanted: &|_| true, journal: None };
    let mut chosen = spills.backends(&needs, &session)?;
    let (device, driver) = (chosen.device_budget, chosen.driver_bytes);
    let (backend, method) = (chosen.backends[0].name(), chosen.backends[0].method());
    let start = Instant::now();
    let (all, devices) = chosen.count(&spills, &Details::Total, &needs, &session)?;
    control.did_stage("count", start);
    let spilled = manifest.partitions.iter().map(|partition| Bytes(partition.bytes)).sum();
    let result = RunResult {
        mode: Mode::Spilled,
        partitioner: manifest.job.partitioner.clone(),
        prune: manifest.job.prune,
        seed,
        backend: backend.into(),
        method: method.into(),
        methods: chosen.methods,
        stages: all.times.streamed_stages(spilled),
        partitions: all.results,
        devices,
        peak_host_bytes: machine::peak_memory().saturating_sub(driver),
        driver_host_bytes: driver,
        device_memory: device,
        seconds: session.seconds(),
        ..result_of(&session, &manifest.graph)
    };
    Ok(RunResult { timeline: control.timeline(result.seconds), ..result.complete() })
}
