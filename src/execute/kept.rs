//! What `trimill count` does with a directory of kept spills: counts them, without the graph.
//!
//! Input: a manifest and its spills, as `trimill partition` or `trimill count --keep-spill` wrote them. Output: the result that
//! the graph itself gives. Each spill is checked against the manifest before it is counted, and is kept.

use std::path::Path;
use std::time::{Duration, Instant};

use super::build::Built;
use super::counting::{Item, Work, count_all, together_of};
use super::details::Details;
use super::queue::Queue;
use super::results::{Known, input_report};
use super::setup::{Chosen, Setup, host_holds};
use super::workers::all_or_first_error;
use crate::machine;
use trimill_kernels::Scope;

use crate::bytes::Bytes;
use crate::control::{Control, Unit};
use crate::count::Footprint;
use crate::error::{Error, Result};
use crate::job::{Job, Partitioner, Parts, Stream};
use crate::partition::section::RowBlockSize;
use crate::partition::sizes::PartitionSize;
use crate::plan::predict::{Prediction, RowBlockTotals, predict};
use crate::report::RunResult;
use crate::spill::manifest::MANIFEST_NAME;
use crate::spill::{Manifest, ManifestGraph, SpillReader};

/// Counts the spills of the manifest in `dir`.
///
/// # Errors
/// [`crate::error::Kind::Data`] for a manifest or spills that are missing, damaged or not of one job;
/// [`crate::error::Kind::Usage`] for settings that were fixed when the graph was partitioned;
/// [`crate::error::Kind::Resource`] when a partition does not fit the device.
pub(super) fn count(job: &Job, dir: &Path, control: &Control) -> Result<RunResult> {
    machine::reset_peak();
    let begin = Instant::now();
    refuse_partition_settings(job, dir)?;
    let manifest = Manifest::read(dir)?;
    let Some(ManifestGraph { size, wedges, report }) = manifest.graph.clone() else {
        return Err(Error::data(
            dir.join(MANIFEST_NAME),
            "is of version 1, which does not say enough to count its spills",
        )
        .advice("partition the graph again"));
    };
    let setup = Setup::new(&Job { cache: false, ..job.clone() }, None)?;
    let chosen = setup.backend(job, (size, Bytes::ZERO))?;
    let gpus = chosen.gpus();
    let Chosen { mut backends, device, largest_row_block, methods, driver, .. } = chosen;
    if backends[0].scope() != Scope::Partitions && manifest.partitions.len() > 1 {
        return Err(Error::usage(format!("method {} counts whole graphs only", backends[0].method()))
            .at(dir)
            .expected("a method that counts partitions"));
    }
    let footprint = backends[0].footprint();
    let (mut items, mut sizes, mut predictions) = (Vec::new(), Vec::new(), Vec::new());
    for (i, partition) in manifest.partitions.iter().enumerate() {
        control.check()?;
        if partition.id as usize != i {
            return Err(Error::data(dir.join(MANIFEST_NAME), format!("partition {} in place {i}", partition.id))
                .expected("all partitions in their order"));
        }
        let spill = manifest.open(dir, partition)?;
        let (size, predicted) = known(&spill, &footprint, device);
        if gpus > 0 {
            host_holds(predicted.largest_row_block, largest_row_block).map_err(|error| error.at(spill.path()))?;
        }
        if predicted.peak > device {
            return Err(Error::resource(format!(
                "partition {i} takes {} bytes ({})",
                predicted.peak.get(),
                predicted.peak
            ))
            .at(spill.path())
            .expected(format!("at most {device}, the device budget"))
            .advice("raise --device-memory, or partition the graph into more parts"));
        }
        let [inducing, pruning, spilling] = [Duration::ZERO; 3];
        let part = partition.id;
        let built = Built { part, spill: spill.summary(), _held: None, inducing, pruning, spilling };
        items.push(Item::Built(Box::new(built)));
        sizes.push(size);
        predictions.push(predicted);
    }
    let (parts, together) = (items.len() as u64, control.part());
    if backends.len() > 1 {
        items.sort_by_key(|item| std::cmp::Reverse(predictions[item.part() as usize].stream));
    }
    let queue = Queue::of(items, backends.len());
    let task = control.task("count", Some(parts), Unit::Partitions);
    let work = Work {
        known: Known { sizes: &sizes, predictions: &predictions },
        ranges: None,
        setup: &setup,
        queue: &queue,
        spills: None,
        journal: None,
        details: &Details::Total,
        task: &task,
        per_partition: 1,
        control: &together,
    };
    let (backend, method) = (backends[0].name(), backends[0].method());
    let outcomes = count_all(&mut backends, &work);
    let (all, devices) = together_of(all_or_first_error(outcomes, control)?, &backends);
    let spilled = manifest.partitions.iter().map(|partition| Bytes(partition.bytes)).sum();
    let result = RunResult {
        vertices: u64::from(size.vertices),
        edges: size.edges,
        wedges,
        input: input_report(&report),
        stream: Stream::Partition,
        partitioner: manifest.job.partitioner.clone(),
        prune: manifest.job.prune.parse().unwrap_or_default(),
        backend: backend.into(),
        method: method.into(),
        methods,
        stages: all.times.streamed_stages(spilled),
        partitions: all.results,
        devices,
        peak_host_bytes: machine::peak_memory().saturating_sub(driver),
        driver_host_bytes: driver,
        device_memory: device,
        host_memory: setup.host.budget(),
        seconds: begin.elapsed().as_secs_f64(),
        ..RunResult::of(job)
    };
    Ok(result.complete())
}

/// What a spill holds, and what counting it takes.
fn known(spill: &SpillReader, footprint: &Footprint, budget: Bytes) -> (PartitionSize, Prediction) {
    let header = spill.header();
    let size = PartitionSize {
        locals: header.locals.into(),
        resident_arcs: spill.resident_arcs(),
        proxies_induced: header.proxies_induced,
        arcs_induced: header.arcs_induced,
        proxies_kept: header.proxies_kept,
        arcs_kept: header.arcs_kept,
    };
    let row_blocks: Vec<Bytes> = (0..spill.row_blocks())
        .map(|i| {
            let row_block = spill.row_block_info(i);
            RowBlockSize { range: row_block.range.len() as u32, rows: row_block.rows.into(), arcs: row_block.arcs }
                .bytes()
        })
        .collect();
    let largest_row_block = row_blocks.iter().copied().max().unwrap_or_default();
    let layout = RowBlockTotals {
        row_blocks: row_blocks.len() as u64,
        largest_row_block,
        two_row_blocks: Bytes(largest_row_block.get() * row_blocks.len().min(2) as u64),
        all_row_blocks: row_blocks.into_iter().sum(),
        spill: Bytes(spill.bytes()),
    };
    (size, predict(&size, footprint, &layout, budget))
}

/// Refuses settings that say how a graph is read or partitioned.
fn refuse_partition_settings(job: &Job, dir: &Path) -> Result<()> {
    let fixed = [
        (job.partitioner != Partitioner::Auto, "a partitioner"),
        (job.parts != Parts::Auto, "a number of parts"),
        (job.stream.is_some(), "a prune level"),
        (job.block_bytes.is_some(), "a size of row blocks"),
        (job.format.is_some(), "a format"),
        (job.header.is_some(), "a header"),
        (job.run_dir.is_some(), "a run directory"),
        (job.keep_spill, "to keep the spills"),
        (job.counts_vertices(), "the triangles at each vertex, whose ids and degrees only the graph has"),
        (job.counts_edges(), "the triangles on each edge, whose ids only the graph has"),
    ];
    match fixed.into_iter().find(|(named, _)| *named) {
        Some((_, what)) => {
            Err(Error::usage(format!("holds spilled partitions, and {what} is named, too")).at(dir).expected(
                "settings of budgets, backend, devices and output only: all else was fixed by 'trimill partition'",
            ))
        }
        None => Ok(()),
    }
}
