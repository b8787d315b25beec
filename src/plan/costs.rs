//! What each partition is expected to cost, so that shards of a plan are even.
//!
//! Input: a graph, its plan, the rates of a machine. Output: nanoseconds for each partition. Only their ratios matter, so they need not
//! be those of the machine that counts.
//!
//! ```text
//! cost = arc * resident arcs + probe * probes + streamed * streamed arcs + visit * locals * row blocks
//! ```
//!
//! The probes of an arc `a -> b` are the successors of `a` before `b`, or those of `b`, whichever are fewer: all methods of this program
//! cost about as much as these. Adding them up takes a pass over the graph and 4 bytes a vertex.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rayon::prelude::*;

use super::{Cut, Plan};
use crate::bytes::Bytes;
use crate::control::Control;
use crate::error::Result;
use crate::graph::{Direction, OrientedGraph};
use crate::rates::{Rates, Speed};

/// The CPU counter of one core of a server, in seconds: measured on GAP-kron 20 and a king's grid.
const CORE: Speed = Speed { arc: 1e-8, probe: 1e-9, streamed: 2.5e-9, pass: 1e-5, visit: 1e-8 };

/// Arcs of a run of rows that a thread takes.
const RUN: u64 = 1 << 14;

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
    let probes = probes(graph, &plan.cut, block, control)?;
    let Speed { arc, probe, streamed, pass, visit } = if gpus { rates.packed() } else { CORE };
    let copied = if gpus { 1.0 / rates.gpu_arcs } else { 0.0 };
    let of = |(part, probes): (usize, u64)| {
        let (size, predicted) = (&plan.sizes[part], &plan.predictions[part]);
        let (arcs, row_blocks) = (size.resident_arcs as f64, predicted.row_blocks as f64);
        let read = predicted.stream.get() as f64 / size_of::<u32>() as f64;
        let counting = arc * arcs + probe * probes as f64 + (pass + visit * size.locals as f64) * row_blocks;
        // On a GPU rows are copied while others are counted.
        let seconds = (counting + streamed * read).max(copied * read);
        (1e9 * seconds) as u64
    };
    Ok(probes.into_iter().enumerate().map(of).collect())
}

/// The probes of each partition.
fn probes(graph: &OrientedGraph, cut: &Cut, block: Bytes, control: &Control) -> Result<Vec<u64>> {
    let parts: Vec<AtomicU64> = (0..cut.parts()).map(|_| AtomicU64::new(0)).collect();
    if let [_] = parts[..] {
        return Ok(vec![0]);
    }
    let part_of = |rank: u32| match cut {
        Cut::Ranges(ranges, _) => ranges.partition_point(|range| range.end <= rank),
        Cut::Sets(locals) => locals.part_of()[rank as usize] as usize,
    };
    let lengths = graph.out_degrees()?;
    graph.pass(block, Direction::Rising, control, |rows| {
        rows.runs(RUN).into_par_iter().for_each(|ranks| {
            for rank in ranks {
                let row = rows.row(rank);
                let of_arc = |(before, &b): (usize, &u32)| u64::from(lengths[b as usize]).min(before as u64);
                let probes: u64 = row.iter().enumerate().map(of_arc).sum();
                parts[part_of(rank)].fetch_add(probes, Relaxed);
            }
        });
        Ok(())
    })?;
    Ok(parts.into_iter().map(AtomicU64::into_inner).collect())
}
