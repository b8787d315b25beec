//! The sizes of all partitions, before any is built.
//!
//! Enters: the graph and an assignment. Leaves: for every partition what LSTC's Tables 3 and 4 list, vertices and arcs
//! of the induced subgraph and after pruning; and for those who want to know more of some, a view of each
//! ([`Look`]). Two readings of the graph for every 64 partitions (module `masks`), in parallel; 20 bytes a vertex.

use rayon::prelude::*;

use super::assignment::Assignment;
use super::bit_counter::BitCounter;
use super::masks::Masks;
use super::prune::{Prune, Pruned};
use crate::bytes::Bytes;
use crate::control::{Control, Unit};
use crate::error::Result;
use crate::graph::OrientedGraph;

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

/// Bytes of the arrays that [`sizes`] needs for a graph of `n` vertices.
pub fn array_bytes(n: u32) -> Bytes {
    Bytes(20 * u64::from(n))
}

/// Looks at some of the partitions while they are sized.
pub trait Look {
    /// Whether it wants to see this one.
    fn wants(&self, part: u32) -> bool;

    /// Shows up to 64 partitions, of which `first` is the first; `view` makes any of those wanted.
    ///
    /// # Errors
    /// What ends the sizing.
    fn look<'g>(&mut self, first: u32, sizes: &[PartitionSize], view: &dyn Fn(u32) -> Pruned<'g>) -> Result<()>;
}

/// Sizes all partitions.
///
/// # Errors
/// Only when stopped.
pub fn sizes(
    graph: &OrientedGraph,
    assignment: &Assignment,
    level: Prune,
    control: &Control,
) -> Result<Vec<PartitionSize>> {
    sizes_and_look(graph, assignment, level, None, control)
}

/// Sizes all partitions, and shows some of them.
///
/// # Errors
/// When stopped, or what `look` reports.
pub fn sizes_and_look(
    graph: &OrientedGraph,
    assignment: &Assignment,
    level: Prune,
    mut look: Option<&mut dyn Look>,
    control: &Control,
) -> Result<Vec<PartitionSize>> {
    if assignment.parts() == 1 {
        // Nothing to find out: no proxies, all arcs.
        let (locals, arcs) = (u64::from(graph.vertices()), graph.edges());
        let whole =
            PartitionSize { locals, resident_arcs: arcs, arcs_induced: arcs, arcs_kept: arcs, ..Default::default() };
        if let Some(look) = look {
            look.look(0, &[whole], &|_| Pruned::whole(graph))?;
        }
        return Ok(vec![whole]);
    }
    let groups = assignment.parts().div_ceil(64);
    let task = control.task("size", Some(graph.edges() * u64::from(groups) * 2), Unit::Arcs);
    let mut all = Vec::with_capacity(assignment.parts() as usize);
    let mut part_of_number = vec![0; graph.vertices() as usize];
    for (id, &part) in assignment.part_of().iter().enumerate() {
        part_of_number[graph.numbering().number_of[id] as usize] = part;
    }
    for first in (0..assignment.parts()).step_by(64) {
        let masks = Masks::new(graph, &part_of_number, first, level, control)?;
        task.advance(graph.edges());
        let counts = masks.count(control)?;
        task.advance(graph.edges());
        let [proxies_induced, arcs_induced, proxies_kept, arcs_kept] = counts.map(BitCounter::totals);
        let parts = first..assignment.parts().min(first + 64);
        all.extend(parts.clone().map(|part| {
            let bit = (part - first) as usize;
            let locals = assignment.locals(part);
            let resident_arcs = locals.par_iter().map(|&id| u64::from(graph.out_degree(graph.rank_of(id)))).sum();
            PartitionSize {
                locals: locals.len() as u64,
                resident_arcs,
                proxies_induced: proxies_induced[bit],
                arcs_induced: arcs_induced[bit],
                proxies_kept: proxies_kept[bit],
                arcs_kept: arcs_kept[bit] + if level == Prune::Direct { resident_arcs } else { 0 },
            }
        }));
        if let Some(look) = look.as_deref_mut()
            && parts.clone().any(|part| look.wants(part))
        {
            look.look(first, &all[first as usize..], &|part| masks.view(part))?;
        }
    }
    Ok(all)
}
