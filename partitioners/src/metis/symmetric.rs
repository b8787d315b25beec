//! The symmetric CSR that METIS takes, made from oriented rows. Input: [`RowsById`], and `run`: vertices `run * c .. run * (c + 1)` are contracted to
//! the vertex `c`. Output: [`Symmetric`]. Invariants: rows strictly ascending, no loops, every arc with its reverse of the same weight; weights are
//! at least 1 and their sums fit 32 bits. Depends on the graph alone, not on row order or threads.
//!
//! Parallel, in three passes: merge the rows of each run into a half row (successors ascending, counted), scatter both ends of every half-row entry
//! into the full rows, sort and merge those. Costs 8 bytes per half-row entry (at most one per resulting arc) and 16 per entry of the full rows.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use rayon::prelude::*;

use super::{MetisOptions, limits};
use crate::RowsById;
use crate::contiguous::ids_of;
use trimill_system::{Control, Error, Result, parallel, starts_of};

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Symmetric {
    pub(super) offsets: Vec<i32>,
    pub(super) successors: Vec<i32>,
    /// The number of edges that each arc represents, scaled down if the sum would not fit; `None` if all are 1.
    pub(super) arc_weights: Option<Vec<i32>>,
    /// For each vertex the number of its original vertices and of their arcs in the oriented graph, scaled likewise.
    pub(super) vertex_weights: Vec<i32>,
}

struct Half {
    first: u32,
    lengths: Vec<u32>,
    /// `successor << 32 | edges`.
    entries: Vec<u64>,
}

const COUNT: u64 = u32::MAX as u64;

fn successor(entry: u64) -> u32 {
    (entry >> 32) as u32
}

pub(super) fn build(graph: &RowsById, run: u32, options: &MetisOptions<'_>) -> Result<Symmetric> {
    let (vertices, control) = (graph.vertices().div_ceil(run), options.control);
    let found = AtomicU64::new(0);
    let halves = half_rows(graph, run, limits::most_arcs(options), &found, control)?;
    limits::check(found.into_inner(), true, vertices, options)?;
    let (starts, slots) = full_rows(vertices, halves);
    control.check()?;
    let (slots, lengths) = merge_rows(&starts, slots);
    control.check()?;
    let arcs: u64 = lengths.par_iter().map(|&length| u64::from(length)).sum();
    limits::check(arcs, false, vertices, options)?;
    let mut successors = Vec::with_capacity(arcs as usize);
    let mut arc_weights = (run > 1).then(|| Vec::with_capacity(arcs as usize));
    let rows = || starts.iter().zip(&lengths).flat_map(|(&start, &length)| &slots[start as usize..][..length as usize]);
    let total = rows().map(|&entry| entry & COUNT).sum();
    successors.extend(rows().map(|&entry| successor(entry) as i32));
    if let Some(weights) = &mut arc_weights {
        weights.extend(rows().map(|&entry| scaled(entry & COUNT, arcs, total, i32::MAX as u64)));
    }
    let offsets = starts_of(lengths.iter().map(|&length| length as i32));
    Ok(Symmetric { offsets, successors, arc_weights, vertex_weights: vertex_weights(graph, run, vertices) })
}

/// The merged rows of each run. `found` counts entries, which are no longer stored once there are more than `most`.
fn half_rows(graph: &RowsById, run: u32, most: u64, found: &AtomicU64, control: &Control) -> Result<Vec<Half>> {
    let ids = graph.vertices();
    let vertices = ids.div_ceil(run);
    let block = ((1 << 14) / run).max(1);
    let half = |index: u32| {
        control.check()?;
        let first = index * block;
        let mut half = Half { first, lengths: Vec::with_capacity(block as usize), entries: Vec::new() };
        let mut row = HalfRow::default();
        for c in first..first.saturating_add(block).min(vertices) {
            for &successor in ids_of(c, run, ids).flat_map(|id| graph.row(id)) {
                if successor >= ids {
                    return Err(Error::data("", format!("an arc to vertex {successor} in a graph of {ids} vertices")));
                }
                if successor / run != c {
                    row.push(successor / run);
                }
            }
            let merged = row.merged();
            half.entries.extend_from_slice(merged);
            half.lengths.push(merged.len() as u32);
            row.clear();
        }
        let own = half.entries.len() as u64;
        if found.fetch_add(own, Ordering::Relaxed) + own > most {
            half.entries = Vec::new();
        }
        half.entries.shrink_to_fit();
        Ok(half)
    };
    (0..vertices.div_ceil(block)).into_par_iter().map(half).collect()
}

/// A half row under construction. Whenever it has doubled, arcs to the same successor are merged: it takes at most 4 times its final size or 2 MiB.
#[derive(Default)]
struct HalfRow {
    entries: Vec<u64>,
    merged: usize,
}

impl HalfRow {
    fn push(&mut self, successor: u32) {
        if self.entries.len() >= (2 * self.merged).max(1 << 18) {
            self.merged();
        }
        self.entries.push(u64::from(successor) << 32 | 1);
    }

    fn merged(&mut self) -> &[u64] {
        self.merged = merge(&mut self.entries);
        self.entries.truncate(self.merged);
        &self.entries
    }

    fn clear(&mut self) {
        self.entries.clear();
        self.merged = 0;
    }
}

/// Sorts `row` and adds up entries of the same successor; returns how many entries are left, at its beginning.
fn merge(row: &mut [u64]) -> usize {
    row.sort_unstable();
    let mut kept = 0;
    for at in 0..row.len() {
        if kept > 0 && successor(row[kept - 1]) == successor(row[at]) {
            let count = ((row[kept - 1] & COUNT) + (row[at] & COUNT)).min(COUNT);
            row[kept - 1] = row[at] & !COUNT | count;
        } else {
            row[kept] = row[at];
            kept += 1;
        }
    }
    kept
}

/// Copies every half-row entry to the rows of both ends, in any order; returns where rows start, and the entries.
fn full_rows(vertices: u32, halves: Vec<Half>) -> (Vec<u64>, Vec<u64>) {
    let each = |take: &(dyn Fn(u32, u64) + Sync)| {
        halves.par_iter().for_each(|half| {
            let mut rest = half.entries.as_slice();
            for (tail, &length) in (half.first..).zip(&half.lengths) {
                let (row, after) = rest.split_at(length as usize);
                rest = after;
                row.iter().for_each(|&entry| {
                    take(tail, entry);
                    take(successor(entry), u64::from(tail) << 32 | entry & COUNT);
                });
            }
        });
    };
    let filled: Vec<AtomicU32> = (0..vertices).map(|_| AtomicU32::new(0)).collect();
    each(&|tail, _| {
        filled[tail as usize].fetch_add(1, Ordering::Relaxed);
    });
    let starts = starts_of(filled.iter().map(|length| u64::from(length.swap(0, Ordering::Relaxed))));
    let slots: Vec<AtomicU64> = (0..starts[vertices as usize]).map(|_| AtomicU64::new(0)).collect();
    each(&|tail, entry| {
        let place = u64::from(filled[tail as usize].fetch_add(1, Ordering::Relaxed));
        slots[(starts[tail as usize] + place) as usize].store(entry, Ordering::Relaxed);
    });
    (starts, slots.into_iter().map(AtomicU64::into_inner).collect())
}

/// Sorts each row and merges entries of the same successor; returns the new length of each row.
fn merge_rows(starts: &[u64], mut slots: Vec<u64>) -> (Vec<u64>, Vec<u32>) {
    const ROWS: usize = 1 << 12;
    let vertices = starts.len() - 1;
    let mut lengths = vec![0; vertices];
    let starts = (0..vertices).step_by(ROWS).map(|first| &starts[first..=vertices.min(first + ROWS)]);
    let of_block = |starts: &[u64]| (starts[starts.len() - 1] - starts[0]) as usize;
    let blocks = parallel::cut(&mut slots, starts.clone().map(of_block));
    parallel::each(starts.zip(blocks).zip(lengths.chunks_mut(ROWS)), |((starts, block), lengths)| {
        for (ends, length) in starts.windows(2).zip(lengths) {
            let row = &mut block[(ends[0] - starts[0]) as usize..(ends[1] - starts[0]) as usize];
            *length = merge(row) as u32;
        }
    });
    (slots, lengths)
}

fn vertex_weights(graph: &RowsById, run: u32, vertices: u32) -> Vec<i32> {
    // METIS multiplies sums of weights by its tolerance, so they are kept at half the range if possible.
    let limit = (1 << 30).max(u64::from(vertices));
    let weight = |c| ids_of(c, run, graph.vertices()).map(|id| graph.row(id).len() as u64 + 1).sum::<u64>();
    let total = (0..vertices).into_par_iter().map(weight).sum();
    (0..vertices).into_par_iter().map(|c| scaled(weight(c), u64::from(vertices), total, limit)).collect()
}

/// Scales `weight`, one of `count` with the sum `total`, to a sum of at most `limit`, each at least 1. Needs `count <= limit`.
fn scaled(weight: u64, count: u64, total: u64, limit: u64) -> i32 {
    if total <= limit {
        return weight as i32;
    }
    let above_one = u128::from(weight - 1) * u128::from(limit - count) / u128::from(total - count);
    1 + above_one as i32
}

#[cfg(test)]
mod tests;
