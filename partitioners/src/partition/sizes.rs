//! The sizes of all partitions, before any is built. Input: the graph, and the partition of each vertex. Output: for every partition the figures of
//! LSTC's Tables 3 and 4: vertices and arcs, induced and pruned. Memory: 16 bytes per vertex; as many partitions as fit are sized together: at least
//! 64, with a bit for each (module `masks`), in two passes; more if they are small, with lists (module `lists`), in three; one more pass at
//! `zero-indegree`. There are at most a few times as many passes as the mean degree.

use std::ops::Range;

use serde::Serialize;

use super::assignment::Assignment;
use super::prune::Prune;
use super::{GraphPasses, lists, masks};
use trimill_graph::OrientedGraph;
use trimill_system::Result;
use trimill_system::control::Unit;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct PartitionSize {
    pub locals: u64,
    /// Arcs out of the locals: the resident section.
    pub resident_arcs: u64,
    pub proxies_induced: u64,
    pub arcs_induced: u64,
    pub proxies_kept: u64,
    /// Arcs after pruning, those of locals included.
    pub arcs_kept: u64,
}

impl PartitionSize {
    pub fn of_rows(locals: u64, arcs: u64) -> Self {
        Self { locals, resident_arcs: arcs, arcs_induced: arcs, arcs_kept: arcs, ..Self::default() }
    }

    /// Locals and kept proxies.
    pub fn numbered(&self) -> u64 {
        self.locals + self.proxies_kept
    }
}

/// Bytes per vertex that [`sizes`] needs.
pub const PER_VERTEX: u64 = 16;

pub fn sizes(passes: GraphPasses<'_>, locals: &Assignment, level: Prune) -> Result<Vec<PartitionSize>> {
    let graph = passes.graph;
    if locals.parts() == 1 {
        return Ok(vec![PartitionSize::of_rows(u64::from(graph.vertices()), graph.edges())]);
    }
    sized(passes, locals, level, groups(graph, locals))
}

/// How many partitions are sized with a bit for each.
const BITS: u32 = 64;

/// Lists take another pass, so they pay off only from twice as many partitions on.
const LISTED: u32 = 2 * BITS;

/// The partitions that are sized together.
pub fn groups(graph: &OrientedGraph, locals: &Assignment) -> Vec<Range<u32>> {
    let (weights, parts) = (lists::weights(graph, locals), locals.parts());
    // 4 of the 16 bytes per vertex are for the ends of lists.
    let room = u64::from(graph.vertices()).saturating_mul(3).min(u64::from(u32::MAX));
    let (mut groups, mut first) = (Vec::new(), 0);
    while first < parts {
        let sums = weights[first as usize..].iter().scan(0u64, |sum, weight| {
            *sum += weight;
            Some(*sum)
        });
        let fitting = sums.take_while(|&sum| sum <= room).count() as u32;
        let end = if fitting >= LISTED { first + fitting } else { parts.min(first + BITS) };
        groups.push(first..end);
        first = end;
    }
    groups
}

pub fn sized(
    passes: GraphPasses<'_>,
    locals: &Assignment,
    level: Prune,
    groups: Vec<Range<u32>>,
) -> Result<Vec<PartitionSize>> {
    let by_lists = |group: &Range<u32>| group.len() > BITS as usize;
    let readings: u64 = groups.iter().map(|group| if by_lists(group) { lists::passes(level) } else { 2 }).sum();
    let edges = passes.graph.edges();
    let task = passes.control.task("size", Some(edges * readings), Unit::Arcs);
    let mut all = Vec::with_capacity(locals.parts() as usize);
    for group in groups {
        let sums = if by_lists(&group) {
            lists::sizes(passes, locals, group.clone(), level, &task)?
        } else {
            masks::sizes(passes, locals, group.clone(), level, &task)?
        };
        all.extend(group.zip(sums).map(|(part, sums)| {
            let [proxies_induced, arcs_induced, proxies_kept, arcs_kept, resident_arcs] = sums;
            PartitionSize {
                locals: locals.count(part),
                resident_arcs,
                proxies_induced,
                arcs_induced,
                proxies_kept,
                arcs_kept: arcs_kept + if level == Prune::Direct { resident_arcs } else { 0 },
            }
        }));
    }
    Ok(all)
}
