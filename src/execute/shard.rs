//! What `trimill count --shard` does: counts one shard of a prepared job. Each partition's counts are recorded as a file of the run directory that
//! appears by an atomic rename: shards need no locks, and running one twice changes nothing.

use std::time::Instant;

use super::details::Details;
use super::graph::Prepared;
use super::host::HostNeeds;
use super::queue::Item;
use super::session::Session;
use super::spilled::SpillsToCount;
use super::work::DeviceOutcome;
use crate::count::method::Choice;
use crate::job::{Job, Mode};
use crate::outputs::CountedAt;
use crate::report::ShardReport;
use crate::run_dir::{Journal, PreparedJob, RunDir, with_prepare_advice};
use crate::shards::{self, Shard, ShardChoice, environment};
use crate::sums::part::PartKey;
use crate::sums::{ByArc, ByRank};
use trimill_counting::CountBackend;
use trimill_partitioners::spill::Manifest;
use trimill_system::control::{Control, NOTE};
use trimill_system::{Bytes, Error, Kind, Result};

/// Counts a shard of the job prepared in `how`'s run directory, with `how`'s devices, method and budgets. Errors: `Kind::Resource` if no
/// job is prepared there, and those of counting; `Kind::Usage` if the environment names no shard.
pub fn shard(how: Job, choice: ShardChoice, control: &Control) -> Result<ShardReport> {
    let begin = Instant::now();
    let Some(path) = how.settings.run.dir.clone() else {
        return Err(Error::usage("a shard, and no run directory").advice("name it with --run-dir"));
    };
    let (run, prepared) = RunDir::open_for_shard(&path)?;
    let shard = chosen(choice, &prepared)?;
    let report = ShardReport::new(path.clone(), shard.to_string(), prepared.parts(), prepared.report.mode);
    let merged = ShardReport { merged: true, ..report.clone() };
    // The graph exists again if a merged job was prepared again because its outputs were gone.
    if run.lacks_graph(&prepared)
        && run.finished(prepared.fingerprint).map_err(|error| with_prepare_advice(error, &path))?.is_some()
    {
        return Ok(merged);
    }
    // If a shard is counted twice, a merge may remove files that its second process still reads and writes.
    let is_merged = || RunDir::open_for_shard(&path).and_then(|(run, _)| run.finished(prepared.fingerprint));
    let session = Session::of_shard(prepared.counted_as(how), run, control);
    match session.and_then(|session| count_shard(session, &prepared, shard, report)) {
        Ok(report) => Ok(ShardReport { seconds: begin.elapsed().as_secs_f64(), ..report }),
        Err(error) if error.kind() <= Kind::Resource && is_merged().is_ok_and(|result| result.is_some()) => Ok(merged),
        Err(error) => Err(error),
    }
}

fn count_shard(session: Session, prepared: &PreparedJob, shard: Shard, mut report: ShardReport) -> Result<ShardReport> {
    let Session { job, run: Some(run), .. } = &session else {
        return Err(Error::defect("a shard without a run directory"));
    };
    let path = run.path().to_path_buf();
    if prepared.parts() > 1 {
        let cut = format!("the job is prepared in {} partitions", prepared.parts());
        Choice::check_partitions(&job.settings.count, &cut)?;
    }
    run.check(prepared)?;
    let graph = run.graph(prepared)?;
    let journal = run.journal(prepared.fingerprint, prepared.parts());
    let kept = job.counts().at();
    // Like `Details::resume`, but only checks that the files exist.
    let has_counts = |&part: &u32| {
        let counts = PartKey { fingerprint: prepared.fingerprint, part, keys: 0 };
        match kept {
            CountedAt::Edges => counts.path::<ByArc>(&path).exists(),
            CountedAt::Vertices => counts.path::<ByRank>(&path).exists(),
            CountedAt::Nothing => true,
        }
    };
    let mine = shard.partitions(&prepared.report.costs);
    let mut before = journal.counted_of(mine.iter().copied(), "is counted again")?;
    Details::new(&session, &graph, prepared.fingerprint)?.resume(&mut before, &session)?;
    let missing: Vec<u32> = mine.into_iter().filter(|part| !before.contains_key(part)).collect();
    report.partitions.extend(before.into_values());
    if !missing.is_empty() {
        let state = Prepared { session, graph, origin: None, stages: Vec::new() };
        let counted = match prepared.report.mode {
            Mode::InPlace => count_ranges(state, &journal, &missing),
            Mode::Spilled => count_spills(&state, &journal, &missing),
        };
        let (backends, counted) = counted.map_err(|error| with_prepare_advice(error, &path))?;
        (report.backend, report.method) = (backends[0].name().into(), backends[0].method().into());
        report.partitions.extend(counted.results);
    }
    report.partitions.sort_by_key(|result| result.id);
    // This shard's own results are complete by now; those of other shards may be damaged.
    let counted = journal.counted_of(0..prepared.parts(), "must be counted again, by the shard that has it")?;
    report.missing = prepared.parts() - counted.into_keys().filter(has_counts).count() as u32;
    Ok(report)
}

fn chosen(choice: ShardChoice, prepared: &PreparedJob) -> Result<Shard> {
    let shard = match choice {
        ShardChoice::This(shard) => shard,
        ShardChoice::Auto => {
            let (shard, from) = environment::shard(|name| std::env::var(name).ok(), prepared.report.shards)?;
            tracing::info!(target: NOTE, "shard {shard}, by {from}");
            shard
        }
    };
    shards::check(shard.of())?;
    Ok(shard)
}

type CountedShard = (Vec<Box<dyn CountBackend>>, DeviceOutcome);

fn count_ranges(prepared: Prepared, journal: &Journal, parts: &[u32]) -> Result<CountedShard> {
    prepared.session.open_gpus(Bytes(u64::MAX))?;
    let mut planned = prepared.plan(1)?;
    let mut backends = std::mem::take(&mut planned.chosen.backends);
    let details = Details::new(&planned.session, &planned.graph, journal.fingerprint)?;
    let items = parts.iter().copied().map(Item::Range).collect();
    let partitions = planned.partitions(Some(journal), &details);
    let (all, _) = partitions.count(items, &mut backends, &planned.session)?;
    Ok((backends, all))
}

fn count_spills(prepared: &Prepared, journal: &Journal, parts: &[u32]) -> Result<CountedShard> {
    let Prepared { session, graph, .. } = prepared;
    let Some(run) = &session.run else { return Err(Error::defect("a shard without a run directory")) };
    let dir = run.spills(None);
    let manifest = Manifest::read(&dir)?;
    session.open_gpus(Bytes(u64::MAX))?;
    let needs = session.host_needs(graph, session.job.settings.mode());
    let needs = HostNeeds { parts: manifest.partitions.len() as u64, ..needs };
    let wanted = |part| parts.contains(&part);
    let spills = SpillsToCount { manifest: &manifest, dir: &dir, wanted: &wanted, journal: Some(journal) };
    let mut chosen = spills.backends(&needs, session)?;
    let details = Details::new(session, graph, journal.fingerprint)?;
    let (all, _) = chosen.count(&spills, &details, &needs, session)?;
    Ok((chosen.backends, all))
}
