//! Finds all triangles, and adds at each corner in how many directions the opposite edge is there.
//!
//! The successors of a vertex are put into a set of bits, in which the successors of each successor are looked up without branches, which
//! nobody could guess. What the triangles add at a successor adds up in a table, and is added to the common counters once for each arc.

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

/// The arcs between the neighbours of each vertex, by rank, and the number of triangles. Runs in the current thread pool.
pub(super) fn arcs_at_vertices(rows: &DirectedRows, control: &Control) -> Result<(Vec<AtomicU64>, u128)> {
    let vertices = rows.firsts.len() - 1;
    let at: Vec<AtomicU64> = zeros(vertices);
    let task = control.task("directions", Some(rows.heads.len() as u64), Unit::Arcs);
    let scratch =
        || CornerScratch { set: zeros(vertices.div_ceil(64)), table: zeros(vertices), hubs: zeros(HUBS as usize) };
    let found = parallel::try_map_with(chunks(&rows.firsts), scratch, |scratch, ranks: Range<u32>| {
        control.check()?;
        let arcs = rows.firsts[ranks.end as usize] - rows.firsts[ranks.start as usize];
        let found: u64 = ranks.map(|rank| of_row(rows, rank, scratch, &at)).sum();
        for (at, hub) in at.iter().zip(&mut scratch.hubs).filter(|(_, hub)| **hub > 0) {
            at.fetch_add(std::mem::take(hub), Relaxed);
        }
        task.advance(arcs);
        Ok(u128::from(found))
    })?;
    Ok((at, found.into_iter().sum()))
}

/// Adds the triangles whose largest rank is `a`; returns how many there are.
fn of_row(rows: &DirectedRows, a: u32, scratch: &mut CornerScratch, at: &[AtomicU64]) -> u64 {
    let CornerScratch { set, table, hubs } = scratch;
    let mut add = |rank: u32, arcs: u64| match hubs.get_mut(rank as usize) {
        Some(hub) => *hub += arcs,
        None => _ = at[rank as usize].fetch_add(arcs, Relaxed),
    };
    let row = rows.row(a);
    if row.len() < 2 {
        return 0;
    }
    for place in row.clone() {
        let b = rows.heads[place] as usize;
        set[b / 64] |= 1 << (b % 64);
        table[b] = u32::from(rows.is_mutual(place)) * MUTUAL;
    }
    let (mut triangles, mut at_a) = (0, 0);
    for place in row.clone() {
        let (b, arcs_to_b) = (rows.heads[place] as usize, 1 + u32::from(rows.is_mutual(place)));
        let of_b = rows.row(b as u32);
        for first in of_b.clone().step_by(TOGETHER) {
            let (mut found, mut many) = ([0; TOGETHER], 0);
            for opposite in first..of_b.end.min(first + TOGETHER) {
                let c = rows.heads[opposite] as usize;
                found[many] = opposite;
                many += (set[c / 64] >> (c % 64) & 1) as usize;
            }
            triangles += many as u64;
            for &opposite in &found[..many] {
                let at_c = &mut table[rows.heads[opposite] as usize];
                let arcs_to_c = 1 + *at_c / MUTUAL;
                *at_c += arcs_to_b;
                table[b] += arcs_to_c;
                at_a += 1 + u64::from(rows.is_mutual(opposite));
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
    triangles
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
