//! METIS: a multilevel k-way partition that cuts few edges, with parts of about equal numbers of arcs. Input: [`RowsById`] and [`MetisOptions`].
//! Output: the part of each vertex and the number of edges cut. Algorithm: Karypis and Kumar, 'Multilevel k-way partitioning scheme for irregular
//! graphs', 1998, as implemented by METIS 5.2.1.
//!
//! METIS changes the signal handling of its process, has a process-wide random generator, and cannot be interrupted. So it runs in a
//! child process: the program calls [`child_main`] under a hidden sub-command, and [`MetisOptions::helper`] says how to start it. Graph
//! and assignment are passed through a file without a name, so that nothing is left behind however either process ends:
//!
//! ```text
//! symmetric (oriented rows -> contracted CSR) -> islands -> exchange | child | exchange -> islands -> runs
//! ```
//!
//! METIS's limits, 2^31 - 1 arcs and the budget at about [`BYTES_PER_ARC`] bytes per arc, are checked before anything large is allocated;
//! [`MetisOptions::contract`] makes larger graphs coarser. This process makes the symmetric CSR in less than a third of the memory that
//! METIS needs, and holds only the oriented rows while METIS runs. Time: about 0.6 us per arc in METIS, on one thread; all else is parallel.

mod child;
mod exchange;
mod islands;
mod limits;
mod signals;
mod symmetric;

use std::fs::File;
use std::io;
use std::num::NonZeroU32;
use std::path::Path;
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rayon::prelude::*;

use crate::{RowsById, contiguous_by_weight};
use trimill_system::child::{Helper, ending};
use trimill_system::{Bytes, Control, Error, Result};

pub use child::child_main;
pub use limits::{BYTES_PER_ARC, MOST_ARCS};

#[derive(Clone)]
pub struct MetisOptions<'a> {
    /// The number of parts, 1 or more.
    pub parts: u32,
    /// The same seed on the same graph gives the same assignment.
    pub seed: u64,
    /// `Some(k)`: every run of `k` consecutive vertices (such as a host's pages) is contracted to one vertex, so all go to one part.
    pub contract: Option<NonZeroU32>,
    pub host_memory: Bytes,
    /// What this process takes of `host_memory` while METIS runs.
    pub beside: Bytes,
    /// The directory for temporary files: 4 bytes per arc and 8 per vertex, twice that when contracted.
    pub work_dir: &'a Path,
    /// How the program calls [`child_main`]; the arguments that it takes are appended.
    pub helper: &'a Helper,
    /// When it asks to stop, the child is killed.
    pub control: &'a Control,
}

/// How long to wait for this process's own signal handler: a signal to the process group may end the child before that handler runs.
const GRACE: Duration = Duration::from_millis(100);

const OTHERS: &str = "start again, or use the partitioner contiguous";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetisAssignment {
    pub parts: Vec<u32>,
    /// The number of edges between different parts in the original graph, also if METIS got a contracted one.
    pub cut: u64,
    /// The child's peak memory in bytes; 0 if no child was needed or the system does not report it.
    pub child_peak_bytes: u64,
}

/// Assigns the vertices of `graph` to parts by METIS. Starts no child if there is nothing to decide: one part, at least as many parts as (contracted)
/// vertices, or no edges between these. Errors: a graph that exceeds METIS's limits or the budget; files that cannot be written; a child that
/// cannot be started or ends without an assignment; a request to stop.
pub fn assign(graph: &RowsById, options: &MetisOptions<'_>) -> Result<MetisAssignment> {
    let parts = options.parts;
    let run = options.contract.map_or(1, NonZeroU32::get);
    let coarse_vertices = graph.vertices().div_ceil(run);
    let (coarse, child_peak_bytes) = if parts == 1 {
        (vec![0; coarse_vertices as usize], 0)
    } else if parts >= coarse_vertices {
        ((0..coarse_vertices).collect(), 0)
    } else {
        of_contracted(graph, run, options)?
    };
    let expanded: Vec<u32> = if run == 1 {
        coarse
    } else {
        (0..graph.vertices()).into_par_iter().map(|id| coarse[(id / run) as usize]).collect()
    };
    let cut = if parts == 1 { 0 } else { cut(graph, &expanded, options.control)? };
    Ok(MetisAssignment { parts: expanded, cut, child_peak_bytes })
}

fn of_contracted(graph: &RowsById, run: u32, options: &MetisOptions<'_>) -> Result<(Vec<u32>, u64)> {
    let vertices = graph.vertices().div_ceil(run);
    limits::check(if run == 1 { 2 * graph.edges() } else { 0 }, false, vertices, options)?;
    let made = symmetric::build(graph, run, options)?;
    if made.successors.is_empty() {
        let weights = made.vertex_weights;
        return Ok((contiguous_by_weight(vertices, options.parts, |id| weights[id as usize] as u64), 0));
    }
    let (made, islands) = islands::remove(made);
    let vertices = made.vertex_weights.len() as u32;
    let (others, peak) = if options.parts >= vertices {
        ((0..vertices).collect(), 0)
    } else {
        let file = exchange::write_graph(&made, options)?;
        drop(made);
        in_child(file, vertices, options)?
    };
    Ok((islands.restore(others, options.parts), peak))
}

/// Runs the child on the graph in `file`. Returns the parts of its `vertices` vertices and the child's peak memory.
fn in_child(file: File, vertices: u32, options: &MetisOptions<'_>) -> Result<(Vec<u32>, u64)> {
    let unreadable = |error: io::Error| {
        Error::resource(format!("a temporary file for METIS cannot be read ({error})")).at(options.work_dir)
    };
    let mut helper = options.helper.clone();
    helper.arguments.push(std::process::id().to_string().into());
    let input = Stdio::from(file.try_clone().map_err(unreadable)?);
    let mut child =
        helper.start(input, None, Duration::ZERO).map_err(|error| error.while_doing("METIS").advice(OTHERS))?;
    let status = child.wait(options.control)?;
    let failed = |how: String| {
        let words: Vec<String> = child.messages().split_whitespace().map(str::to_owned).collect();
        let said = if words.is_empty() { String::new() } else { format!("; it said: {}", words.join(" ")) };
        Error::resource(format!("METIS {how}{said}")).expected("an assignment").advice(OTHERS)
    };
    if status.success() {
        let read = exchange::read_assignment(&file, vertices, options.parts).map_err(unreadable)?;
        return read.map_err(|found| failed(format!("left {found}")));
    }
    let until = Instant::now() + GRACE;
    while Instant::now() < until {
        options.control.check()?;
        sleep(GRACE / 5);
    }
    Err(failed(ending(status)))
}

fn cut(graph: &RowsById, parts: &[u32], control: &Control) -> Result<u64> {
    const VERTICES: usize = 1 << 14;
    let cut_of = |(block, chunk): (usize, &[u32])| {
        control.check()?;
        let mut cut = 0;
        for (id, &own) in (block * VERTICES..).zip(chunk) {
            let others = graph.row(id as u32).iter().filter(|&&successor| parts[successor as usize] != own);
            cut += others.count() as u64;
        }
        Ok(cut)
    };
    parts.par_chunks(VERTICES).enumerate().map(cut_of).sum()
}
