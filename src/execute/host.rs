//! What a job will take of the host's memory, from its plan.
//!
//! Enters: a job up to its plan, and what the process holds then. Leaves: the most that will be resident until the answer is there.
//! Up to the plan nothing needs to be foretold: `trimill plan` goes the same way as `trimill count`, and its own peak is
//! the answer. What comes after is added up stage by stage; at each
//!
//! ```text
//! what is held once the plan stands + sets and lists of partitions + mapped pages + sections and frames + tables + spills
//! ```
//!
//! Mapped pages are as many as the file has or, where that is less, as may stay before they are given back ([`crate::graph::pages`]).

use super::building::Building;
use super::devices::order;
use super::planned::Planned;
use super::setup::{LEAST_PAGES, Setup};
use crate::bytes::Bytes;
use crate::graph::OrientedGraph;
use crate::graph::bits::Bits;
use crate::job::Job;
use crate::partition::section::ResidentSize;
use crate::partition::{batch, sizes};
use crate::plan::sample;
use crate::spill::{BLOCK_BYTES, raw_bytes};

/// For each thread: a block as values, planes and stored bytes on its way to a spill; planes and stored bytes on its way back.
pub(super) const CODERS: u64 = 5 * BLOCK_BYTES;

/// Rows of the resident section that wait to be encoded, and a chunk on its way there.
pub(super) const WAITING: Bytes = Bytes(32 * BLOCK_BYTES);
pub(super) const CHUNK: Bytes = Bytes::mib(4);

/// The most that is resident from the plan to the answer, when `held` is resident once the plan stands.
pub(super) fn counting(job: &Job, planned: &Planned, setup: &Setup, held: Bytes) -> Bytes {
    let after = if planned.plan.assignment.parts() == 1 && !job.keep_spill {
        whole(planned, setup)
    } else if planned.plan.shared.is_some() {
        shared(planned, setup)
    } else {
        spilled(job, planned, setup)
    };
    held + after
}

/// The arrays of `O(n)` that a job needs beside its budget, at their largest; and what a budget lacks that is too small.
pub(super) fn arrays(job: &Job, planned: &Planned, setup: &Setup) -> Bytes {
    let graph = &planned.graph;
    let n = u64::from(graph.vertices());
    // Degrees and numbers of all ids up to the largest; or a table of those that occur, made from what threads collected.
    let preparing = match graph.declared_lines() {
        Some(lines) => Bytes(9 * (lines + graph.first_declared_id()) + 8 * n),
        None => Bytes(40 * n),
    };
    // Numbers of ids and back, while offsets and degrees are checked.
    let opening = graph.array_bytes() + Bytes(12 * n);
    let sizing = sizes::array_bytes(graph.vertices()) + sample::array_bytes(graph.vertices());
    let building = match &planned.plan.shared {
        // The offsets, and the numbers of a partition's locals, by the one who reads and by the one who counts.
        Some(shared) => shared.frames.table_bytes() + Bytes::of::<u32>(2 * n),
        // Marks, lengths and numbers of proxies; or what batches need.
        None => Bytes(13 * n).max(batch::array_bytes(graph.vertices())),
    };
    let all = graph.array_bytes() + Bytes::of::<u32>(2 * n) + sizing.max(building);
    preparing.max(opening).max(all + beyond(job, planned, setup))
}

/// By how much the least that there must be passes the host's budget: what counts, what is built, and some pages.
fn beyond(job: &Job, planned: &Planned, setup: &Setup) -> Bytes {
    let parts = planned.plan.assignment.parts();
    let building = match planned.plan.shared {
        None if parts > 1 || job.keep_spill => {
            let parts = (0..parts).map(|part| building(planned, part)).max().unwrap_or_default();
            parts + coders(setup) + setup.spill_memory(job)
        }
        _ => Bytes::ZERO,
    };
    (planned.on_host + building + LEAST_PAGES).saturating_sub(setup.host_memory)
}

/// What all threads encode and decode with.
fn coders(setup: &Setup) -> Bytes {
    Bytes(setup.pool.current_num_threads() as u64 * CODERS)
}

/// The file's rows and where they begin; nothing where they are in memory, held already.
fn file(graph: &OrientedGraph) -> Bytes {
    if graph.path().is_some() { graph.csr_bytes() } else { Bytes::ZERO }
}

/// Of the graph's file, what stays resident while its rows are read.
fn pages(planned: &Planned, setup: &Setup) -> Bytes {
    let graph = &planned.graph;
    file(graph).min(setup.pool.install(|| graph.usual_pages()))
}

/// The resident section, and all that counting partition `part` takes.
fn partition(planned: &Planned, part: u32) -> (Bytes, Bytes) {
    let (size, predicted) = (&planned.plan.sizes[part as usize], &planned.plan.predictions[part as usize]);
    let terms = planned.backends[0].terms();
    let locals = predicted.resident.saturating_sub(Bytes(terms.per_resident_arc * size.resident_arcs));
    let section = ResidentSize { locals: locals.get() / terms.per_local.max(1), arcs: size.resident_arcs }.bytes();
    match planned.gpus {
        0 => (section, predicted.peak),
        // Runs of the section, page-locked buffers, and two frames of each.
        gpus => {
            let on_host = planned.on_host + Bytes(2 * gpus * predicted.largest_frame.get());
            (section.min(on_host), on_host)
        }
    }
}

/// The graph as one partition: its rows are read beside what is mapped of its file, then counted.
fn whole(planned: &Planned, setup: &Setup) -> Bytes {
    let (section, all) = partition(planned, 0);
    (section + pages(planned, setup)).max(all)
}

/// Shared frames: the rows of all in memory, or pages of the graph where resident rows are found; and what counts.
fn shared(planned: &Planned, setup: &Setup) -> Bytes {
    let plan = &planned.plan;
    let in_memory = plan.shared.as_ref().is_some_and(|shared| shared.in_memory);
    let counting = (0..plan.assignment.parts()).map(|part| {
        let predicted = &plan.predictions[part as usize];
        let (section, all) = partition(planned, part);
        let list = Bytes::of::<u32>(plan.assignment.locals(part).len() as u64);
        let slots = (planned.backends[0].terms().slots)(predicted.frames);
        // Frames in memory are lent where they lie.
        let lent = if in_memory { Bytes(slots * predicted.largest_frame.get()) } else { Bytes::ZERO };
        list + list + all.saturating_sub(lent).max(section)
    });
    let rows = if in_memory {
        Bytes(file(&planned.graph).get().min(4 * planned.graph.edges()))
    } else {
        pages(planned, setup)
    };
    rows + counting.max().unwrap_or_default()
}

/// Own frames: while a partition is counted, the next ones are built, alone or in batches.
fn spilled(job: &Job, planned: &Planned, setup: &Setup) -> Bytes {
    let plan = &planned.plan;
    let devices = planned.devices;
    let order = order(plan, devices);
    let build = |place: usize| order.get(place).map_or(Bytes::ZERO, |&part| building(planned, part));
    let spill = |place: usize| order.get(place).map_or(Bytes::ZERO, |&part| plan.predictions[part as usize].spill);
    let most = (0..order.len()).map(|place| {
        // One waits, one is built.
        let ahead = place + devices..place + 2 * devices + 1;
        let waiting: Bytes = (place..ahead.end).map(spill).sum();
        let counted = partition(planned, order[place]).1;
        counted + ahead.map(build).max().unwrap_or_default() + waiting.min(setup.spill_memory(job))
    });
    // Where the disks do not tell how much is free, the job itself says so.
    let chosen = Building::choose((&planned.graph, plan, &order), job, devices, setup).ok();
    if let Some(batches) = chosen.and_then(|chosen| chosen.batches) {
        let counted = order.iter().map(|&part| partition(planned, part).1).max().unwrap_or_default();
        let waiting = (0..order.len()).map(spill).sum::<Bytes>().min(setup.spill_memory(job));
        return counted + waiting + coders(setup) + batches.resident(&planned.graph);
    }
    most.max().unwrap_or_default() + coders(setup) + pages(planned, setup)
}

/// Building a partition.
fn building(planned: &Planned, part: u32) -> Bytes {
    let (size, predicted) = (&planned.plan.sizes[part as usize], &planned.plan.predictions[part as usize]);
    // Who is local, who is kept, who is both or neither, where arcs may lead.
    let sets = Bytes(4 * Bits::bytes(planned.graph.vertices()).get());
    let lists = Bytes::of::<u32>(size.locals + size.proxies_kept);
    let resident = Bytes(raw_bytes(true, size.locals, size.resident_arcs)).min(WAITING) + CHUNK;
    let frames = Bytes::of::<u32>(size.proxies_kept) + predicted.largest_frame;
    sets + lists + resident.max(frames)
}
