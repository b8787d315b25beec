//! The sizes of all partitions, before any is built.
//!
//! Input: the graph, and the partition of each vertex. Output: for every partition the figures of LSTC's Tables 3 and 4: vertices
//! and arcs of the induced subgraph and after pruning. Two passes over the graph for every 64 partitions (three at level
//! `zero-indegree`, module `masks`); 16 bytes a vertex.

use super::bit_counter::BitCounter;
use super::locals::Locals;
use super::masks::{Counts, Masks};
use super::prune::Prune;
use crate::graph::OrientedGraph;
use trimill_system::bytes::Bytes;
use trimill_system::control::{Control, Unit};
use trimill_system::error::Result;

/// The sizes of one partition.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PartitionSize {
    /// Local vertices.
    pub locals: u64,
    /// Arcs out of them: the resident section.
    pub resident_arcs: u64,
    /// Proxies of the induced subgraph.
    pub proxies_induced: u64,
    /// Arcs of the induced subgraph.
    pub arcs_induced: u64,
    /// Proxies after pruning.
    pub proxies_kept: u64,
    /// Arcs after pruning, the locals' own among them.
    pub arcs_kept: u64,
}

impl PartitionSize {
    /// The size of a partition without proxies.
    pub fn of_rows(locals: u64, arcs: u64) -> Self {
        Self { locals, resident_arcs: arcs, arcs_induced: arcs, arcs_kept: arcs, ..Self::default() }
    }

    /// Locals and kept proxies.
    pub fn numbered(&self) -> u64 {
        self.locals + self.proxies_kept
    }
}

/// Bytes for each vertex that [`sizes`] needs.
pub const PER_VERTEX: u64 = 16;

/// Sizes all partitions, in passes of blocks of at most `block` bytes; runs in the current thread pool.
///
/// # Errors
/// When rows cannot be read, or when stopped.
pub fn sizes(
    graph: &OrientedGraph,
    locals: &Locals,
    level: Prune,
    block: Bytes,
    control: &Control,
) -> Result<Vec<PartitionSize>> {
    let parts = locals.parts();
    if parts == 1 {
        return Ok(vec![PartitionSize::of_rows(u64::from(graph.vertices()), graph.edges())]);
    }
    let groups = parts.div_ceil(64);
    let task = control.task("size", Some(graph.edges() * u64::from(groups) * 2), Unit::Arcs);
    let mut all = Vec::with_capacity(parts as usize);
    for first in (0..parts).step_by(64) {
        let masks = Masks::new(graph, locals, first, level, (block, control))?;
        task.advance(graph.edges());
        let Counts { bits, resident_arcs } = masks.count((block, control))?;
        task.advance(graph.edges());
        let [proxies_induced, arcs_induced, proxies_kept, arcs_kept] = bits.map(BitCounter::totals);
        all.extend((first..parts.min(first + 64)).map(|part| {
            let bit = (part - first) as usize;
            PartitionSize {
                locals: locals.count(part),
                resident_arcs: resident_arcs[bit],
                proxies_induced: proxies_induced[bit],
                arcs_induced: arcs_induced[bit],
                proxies_kept: proxies_kept[bit],
                arcs_kept: arcs_kept[bit] + if level == Prune::Direct { resident_arcs[bit] } else { 0 },
            }
        }));
    }
    Ok(all)
}
