//! Finds the triangles with an edge that is there in both directions, and counts them at the corner opposite to it.
//!
//! The successors of a vertex are put into a set of bits, in which the successors of each successor are looked up without branches, which
//! nobody could guess; if none of the vertex's own edges is there in both directions, only those of the successor's that are. What the triangles
//! add at a successor adds up in a table, and is added to the common counters once for each arc.

use std::ops::Range;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use super::arcs::DirectedRows;
use trimill_system::control::{Control, Unit};
use trimill_system::mapped::zeros;
use trimill_system::{Result, parallel};

/// The first ranks have counters in each thread: most triangles have a corner there, and threads would wait for each other.
pub(super) const HUBS: u32 = 1 << 12;

/// Arcs of the rows that a thread takes at a time, about.
const ARCS: u64 = 1 << 16;

/// In the table: the vertex is a successor by arcs of both directions. The lower bits have what is to be added there.
const MUTUAL: u32 = 1 << 31;

/// Successors of a successor that are looked up together.
const TOGETHER: usize = 64;

/// The buffers of a thread.
struct CornerScratch {
    /// The set and the table, empty between rows.
    set: Vec<u64>,
    table: Vec<u32>,
    hubs: Vec<u64>,
}

/// How many edges between the neighbours of each vertex are there in both directions, by rank. Runs in the current thread pool.
pub(super) fn mutual_at_vertices(rows: &DirectedRows, control: &Control) -> Result<Vec<AtomicU64>> {
    let vertices = rows.firsts.len() - 1;
    let at: Vec<AtomicU64> = zeros(vertices);
    let task = control.task("directions", Some(rows.heads.len() as u64), Unit::Arcs);
    let scratch =
        || CornerScratch { set: zeros(vertices.div_ceil(64)), table: zeros(vertices), hubs: zeros(HUBS as usize) };
    parallel::try_each_with(chunks(&rows.firsts), scratch, |scratch, ranks: Range<u32>| {
        control.check()?;
        let arcs = rows.firsts[ranks.end as usize] - rows.firsts[ranks.start as usize];
        ranks.for_each(|rank| add_of_row(rows, rank, scratch, &at));
        for (at, hub) in at.iter().zip(&mut scratch.hubs).filter(|(_, hub)| **hub > 0) {
            at.fetch_add(std::mem::take(hub), Relaxed);
        }
        task.advance(arcs);
        Ok(())
    })?;
    Ok(at)
}

/// Adds what the triangles have whose largest rank is `a`.
fn add_of_row(rows: &DirectedRows, a: u32, scratch: &mut CornerScratch, at: &[AtomicU64]) {
    let CornerScratch { set, table, hubs } = scratch;
    let mut add = |rank: u32, edges: u64| match hubs.get_mut(rank as usize) {
        Some(hub) => *hub += edges,
        None => _ = at[rank as usize].fetch_add(edges, Relaxed),
    };
    let (row, own) = (rows.row(a), rows.has_mutual[a as usize]);
    if row.len() < 2 || !own && !rows.heads[row.clone()].iter().any(|&b| rows.has_mutual[b as usize]) {
        return;
    }
    for place in row.clone() {
        let b = rows.heads[place] as usize;
        set[b / 64] |= 1 << (b % 64);
        table[b] = u32::from(rows.is_mutual(place)) * MUTUAL;
    }
    let mut at_a = 0;
    for place in row.clone() {
        let b = rows.heads[place] as usize;
        let of_b = rows.row(b as u32);
        if !own {
            if rows.has_mutual[b] {
                rows.each_mutual(of_b, |opposite| {
                    let c = rows.heads[opposite] as usize;
                    at_a += set[c / 64] >> (c % 64) & 1;
                });
            }
            continue;
        }
        let of_edge = u32::from(rows.is_mutual(place));
        for first in of_b.clone().step_by(TOGETHER) {
            let (mut found, mut many) = ([0; TOGETHER], 0);
            for opposite in first..of_b.end.min(first + TOGETHER) {
                let c = rows.heads[opposite] as usize;
                found[many] = opposite;
                many += (set[c / 64] >> (c % 64) & 1) as usize;
            }
            for &opposite in &found[..many] {
                let at_c = &mut table[rows.heads[opposite] as usize];
                let is_mutual = *at_c / MUTUAL;
                *at_c += of_edge;
                table[b] += is_mutual;
                at_a += u64::from(rows.is_mutual(opposite));
            }
        }
    }
    if at_a > 0 {
        add(a, at_a);
    }
    for place in row {
        let b = rows.heads[place];
        set[b as usize / 64] = 0;
        let at = std::mem::take(&mut table[b as usize]) & (MUTUAL - 1);
        if at > 0 {
            add(b, at.into());
        }
    }
}

/// Ranks whose rows have about [`ARCS`] arcs; a longer row is a chunk by itself.
fn chunks(firsts: &[u64]) -> impl Iterator<Item = Range<u32>> {
    let (vertices, mut next) = (firsts.len() - 1, 0);
    std::iter::from_fn(move || {
        let first = next;
        let end = firsts[first..].partition_point(|&begin| begin <= firsts[first] + ARCS) + first - 1;
        next = end.max(first + 1).min(vertices);
        (first < vertices).then_some(first as u32..next as u32)
    })
}
