//! The sizes of all partitions, before any is built.
//!
//! Input: the graph, and the partition of each vertex. Output: for every partition the figures of LSTC's Tables 3 and 4: vertices
//! and arcs of the induced subgraph and after pruning. Memory: 16 bytes a vertex. As many partitions are sized together as fit that:
//! at least 64, by a bit for each (module `masks`), in two passes over the graph; small partitions by lists (module `lists`), in three.
//! One more pass at level `zero-indegree`. With lists a partition takes about as much memory as its locals have neighbours, so the
//! passes are some times the mean degree at most, however many partitions there are.

use std::ops::Range;

use super::GraphPasses;
use super::bit_counter::BitCounter;
use super::lists;
use super::locals::Locals;
use super::masks::{Counts, Masks};
use super::prune::Prune;
use crate::graph::OrientedGraph;
use trimill_system::control::Unit;
use trimill_system::error::Result;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PartitionSize {
    pub locals: u64,
    /// Arcs out of them: the resident section.
    pub resident_arcs: u64,
    pub proxies_induced: u64,
    pub arcs_induced: u64,
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

/// Sizes all partitions; runs in the current thread pool.
pub fn sizes(passes: GraphPasses<'_>, locals: &Locals, level: Prune) -> Result<Vec<PartitionSize>> {
    let graph = passes.graph;
    if locals.parts() == 1 {
        return Ok(vec![PartitionSize::of_rows(u64::from(graph.vertices()), graph.edges())]);
    }
    sized(passes, locals, level, groups(graph, locals))
}

/// Partitions that are sized by a bit for each.
const BITS: u32 = 64;

/// Lists take another pass, so they are worth it from twice as many partitions on.
const LISTED: u32 = 2 * BITS;

/// The partitions that are sized together.
fn groups(graph: &OrientedGraph, locals: &Locals) -> Vec<Range<u32>> {
    let (weights, parts) = (lists::weights(graph, locals), locals.parts());
    // Of 16 bytes a vertex, 4 are for the ends of lists.
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

fn sized(
    passes: GraphPasses<'_>,
    locals: &Locals,
    level: Prune,
    groups: Vec<Range<u32>>,
) -> Result<Vec<PartitionSize>> {
    let by_lists = |group: &Range<u32>| group.len() > BITS as usize;
    let readings: u64 = groups.iter().map(|group| if by_lists(group) { lists::passes(level) } else { 2 }).sum();
    let edges = passes.graph.edges();
    let task = passes.control.task("size", Some(edges * readings), Unit::Arcs);
    let mut all = Vec::with_capacity(locals.parts() as usize);
    for group in groups {
        let sums: Vec<[u64; 5]> = if by_lists(&group) {
            lists::sizes(passes, locals, group.clone(), level, &task)?
        } else {
            let masks = Masks::new(passes, locals, group.start, level)?;
            task.advance(edges);
            let Counts { bits, resident_arcs } = masks.count()?;
            task.advance(edges);
            let [proxies_induced, arcs_induced, proxies_kept, arcs_kept] = bits.map(BitCounter::totals);
            let of =
                |bit| [proxies_induced[bit], arcs_induced[bit], proxies_kept[bit], arcs_kept[bit], resident_arcs[bit]];
            (0..group.len()).map(of).collect()
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    use super::*;
    use crate::clean::Workspace;
    use crate::prepare::prepare;
    use trimill_input::arcs::ArcList;
    use trimill_system::bytes::Bytes;
    use trimill_system::control::{Control, Observer};
    use trimill_system::hash::mix;
    use trimill_system::memory::HostMemory;

    fn graph(arcs: Vec<(u64, u64)>) -> OrientedGraph {
        let dir = tempfile::tempdir().unwrap();
        let space =
            Workspace { graph: Bytes::mib(64), ..Workspace::new(HostMemory::new(Bytes::mib(256), 2), dir.path()) };
        let source = ArcList { arcs, declared: None };
        prepare(&source, space, &Control::silent(), &mut Vec::new()).unwrap()
    }

    /// Counts the arcs of all passes.
    #[derive(Default)]
    struct Passes(AtomicU64);

    impl Observer for Passes {
        fn begin(&self, _: &str, total: Option<u64>, _: Unit) -> u64 {
            total.unwrap()
        }
        fn advance(&self, _: u64, arcs: u64) {
            self.0.fetch_add(arcs, Relaxed);
        }
        fn end(&self, total: u64) {
            assert!(self.0.load(Relaxed) <= total);
        }
    }

    #[test]
    fn lists_and_bits_give_the_same_sizes() {
        let n = 3000;
        let ring = (0..n).map(|u| (u, (u + 1) % n));
        // Most vertices in few arcs, a few in many, some triangles.
        let more = (0..n).map(|i| (mix(i) % n, mix(i + n) % n * (mix(i + 2 * n) % n) / n));
        let chords = (0..n).step_by(3).map(|u| (u, (u + 2) % n));
        let graph = graph(ring.chain(more).chain(chords).collect());
        for parts in [200u64, 777, 3000] {
            let assigned = |rank: u64| if parts == n { rank } else { mix(rank ^ parts) % parts };
            let locals =
                Locals::new((0..u64::from(graph.vertices())).map(|rank| assigned(rank) as u32).collect(), parts as u32);
            for level in [Prune::None, Prune::ZeroIndegree, Prune::Direct] {
                let size = |groups: Vec<Range<u32>>| {
                    let passes = GraphPasses { graph: &graph, block: Bytes(4096), control: &Control::silent() };
                    sized(passes, &locals, level, groups).unwrap()
                };
                let parts = parts as u32;
                let bits = size((0..parts).step_by(64).map(|first| first..parts.min(first + 64)).collect());
                assert_eq!(size(vec![0..100, 100..parts]), bits, "{parts} {level}");
                assert_eq!(size(groups(&graph, &locals)), bits, "{parts} {level}");
            }
        }
    }

    #[test]
    fn the_passes_do_not_grow_with_the_number_of_partitions() {
        let n = 20_000;
        let graph = graph((0..n).map(|u| (u, (u + 1) % n)).collect());
        for parts in [2500u32, 10_000, 20_000] {
            let locals = Locals::new((0..n as u32).map(|rank| rank % parts).collect(), parts);
            let passes = Arc::new(Passes::default());
            let control = Control::new(Arc::default(), Arc::<Passes>::clone(&passes));
            let block = Bytes::mib(1);
            sizes(GraphPasses { graph: &graph, block, control: &control }, &locals, Prune::Direct).unwrap();
            // A vertex with two neighbours takes three units, and a partition ten, of three units for each vertex.
            let passes = passes.0.load(Relaxed) / graph.edges();
            assert!(
                passes <= 3 * (3 * n + 10 * u64::from(parts)).div_ceil(3 * n - 100),
                "{passes} for {parts} partitions"
            );
        }
    }
}
