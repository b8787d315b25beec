//! Makes a clean graph of the arcs in buckets.

use std::time::Duration;

use super::buckets::Buckets;
use super::classes::ArcClasses;
use super::degrees::DegreeCounts;
use super::ids::ArcFacts;
use super::sort::sort_pairs;
use super::workspace::{IdCount, PER_KEY, Workspace, check_bucket, needs};
use trimill_system::control::{Control, Unit};
use trimill_system::mapped::{trim_heap, with_capacity};
use trimill_system::{Bytes, Result, parallel};

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
    /// Sorts every bucket, drops duplicates and directions, and counts degrees.
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
        let degrees = DegreeCounts::new(range, arcs, shares.left);
        let pairs = classes.buckets_of_pairs(arcs, &shares);
        let task = control.task("clean", Some(arcs), Unit::Arcs);
        let found = parallel::try_map_with(0..buckets.buckets(), Vec::new, |keys: &mut Vec<u64>, class| {
            control.check()?;
            let incoming = buckets.len(class);
            let (taken, halves) = (budget.take(Bytes(incoming * PER_KEY)), classes.upper_halves(class, range));
            // A bucket longer than `most` (one pair repeated very often) is sorted part by part, so memory is proportional to the distinct keys.
            let mut is_first = true;
            buckets.take_in_parts(class, most, |chunks| {
                let earlier = if is_first { Vec::new() } else { std::mem::take(keys) };
                is_first = false;
                sort_pairs(&chunks, &halves, keys);
                drop(chunks);
                keys.dedup();
                if !earlier.is_empty() {
                    *keys = merge(&earlier, keys);
                }
                check_bucket(&taken, keys.len() as u64 * PER_KEY)
            })?;
            let distinct = keys.len() as u64;
            keys.dedup_by_key(|key| *key >> 1);
            let united: Vec<u64> = keys.iter().map(|&key| classes.pair(class, key)).collect();
            if incoming * PER_KEY > shares.sorting() {
                // Threads that wait for the budget keep only small arrays.
                *keys = Vec::new();
            }
            let edges = united.len() as u64;
            degrees.add(&united);
            pairs.put(class, united)?;
            task.advance(incoming);
            Ok((edges, distinct))
        })?;
        let (edges, distinct_arcs) = found.into_iter().fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        let (bytes_distributed, bytes_written) = (Bytes(buckets.bytes_written()), Bytes(pairs.bytes_written()));
        let degrees = degrees.finish();
        Ok(CleanGraph { pairs, degrees, table, edges, distinct_arcs, facts, bytes_distributed, bytes_written, reading })
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
