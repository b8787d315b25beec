//! What `trimill merge` does: checks that all partitions of a prepared job were counted by the same plan, and adds them up to the result of `count`.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::details::{Details, ends_job};
use super::host::HostNeeds;
use super::results::result_of;
use super::session::{Purpose, Session};
use crate::cluster::for_shell;
use crate::job::Job;
use crate::report::{RunResult, Stage};
use crate::run_dir::{PREPARE_AGAIN, PartitionRecord, PreparedJob, RunDir, with_prepare_advice, with_resume_advice};
use crate::shards::{Shard, shards_of};
use trimill_system::{Bytes, Control, Error, Result, machine};

/// Adds the partitions of the job prepared in `how`'s run directory, within `how`'s budgets, and removes files of the job's shards. Also
/// returns the directory that the job names for its result. Errors: `Kind::Resource` if no job is prepared there, partitions are missing,
/// or a file cannot be written; in the last case the result is the error's answer.
pub fn merge(how: Job, control: &Control) -> Result<(RunResult, Option<PathBuf>)> {
    let Some(path) = how.settings.run.dir.clone() else {
        return Err(Error::usage("no run directory"));
    };
    let prepared = RunDir::open_for_shard(&path)?.1;
    let session = Session::open(prepared.counted_as(how), Purpose::Count, None, control)?;
    let Session { job, run, .. } = &session;
    let Some(run) = run else { return Err(Error::defect("a merge without a run directory")) };
    let merged = run.finished(prepared.fingerprint).map_err(|error| with_prepare_advice(error, &path))?;
    match merged {
        Some(result) if job.is_done(run, &result) => {
            tracing::info!(target: trimill_system::control::NOTE, "{}: merged on an earlier start", path.display());
            session.tidy();
            return Ok((result, job.settings.output.dir.clone()));
        }
        // An earlier merge removed the graph.
        Some(_) if run.lacks_graph(&prepared) => {
            let changed = job.output_of_others(run).unwrap_or_else(|| path.clone());
            let found = "is not as an earlier merge left it, which removed the graph and the counts of partitions";
            return Err(
                Error::data(changed, found).advice(format!("{PREPARE_AGAIN}; --force has it replace this file"))
            );
        }
        _ => {}
    }
    run.check_writable()?;
    run.check(&prepared)?;
    job.check_counts()?;
    let graph = run.graph(&prepared)?;
    let needs = session.host_needs(&graph, job.settings.mode());
    HostNeeds { parts: prepared.parts().into(), ..needs }.can_merge()?;
    let details = Details::new(&session, &graph, prepared.fingerprint)?;

    let start = Instant::now();
    let mut records = records(run, &prepared)?;
    details.resume(&mut records, &session)?;
    let missing: Vec<u32> = (0..prepared.parts()).filter(|part| !records.contains_key(part)).collect();
    if !missing.is_empty() {
        return Err(not_counted(&path, &missing, &prepared));
    }
    let of_all = |name: fn(&PartitionRecord) -> &str| {
        let names: BTreeSet<&str> = records.values().map(name).collect();
        names.into_iter().collect::<Vec<_>>().join(", ")
    };
    let result = RunResult {
        mode: prepared.report.mode,
        partitioner: prepared.partitioner.to_string(),
        backend: of_all(|record| &record.by.backend),
        method: of_all(|record| &record.by.method),
        stages: vec![Stage::new("merge", start.elapsed(), Bytes::ZERO, Bytes::ZERO)],
        device_memory: records.values().map(|record| record.by.device_memory).max().unwrap_or_default(),
        partitions: records.into_values().map(|record| record.result.resumed()).collect(),
        ..result_of(&session, &graph.figures())
    };
    let mut result = result.complete();
    // The record that preparing wrote may be gone, and later merges must know these files as the job's own.
    let written = run
        .announce(job.replaced(), None, false)
        .and_then(|()| details.finish(&session, Vec::new(), &mut result))
        .map_err(|error| with_prepare_advice(error, &path));
    let directory = job.settings.output.dir.clone();
    if ends_job(&written) {
        return written.map(|()| (result, directory));
    }
    result.seconds = session.seconds();
    result.peak_host_bytes = result.peak_host_bytes.max(machine::peak_memory());
    let finish = || run.finish(prepared.fingerprint, &result, &job.settings.output).map(|()| session.tidy());
    let written = written.and_then(|()| finish()).map_err(|error| with_resume_advice(error, Some(&path)));
    Error::answering(written, (result, directory))
}

fn records(run: &RunDir, prepared: &PreparedJob) -> Result<BTreeMap<u32, PartitionRecord>> {
    let journal = run.journal(prepared.fingerprint, prepared.parts());
    let read = |part| {
        let advice = || {
            format!("count its partition again, which replaces it, with {}", commands(run.path(), &[part], prepared))
        };
        let record = journal.read(part).map_err(|error| error.advice(advice()));
        record.map(|record| record.map(|record| (part, record))).transpose()
    };
    (0..prepared.parts()).filter_map(read).collect()
}

/// The most partitions, or commands, that a message names.
const MOST: usize = 16;

fn not_counted(run: &Path, missing: &[u32], prepared: &PreparedJob) -> Error {
    let which = some_of(missing.iter().map(u32::to_string));
    Error::resource(format!("{} of {} partitions are not counted: {which}", missing.len(), prepared.parts()))
        .at(run)
        .advice(format!("count them with {}", commands(run, missing, prepared)))
}

fn commands(run: &Path, missing: &[u32], prepared: &PreparedJob) -> String {
    let shards = shards_of(missing, &prepared.report.costs, prepared.report.shards.unwrap_or(NonZeroU32::MIN));
    let run = for_shell(&run.to_string_lossy());
    let command = |shard: &Shard| format!("'trimill count --run-dir {run} --shard {shard}'");
    some_of(shards.iter().map(command))
}

fn some_of(names: impl ExactSizeIterator<Item = String>) -> String {
    let more = if names.len() > MOST { ", ..." } else { "" };
    names.take(MOST).collect::<Vec<_>>().join(", ") + more
}
