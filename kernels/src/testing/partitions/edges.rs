//! The triangles on each arc of a partition: by brute force, and as a counter reads them out. The trussness of edges by repeated removal.

use std::collections::{BTreeMap, BTreeSet};

use trimill_counting::{Detail, PartitionCounter, RowBlock};

use super::{Partition, pool};
use crate::CountingMethod;
use crate::engine::Engine;

/// Triangles on each arc, by its number and its successor; arcs without a triangle are left out.
pub(crate) type OnArcs = BTreeMap<(u32, u32), u32>;

/// A partition whose only triangles are of its last two rows and three numbers after more than 2^16 others; and the triangles on its arcs.
pub fn with_a_long_row() -> (Partition, OnArcs) {
    let (b, a, third) = (70_000, 70_001, [65_540, 65_541, 69_000]);
    let mut rows = vec![Vec::new(); 70_002];
    (rows[b as usize], rows[a as usize]) = (third.to_vec(), (0..=b).collect());
    let mut on_arcs: OnArcs = third.iter().flat_map(|&c| [((a, c), 1), ((b, c), 1)]).collect();
    on_arcs.insert((a, b), 3);
    (Partition::whole(rows), on_arcs)
}

/// The trussness of each edge by definition: for each k, edges in fewer than k - 2 triangles are removed until there are none.
pub fn trussness(edges: &[(u32, u32)]) -> BTreeMap<(u32, u32), u32> {
    let mut left: BTreeSet<(u32, u32)> = edges.iter().copied().collect();
    let mut trussness = BTreeMap::new();
    let has = |left: &BTreeSet<(u32, u32)>, u: u32, v: u32| left.contains(&(u.max(v), u.min(v)));
    for k in 3.. {
        loop {
            let vertices: BTreeSet<u32> = left.iter().flat_map(|&(u, v)| [u, v]).collect();
            let triangles =
                |&(u, v): &(u32, u32)| vertices.iter().filter(|&&w| has(&left, u, w) && has(&left, v, w)).count();
            let removed: Vec<_> = left.iter().copied().filter(|edge| triangles(edge) < k - 2).collect();
            if removed.is_empty() {
                break;
            }
            for edge in removed {
                left.remove(&edge);
                trussness.insert(edge, k as u32 - 1);
            }
        }
        if left.is_empty() {
            return trussness;
        }
    }
    unreachable!()
}

impl Partition {
    /// The triangles on each arc, of those whose largest corner is local.
    pub fn on_arcs(&self) -> OnArcs {
        let mut found = OnArcs::new();
        self.each_triangle(|[a, b, c]| {
            [(a, b), (a, c), (b, c)].into_iter().for_each(|arc| *found.entry(arc).or_default() += 1);
        });
        found
    }

    /// Counts on arcs, and reads the counters as they become complete; also returns the total.
    pub fn count_on_arcs(
        &self,
        engine: &mut dyn Engine,
        method: &dyn CountingMethod,
        row_blocks: &[RowBlock],
    ) -> (OnArcs, u64) {
        let mut counter = method.begin(engine, self.size_with(row_blocks), Detail::Edges).unwrap();
        let mut found = OnArcs::new();
        self.runs(self.numbers.len() / 3 + 1).into_iter().for_each(|run| drop(counter.resident(run, pool()).unwrap()));
        let mut into = vec![7; row_blocks.iter().map(arcs_of).max().unwrap_or(0)];
        let mut read = |counter: &mut dyn PartitionCounter, row_block: &RowBlock| {
            let into = &mut into[..arcs_of(row_block)];
            counter.row_block_edges(into, pool()).unwrap();
            let every = row_block.view().holds_all();
            let numbers = row_block.range.clone().filter(|&number| every || !self.local[number as usize]);
            let arcs = numbers.flat_map(|number| self.rows[number as usize].iter().map(move |&to| (number, to)));
            enter(&mut found, arcs.collect(), into);
        };
        for (i, row_block) in row_blocks.iter().enumerate() {
            counter.row_block(&row_block.view(), pool()).unwrap();
            if i > 0 {
                read(&mut *counter, &row_blocks[i - 1]);
            }
        }
        row_blocks.last().into_iter().for_each(|row_block| read(&mut *counter, row_block));
        let mut resident = vec![7; self.size(0).arcs as usize];
        for (i, into) in resident.chunks_mut(1000).enumerate() {
            counter.resident_edges(1000 * i as u64, into, pool()).unwrap();
        }
        let arcs = self.numbers.iter().flat_map(|&a| self.rows[a as usize].iter().map(move |&to| (a, to)));
        enter(&mut found, arcs.collect(), &resident);
        (found, counter.finish().unwrap().triangles)
    }
}

fn arcs_of(row_block: &RowBlock) -> usize {
    row_block.view().size().arcs as usize
}

fn enter(found: &mut OnArcs, arcs: Vec<(u32, u32)>, counts: &[u32]) {
    assert_eq!(arcs.len(), counts.len(), "a counter for each arc");
    for (arc, &count) in arcs.into_iter().zip(counts).filter(|(_, count)| **count > 0) {
        *found.entry(arc).or_default() += count;
    }
}
