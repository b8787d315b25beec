//! What `trimill count --shard` does: counts the partitions of one shard of a prepared job. What it counts is recorded in the run directory,
//! a file for each partition that appears by a rename, so shards need no locks, and a shard that runs twice changes nothing.

use std::time::Instant;

use super::chosen::ChosenBackends;
use super::counting::task_of;
use super::details::Details;
use super::device::{count_all, together_of};
use super::planned::{PlanRequest, planned};
use super::queue::Queue;
use super::results::PlannedFigures;
use super::setup::Setup;
use super::spilled::{self, On, SpillsToCount};
use super::work::{Item, Ranges, SharedWork};
use super::workers::all_or_first_error;
use crate::count::CountBackend;
use crate::count::method::Choice;
use crate::graph::OrientedGraph;
use crate::job::{Job, Mode};
use crate::plan::GraphCut;
use crate::report::{PartitionResult, ShardReport};
use crate::run_dir::{Journal, PreparedJob, RunDir};
use crate::shards::{self, Shard, ShardChoice, environment};
use crate::spill::Manifest;
use trimill_system::bytes::Bytes;
use trimill_system::control::{Control, NOTE};
use trimill_system::error::{Error, Result};
use trimill_system::machine;

/// Counts a shard of the job that is prepared in the run directory of `how`, with the devices, the method and the budgets of `how`.
///
/// # Errors
/// [`trimill_system::error::Kind::Resource`] where no job is prepared there, and those of counting; [`trimill_system::error::Kind::Usage`] where the
/// environment names no shard.
pub fn shard(how: &Job, choice: ShardChoice, control: &Control) -> Result<ShardReport> {
    machine::reset_peak();
    let begin = Instant::now();
    let Some(path) = &how.run_dir else {
        return Err(Error::usage("a shard, and no run directory").advice("name it with --run-dir"));
    };
    let (run, prepared) = RunDir::share(path)?;
    let shard = chosen(choice, &prepared)?;
    let mut report = ShardReport::new(path.clone(), shard.to_string(), prepared.parts(), prepared.stream);
    // The graph is there again where a merged job was prepared again, because its outputs were gone.
    if run.lacks_graph(&prepared) && run.finished(prepared.fingerprint).map_err(|error| run.advise(error))?.is_some() {
        report.merged = true;
        return Ok(report);
    }
    let job = prepared.counted_as(how);
    if prepared.parts() > 1 {
        let cut = format!("the job is prepared in {} partitions", prepared.parts());
        Choice::check_partitions(job.backend, job.method.as_deref(), &cut)?;
    }
    run.check(&prepared)?;
    let graph = run.graph(&prepared)?;
    let setup = Setup::in_run(&job, None, Some(run))?;
    let Some(run) = &setup.run else { return Err(Error::defect("a shard without a run directory")) };
    let journal = run.journal(prepared.fingerprint, prepared.parts());
    let mine = shard.partitions(&prepared.costs);
    let counting = ShardCounter { job: &job, setup: &setup, prepared: &prepared, journal: &journal, control };
    let (mut results, missing) = {
        let details = Details::new(&job, &graph, &setup, prepared.fingerprint)?;
        counting.counted_before(&mine, &details)?
    };
    if !missing.is_empty() {
        let counted = match prepared.stream {
            Mode::Graph => counting.ranges(graph, &missing),
            Mode::Partition => counting.spills(&graph, &missing),
        };
        let counted = counted.map_err(|error| run.advise(error))?;
        (report.backend, report.method) = (counted.backend.into(), counted.method.into());
        results.extend(counted.results);
    }
    results.sort_by_key(|result| result.id);
    report.partitions = results;
    report.missing = prepared.parts() - journal.counted()?.len() as u32;
    report.seconds = begin.elapsed().as_secs_f64();
    Ok(report)
}

/// The shard that was typed, or the one that the environment names.
fn chosen(choice: ShardChoice, prepared: &PreparedJob) -> Result<Shard> {
    let shard = match choice {
        ShardChoice::This(shard) => shard,
        ShardChoice::Auto => {
            let (shard, from) = environment::shard(|name| std::env::var(name).ok(), prepared.shards)?;
            tracing::info!(target: NOTE, "shard {shard}, by {from}");
            shard
        }
    };
    shards::check(shard.of())?;
    Ok(shard)
}

/// What a shard counts with.
struct ShardCounter<'a> {
    job: &'a Job,
    setup: &'a Setup,
    prepared: &'a PreparedJob,
    journal: &'a Journal,
    control: &'a Control,
}

/// What was counted.
struct ShardCount {
    backend: &'static str,
    method: &'static str,
    results: Vec<PartitionResult>,
}

impl ShardCounter<'_> {
    /// The results of `mine` that are there already, with all counts that are wanted, and the partitions that are to be counted.
    fn counted_before(&self, mine: &[u32], details: &Details<'_>) -> Result<(Vec<PartitionResult>, Vec<u32>)> {
        let mut before = self.journal.counted()?;
        let (mut results, mut missing) = (Vec::new(), Vec::new());
        for &part in mine {
            match before.remove(&part) {
                Some(result) if details.resume(part, &self.setup.pool)? => results.push(result),
                _ => missing.push(part),
            }
        }
        Ok((results, missing))
    }

    /// Counts rank ranges.
    fn ranges(&self, graph: OrientedGraph, parts: &[u32]) -> Result<ShardCount> {
        let Self { job, setup, prepared, control, .. } = *self;
        setup.open_gpus(job, Bytes(u64::MAX))?;
        let mut planned = planned((graph, None), job, setup, PlanRequest::by(job), control, &mut Vec::new())?;
        let mut backends = std::mem::take(&mut planned.backends);
        let details = Details::new(job, &planned.graph, setup, prepared.fingerprint)?;
        let GraphCut::Ranges(ranges, blocks) = &planned.plan.cut else {
            return Err(Error::defect("sets of vertices in the graph stream"));
        };
        let mut parts = parts.to_vec();
        if backends.len() > 1 {
            parts.sort_by_key(|&part| std::cmp::Reverse(planned.plan.predictions[part as usize].stream));
        }
        let items = parts.into_iter().map(Item::Range).collect();
        let known = PlannedFigures { sizes: &planned.plan.sizes, predictions: &planned.plan.predictions };
        let ranges = Ranges { graph: &planned.graph, ranges, blocks };
        self.all(items, (known, Some(ranges)), &details, (&mut backends, planned.device))
    }

    /// Counts spills.
    fn spills(&self, graph: &OrientedGraph, parts: &[u32]) -> Result<ShardCount> {
        let Self { job, setup, prepared, control, .. } = *self;
        let Some(run) = &setup.run else { return Err(Error::defect("a shard without a run directory")) };
        let dir = run.spills(None);
        let manifest = Manifest::read(&dir)?;
        setup.open_gpus(job, Bytes(u64::MAX))?;
        let chosen = setup.backend(job, (graph.size(), graph.held_bytes()))?;
        let gpus = chosen.gpus();
        let ChosenBackends { mut backends, device, largest_row_block, .. } = chosen;
        let footprint = backends[0].footprint();
        let on = On { footprint: &footprint, device, largest_row_block: (gpus > 0).then_some(largest_row_block) };
        let mut spills = spilled::open(&manifest, &dir, |part| parts.contains(&part), &on, control)?;
        if backends.len() > 1 {
            spills.largest_first();
        }
        let details = Details::new(job, graph, setup, prepared.fingerprint)?;
        let SpillsToCount { items, sizes, predictions } = spills;
        let known = PlannedFigures { sizes: &sizes, predictions: &predictions };
        self.all(items, (known, None), &details, (&mut backends, device))
    }

    /// Counts `items` on all devices.
    fn all(
        &self,
        items: Vec<Item>,
        (known, ranges): (PlannedFigures<'_>, Option<Ranges<'_>>),
        details: &Details<'_>,
        (backends, device_memory): (&mut [Box<dyn CountBackend>], Bytes),
    ) -> Result<ShardCount> {
        let Self { setup, journal, control, .. } = *self;
        let arcs = items.first().map_or(0, |item| known.sizes[item.part() as usize].resident_arcs);
        let (task, per_partition) = task_of(backends, items.len() as u64, arcs, control);
        let together = control.part();
        let queue = Queue::of(items, backends.len());
        let work = SharedWork {
            known,
            ranges,
            setup,
            device_memory,
            queue: &queue,
            spills: None,
            journal: Some(journal),
            details,
            task: &task,
            per_partition,
            control: &together,
        };
        let (backend, method) = (backends[0].name(), backends[0].method());
        let outcomes = count_all(backends, &work);
        let (all, _) = together_of(all_or_first_error(outcomes, control)?, backends);
        Ok(ShardCount { backend, method, results: all.results })
    }
}
