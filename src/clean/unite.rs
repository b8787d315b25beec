//! Makes a clean graph of the arcs in buckets.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::buckets::Buckets;
use super::classes::ArcClasses;
use super::ids::ArcFacts;
use super::sort::sort_pairs;
use super::workspace::{IdCount, PER_KEY, Workspace, check_bucket, needs};
use trimill_system::control::{Control, Unit};
use trimill_system::mapped::{prefetch, trim_heap, with_capacity, zeros};
use trimill_system::{Bytes, Result, parallel};

/// How many keys ahead degrees are prefetched.
const AHEAD: usize = 24;

pub struct CleanGraph {
    /// Each edge once, as `min << 32 | max`; each bucket is sorted.
    pub pairs: Buckets,
    /// The degree of each id; 0 for ids without an edge.
    pub degrees: Vec<u32>,
    /// The input's ids, if the ids here are positions in this ascending table.
    pub table: Option<Vec<u64>>,
    pub edges: u64,
    /// Of the input, without loops.
    pub distinct_arcs: u64,
    pub facts: ArcFacts,
    /// Bytes written to bucket files while the input was read, and afterwards.
    pub bytes_distributed: Bytes,
    pub bytes_written: Bytes,
    /// The time of the stage 'input': reading, and distribution to buckets.
    pub reading: Duration,
}

pub struct ArcsRead {
    pub(super) buckets: Buckets,
    pub(super) classes: ArcClasses,
    pub(super) facts: ArcFacts,
    pub(super) table: Option<Vec<u64>>,
    pub(super) reading: Duration,
}

impl ArcsRead {
    /// Sorts every bucket, drops duplicates, merges both buckets of each class, and counts degrees.
    pub fn clean(self, space: Workspace<'_>, control: &Control) -> Result<CleanGraph> {
        let Self { buckets, classes, facts, table, reading } = self;
        let (arcs, range) = (facts.arcs, facts.ids);
        let of_ids = if table.is_some() { IdCount::Ranked(range) } else { IdCount::Plain(range) };
        let shares = space.beside(&needs(of_ids, arcs, space))?;
        buckets.keep_at_most(shares.buckets())?;
        if 3 * 8 * arcs > shares.left.get() {
            // Chunks and staging areas were too small for the allocator to return them to the system. Where memory is ample, reusing them is better.
            trim_heap();
        }
        let most = shares.keys_at_once() as usize;
        let budget = shares.sorting_budget();
        let degrees: Vec<AtomicU32> = zeros(range as usize);
        let pairs = classes.buckets(1, arcs, &shares);
        let task = control.task("clean", Some(arcs), Unit::Arcs);
        let found = parallel::try_map_with(0..buckets.buckets() / 2, Default::default, |sorted, class| {
            control.check()?;
            let incoming = buckets.len(2 * class) + buckets.len(2 * class + 1);
            let (taken, ids) = (budget.take(Bytes(incoming * PER_KEY)), classes.ids(class, range));
            // A bucket longer than `most` (one pair repeated very often) is sorted part by part, so memory is proportional to the distinct keys.
            let distinct_keys = |bucket: usize, before: usize, keys: &mut Vec<u64>| {
                let mut is_first = true;
                buckets.take_in_parts(bucket, most, |chunks| {
                    let earlier = if is_first { Vec::new() } else { std::mem::take(keys) };
                    is_first = false;
                    sort_pairs(&chunks, &ids, keys);
                    drop(chunks);
                    keys.dedup();
                    if !earlier.is_empty() {
                        *keys = merge(&earlier, keys);
                    }
                    check_bucket(&taken, (before + keys.len()) as u64 * PER_KEY)
                })
            };
            let [forward, backward]: &mut [Vec<u64>; 2] = sorted;
            distinct_keys(2 * class, 0, forward)?;
            distinct_keys(2 * class + 1, forward.len(), backward)?;
            let distinct = (forward.len() + backward.len()) as u64;
            let union = merge(forward, backward);
            if incoming * PER_KEY > shares.sorting() {
                // Threads that wait for the budget keep only small arrays.
                *sorted = Default::default();
            }
            let edges = union.len() as u64;
            add_degrees(&union, &degrees);
            pairs.put(class, union)?;
            task.advance(incoming);
            Ok((edges, distinct))
        })?;
        let (edges, distinct_arcs) = found.into_iter().fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        let (bytes_distributed, bytes_written) = (Bytes(buckets.bytes_written()), Bytes(pairs.bytes_written()));
        let degrees = degrees.into_iter().map(AtomicU32::into_inner).collect();
        Ok(CleanGraph { pairs, degrees, table, edges, distinct_arcs, facts, bytes_distributed, bytes_written, reading })
    }
}

/// Adds a class's edges to the degrees of their ends. Prefetches, since atomic additions wait for cache lines; a single thread adds non-atomically.
fn add_degrees(union: &[u64], degrees: &[AtomicU32]) {
    let alone = rayon::current_num_threads() == 1;
    let add = |id: u32, edges: u32| {
        let degree = &degrees[id as usize];
        if alone {
            degree.store(degree.load(Ordering::Relaxed) + edges, Ordering::Relaxed);
        } else {
            degree.fetch_add(edges, Ordering::Relaxed);
        }
    };
    let mut at = 0;
    for run in union.chunk_by(|a, b| a >> 32 == b >> 32) {
        add((run[0] >> 32) as u32, run.len() as u32);
        for key in run {
            if let Some(&ahead) = union.get(at + AHEAD) {
                prefetch(degrees, ahead as u32 as usize);
            }
            add(*key as u32, 1);
            at += 1;
        }
    }
}

fn merge(a: &[u64], b: &[u64]) -> Vec<u64> {
    let mut out = with_capacity(a.len() + b.len());
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        let (x, y) = (a[i], b[j]);
        out.push(x.min(y));
        i += usize::from(x <= y);
        j += usize::from(y <= x);
    }
    out.extend_from_slice(&a[i..]);
    out.extend_from_slice(&b[j..]);
    out.shrink_to_fit();
    out
}
