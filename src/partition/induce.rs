//! The induced subgraph of a partition: its locals, their neighbours as proxies, every arc between them.
//!
//! Enters: the oriented graph and the locals. Leaves: a [`Subgraph`]: sets of numbers over the graph, nothing is
//! copied. LSTC, Algorithm 1, lines 5 and 6. A neighbour may be at either end of an arc, and rows hold out-neighbours
//! only, so every row of the graph is read once: `O(m)` time; three sets of `n / 8` bytes and their ranks.

use rayon::prelude::*;

use super::runs;
use crate::control::Control;
use crate::error::Result;
use crate::graph::OrientedGraph;
use crate::graph::bits::{Bits, Marks};

/// An induced subgraph, as a view of the oriented graph.
pub struct Subgraph<'g> {
    /// The graph.
    pub graph: &'g OrientedGraph,
    /// The locals, as a set of numbers.
    pub local: Bits,
    /// Those that a local points at.
    pub pointed: Bits,
    /// Locals and proxies, as a set of numbers. An arc is in the subgraph when both its ends are.
    pub present: Bits,
}

/// The set of the numbers of `locals` (ids).
pub(super) fn numbers_of(graph: &OrientedGraph, locals: &[u32]) -> Bits {
    let number_of = &graph.numbering().number_of;
    let marks = Marks::new(graph.vertices());
    locals.par_iter().for_each(|&id| marks.set(number_of[id as usize]));
    marks.finish()
}

/// Induces the subgraph of `locals` (ids).
///
/// # Errors
/// Only when stopped.
pub fn induce<'g>(graph: &'g OrientedGraph, locals: &[u32], control: &Control) -> Result<Subgraph<'g>> {
    let local = numbers_of(graph, locals);
    let (pointed, pointing) = (Marks::new(graph.vertices()), Marks::new(graph.vertices()));
    let (offsets, heads) = (graph.offsets(), graph.heads());
    runs(graph.vertices()).try_for_each(|ranks| {
        control.check()?;
        for number in ranks {
            let row = &heads[offsets[number as usize] as usize..offsets[number as usize + 1] as usize];
            if local.contains(number) {
                row.iter().for_each(|&head| pointed.set(head));
            } else if row.iter().any(|&head| local.contains(head)) {
                pointing.set(number);
            }
        }
        graph.relieve();
        Ok(())
    })?;
    let pointed = pointed.finish();
    let present = local.union(&pointed).union(&pointing.finish());
    Ok(Subgraph { graph, local, pointed, present })
}
