//! Pruning: drops what cannot close a triangle counted in this partition.
//!
//! A triangle is counted where its lowest corner `a` is local, so both other corners are heads of a local row. Three
//! levels ([`Prune`]); each leaves a [`Pruned`] view from which the sections are made.

use std::fmt;
use std::time::{Duration, Instant};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::RUN;
use super::induce::{induce, numbers_of};
use super::reach::reached;
use crate::control::Control;
use crate::error::Result;
use crate::graph::OrientedGraph;
use crate::graph::bits::{Bits, Marks};

/// What is kept of an induced subgraph.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema, clap::ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
pub enum Prune {
    /// The whole induced subgraph.
    None,
    /// What Algorithm 2 of LSTC leaves: proxies without an in-arc go, with their out-arcs, until none is left.
    ZeroIndegree,
    /// A proxy only if a local vertex points at it; an arc out of a proxy only if a local vertex also points at its
    /// head.
    #[default]
    Direct,
}

impl Prune {
    /// The name on the command line and in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::ZeroIndegree => "zero-indegree",
            Self::Direct => "direct",
        }
    }
}

impl fmt::Display for Prune {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A pruned subgraph, as a view of the oriented graph.
pub struct Pruned<'g> {
    /// The graph.
    pub graph: &'g OrientedGraph,
    /// The locals, as a set of numbers.
    pub local: Bits,
    /// Locals and kept proxies. A vertex's rank in this set is its local number.
    pub kept: Bits,
    /// How long inducing took, before anything was pruned; nothing is induced at level `direct`.
    pub inducing: Duration,
    /// Where an arc out of a proxy may lead; `None` means to all that is kept.
    closing: Option<Bits>,
}

impl<'g> Pruned<'g> {
    /// What is kept of a subgraph, with all arcs between it.
    pub(super) fn of(graph: &'g OrientedGraph, local: Bits, kept: Bits) -> Self {
        Self { graph, local, kept, inducing: Duration::ZERO, closing: None }
    }

    /// The whole graph as one partition: all of it is local, so there is nothing to drop.
    pub fn whole(graph: &'g OrientedGraph) -> Self {
        Self::of(graph, Bits::full(graph.vertices()), Bits::full(graph.vertices()))
    }

    /// Level `direct`: `pointed` are the heads of the locals' arcs.
    pub(super) fn direct(graph: &'g OrientedGraph, local: Bits, pointed: Bits) -> Self {
        let kept = local.union(&pointed);
        Self { closing: Some(pointed), ..Self::of(graph, local, kept) }
    }

    /// Whether an arc out of a kept proxy to `head` (a number) is kept.
    #[inline]
    pub fn keeps_head(&self, head: u32) -> bool {
        self.closing.as_ref().unwrap_or(&self.kept).contains(head)
    }
}

/// Induces and prunes the subgraph of `locals` (ids).
///
/// # Errors
/// Only when stopped.
pub fn prune<'g>(graph: &'g OrientedGraph, locals: &[u32], level: Prune, control: &Control) -> Result<Pruned<'g>> {
    if level == Prune::Direct {
        return direct(graph, locals, control);
    }
    let start = Instant::now();
    let subgraph = induce(graph, locals, control)?;
    let inducing = start.elapsed();
    let kept = if level == Prune::ZeroIndegree { reached(&subgraph, control)? } else { subgraph.present };
    Ok(Pruned { inducing, ..Pruned::of(graph, subgraph.local, kept) })
}

/// The default level, straight from the locals' rows: `O(arcs of the locals)`; nothing is induced first.
fn direct<'g>(graph: &'g OrientedGraph, locals: &[u32], control: &Control) -> Result<Pruned<'g>> {
    let local = numbers_of(graph, locals);
    let closing = Marks::new(graph.vertices());
    let (offsets, heads) = (graph.offsets(), graph.heads());
    local.members().par_chunks(RUN as usize).try_for_each(|ranks| {
        control.check()?;
        for &rank in ranks {
            let row = &heads[offsets[rank as usize] as usize..offsets[rank as usize + 1] as usize];
            row.iter().for_each(|&head| closing.set(head));
        }
        graph.relieve();
        Ok(())
    })?;
    Ok(Pruned::direct(graph, local, closing.finish()))
}
