//! Counts the triangles of runs of locals, and of postponed arcs.

use std::ops::Range;
use std::sync::Mutex;

use super::ahead::{is_scattered, prefetch};
use super::by_head::HeadBuckets;
use super::hubs::Hubs;
use super::pack::{self, BitRows};
use super::probe::before;
use super::vertices::{Corners, HostVertexCounters, NearCounters, TotalOnly, WorkerVertices};
use super::worker::{CpuWorker, LocalsRun, RowBlockContext, RowHead};
use super::{free, short};
use trimill_system::{parallel, unpoisoned};

/// The number of postponed arcs that a thread counts at a time after the last run.
const PART: usize = 1 << 13;

/// Counts the triangles that start in the run and whose middle corner is in the row block, except for arcs that are counted by `heads`, and
/// advances the cursors. Arcs that it postpones are counted by later runs of the row block, or by [`count_postponed`].
///
/// Compiled for several instruction sets, chosen at run time: without a popcount instruction, counting takes twice as long. Callees must be
/// inlined, and count bits in loops: an iterator's `sum` may become a function of its own, compiled for the oldest processor.
#[multiversion::multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx512vpopcntdq+bmi1+bmi2+lzcnt+popcnt",
    "x86_64+avx2+bmi1+bmi2+lzcnt+popcnt",
    "x86_64+popcnt"
))]
pub(super) fn count_run<C: Corners>(
    worker: &mut CpuWorker,
    run: LocalsRun<'_>,
    around: &RowBlockContext<'_>,
    heads: &HeadBuckets,
    corners: &mut C,
) -> u64 {
    let RowBlockContext { packed, range, successors, hubs } = around;
    let mut count = 0;
    let end_of_hubs = hubs.range().end;
    let mut unpacked = std::mem::take(&mut worker.unpacked);
    let locals = run.locals();
    let others = end_of_hubs.max(range.start).max(heads.range().end)..range.end;
    let prefetches = *packed == BitRows::None && is_scattered(successors, &locals, &others);
    let is_plain = *packed == BitRows::None && hubs.range().is_empty() && heads.is_empty() && successors.are_all();
    for (i, cursor) in run.cursors.iter_mut().enumerate() {
        if prefetches {
            prefetch(successors, run.first + i, &locals, &others);
        }
        let row = successors.resident(run.first + i);
        if is_plain && row.len() <= short::LONGEST {
            // There is no other row block, so the cursor is not needed again.
            let found = short::count_in_all(row, successors, corners);
            corners.local(run.first + i, found);
            count += found;
            continue;
        }
        let words = if *packed == BitRows::None { None } else { pack::words(row) };
        let row = words.map_or(row, |words| unpacked.plain(words));
        let start = *cursor as usize;
        // Most row blocks contain no successors of most locals.
        if row.get(start).is_none_or(|&next| next >= range.end) {
            continue;
        }
        let end = before(row, start, range.end);
        *cursor = end as u32;
        // No triangle is closed before the first entry.
        let start = start.max(1);
        let hubs_end = before(row, start.min(end), end_of_hubs).min(end);
        if start < hubs_end {
            count += worker.intersect_hubs(run.first + i, RowHead { row: &row[..hubs_end], start }, hubs, corners);
        }
        let apart = if words.is_none() { heads.places(&row[..end], start).end } else { 0 };
        let others_start = start.max(hubs_end).max(apart);
        if others_start < end {
            let (row, start) = (&row[..end], others_start);
            let found = match *packed == BitRows::None && end <= short::LONGEST {
                true => short::count(row, start, successors, corners),
                false => worker.intersect_others(RowHead { row, start }, words, around, corners),
            };
            corners.local(run.first + i, found);
            count += found;
        }
    }
    worker.unpacked = unpacked;
    count
}

/// Counts the arcs that the workers have postponed, in parallel by parts, since some workers have many and some none.
pub(super) fn count_postponed(
    mut workers: Vec<&mut CpuWorker>,
    hubs: &Hubs,
    counters: Option<&HostVertexCounters>,
) -> u64 {
    parallel::each(&mut workers, |worker| worker.postponed.sort());
    let nears: Vec<NearCounters> = workers.iter_mut().map(|worker| std::mem::take(&mut worker.near)).collect();
    let mut parts: Vec<(&CpuWorker, Range<usize>)> = Vec::new();
    for worker in &workers {
        let arcs = worker.postponed.len();
        parts.extend((0..arcs).step_by(PART).map(|first| (&**worker, first..arcs.min(first + PART))));
    }
    let nears: Vec<Mutex<NearCounters>> = nears.into_iter().map(Mutex::new).collect();
    let part = |(worker, arcs)| match counters {
        None => count_sorted(worker, arcs, hubs, &mut TotalOnly),
        Some(all) => count_sorted(worker, arcs, hubs, &mut WorkerVertices { all, near: &mut free(&nears) }),
    };
    let count = parallel::map(parts, part).into_iter().sum();
    for (worker, near) in workers.iter_mut().zip(nears) {
        worker.near = unpoisoned(near.into_inner());
    }
    parallel::each(&mut workers, |worker| worker.postponed.forget());
    count
}

#[multiversion::multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx512vpopcntdq+bmi1+bmi2+lzcnt+popcnt",
    "x86_64+avx2+bmi1+bmi2+lzcnt+popcnt",
    "x86_64+popcnt"
))]
fn count_sorted<C: Corners>(worker: &CpuWorker, arcs: Range<usize>, hubs: &Hubs, corners: &mut C) -> u64 {
    worker.intersect_sorted(arcs, hubs, corners, |corners, tail, found| {
        if C::WANTED {
            corners.local(worker.local_at(tail), found);
        }
    })
}
