//! What each partition is expected to cost, so that shards of a plan are even.
//!
//! Input: a graph, its plan, the rates of a machine. Output: nanoseconds for each partition. Only their ratios matter, so they need not
//! be those of the machine that counts.
//!
//! The probes of an arc `a -> b` are the successors of `a` before `b`, or those of `b`, whichever are fewer: all methods of this program
//! cost about as much as these. On the CPU, arcs to hubs are counted by words of bits, and other arcs wait for the row of `b`. Adding
//! them up takes a pass over the graph and 4 bytes a vertex.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::{Cut, Plan};
use crate::bytes::Bytes;
use crate::control::Control;
use crate::error::Result;
use crate::graph::{Direction, OrientedGraph};
use crate::lock;
use crate::rates::{Rates, Speed};

/// The hubs of the CPU counter, whose rows are bits: about as many ranks.
const HUBS: u32 = 1 << 14;

/// What the CPU counter takes, in seconds of a core.
struct Core {
    near: f64,
    far: f64,
    near_probe: f64,
    far_probe: f64,
    read: f64,
}

/// Fitted to 16 partitions of GAP-kron 22, whose rows are in the cache or not as those of other graphs; each of them is within a fifth.
const CORE: Core = Core { near: 1.7e-8, far: 3.0e-7, near_probe: 1e-10, far_probe: 5e-10, read: 5e-9 };

/// Arcs of a run of rows that a thread takes.
const RUN: u64 = 1 << 14;

/// The arcs of a partition, and their probes: of arcs whose head is a hub, and of all others.
#[derive(Debug, Default, Clone, Copy)]
struct Work {
    near: u64,
    far: u64,
    near_probes: u64,
    far_probes: u64,
}

/// The cost of each partition of `plan`, on GPUs or on the CPU. A pass over the graph has blocks of `block` bytes; runs in the current
/// thread pool.
///
/// # Errors
/// When the graph cannot be read; when stopped.
pub fn costs(
    (graph, plan): (&OrientedGraph, &Plan),
    (rates, gpus): (&Rates, bool),
    block: Bytes,
    control: &Control,
) -> Result<Vec<u64>> {
    let work = work(graph, &plan.cut, block, control)?;
    let of = |(part, work): (usize, Work)| {
        tracing::debug!("partition {part}: {work:?}");
        let (size, predicted) = (&plan.sizes[part], &plan.predictions[part]);
        let [near, far, near_probes, far_probes] =
            [work.near, work.far, work.near_probes, work.far_probes].map(|sum| sum as f64);
        let read = predicted.stream.get() as f64 / size_of::<u32>() as f64;
        let seconds = if gpus {
            let Speed { arc, probe, streamed, pass, visit } = rates.packed();
            let visits = (pass + visit * size.locals as f64) * predicted.row_blocks as f64;
            let counting = arc * (near + far) + probe * (near_probes + far_probes) + visits;
            // Rows are copied while others are counted.
            (counting + streamed * read).max(read / rates.gpu_arcs)
        } else {
            CORE.near * near
                + CORE.far * far
                + CORE.near_probe * near_probes
                + CORE.far_probe * far_probes
                + CORE.read * read
        };
        (1e9 * seconds) as u64
    };
    Ok(work.into_iter().enumerate().map(of).collect())
}

/// Adds up what the arcs of each partition ask for.
fn work(graph: &OrientedGraph, cut: &Cut, block: Bytes, control: &Control) -> Result<Vec<Work>> {
    let parts = vec![Work::default(); cut.parts() as usize];
    if let [_] = parts[..] {
        return Ok(parts);
    }
    let parts: Vec<_> = parts.into_iter().map(Mutex::new).collect();
    let lengths = graph.out_degrees()?;
    let add = |part: usize, row: &[u32], arcs: Range<usize>| {
        let mut of_row = Work::default();
        for before in arcs {
            let b = row[before];
            let probes = u64::from(lengths[b as usize]).min(before as u64);
            if b < HUBS {
                of_row.near += 1;
                of_row.near_probes += probes;
            } else {
                of_row.far += 1;
                of_row.far_probes += probes;
            }
        }
        let mut sum = lock(&parts[part]);
        sum.near += of_row.near;
        sum.far += of_row.far;
        sum.near_probes += of_row.near_probes;
        sum.far_probes += of_row.far_probes;
    };
    let add_row = |rank: u32, row: &[u32]| match cut {
        Cut::Sets(locals) => add(locals.part_of()[rank as usize] as usize, row, 0..row.len()),
        Cut::Ranges(all, _) => {
            let first = all.partition_point(|ranks| ranks.locals.end <= rank);
            let mut begin = 0;
            for (part, ranks) in
                all.iter().enumerate().skip(first).take_while(|(_, ranks)| ranks.locals.contains(&rank))
            {
                let end = begin + row[begin..].partition_point(|&b| b < ranks.heads.end);
                add(part, row, begin..end);
                begin = end;
            }
        }
    };
    graph.pass(block, Direction::Rising, control, |rows| {
        rows.runs(RUN).into_par_iter().for_each(|ranks| ranks.for_each(|rank| add_row(rank, rows.row(rank))));
        Ok(())
    })?;
    Ok(parts.into_iter().map(|sum| sum.into_inner().unwrap_or_else(PoisonError::into_inner)).collect())
}
